"""Files in a folder for each class, in torchvision's order."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minifp.compat.torchvision.datasets.base import Change, VisionDataset
from minifp.data.decoding import FORMATS
from minifp.data.pillow import need_pillow
from minifp.errors import ArgumentError, DataError

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def pil_loader(path: Any) -> Any:
    """The picture of a file, in RGB. Raises what Pillow raises."""
    with need_pillow("ImageFolder").open(path, formats=FORMATS) as image:
        return image.convert("RGB")


class DatasetFolder(VisionDataset):
    """What `loader` makes of the files below a folder that has a folder for each class.

    extensions, or is_valid_file, a function of a path: which files. classes: the names of the
    folders, sorted. samples: (path, class) of each file. Raises ArgumentError for both or neither,
    and DataError where a class has no file (unless allow_empty), or there is none.
    """

    def __init__(
        self, root: Any, loader: Callable[[str], Any], extensions: tuple[str, ...] | None = None,
        transform: Change = None, target_transform: Change = None,
        is_valid_file: Callable[[str], bool] | None = None, allow_empty: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(root, None, transform, target_transform)
        if (extensions is None) == (is_valid_file is None):
            raise ArgumentError("DatasetFolder: expected extensions or is_valid_file, one of both")
        self.loader, self.extensions = loader, extensions
        self.classes, self.class_to_idx = self.find_classes(self.root)
        is_wanted = is_valid_file or (lambda path: path.lower().endswith(extensions or ()))
        self.samples = [
            (path, self.class_to_idx[name])
            for name in sorted(self.class_to_idx)
            for path in files_below(Path(self.root, name))
            if is_wanted(path)
        ]
        self.targets = [label for _, label in self.samples]
        empty = [name for name, i in self.class_to_idx.items() if i not in {*self.targets}]
        if empty and not allow_empty:
            raise DataError(
                f"{type(self).__name__}: {self.root} has no file in {', '.join(sorted(empty))} "
                f"(expected {', '.join(extensions or ()) or 'one that is_valid_file takes'})"
            )

    def find_classes(self, directory: Any) -> tuple[list[str], dict[str, int]]:
        """The names of the classes, and their numbers. Raises DataError where there is none."""
        if not os.path.isdir(directory):
            raise DataError(f"{type(self).__name__}: {str(directory)!r} is not a folder")
        classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
        if not classes:
            raise DataError(f"{type(self).__name__}: {directory} has no folder for a class in it")
        return classes, {name: i for i, name in enumerate(classes)}

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: Any) -> Any:
        path, target = self.samples[index]
        return self.changed(self.loader(path), target)


class ImageFolder(DatasetFolder):
    """Pictures in RGB below a folder that has a folder for each class. imgs: as samples."""

    def __init__(
        self, root: Any, transform: Change = None, target_transform: Change = None,
        loader: Callable[[str], Any] = pil_loader,
        is_valid_file: Callable[[str], bool] | None = None, allow_empty: bool = False,
    ) -> None:  # fmt: skip
        extensions = IMG_EXTENSIONS if is_valid_file is None else None
        changes = transform, target_transform
        super().__init__(root, loader, extensions, *changes, is_valid_file, allow_empty)
        self.imgs = self.samples


def files_below(folder: Path) -> list[str]:
    """The paths of all files in a folder and below, folder by folder."""
    walked = sorted(os.walk(folder, followlinks=True))
    return [os.path.join(place, name) for place, _, names in walked for name in sorted(names)]
