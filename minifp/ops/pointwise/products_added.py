"""addcmul and addcdiv: x + value a b, and x + value a / b, by the operations of which they consist.

Where nothing is recorded, as in an optimizer's rule, they are computed in float32, if they have
fewer bits, and the result is rounded once. The tape would keep float32 copies of them: what is
recorded is rounded after each operation.
"""

from minifp.autograd.grad_mode import is_recording
from minifp.autograd.tape import Tensor
from minifp.numerics.formats import float32, wider
from minifp.numerics.rules import promote
from minifp.ops.arguments import check_tensors
from minifp.ops.elementwise import Binary
from minifp.ops.pointwise.arithmetic import add, cast, div, mul
from minifp.ops.public import public


def _added(name: str, combine: Binary, x: Tensor, a: Tensor, b: Tensor, value: float) -> Tensor:
    """x + value times what `combine` makes of a and b."""
    check_tensors(name, input=x, tensor1=a, tensor2=b)
    if is_recording() and any(isinstance(t, Tensor) and t.requires_grad for t in (x, a, b)):
        return add(x, combine(a, b), alpha=value)
    wide = [t if t.dtype == (w := wider(t.dtype, float32)) else cast(t, dtype=w) for t in (x, a, b)]
    stored = promote([t.dtype for t in (x, a, b)])
    total = add(wide[0], combine(wide[1], wide[2]), alpha=value)
    return total if total.dtype == stored else cast(total, dtype=stored)


@public("fp Tensor", in_place=True)
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """input + value tensor1 tensor2, element by element, in the widest of their formats.

    They broadcast. Raises DTypeError for one that is no tensor of floating numbers.
    """
    return _added("addcmul", mul, input, tensor1, tensor2, value)


@public("fp Tensor", in_place=True)
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """input + value tensor1 / tensor2, element by element, in the widest of their formats.

    They broadcast. Raises DTypeError for one that is no tensor of floating numbers.
    """
    return _added("addcdiv", div, input, tensor1, tensor2, value)
