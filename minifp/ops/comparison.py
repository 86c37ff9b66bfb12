"""Comparisons and logic, element by element: booleans, which have no gradient.

Shapes broadcast. A Python number enters in the compute format: a float16 tensor that stores
0.0999755859375 is not equal to 0.1.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from minifp.backend import kernel
from minifp.ops.elementwise import Binary, Operand, Unary, check_operands, named
from minifp.recording import explained, takes_tensor
from minifp.tape import Tensor


def _plain(name, value):
    """`value`, a function of arrays, as one of Tensors that the tape does not record."""
    value.__name__ = name
    reference = kernel("map", "x")(value)

    def apply(*args):
        arrays = [a.array if isinstance(a, Tensor) else a for a in args]
        try:
            check_operands(*arrays)
            return Tensor(reference(*arrays))
        except (ValueError, TypeError, OverflowError) as error:
            raise explained(error, name, arrays) from error

    return apply


def comparison(name: str, value: Callable[..., Any], doc: str) -> Binary:
    """The public function value(x, y) of two tensors, or of a tensor and a number."""
    apply = _plain(name, lambda x, y: value(x, y))

    def public(input: Operand, other: Operand) -> Tensor:
        return apply(input, other)

    return named(public, name, doc, comparison)


def predicate(name: str, value: Callable[..., Any], doc: str) -> Unary:
    """The public function value(x) of one tensor."""
    apply = _plain(name, lambda x: value(x))

    def public(input: Tensor) -> Tensor:
        return apply(input)

    return takes_tensor(named(public, name, doc, predicate))


eq = comparison("eq", np.equal, "x == y, as booleans.")
ne = comparison("ne", np.not_equal, "x != y, as booleans.")
lt = comparison("lt", np.less, "x < y, as booleans.")
le = comparison("le", np.less_equal, "x <= y, as booleans.")
gt = comparison("gt", np.greater, "x > y, as booleans.")
ge = comparison("ge", np.greater_equal, "x >= y, as booleans.")
logical_and = comparison("logical_and", np.logical_and, "Whether neither x nor y is 0.")
logical_or = comparison("logical_or", np.logical_or, "Whether x and y are not both 0.")
logical_xor = comparison("logical_xor", np.logical_xor, "Whether just one of x and y is 0.")

isfinite = predicate("isfinite", np.isfinite, "Whether each number is neither Inf nor NaN.")
isinf = predicate("isinf", np.isinf, "Whether each number is Inf or -Inf.")
isnan = predicate("isnan", np.isnan, "Whether each number is NaN.")
logical_not = predicate("logical_not", np.logical_not, "Whether each number is 0.")
