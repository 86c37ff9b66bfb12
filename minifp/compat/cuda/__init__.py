"""What PyTorch's scripts ask of `cuda`: whether there is a GPU, and AMP by its older names."""

from minifp.compat.amp.autocasting import has_gpu
from minifp.compat.cuda import amp

__all__ = ["amp", "device_count", "is_available"]


def is_available() -> bool:
    """Whether there is an NVIDIA GPU, with a CuPy that finds it."""
    return has_gpu()


def device_count() -> int:
    """How many GPUs are used: one, or none."""
    return int(is_available())
