"""MNIST, Fashion-MNIST and CIFAR, from the folder in which torchvision has them, or from where
minifp.data has them: the folder that MINIFP_DATA names, or its cache, which `download` fills."""

from pathlib import Path
from typing import Any

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.compat.torchvision.datasets.base import Change, VisionDataset
from minifp.data import cifar, files, images
from minifp.data.pillow import need_pillow
from minifp.data.whereabouts import is_there, whereabouts
from minifp.errors import DataError
from minifp.runtime import untrusted
from minifp.saving.pytorch.plain import plain_values

Part = tuple[np.ndarray, np.ndarray]  # pictures (n, H, W) or (n, H, W, 3), uint8; classes (n,)


class Published(VisionDataset):
    """One part of a data set, to train with or to test with.

    data: the pictures; targets: their classes. classes: their names. Raises DataError where the
    files are in none of the places and download=False, are damaged, or cannot be had.
    """

    classes: list[str]
    dataset: str  # minifp.data's name of it
    has = staticmethod(images.mnist)  # minifp.data's function

    def __init__(
        self,
        root: Any,
        train: bool = True,
        transform: Change = None,
        target_transform: Change = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, None, transform, target_transform)
        self.train = bool(train)
        pixels, labels = self.in_root() or self.of_minifp(download)
        self.data, self.targets = self.in_memory(pixels, labels)

    def in_root(self) -> Part | None:
        """What lies in the root as torchvision lays it out; None where nothing does."""
        raise NotImplementedError

    def of_minifp(self, download: bool) -> Part:
        """What minifp.data has, which is downloaded only if that is asked for."""
        if not download and not is_there(self.dataset):
            raise DataError(
                f"{type(self).__name__}: its files are not in {str(self.root)!r}. Give "
                f"download=True: then they {whereabouts(self.dataset)}"
            )
        part = self.has(normalize=False)[not self.train]
        self.classes = self.classes or [*(part.classes or ())]
        pixels, labels = part.held
        return pixels.transpose(0, 2, 3, 1), labels

    def in_memory(self, pixels: np.ndarray, labels: np.ndarray) -> tuple[Any, Any]:
        """The pictures and classes as torchvision has them."""
        return np.ascontiguousarray(pixels), labels.tolist()

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The number of each class."""
        return {name: i for i, name in enumerate(self.classes)}

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: Any) -> Any:
        if not -len(self) <= index < len(self):
            raise IndexError(f"{type(self).__name__} has no item {index}: it has {len(self)}")
        picture = need_pillow(type(self).__name__).fromarray(np.asarray(self.data[index]))
        return self.changed(picture, int(self.targets[index]))


class MNIST(Published):
    """Pictures of digits, 28 x 28, grey. data: (n, 28, 28) uint8; targets: (n,) int64; tensors."""

    dataset, folder = "mnist", "MNIST"
    digits = "zero one two three four five six seven eight nine"
    classes = [f"{i} - {name}" for i, name in enumerate(digits.split())]
    train_data = test_data = property(lambda self: self.data)
    train_labels = test_labels = property(lambda self: self.targets)

    def in_root(self) -> Part | None:
        """What ROOT/MNIST/raw has; of a subclass ROOT/ITS NAME/raw too."""
        part = "train" if self.train else "t10k"
        names = [f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte"]
        for folder in (type(self).__name__, self.folder):
            paths = files.paths_in(Path(self.root, folder, "raw"), names)
            if len(paths) == len(names):
                pixels = files.read_idx(paths[names[0]], (None, None, None))
                return pixels, files.read_idx(paths[names[1]], (len(pixels),))
        return None

    def in_memory(self, pixels: np.ndarray, labels: np.ndarray) -> tuple[Tensor, Tensor]:
        """Tensors."""
        return Tensor(pixels.reshape(pixels.shape[:3]).copy()), Tensor(labels.astype(np.int64))


class FashionMNIST(MNIST):
    """Pictures of clothes, in MNIST's format."""

    dataset, folder, classes = "fashion-mnist", "FashionMNIST", images.CLOTHES
    has = staticmethod(images.fashion_mnist)


class CIFAR10(Published):
    """Pictures of ten classes, 32 x 32. data: (n, 32, 32, 3) uint8, an array; targets: a list."""

    dataset, publication = "cifar10", cifar.CIFAR10
    has = staticmethod(cifar.cifar10)
    train_files, test_files = [f"data_batch_{i}" for i in range(1, 6)], ["test_batch"]
    meta, names, labels = "batches.meta", "label_names", "labels"  # and the keys of the pickles

    def in_root(self) -> Part | None:
        """What the publication for Python has in ROOT: pickles, of which nothing runs."""
        folder = Path(self.root, self.publication.pickled[0])
        files = self.train_files if self.train else self.test_files
        if not (folder / files[0]).is_file():
            return None
        self.classes = [*plain_dict(folder / self.meta).get(self.names, ())]
        batches = [self.batch(folder / name) for name in files]
        pixels, labels = (np.concatenate(arrays) for arrays in zip(*batches))
        return pixels.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), labels

    def batch(self, path: Path) -> Part:
        """The pictures (n, 3072) and classes of a file. Raises DataError for other contents."""
        values, count = plain_dict(path), len(self.classes)
        pixels: Any = values.get("data")
        labels: Any = values.get(self.labels)
        is_there = isinstance(pixels, np.ndarray) and isinstance(labels, list)
        if is_there and pixels.dtype == np.uint8 and pixels.shape == (len(labels), cifar.PIXELS):
            if all(type(n) is int and 0 <= n < count for n in labels):
                return pixels, np.array(labels)
        raise DataError(f"{path}: expected pictures, and a class from 0 to {count - 1} of each")


class CIFAR100(CIFAR10):
    """Pictures of a hundred classes, as CIFAR10 has them."""

    dataset, publication = "cifar100", cifar.CIFAR100
    has = staticmethod(cifar.cifar100)
    train_files, test_files = ["train"], ["test"]
    meta, names, labels = "meta", "fine_label_names", "fine_labels"


def plain_dict(path: Path) -> dict[Any, Any]:
    """What a pickle of plain values and arrays holds. Raises DataError where it is missing,
    damaged, no dict, or holds anything else."""
    content = untrusted.content(path)
    try:
        return {**plain_values(content)}
    except Exception as error:  # of Python and NumPy, one for each way to be damaged
        raise DataError(f"{path}: {error}: expected a dict of plain values and arrays") from error
