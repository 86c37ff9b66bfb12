"""The door of a part of a model: activations that enter it are cast to its format, once."""

from typing import Any

from minifp.autograd.cast_cache import cast_once
from minifp.autograd.tape import Tensor
from minifp.numerics.formats import as_dtype, is_float
from minifp.numerics.policy import Precision


def entering(given: Any, precision: Precision) -> Any:
    """Floating tensors, also in tuples, lists and dicts, in the format of activations.

    Numbers without dimensions stay as they are: they decide no format.
    """
    if hasattr(given, "_fields"):  # of a named tuple, as a PackedSequence is
        return given._replace(**entering(given._asdict(), precision))
    if type(given) in (tuple, list):
        return type(given)([entering(inside, precision) for inside in given])
    if type(given) is dict:
        return {name: entering(inside, precision) for name, inside in given.items()}
    if isinstance(given, Tensor) and given.ndim and is_float(given.dtype):
        wanted = as_dtype(precision.activations)
        return given if given.dtype == wanted else cast_once(given, wanted)
    return given
