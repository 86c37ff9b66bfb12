"""Batches of pictures with boxes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minifp.errors import DataError


def detection_collate(items: Sequence[Any], stack: bool = False) -> tuple[Any, list]:
    """(pictures, targets) of a list of items (picture, target), as torchvision's detectors take
    them: two lists, as pictures may differ in size, and do in how many boxes they have.

    stack: pictures become one array (n, C, H, W), as convolutions take it. Raises DataError for
    items that are no pairs, or for pictures to be stacked that differ in size.
    """
    wrong = [item for item in items if not isinstance(item, (tuple, list)) or len(item) != 2]
    if wrong:
        kind = type(wrong[0]).__name__
        raise DataError(f"detection_collate: expected items (picture, target), got {kind}")
    pictures, targets = ([item[k] for item in items] for k in (0, 1))
    if not stack:
        return pictures, targets
    shapes = list(dict.fromkeys(np.shape(picture) for picture in pictures))
    if len(shapes) > 1:
        raise DataError(
            f"detection_collate: pictures of shapes {', '.join(map(str, shapes[:4]))} cannot be "
            "stacked; resize them (size=, or transforms.Resize), or give stack=False and a model "
            "that takes a list"
        )
    return np.stack(pictures), targets
