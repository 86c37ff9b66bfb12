"""PyTorch's older constructors, FloatTensor and its kin: each makes tensors of one dtype, and says
of tensors whether they are."""

from functools import partial
from typing import Any

from minifp.autograd.tape import Tensor
from minifp.derive.dtypes import shown
from minifp.numerics.formats import TYPED, as_dtype
from minifp.ops.creation import made_of


class OfOneType(type):
    """The class of these: `dtype` is that of their tensors, `device` where they are made, and what
    `isinstance` asks for; None is the default device, and any."""

    dtype: Any
    device: str | None

    def __call__(cls, *sizes_or_data: Any) -> Tensor:
        """Of sizes one by one or a Size, of which only the shape is promised, or of numbers in
        lists, an array or a tensor, which are copied. Raises as Tensor(...) does."""
        return made_of(sizes_or_data, cls.dtype, cls.device)

    def __instancecheck__(cls, instance: Any) -> bool:
        if not isinstance(instance, Tensor) or instance.dtype != cls.dtype:
            return False
        return cls.device is None or instance.device.type == cls.device


def _typed(name: str, device: str | None = None) -> Any:
    doc = f"Tensors of {TYPED[name]}, as {name}(2, 3) or {name}([1, 2])."
    own = {"dtype": shown(as_dtype(TYPED[name])), "device": device, "__doc__": doc}
    return OfOneType(name, (), own)


on_gpu = partial(_typed, device="cuda")


FloatTensor, DoubleTensor, HalfTensor = map(_typed, ("FloatTensor", "DoubleTensor", "HalfTensor"))
BFloat16Tensor, BoolTensor = map(_typed, ("BFloat16Tensor", "BoolTensor"))
LongTensor, IntTensor, ByteTensor = map(_typed, ("LongTensor", "IntTensor", "ByteTensor"))
