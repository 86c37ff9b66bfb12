"""Where the data sets that are not bundled would be read from, without downloading any."""

from minifp.data import cifar, downloads, files, fsdd, images, packed, translations
from minifp.data.detection import blood_cells
from minifp.errors import DataError

# The names of the files, the folder they may lie in, how the cache calls them, and the megabytes
# that are downloaded.
SETS = {
    "mnist": ([*images.MNIST_CHECKSUMS], "", "{}.gz", 11),
    "fashion-mnist": ([*images.FASHION_CHECKSUMS], "", "{}.gz", 31),
    "cifar10": (cifar.CIFAR10.files, cifar.CIFAR10.folder, "{}", 170),
    "cifar100": (cifar.CIFAR100.files, cifar.CIFAR100.folder, "{}", 169),
    "multi30k": ([*translations.CHECKSUMS], "", "{}.gz", 2),
}
BCCD = "bccd"  # which lies in a folder, or in an archive of it
SOUNDS = fsdd.DATASET
ALL = (*SETS, BCCD, SOUNDS)


def whereabouts(dataset: str) -> str:
    """Say it of one of ALL, or what is wrong with what is there."""
    try:
        there = of_the_user(dataset)
    except DataError as error:
        return str(error)
    kept = downloads.cache(dataset)
    if there is not None or kept is None:
        return there or "not in MINIFP_DATA, and downloading it needs pooch"
    if dataset == BCCD:
        folder, names, megabytes = blood_cells.in_cache(), [downloads.SUMS], 8
    elif dataset == SOUNDS:
        folder, names, megabytes = kept, [fsdd.ARCHIVE], 16
    else:
        names, inside, called, megabytes = SETS[dataset]
        folder, names = kept / inside, [called.format(name) for name in names]
    if all((folder / name).is_file() for name in names):
        return f"in {folder}"
    return f"will be downloaded into {kept} ({megabytes} MB)"


def is_there(dataset: str) -> bool:
    """Whether one of ALL is read from where it lies, without downloading it."""
    return whereabouts(dataset).startswith("in ")


def of_the_user(dataset: str) -> str | None:
    """Say it of what MINIFP_DATA leads to; None where that is nothing. Raises DataError."""
    if dataset in (BCCD, SOUNDS):
        place = blood_cells.found() if dataset == BCCD else fsdd.local()
        is_packed = dataset == SOUNDS and place is not None and place.is_file()
        return None if place is None else f"in {place.parent if is_packed else place}"
    names, inside = SETS[dataset][:2]
    paths = files.local(dataset, names, inside=[inside] if inside else [])
    if paths is not None:
        return f"in {next(iter(paths.values())).parent}"
    jpegs = packed.found(dataset) if dataset == "cifar10" else None
    return f"in {jpegs[0].parent}, packed as JPEG" if jpegs else None
