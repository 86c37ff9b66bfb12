"""What PyTorch's scripts ask of `cuda`: whether there is a GPU, tensors that are made on it, seeds,
and AMP by its older names."""

import sys

from minifp.compat.amp.autocasting import has_gpu
from minifp.compat.cuda import amp
from minifp.compat.typed_tensors import on_gpu

BFloat16Tensor, BoolTensor = on_gpu("BFloat16Tensor"), on_gpu("BoolTensor")
ByteTensor, DoubleTensor = on_gpu("ByteTensor"), on_gpu("DoubleTensor")
FloatTensor, HalfTensor = on_gpu("FloatTensor"), on_gpu("HalfTensor")
IntTensor, LongTensor = on_gpu("IntTensor"), on_gpu("LongTensor")
__all__ = ["BFloat16Tensor", "BoolTensor", "ByteTensor", "DoubleTensor", "FloatTensor"]
__all__ += ["HalfTensor", "IntTensor", "LongTensor", "amp", "device_count", "is_available"]
__all__ += ["manual_seed", "manual_seed_all"]


def is_available() -> bool:
    """Whether there is an NVIDIA GPU, with a CuPy that finds it."""
    return has_gpu()


def device_count() -> int:
    """How many GPUs are used: one, or none."""
    return int(is_available())


def manual_seed(seed: int) -> None:
    """The seed of a GPU's random numbers, which are all others' too: `fp.manual_seed` where there
    is a GPU, and nothing where there is none."""
    if is_available():
        sys.modules["minifp"].manual_seed(seed)


manual_seed_all = manual_seed
