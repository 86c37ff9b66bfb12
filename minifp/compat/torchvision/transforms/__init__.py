"""torchvision.transforms: the usual ones, of pictures of Pillow's and of tensors (C, H, W)."""

from minifp.compat.torchvision.transforms.at_random import (
    ColorJitter,
    RandomAffine,
    RandomApply,
    RandomCrop,
    RandomErasing,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
)
from minifp.compat.torchvision.transforms.fixed import (
    CenterCrop,
    Compose,
    Grayscale,
    Lambda,
    Normalize,
    Pad,
    PILToTensor,
    Resize,
    ToPILImage,
    ToTensor,
)
from minifp.compat.torchvision.transforms.functional import InterpolationMode

__all__ = [
    "CenterCrop", "ColorJitter", "Compose", "Grayscale", "InterpolationMode", "Lambda", "Normalize",
    "PILToTensor", "Pad", "RandomAffine", "RandomApply", "RandomCrop", "RandomErasing",
    "RandomGrayscale", "RandomHorizontalFlip", "RandomResizedCrop", "RandomRotation",
    "RandomVerticalFlip", "Resize", "ToPILImage", "ToTensor",
]  # fmt: skip
