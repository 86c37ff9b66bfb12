"""Layers of detectors, as torchvision has them: each is the function of its name in `F`."""

from minifp.nn import functional as F
from minifp.nn.function_layer import FunctionLayer
from minifp.typing import Ints


class RoIAlign(FunctionLayer, of=F.roi_align):
    """Means of an input (N, C, H, W) inside of boxes: (K, C, *output_size). See F.roi_align.

    Called with the input and the boxes: a list of (L, 4) for each picture, or (K, 5) with the
    picture's number first. aligned=True is exact; False moves boxes by half a place.
    """

    output_size: Ints
    spatial_scale: float
    sampling_ratio: int
    aligned: bool = False


class RoIPool(FunctionLayer, of=F.roi_pool):
    """The largest of an input (N, C, H, W) in bins of boxes: (K, C, *output_size). See F.roi_pool.

    Called with the input and the boxes, as RoIAlign.
    """

    output_size: Ints
    spatial_scale: float
