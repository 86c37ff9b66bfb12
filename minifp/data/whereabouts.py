"""Where the data sets that are not bundled would be read from, without downloading any."""

from minifp.data import cifar, downloads, files, images, packed, translations
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


def whereabouts(dataset: str) -> str:
    """Say it of one of SETS, or what is wrong with what is there."""
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
    kept = downloads.cache(dataset)
    if kept is None:
        return "not in MINIFP_DATA, and pooch, which downloads it, is not installed"
    if all((kept / inside / called.format(name)).is_file() for name in names):
        return f"in {kept / inside}"
    return f"will be downloaded into {kept} ({megabytes} MB)"
