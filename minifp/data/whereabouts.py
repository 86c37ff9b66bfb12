"""Where the data sets that are not bundled would be read from, without downloading any."""

from pathlib import Path

from minifp.data import cifar, downloads, files, fsdd, images, packed, translations
from minifp.data.detection import blood_cells
from minifp.errors import DataError

BCCD = "bccd"  # which lies in a folder, or in an archive of it
SOUNDS = fsdd.DATASET  # whose recordings may be a folder of files, or an archive

# The names of the files, the folder they may lie in, how the cache calls them, and the megabytes
# that are downloaded.
SETS = {
    "mnist": ([*images.MNIST_CHECKSUMS], "", "{}.gz", 11),
    "fashion-mnist": ([*images.FASHION_CHECKSUMS], "", "{}.gz", 31),
    "cifar10": (cifar.CIFAR10.files, cifar.CIFAR10.folder, "{}", 170),
    "cifar100": (cifar.CIFAR100.files, cifar.CIFAR100.folder, "{}", 169),
    "multi30k": ([*translations.CHECKSUMS], "", "{}.gz", 2),
}
ALL = (*SETS, BCCD, SOUNDS)


def whereabouts(dataset: str) -> str:
    """Say it of one of ALL, or what is wrong with what is there."""
    try:
        place = place_of(dataset)
    except DataError as error:
        return str(error)
    return downloaded(dataset) if place is None else f"in {place}"


def is_there(dataset: str) -> bool:
    """Whether one of ALL is read from where it lies, without downloading it."""
    return whereabouts(dataset).startswith("in ")


def place_of(dataset: str) -> Path | str | None:
    """Where MINIFP_DATA leads to: the folder of files, or an archive of blood cells; None where
    nothing is. Raises DataError for what is not whole."""
    if dataset == BCCD:
        return blood_cells.local()
    if dataset == SOUNDS:
        place = fsdd.local()
        return place if place is None or place.is_dir() else place.parent
    names, inside, *_ = SETS[dataset]
    paths = files.local(dataset, names, inside=[inside] if inside else [])
    if paths is None and dataset == "cifar10":
        jpegs = packed.local(dataset)
        return f"{jpegs[0].parent}, packed as JPEG" if jpegs else None
    return None if paths is None else next(iter(paths.values())).parent


def downloaded(dataset: str) -> str:
    """Say where in the user's cache the files are, or will be."""
    cache = downloads.cache(dataset)
    if cache is None:
        return "not in MINIFP_DATA, and downloading it needs pooch"
    if dataset == BCCD:
        names, folder, called, megabytes = [downloads.SUMS], blood_cells.in_cache(), "{}", 8
    elif dataset == SOUNDS:
        names, folder, called, megabytes = [fsdd.ARCHIVE], cache, "{}", 16
    else:
        names, inside, called, megabytes = SETS[dataset]
        folder = cache / inside
    if all((folder / called.format(name)).is_file() for name in names):
        return f"in {folder}"
    return f"will be downloaded into {cache} ({megabytes} MB)"
