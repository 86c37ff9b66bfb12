"""The anchors of Faster R-CNN (Ren et al. 2015, arXiv:1506.01497, section 3.1.1): at each cell of
a feature map boxes of some sizes s and aspect ratios a = h / w around it.

    w = s / sqrt(a), h = s sqrt(a), corners rounded to whole pixels;  centre = stride (j, i)
"""

from collections.abc import Sequence

import numpy as np

from minifp.errors import ArgumentError
from minifp.nn.detection.coordinates import coordinate_format
from minifp.nn.detection.grid import GridBoxes, check_positives, pairs
from minifp.numerics.formats import float32


class AnchorGenerator(GridBoxes):
    """Called with the sizes of a picture and of its feature maps, the anchors of all cells.

    sizes: of each feature map, the sides in pixels of its square anchors. aspect_ratios: of each
    map, heights over widths. The stride is the whole pixels that a cell has. As torchvision's
    AnchorGenerator. Raises ArgumentError for sizes or ratios that are not positive, or of which
    there are not as many lists.
    """

    def __init__(
        self,
        sizes: Sequence[Sequence[float]] = ((128, 256, 512),),
        aspect_ratios: Sequence[Sequence[float]] = ((0.5, 1.0, 2.0),),
    ) -> None:
        super().__init__()
        if len(sizes) != len(aspect_ratios):
            raise ArgumentError(
                f"AnchorGenerator: sizes of {len(sizes)} feature maps and aspect_ratios of "
                f"{len(aspect_ratios)}: expected as many"
            )
        for numbers in zip(sizes, aspect_ratios):
            for name, values in zip(("sizes", "aspect_ratios"), numbers):
                check_positives(f"AnchorGenerator: {name}", values)
        self.sizes, self.aspect_ratios = sizes, aspect_ratios
        self.of_cell = [around_zero(s, a) for s, a in zip(sizes, aspect_ratios)]

    def of_map(self, k: int, image_size: tuple[int, int], grid: tuple[int, int]) -> np.ndarray:
        """The anchors of all cells of feature map k, (A, 4)."""
        y, x = (np.arange(cells) * (size // cells) for size, cells in zip(image_size, grid))
        shifts = np.tile(pairs(y, x), 2).astype(coordinate_format())
        return (shifts + self.of_cell[k]).reshape(-1, 4)

    def __repr__(self):
        return f"AnchorGenerator(sizes={self.sizes}, aspect_ratios={self.aspect_ratios})"


def around_zero(sizes: Sequence[float], aspect_ratios: Sequence[float]) -> np.ndarray:
    """The anchors of a cell at 0, (ratios times sizes, 4), with corners at whole pixels."""
    scales = np.array(sizes, float32)
    heights = np.sqrt(np.array(aspect_ratios, float32))[:, None]
    w, h = (1 / heights * scales).reshape(-1), (heights * scales).reshape(-1)
    return np.rint(np.stack([-w, -h, w, h], 1) / 2)
