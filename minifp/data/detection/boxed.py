"""Data sets of pictures with boxes: read when they are asked for, or held in memory."""

import operator
import os
from collections.abc import Sequence
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.checks import check_count
from minifp.data import decoding
from minifp.data.dataset import Dataset, fingerprint
from minifp.data.detection.targets import (
    Target,
    check_boxes,
    check_labels,
    check_target,
    is_target,
    scaled,
)
from minifp.data.folder import decoded
from minifp.data.pictures import leveled, pixel_levels
from minifp.data.pillow import need_pillow
from minifp.data.progress import with_bar
from minifp.data.structure import mapped
from minifp.data.transforms.one_picture import as_size
from minifp.data.workers import Workers, unreadable
from minifp.errors import ArgumentError, DataError
from minifp.typing import Ints

ORIENTATION, QUARTERS = 0x0112, (5, 6, 7, 8)  # of EXIF; those that turn by 90 degrees
LEVELS = pixel_levels([0.0] * 3, [1.0] * 3, normalize=True)  # bytes become 0 to 1


class Sample(NamedTuple):
    """A picture file, what is to be found in it, and (height, width) as its annotation says it."""

    path: str
    target: Target
    size: tuple[int, int]


class ItemsWithBoxes(Dataset):
    """What gives one item for one index: (picture, target), tensors."""

    def fingerprint(self) -> str:
        """Return the SHA-256, in hexadecimal, of everything this data set holds."""
        return fingerprint(self, by_item=True)

    def _number(self, index: Any) -> int:
        """The index of one item, from 0. Raises ArgumentError for several."""
        try:
            number = operator.index(index)
        except TypeError:
            raise ArgumentError(
                f"data set {self.name!r}: expected the index of one picture, got {index!r}: "
                "pictures differ in their number of boxes, and may differ in size. Give the "
                "loader collate_fn=fp.data.detection_collate, or a Task collate="
            ) from None
        if not -len(self) <= number < len(self):
            raise IndexError(f"data set {self.name!r} has {len(self)} pictures, none {number}")
        return number % len(self)


class BoxedPictures(ItemsWithBoxes):
    """Pictures in memory with the boxes that are to be found in them.

    pictures: (n, C, H, W), or a list of n (C, H, W): float32, or bytes, which become numbers from 0
        to 1 as they are asked for. targets: for each a dict with "boxes" (k, 4), float32, "labels"
        (k,), int64, and what else there is (see `detection.targets`).
    classes: the names of the classes, of which the first is the background.

    An item is (picture, target) for one index: give the loader collate_fn=detection_collate. Raises
    DataError where targets do not fit their pictures.
    """

    def __init__(
        self,
        pictures: Sequence[np.ndarray] | np.ndarray,
        targets: Sequence[Target],
        *,
        name: str = "boxes",
        classes: Sequence[str] | None = None,
    ) -> None:
        if len(pictures) != len(targets):
            raise DataError(
                f"BoxedPictures: {len(pictures)} pictures with {len(targets)} targets, expected as "
                "many"
            )
        targets = [as_arrays(target) for target in targets]
        for i, (picture, target) in enumerate(zip(pictures, targets)):
            asked = f"BoxedPictures {name!r}: picture {i}"
            if not isinstance(picture, np.ndarray):
                kind = type(picture).__name__
                raise DataError(f"{asked} is a {kind}, expected an array (C, H, W)")
            if picture.ndim != 3 or not (picture.dtype.kind == "f" or picture.dtype == np.uint8):
                raise DataError(
                    f"{asked}: {picture.dtype} of shape {picture.shape}, expected floats or bytes "
                    "(C, H, W)"
                )
            check_target(asked, target, picture.shape[1:])
            check_labels(asked, target["labels"], None if classes is None else len(classes))
        self.pictures, self.targets, self.name, self.classes = pictures, targets, name, classes

    def __len__(self) -> int:
        return len(self.pictures)

    takes_arrays = True  # which `_number` refuses: so a loader is told what collate_fn to give

    def __getitem__(self, index: Any) -> Any:
        number = self._number(index)
        picture = self.pictures[number]
        if picture.dtype == np.uint8:
            picture = leveled(picture, LEVELS[:1].repeat(len(picture), 0))
        return mapped(Tensor, (picture, {n: np.copy(a) for n, a in self.targets[number].items()}))

    def __repr__(self):
        boxes = sum(len(target["boxes"]) for target in self.targets)
        return f"BoxedPictures({len(self)} pictures, {boxes} boxes, name={self.name!r})"


def as_arrays(target: Any) -> Any:
    """A target with the boxes float32, the labels int64, where they are numbers of these kinds;
    lists without anything are (0, 4) and (0,)."""
    if not is_target(target):
        return target
    arrays = {name: np.asarray(values) for name, values in target.items()}
    if arrays["boxes"].size == 0:
        arrays["boxes"] = np.zeros((0, 4), np.float32)
    for name, kinds, dtype in (("boxes", "fiu", np.float32), ("labels", "iu", np.int64)):
        values = arrays.get(name)
        if values is not None and (values.dtype.kind in kinds or not values.size):
            arrays[name] = values.astype(dtype)
    return arrays


class PictureFiles(ItemsWithBoxes):
    """Picture files with boxes, read when they are asked for: what VOC's and COCO's share.

    size: a number, or (height, width), to which each picture is resized, bicubically and whole, and
    its boxes with it.
    """

    classes: list[str]

    def __init__(
        self, samples: Sequence[Sample], *, name: str, classes: Sequence[str], size: Ints | None
    ) -> None:
        asked = type(self).__name__
        self.size = None if size is None else as_size(asked, size)
        self.samples, self.name, self.classes = list(samples), name, list(classes)
        self._image = need_pillow(f"{asked}({name!r})")
        if not self.samples:
            raise DataError(f"{asked}: no picture in {name!r}")

    def __len__(self) -> int:
        return len(self.samples)

    takes_arrays = True  # which `_number` refuses: so a loader is told what collate_fn to give

    def __getitem__(self, index: Any) -> Any:
        sample = self.samples[self._number(index)]
        picture = decoded(self._request(sample)).transpose(2, 0, 1)
        return mapped(Tensor, (leveled(picture, LEVELS), self._target(sample)))

    def load(self, workers: int = 0) -> BoxedPictures:
        """Read all pictures into memory, as bytes, with a progress bar where that takes time.

        workers: so many processes decode them, for this call; 0 decodes them in this one.
        """
        workers = check_count(f"{type(self).__name__}.load: workers", workers, least=0)
        requests = [self._request(sample) for sample in self.samples]
        decoders = Workers(workers) if workers else None
        pixels = decoders.pictures(requests) if decoders else (decoded(r) for r in requests)
        try:
            with closing(pixels):
                waiting = with_bar(pixels, f"reading {self.name}", len(requests))
                pictures = [np.ascontiguousarray(p.transpose(2, 0, 1)) for p in waiting]
        finally:
            if decoders:
                decoders.close()
        targets = [self._target(sample) for sample in self.samples]
        return BoxedPictures(pictures, targets, name=self.name, classes=self.classes)

    def _request(self, sample):
        return sample.path, self.size, "RGB", False, self._is_upright(sample)

    def _target(self, sample) -> Target:
        if self.size is None:
            return {name: np.copy(a) for name, a in sample.target.items()}
        (height, width), (tall, wide) = sample.size, self.size
        return scaled(sample.target, (tall / height, wide / width))

    def _is_upright(self, sample) -> bool:
        """Whether boxes are those of the picture as its camera has noted to turn it, and not as it
        is stored. Raises DataError where it is not as large as its annotation says in either way.
        """
        upright, stored = sizes_of(self._image, sample.path)
        if sample.size not in (upright, stored):
            raise DataError(
                f"{sample.path} has {upright[1]} x {upright[0]} pixels (width x height), its "
                f"annotation says {sample.size[1]} x {sample.size[0]}: its boxes would be in the "
                "wrong places. Correct the annotation, or download the picture again."
            )
        return sample.size == upright

    def __repr__(self):
        scaled_to = "" if self.size is None else f", {self.size[0]} x {self.size[1]}"
        known = f"{len(self)} pictures{scaled_to}, {len(self.classes) - 1} classes"
        return f"{type(self).__name__}({self.name!r}, {known})"


def sizes_of(image, path: str | os.PathLike) -> tuple[tuple[int, int], tuple[int, int]]:
    """(height, width) of a picture file upright, and as it is stored, from its head alone. Raises
    DataError."""
    try:
        with image.open(path, formats=decoding.FORMATS) as opened:
            stored = opened.height, opened.width
            turned = opened.getexif().get(ORIENTATION, 1) in QUARTERS
    except MemoryError:
        raise
    except Exception as error:  # Pillow has an error for each way in which a file can be damaged
        raise DataError(unreadable(path, error)) from error
    return stored[::-1] if turned else stored, stored


def boxes_in(
    where: str, boxes: list, size: tuple[int, int], *, empty: str, slack: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """(boxes (k, 4) float32, the indices of those) of the boxes of an annotation.

    empty: "raise" for a box without area, or "drop" to leave it out. slack: by how many pixels one
    may lie outside of the picture, where it is cut off. Raises DataError, which begins with
    `where`.
    """
    whole = np.array(boxes, np.float64).reshape(-1, 4)
    left, top, right, bottom = whole.T
    is_empty = (left == right) & (top <= bottom) | (top == bottom) & (left <= right)
    which = np.flatnonzero(~is_empty) if empty == "drop" else np.arange(len(whole))
    height, width = size
    inside = whole[which]
    cut = np.clip(inside, 0, [width, height, width, height])
    cut = np.where(np.abs(cut - inside) <= slack, cut, inside)
    check_boxes(where, cut, size, which)
    return cut.astype(np.float32), which
