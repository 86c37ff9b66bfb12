"""What all data sets of pictures share."""

import os
from collections.abc import Callable
from typing import Any

from minifp.data.dataset import Dataset
from minifp.data.pillow import need_pillow
from minifp.errors import ArgumentError

Change = Callable[..., Any] | None


class VisionDataset(Dataset):
    """The base: `root`, and the changes of each picture and target, which a subclass makes.

    transforms: a function of both, instead of one of each. Raises ArgumentError for both kinds, and
    DataError where there is no Pillow.
    """

    def __init__(
        self,
        root: Any = None,
        transforms: Change = None,
        transform: Change = None,
        target_transform: Change = None,
    ) -> None:
        need_pillow(type(self).__name__)
        if transforms is not None and (transform is not None or target_transform is not None):
            raise ArgumentError("transforms with transform, or target_transform: expected one kind")
        self.root = os.path.expanduser(root) if isinstance(root, str) else root
        self.transforms, self.transform = transforms, transform
        self.target_transform = target_transform

    def changed(self, picture: Any, target: Any) -> tuple[Any, Any]:
        """A picture and its target as an item has them."""
        if self.transforms is not None:
            return self.transforms(picture, target)
        if self.transform is not None:
            picture = self.transform(picture)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return picture, target

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.root)!r}, {len(self)} pictures)"
