"""Pictures of your own: a folder with a folder for each class."""

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from minifp.checks import check_count
from minifp.data import decoding
from minifp.data.dataset import Dataset, as_item
from minifp.data.pictures import Pictures, leveled, pixel_levels
from minifp.data.pillow import need_pillow
from minifp.data.progress import with_bar
from minifp.data.transforms.one_picture import as_size
from minifp.data.workers import Workers, unreadable, warn_of_transparent
from minifp.errors import ArgumentError, DataError
from minifp.runtime.callers import warn_once
from minifp.typing import Ints

ENDINGS = {".bmp", ".gif", ".jfif", ".jpe", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif"}
ENDINGS |= {".tiff", ".webp"}
OTHERS = {".avif", ".dcm", ".eps", ".heic", ".heif", ".jp2", ".jxl", ".npy", ".npz", ".svg", ".tga"}
SPLITS = {"train", "training", "val", "valid", "validation", "test", "testing", "eval", "dev"}
RUBBISH = "__MACOSX"  # which a zip of macOS brings
CHANNELS = {"RGB": 3, "L": 1}


class ImageFolder(Dataset):
    """The pictures under a folder that has a folder for each class, read when they are asked for.

    Each item is a picture (3, H, W), or (1, H, W) with mode="L" (grey), float32, and its class,
    int64. Pixels are 0 to 1, or 0 to 255 with normalize=False. As torchvision's class of this name,
    it has `.classes`, the folders' names, sorted; `.class_to_idx`, their numbers; `.samples`, for
    each picture its path and class, sorted; and `.targets`, the classes. Pictures of a class may
    lie in further folders inside its own; files whose names end in something else (ENDINGS says
    what is read) or begin with a dot are left alone, and so is the folder __MACOSX. Pictures are
    turned upright as their cameras have noted (EXIF). It warns of pictures in formats that it does
    not read, and where the classes are called train, val, or test.

    size: a number, or (height, width), to which each picture is resized, bicubically; None expects
        that all have the size of the first.
    crop: of a picture in other proportions than `size` the largest window that has them is taken,
        from the middle; False takes it whole, squeezed.
    workers: so many processes decode the pictures of a batch; 0 decodes them in this one. They end
        with the data set. What is read is the same. With the loader's `prefetch`, they decode the
        next batches while one is used.

    Raises DataError where there is no such folder, no picture, a picture that cannot be read or has
    another size (naming it), or no Pillow; ArgumentError for invalid arguments.
    """

    def __init__(
        self,
        folder: str | os.PathLike,
        size: Ints | None = None,
        mode: str = "RGB",
        *,
        crop: bool = True,
        normalize: bool = True,
        workers: int = 0,
    ) -> None:
        if mode not in [*CHANNELS]:
            raise ArgumentError(f'ImageFolder: mode must be "RGB" or "L", got {mode!r}')
        workers = check_count("ImageFolder: workers", workers, least=0)
        self._resized = None if size is None else as_size("ImageFolder", size)
        self.name, self.mode, self.crop = str(folder), mode, bool(crop)
        listed, self.classes = _listed(Path(folder))
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        self.samples = [(str(path), label) for label, paths in enumerate(listed) for path in paths]
        self.targets = [label for _, label in self.samples]
        self._labels = np.array(self.targets, np.int64)
        self._levels = pixel_levels([0.0] * CHANNELS[mode], [1.0] * CHANNELS[mode], normalize)
        need_pillow(f"ImageFolder({self.name!r})")
        self.size = decoded(self._request(0)).shape[:2]  # what cannot be read is known now
        self._workers = Workers(workers) if workers else None

    def __len__(self) -> int:
        return len(self.samples)

    takes_arrays = True

    def __getitem__(self, index: Any) -> Any:
        indices = np.arange(len(self))[index]
        x = leveled(self._pixels(indices.reshape(-1)), self._levels)
        fields = x.reshape(*indices.shape, *x.shape[1:]), np.asarray(self._labels[indices])
        return as_item(index, fields)

    def load(self) -> Pictures:
        """Read all pictures into memory, as bytes, with a progress bar where that takes time."""
        pixels = self._pixels(np.arange(len(self)), with_bar)
        classes = self.classes
        return Pictures(pixels, self._labels, self._levels, name=self.name, classes=classes)

    def _pixels(self, indices, watched=lambda pictures, *_: pictures) -> np.ndarray:
        """These pictures, (n, C, H, W) uint8; `watched` as `with_bar`."""
        requests = [self._request(i) for i in indices.tolist()]
        pixels = np.empty((len(requests), CHANNELS[self.mode], *self.size), np.uint8)
        if self._workers is None:
            pictures = (decoded(request) for request in requests)
        else:
            pictures = self._workers.pictures(requests)
        with closing(pictures):
            waiting = watched(pictures, f"reading {self.name}", len(requests))
            for i, (picture, (path, *_)) in enumerate(zip(waiting, requests)):
                if picture.shape[:2] != self.size:
                    height, width = picture.shape[:2]
                    raise DataError(
                        f"{path} has {height} x {width} pixels (height x width), "
                        f"{self.samples[0][0]} has {self.size[0]} x {self.size[1]}; expected the "
                        "same. Give a size, such as ImageFolder(folder, size=64), to resize all."
                    )
                pixels[i] = picture.transpose(2, 0, 1)
        return pixels

    def _request(self, i):
        return self.samples[i][0], self._resized, self.mode, self.crop

    def __repr__(self):
        height, width = self.size
        return (
            f"ImageFolder({self.name!r}, {len(self)} pictures of {height} x {width}, {self.mode}, "
            f"{len(self.class_to_idx)} classes)"
        )


def decoded(request) -> np.ndarray:
    """The pixels that `decoding.picture` gives for these arguments. Raises DataError."""
    try:
        pixels, is_transparent = decoding.picture(*request)
    except MemoryError:
        raise
    except Exception as error:  # Pillow has an error for each way in which a file can be damaged
        raise DataError(unreadable(request[0], error)) from error
    if is_transparent:
        warn_of_transparent(request[0])
    return pixels


def _listed(folder):
    """The paths of the pictures, a list for each class, and the classes' names."""
    if not folder.is_dir():
        raise DataError(f"ImageFolder: {str(folder)!r} is not a folder")
    inside = (p.name for p in folder.iterdir() if p.is_dir() and p.name[0] != ".")
    classes = sorted(name for name in inside if name != RUBBISH)
    # by text, since Windows would sort paths without regard to case
    files = [sorted((folder / name).rglob("*"), key=Path.as_posix) for name in classes]
    paths = [
        [
            path
            for path in of_class
            if path.suffix.lower() in ENDINGS and path.name[0] != "." and path.is_file()
        ]
        for of_class in files
    ]
    _warn(folder, classes, [path for of_class in files for path in of_class])
    empty = [name for name, of_class in zip(classes, paths) if not of_class]
    if empty or not classes:
        where = f"the folders {', '.join(empty)} in " if empty else "no folder in "
        raise DataError(
            f"ImageFolder: expected a folder for each class with its pictures in it; there are no "
            f"pictures in {where}{str(folder)!r} (read are {', '.join(sorted(ENDINGS))})"
        )
    return paths, classes


def _warn(folder, classes, files):
    """Tell of folders that are parts of a data set, and of pictures that are not read."""
    if len(classes) > 1 and {name.lower() for name in classes} <= SPLITS:
        each = " and ".join(f"ImageFolder({str(folder / name)!r})" for name in classes)
        warn_once(
            f"splits {folder}",
            f"ImageFolder({str(folder)!r}): the classes are {', '.join(classes)}: are these the "
            f"parts of a data set? Then use {each}",
        )
    others = [p for p in files if p.suffix.lower() in OTHERS and p.name[0] != "."]
    if others:
        endings = ", ".join(sorted({p.suffix.lower() for p in others}))
        warn_once(
            f"left out {folder}",
            f"ImageFolder({str(folder)!r}): {len(others)} files ({endings}) were left out, such as "
            f"{others[0]}: convert them to PNG or JPEG, or remove them from the folder",
        )
