"""Pictures of one's own: a folder with a folder for each class."""

import os
import time
from pathlib import Path

import numpy as np

from minifp.data.dataset import Dataset, TensorDataset
from minifp.data.transforms import as_size
from minifp.errors import ArgumentError, DataError
from minifp.typing import Ints

ENDINGS = {".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"}
CHANNELS = {"RGB": 3, "L": 1}
DEEP = ("I", "F")  # Pillow's modes of more than 8 bits a pixel begin with these
PATIENCE = 2.0  # seconds before a progress bar is shown


def image_folder(
    path: str | os.PathLike, size: Ints | None = None, mode: str = "RGB", *, normalize: bool = True,
    eager: bool = False,
) -> Dataset:  # fmt: skip
    """Return the pictures under a folder that has a folder for each class, as a data set.

    Each item is a picture (3, H, W), or (1, H, W) with mode="L" (grey), float32, and its class,
    int64; `.classes` names them, sorted. Pixels are 0 to 1, or 0 to 255 with normalize=False.
    Pictures of a class may lie in further folders inside its own; files whose names end in
    something else (ENDINGS says what is read) or begin with a dot are left alone.

    size: a number, or (height, width), to which each picture is resized (bicubically, not keeping
        its proportions); None expects that all have the size of the first.
    eager: read all now, into a TensorDataset; otherwise pictures are read from their files when
        they are asked for (with the loader's `prefetch`, while others are used).

    Raises DataError where there is no such folder, no picture, a picture that cannot be read or has
    another size (naming it), or no Pillow; ArgumentError for another mode or size.
    """
    if mode not in [*CHANNELS]:
        raise ArgumentError(f'image_folder: mode must be "RGB" or "L", got {mode!r}')
    size = None if size is None else as_size("image_folder", size)
    folder = ImageFolder(Path(path), size, mode, normalize)
    return folder.load() if eager else folder


class ImageFolder(Dataset):
    """What `image_folder` returns: `.paths` and `.labels` of its pictures, and their `.classes`."""

    def __init__(self, path, size, mode, normalize):
        self.name, self.mode = str(path), mode
        self.paths, self.classes = _listed(path)
        labels = [label for label, paths in enumerate(self.paths) for _ in paths]
        self.paths, self.labels = sum(self.paths, []), np.array(labels, np.int64)
        levels = np.arange(256, dtype=np.float32)
        self._levels = levels / 255 if normalize else levels
        self._resized, self.size = size is not None, size
        first = self._pixels(0)  # finds out now whether there is Pillow
        self.size = first.shape[:2]

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        index = np.arange(len(self))[index]
        pictures = [self._pixels(i) for i in index.reshape(-1)]
        return self._levelled(pictures, index.shape), self.labels[index]

    def load(self) -> TensorDataset:
        """Read all pictures into memory, with a progress bar where that takes its time."""
        pictures = [self._pixels(i) for i in shown(range(len(self)), f"reading {self.name}")]
        x = self._levelled(pictures, (len(self),))
        return TensorDataset(x, self.labels, name=self.name, classes=self.classes)

    def _levelled(self, pictures, shape):
        x = np.empty((len(pictures), CHANNELS[self.mode], *self.size), np.float32)
        for i, pixels in enumerate(pictures):
            x[i] = self._levels[pixels].transpose(2, 0, 1)
        return x.reshape(*shape, *x.shape[1:])

    def _pixels(self, i):
        """Picture i, (H, W, C) uint8."""
        pixels = read_picture(self.paths[i], self.size if self._resized else None, self.mode)
        if self.size is not None and pixels.shape[:2] != self.size:
            raise DataError(
                f"{self.paths[i]} has {pixels.shape[0]} x {pixels.shape[1]} pixels (height x "
                f"width), {self.paths[0]} has {self.size[0]} x {self.size[1]}; expected the same. "
                "Give a size, such as image_folder(path, size=64), to resize all."
            )
        return pixels

    def __repr__(self):
        height, width = self.size
        return (
            f"ImageFolder({self.name!r}, {len(self)} pictures of {height} x {width}, {self.mode}, "
            f"{len(self.classes or ())} classes)"
        )


def _listed(folder):
    """The paths of the pictures, a list for each class, and the classes' names."""
    if not folder.is_dir():
        raise DataError(f"image_folder: {str(folder)!r} is no folder")
    classes = sorted(p.name for p in folder.iterdir() if p.is_dir() and p.name[0] != ".")
    paths = [
        [
            path
            # by text, since Windows would sort paths without regard to case
            for path in sorted((folder / name).rglob("*"), key=Path.as_posix)
            if path.suffix.lower() in ENDINGS and path.name[0] != "." and path.is_file()
        ]
        for name in classes
    ]
    empty = [name for name, found in zip(classes, paths) if not found]
    if empty or not classes:
        where = f"the folders {', '.join(empty)} in " if empty else "no folder in "
        raise DataError(
            f"image_folder: expected a folder for each class with its pictures in it; there are no "
            f"pictures in {where}{str(folder)!r} (read are {', '.join(sorted(ENDINGS))})"
        )
    return paths, classes


def read_picture(path, size, mode) -> np.ndarray:
    """Return a picture, (H, W, C) uint8, resized to `size` unless None. Raises DataError."""
    try:
        from PIL import Image
    except ImportError as error:
        raise DataError(
            "image_folder: Pillow, which reads pictures, is not installed: pip install pillow"
        ) from error
    try:
        with Image.open(path) as image:
            if image.mode.startswith(DEEP):
                raise ValueError(f"it has more than 8 bits a pixel (mode {image.mode})")
            if image.mode == "P":
                image = image.convert("RGBA")  # which knows about a transparent colour
            image = image.convert(mode)
            if size is not None and image.size != size[::-1]:
                image = image.resize(size[::-1])
            return np.asarray(image).reshape(image.height, image.width, -1)
    except Exception as error:  # Pillow has an error for each way in which a file can be damaged
        raise DataError(f"{path} cannot be read as a picture: {error}") from error


def shown(items, what: str):
    """Yield items, with a progress bar as soon as it has taken longer than two seconds."""
    bar, started = None, time.monotonic()
    try:
        for i, item in enumerate(items):
            if bar is None and time.monotonic() - started > PATIENCE:
                from tqdm.auto import tqdm  # here, because it looks for a notebook's widgets

                bar = tqdm(total=len(items), initial=i, desc=what)
            yield item
            if bar is not None:
                bar.update()
    finally:
        if bar is not None:
            bar.close()
