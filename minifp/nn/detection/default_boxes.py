"""The default boxes of SSD (Liu et al. 2016, arXiv:1512.02325, section 2.2): several for each cell
of several feature maps, with the widths and heights of a scale and some aspect ratios.

    w = s_k sqrt(a), h = s_k / sqrt(a)     for a = 1, each ratio a and 1 / a
    w = h = sqrt(s_k s_(k+1))              and one more of ratio 1
    centre = ((j + 0.5) / |f_x|, (i + 0.5) / |f_y|)     of row i, column j

Numbers are shares of the picture's width and height. |f| is the number of cells, or the picture's
size over the step in pixels from one cell to the next, where steps are given.
"""

import math
from collections.abc import Sequence

import numpy as np

from minifp.checks import check_flag, check_range
from minifp.nn.detection.coordinates import coordinate_format
from minifp.nn.detection.grid import GridBoxes, check_positives, pairs
from minifp.numerics.formats import float32


class DefaultBoxes(GridBoxes):
    """Called with the sizes of a picture and of its feature maps, the boxes of all cells.

    aspect_ratios: of each feature map the ratios beside 1, each standing for its inverse too.
    min_ratio, max_ratio: the smallest and largest scale, with those between at equal distances and
        1 after them (equation 4); unused where scales are given.
    scales: of each map, and one more. steps: of each map, in pixels.
    clip: whether widths and heights are at most 1.

    As torchvision's DefaultBoxGenerator. Raises ArgumentError for scales, ratios or steps that are
    not positive, and for too few or too many.
    """

    def __init__(
        self,
        aspect_ratios: Sequence[Sequence[float]],
        min_ratio: float = 0.15,
        max_ratio: float = 0.9,
        scales: Sequence[float] | None = None,
        steps: Sequence[float] | None = None,
        clip: bool = True,
    ) -> None:
        super().__init__()
        maps = len(aspect_ratios)
        check_flag("DefaultBoxes: clip", clip)
        if scales is None:
            check_range("DefaultBoxes: min_ratio", min_ratio, high=max_ratio)
            scales = equally_spaced(min_ratio, max_ratio, maps)
        for ratios in aspect_ratios:
            check_positives("DefaultBoxes: aspect_ratios", ratios)
        check_positives("DefaultBoxes: scales", scales, maps + 1)
        if steps is not None:
            check_positives("DefaultBoxes: steps", steps, maps)
        self.aspect_ratios, self.scales = [tuple(ratios) for ratios in aspect_ratios], tuple(scales)
        self.steps, self.clip = None if steps is None else tuple(steps), clip
        self.of_cell = [self._sizes(k) for k in range(maps)]  # width and height of each

    def _sizes(self, k):
        scale, between = self.scales[k], math.sqrt(self.scales[k] * self.scales[k + 1])
        sizes = [(scale, scale), (between, between)]
        for ratio in self.aspect_ratios[k]:
            width, height = scale * math.sqrt(ratio), scale / math.sqrt(ratio)
            sizes += [(width, height), (height, width)]
        found = np.array(sizes, float32)
        return np.clip(found, 0, 1) if self.clip else found

    def of_map(self, k: int, image_size: tuple[int, int], grid: tuple[int, int]) -> np.ndarray:
        """The boxes of all cells of feature map k, (A, 4)."""
        step = None if self.steps is None else self.steps[k]
        y, x = (
            (np.arange(cells, dtype=float32) + float32.type(0.5))
            / float32.type(cells if step is None else size / step)
            for size, cells in zip(image_size, grid)
        )
        centres, half = pairs(y, x), self.of_cell[k].astype(coordinate_format()) * 0.5
        pixels = np.array(image_size[::-1], coordinate_format())
        corners = np.concatenate([(centres - half) * pixels, (centres + half) * pixels], 2)
        return corners.reshape(-1, 4)

    def __repr__(self):
        return (
            f"DefaultBoxes(aspect_ratios={self.aspect_ratios}, scales={self.scales}, "
            f"steps={self.steps}, clip={self.clip})"
        )


def equally_spaced(low: float, high: float, maps: int) -> list[float]:
    """Scales of maps at equal distances (equation 4), and of what would come after the last."""
    if maps == 1:
        return [low, high]
    return [low + (high - low) * k / (maps - 1) for k in range(maps)] + [1.0]
