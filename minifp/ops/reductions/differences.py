"""Differences of neighbours."""

from typing import TypeAlias

from minifp.autograd.op import takes_tensor
from minifp.autograd.tape import Tensor
from minifp.checks import check_count
from minifp.ops.arguments import as_axis
from minifp.ops.pointwise.arithmetic import sub
from minifp.ops.pointwise.comparison import logical_xor
from minifp.ops.public import public
from minifp.ops.shaping.concat import cat, narrow

End: TypeAlias = Tensor | None


@public("fp Tensor")
@takes_tensor
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: End = None, append: End = None
) -> Tensor:
    """What each number along `dim` is more than the one before, n times; of booleans, whether they
    differ. prepend, append: what is joined to input first. n fewer along `dim`."""
    axis = as_axis(dim, input.ndim, "diff: dim")
    parts = [t for t in (prepend, input, append) if t is not None]
    x = input if len(parts) == 1 else cat(parts, axis)
    for _ in range(min(check_count("diff: n", n, 0), x.shape[axis])):
        count = max(x.shape[axis] - 1, 0)
        later, earlier = narrow(x, axis, x.shape[axis] - count, count), narrow(x, axis, 0, count)
        x = (logical_xor if x.dtype.kind == "b" else sub)(later, earlier)
    return x
