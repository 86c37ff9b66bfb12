"""Pictures in grey: the digits that are bundled, MNIST, and Fashion-MNIST in the same files."""

import inspect
from functools import wraps
from typing import cast

import numpy as np

from minifp.data import downloads, files
from minifp.data.dataset import TensorDataset
from minifp.data.pictures import Pictures, pixel_levels
from minifp.errors import ArgumentError
from minifp.typing import F

MNIST_MIRRORS = (
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
)
# of the compressed files (.gz), as the mirrors give them
MNIST_CHECKSUMS = {
    "train-images-idx3-ubyte": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
MNIST_COUNTS = {"train": 60_000, "t10k": 10_000}
TEN = [str(digit) for digit in range(10)]  # the classes
MNIST_MEAN, MNIST_DEVIATION = 0.1307, 0.3081  # of the training pixels in [0, 1], as is customary

FASHION_MIRRORS = (
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
)
# of the compressed files, as TensorFlow Datasets has them (the publisher names MD5 sums)
FASHION_CHECKSUMS = {
    "train-images-idx3-ubyte": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
    "train-labels-idx1-ubyte": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
    "t10k-images-idx3-ubyte": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
    "t10k-labels-idx1-ubyte": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
}
CLOTHES = "T-shirt/top,Trouser,Pullover,Dress,Coat,Sandal,Shirt,Sneaker,Bag,Ankle boot".split(",")
FASHION_MEAN, FASHION_DEVIATION = 0.2860, 0.3530  # as is customary


def from_no_path(fn: F) -> F:
    """Let a data set's function refuse a folder, which others take first, with what to do."""
    known = [*inspect.signature(fn).parameters]

    @wraps(fn)
    def checked(*args, **settings):
        if args or {*settings} - {*known}:
            call = ", ".join([*map(repr, args), *(f"{n}={v!r}" for n, v in settings.items())])
            raise ArgumentError(
                f"{fn.__name__}({call}): expected only {' and '.join(known)}, by name. For your "
                "own files, set the environment variable MINIFP_DATA to their folder; the "
                "training and the test set are both returned"
            )
        return fn(**settings)

    return cast(F, checked)


@from_no_path
def digits(*, normalize: bool = True) -> tuple[TensorDataset, TensorDataset]:
    """Return the bundled UCI digits, 1,437 to train with and 360 to test with.

    Each item is a picture (1, 8, 8), float32, and its digit, int64. Pixels are 0 to 1, or 0 to 16
    with normalize=False. The test set is every fifth picture after sorting by digit: always the
    same, balanced, and by all of the writers. Source: Alpaydin and Kaynak, 1998.
    """
    pixels, labels = files.bundled_arrays("digits.npz", pixels=(1797, 8, 8), labels=(1797,))
    x = pixels[:, None].astype(np.float32)
    if normalize:
        x /= 16
    t = labels.astype(np.int64)
    tested = np.zeros(len(t), bool)
    tested[np.argsort(t, kind="stable")[::5]] = True
    return (
        TensorDataset(x[~tested], t[~tested], name="digits, train", classes=TEN),
        TensorDataset(x[tested], t[tested], name="digits, test", classes=TEN),
    )


@from_no_path
def mnist(*, normalize: bool = True) -> tuple[TensorDataset, TensorDataset]:
    """Return MNIST, 60,000 pictures to train with and 10,000 to test with.

    Each item is a picture (1, 28, 28), float32, and its digit, int64. Pixels are
    (p / 255 - 0.1307) / 0.3081, or p, 0 to 255, with normalize=False. The four IDX files are looked
    for in the folder that MINIFP_DATA names, then in the user's cache, then downloaded (11 MB).
    Raises DataError where they are damaged, incomplete or cannot be had. Source: LeCun, Cortes and
    Burges, "The MNIST database of handwritten digits", 1998.
    """
    levels = pixel_levels([MNIST_MEAN], [MNIST_DEVIATION], normalize)
    paths = downloads.local_or_cached("mnist", MNIST_CHECKSUMS, MNIST_MIRRORS)
    return _parts("MNIST", TEN, paths, levels)


@from_no_path
def fashion_mnist(*, normalize: bool = True) -> tuple[TensorDataset, TensorDataset]:
    """Return Fashion-MNIST, pictures of clothes: 60,000 to train with and 10,000 to test with.

    Each item is a picture (1, 28, 28), float32, and its class, int64; `.classes` names the ten.
    Pixels are (p / 255 - 0.2860) / 0.3530, or p, 0 to 255, with normalize=False. Its four files are
    called as MNIST's are, so they are looked for in a folder `fashion-mnist` only: the one that
    MINIFP_DATA names, or one in it; then in the user's cache, then downloaded (31 MB, with known
    checksums). Raises DataError where they are damaged, incomplete or cannot be had. Source: Xiao,
    Rasul and Vollgraf, arXiv 1708.07747.
    """
    levels = pixel_levels([FASHION_MEAN], [FASHION_DEVIATION], normalize)
    paths = downloads.local_or_cached("fashion-mnist", FASHION_CHECKSUMS, FASHION_MIRRORS)
    return _parts("Fashion-MNIST", CLOTHES, paths, levels)


def _parts(name, classes, paths, levels):
    parts = []
    for (part, n), called in zip(MNIST_COUNTS.items(), ("train", "test")):
        pixels = files.read_idx(paths[f"{part}-images-idx3-ubyte"], (n, 28, 28))
        labels = files.read_idx(paths[f"{part}-labels-idx1-ubyte"], (n,))
        settings = {"name": f"{name}, {called}", "classes": classes}
        parts.append(Pictures(pixels[:, None], labels, levels, **settings))
    return parts[0], parts[1]
