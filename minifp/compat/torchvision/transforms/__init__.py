"""torchvision.transforms: the usual ones, of pictures of Pillow's and of tensors (C, H, W)."""

from minifp.compat.torchvision.transforms import at_random, fixed
from minifp.compat.torchvision.transforms.at_random import *
from minifp.compat.torchvision.transforms.fixed import *
from minifp.compat.torchvision.transforms.functional import InterpolationMode

__all__ = [*at_random.__all__, *fixed.__all__, "InterpolationMode"]
