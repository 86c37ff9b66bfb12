"""Pictures of handwritten digits: small ones that are bundled, and MNIST."""

from functools import wraps
from typing import cast

import numpy as np

from minifp.data import files
from minifp.data.dataset import TensorDataset
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


def from_no_path(fn: F) -> F:
    """Let `fn(*, normalize=True)` refuse a folder, which others take first, with what to do."""

    @wraps(fn)
    def checked(*args, **settings):
        if args or {*settings} - {"normalize"}:
            given = ", ".join([*map(repr, args), *(f"{n}={v!r}" for n, v in settings.items())])
            raise ArgumentError(
                f"{fn.__name__}({given}): expected nothing but normalize=True or False. Files of "
                "yours are looked for in the folder that the environment variable MINIFP_DATA "
                "names; both parts, to train and to test with, are returned"
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
    paths = files.local("mnist", MNIST_CHECKSUMS)
    if paths is None:
        paths = files.cached("mnist", MNIST_CHECKSUMS, MNIST_MIRRORS)
    levels = pixel_levels([MNIST_MEAN], [MNIST_DEVIATION], normalize)
    return _mnist_part(paths, "train", levels), _mnist_part(paths, "t10k", levels)


def pixel_levels(mean, deviation, normalize):
    """What each byte p of each channel becomes, (C, 256): (p / 255 - mean) / deviation, or p."""
    levels = np.tile(np.arange(256.0), (len(mean), 1))
    if normalize:
        levels = (levels / 255 - np.array(mean)[:, None]) / np.array(deviation)[:, None]
    return levels.astype(np.float32)


def leveled(batches, shape, levels):
    """Pictures (n, *shape), float32, of batches of bytes; shape: (C, H, W)."""
    x, begin = np.empty((sum(map(len, batches)), *shape), np.float32), 0
    for pixels in batches:
        # In parts, because NumPy makes 64-bit indices of the pixels first.
        for start in range(0, len(pixels), 500):
            rows = pixels[start : start + 500].reshape(-1, *shape)
            for channel, of_channel in enumerate(levels):
                out = x[begin : begin + len(rows), channel]
                np.take(of_channel, rows[:, channel], out=out, mode="clip")
            begin += len(rows)
    return x


def _mnist_part(paths, part, levels):
    n = MNIST_COUNTS[part]
    pixels = files.read_idx(paths[f"{part}-images-idx3-ubyte"], (n, 28, 28))
    labels = files.read_idx(paths[f"{part}-labels-idx1-ubyte"], (n,))
    x, name = leveled([pixels], (1, 28, 28), levels), "train" if part == "train" else "test"
    return TensorDataset(x, labels.astype(np.int64), name=f"MNIST, {name}", classes=TEN)
