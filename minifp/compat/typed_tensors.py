"""PyTorch's older constructors, FloatTensor and its kin: each makes tensors of one dtype, and says
of tensors whether they are."""

from typing import Any

from minifp.autograd.constructed import as_sizes, constructed
from minifp.autograd.tape import Tensor
from minifp.derive.dtypes import shown
from minifp.numerics.formats import TYPED, as_dtype
from minifp.ops.creation import tensor


class OfOneType(type):
    """The class of these: `dtype` is that of their tensors."""

    dtype: Any

    def __call__(cls, *given: Any) -> Tensor:
        """Of sizes one by one or a Size, of which only the shape is promised, or of numbers in
        lists, an array or a tensor, which are copied. Raises as Tensor(...) does."""
        first = given[0] if len(given) == 1 and type(given[0]) is not int else as_sizes(*given)
        if hasattr(type(first), "__array_ufunc__"):
            return tensor(first, cls.dtype)
        return Tensor(constructed(first, cls.dtype))

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype == cls.dtype


def _typed(name: str) -> Any:
    doc = f"Tensors of {TYPED[name]}, as {name}(2, 3) or {name}([1, 2])."
    return OfOneType(name, (), {"dtype": shown(as_dtype(TYPED[name])), "__doc__": doc})


FloatTensor, DoubleTensor, HalfTensor = map(_typed, ("FloatTensor", "DoubleTensor", "HalfTensor"))
BFloat16Tensor, BoolTensor = map(_typed, ("BFloat16Tensor", "BoolTensor"))
LongTensor, IntTensor, ByteTensor = map(_typed, ("LongTensor", "IntTensor", "ByteTensor"))
