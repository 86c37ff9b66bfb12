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
    if dataset == BCCD:
        return of_blood_cells()
    if dataset == SOUNDS:
        return of_sounds()
    names, inside, called, megabytes = SETS[dataset]
    try:
        paths = files.local(dataset, names, inside=[inside] if inside else [])
        jpegs = packed.found(dataset) if dataset == "cifar10" and paths is None else None
    except DataError as error:
        return str(error)
    if paths is not None:
        return f"in {next(iter(paths.values())).parent}"
    if jpegs:
        return f"in {jpegs[0].parent}, packed as JPEG"
    return downloaded(dataset, [called.format(name) for name in names], inside, megabytes)


def is_there(dataset: str) -> bool:
    """Whether one of ALL is read from where it lies, without downloading it."""
    return whereabouts(dataset).startswith("in ")


def of_sounds() -> str:
    """The same of the recordings, which may be a folder of files or an archive."""
    try:
        place = fsdd.local()
    except DataError as error:
        return str(error)
    if place is not None:
        return f"in {place if place.is_dir() else place.parent}"
    return downloaded(SOUNDS, [fsdd.ARCHIVE], "", 16)


def downloaded(dataset, names, inside, megabytes) -> str:
    """Say where in the user's cache the files are, or will be."""
    kept = downloads.cache(dataset)
    if kept is None:
        return "not in MINIFP_DATA, and downloading it needs pooch"
    if all((kept / inside / name).is_file() for name in names):
        return f"in {kept / inside}"
    return f"will be downloaded into {kept} ({megabytes} MB)"


def of_blood_cells() -> str:
    """Say it of BCCD."""
    try:
        place = blood_cells.found()
    except DataError as error:
        return str(error)
    if place is not None:
        return f"in {place}"
    kept = downloads.cache(BCCD)
    if kept is None:
        return "not in MINIFP_DATA, and downloading it needs pooch"
    folder = blood_cells.in_cache()
    is_there = (folder / downloads.SUMS).is_file()
    return f"in {folder}" if is_there else f"will be downloaded into {kept} (8 MB)"
