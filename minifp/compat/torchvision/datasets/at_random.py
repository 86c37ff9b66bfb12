"""Pictures of noise, for a program that is tried without data."""

from typing import Any

import numpy as np

from minifp.compat.torchvision.datasets.base import Change, VisionDataset
from minifp.data.pillow import need_pillow
from minifp.runtime import random


class FakeData(VisionDataset):
    """size pictures of image_size (C, H, W), each pixel and each class as likely as any other.

    An item depends on its index and random_offset alone. (torchvision's are other numbers.)
    """

    def __init__(
        self,
        size: int = 1000,
        image_size: tuple[int, int, int] = (3, 224, 224),
        num_classes: int = 10,
        transform: Change = None,
        target_transform: Change = None,
        random_offset: int = 0,
    ) -> None:
        super().__init__(None, None, transform, target_transform)
        self.size, self.image_size, self.num_classes = size, tuple(image_size), num_classes
        self.random_offset = random_offset

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: Any) -> Any:
        if not 0 <= index < self.size:
            raise IndexError(f"FakeData has no item {index}: it has 0 to {self.size - 1}")
        draws = random.Streams(int(index) + self.random_offset)
        pixels = draws.integers(0, 256, self.image_size, purpose="picture").astype(np.uint8)
        target = int(draws.integers(0, self.num_classes, (), purpose="class"))
        array = pixels.transpose(1, 2, 0)
        image = need_pillow("FakeData").fromarray(array[..., 0] if array.shape[2] == 1 else array)
        return self.changed(image, target)
