"""Which dtype two dtypes come to, by PyTorch's rules."""

from typing import Any

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.derive.dtypes import shown
from minifp.numerics.formats import as_dtype, float32, int64, is_float, wider

__all__ = ["can_cast", "promote_types", "result_type"]
OF_NUMBERS = {bool: np.dtype(bool), int: int64, float: float32}  # of Python's


def kind(dtype: Any) -> int:
    """0 for booleans, 1 for integers, 2 for floats."""
    return 2 if is_float(dtype) else int(dtype.kind != "b")


def promoted(a: Any, b: Any) -> Any:
    """The dtype of two that are stored: a float's beside an integer's, else one that holds both."""
    if kind(a) != kind(b):
        return max(a, b, key=kind)
    return wider(a, b) if is_float(a) else np.promote_types(a, b)


def promote_types(type1: Any, type2: Any) -> Any:
    """The dtype of what an operation makes of tensors of two dtypes."""
    return shown(promoted(as_dtype(type1), as_dtype(type2)))


def result_type(tensor1: Any, tensor2: Any) -> Any:
    """The dtype of what an operation makes of two tensors or numbers: one of a higher kind decides,
    then one with axes, then one without, then a number of Python's."""
    ranks, dtypes = zip(*map(rank_and_dtype, (tensor1, tensor2)))
    if ranks[0] == ranks[1]:
        return shown(promoted(*dtypes))
    strong, weak = dtypes if ranks[0] > ranks[1] else dtypes[::-1]
    return shown(weak if kind(weak) > kind(strong) else strong)


def rank_and_dtype(value: Any) -> tuple[int, Any]:
    """2 for a tensor with axes, 1 for one without, 0 for a number; and its dtype."""
    if isinstance(value, Tensor):
        return 1 + (value.ndim > 0), as_dtype(value.dtype)
    return 0, OF_NUMBERS[type(value)]


def can_cast(from_: Any, to: Any) -> bool:
    """Whether numbers of one dtype may be written into a tensor of another: not a lower kind."""
    return kind(as_dtype(from_)) <= kind(as_dtype(to))
