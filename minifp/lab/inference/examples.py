"""Examples as a person sees them: pictures with their colours, and the names of classes."""

from typing import Any

import numpy as np

from minifp.data import Subset
from minifp.data.dataset import take
from minifp.data.items import as_plain
from minifp.data.pictures import Pictures
from minifp.data.structure import leaves, mapped
from minifp.errors import MinifpError
from minifp.lab.attachments import Picture
from minifp.numerics.formats import is_float


def class_name(dataset: Any, number: int) -> str:
    """The name of a class, its number where it has none; "not finite" for no class."""
    if number < 0:
        return "not finite"
    names = getattr(dataset, "classes", None)
    return str(names[number]) if names is not None and number < len(names) else str(number)


def picture_of(dataset: Any, index: int) -> Picture | None:
    """What an example shows; None where its first array is no picture (H, W), (1, H, W) or
    (3, H, W)."""
    pixels = pixels_of(dataset, index)
    if pixels is None:
        return None
    if pixels.ndim == 3:
        pixels = pixels[0] if len(pixels) == 1 else pixels.transpose(1, 2, 0)
    if pixels.dtype != np.uint8:  # whatever the numbers stand for: from the least to the largest
        low, high = pixels.min(), pixels.max()
        pixels = (pixels - low) / max(high - low, np.finfo(np.float32).tiny)
    return Picture(pixels)


def pixels_of(dataset: Any, index: int) -> np.ndarray | None:
    """The numbers of a picture: bytes as they were in its file, where the data set has these."""
    if isinstance(dataset, Subset):
        return pixels_of(dataset.dataset, int(dataset.indices[index]))
    if isinstance(dataset, Pictures):
        return dataset.held[0][index]
    first = first_array(dataset, index)
    if first is None or first.ndim not in (2, 3) or min(first.shape[-2:]) == 1:
        return None
    return first if first.ndim == 2 or len(first) in (1, 3) else None


def first_array(dataset: Any, index: int) -> np.ndarray | None:
    """The first floating array of an example; None where there is none."""
    try:
        item = [field[0] for field in take(dataset, np.array([index]))]
    except MinifpError:  # of items that are no rows of numbers
        item = mapped(as_plain, dataset[index])
    arrays = [leaf for _, leaf in leaves(item) if isinstance(leaf, np.ndarray)]
    return next((a for a in arrays if is_float(a.dtype)), None)


def each_change(judged, precision):
    """(example, place in it, true class, class and share before, class and share now) of each."""
    changed, dataset = judged.changed(precision), judged.trained.test_set
    base, other = judged.base.predictions, judged.results[precision].predictions
    for place in () if changed is None else changed.places:
        at = tuple(place)
        yield [
            int(place[0]),
            "/".join(map(str, place[1:])),
            class_name(dataset, int(base.targets[at])),
            class_name(dataset, int(base.classes[at])),
            round(float(base.shares[at]), 6),
            class_name(dataset, int(other.classes[at])),
            round(float(other.shares[at]), 6),
        ]
