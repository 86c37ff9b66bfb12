"""Einstein's sums: z[out] = the sum over all labels that are not in `out` of x[left] y[right].

    "bij,bjk->bik": b is in both and in the result (a batch), j in both (summed), i and k in one.

    dx[left] = the sum of dz[out] y[right] over what is not in `left`, and dy likewise.

One operation, rounded once, for each pair of operands: both are brought into the shape of a batch
of matrices, (B, M, K) and (B, K, N), whose products are summed in `accumulate`; what is summed in
one operand alone is summed before, in `reduce`. A sum to one number is not rounded to a storage
format. Three operands and more are multiplied from left to right, each product stored. One operand
alone is summed by `sum`. Operands that a precision rounds are rounded before all sums. (The
notation: Einstein 1916; NumPy's and PyTorch's einsum.)
"""

from math import prod

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import COMPUTE, GIVEN
from minifp.ops.products.einsum_notation import read
from minifp.ops.public import public
from minifp.ops.reduce import sum as sum_over
from minifp.ops.shaping.rearrange import diagonal
from minifp.ops.shaping.shape import permute


def contract(x, y, left, right, out, dot, sum):
    """The sum in the equation above, for arrays whose axes have these labels, each once."""
    x, left, y, right = without_ones(x, left, y, right)
    x, left = summed_alone(x, left, {*right, *out}, sum)
    y, right = summed_alone(y, right, {*left, *out}, sum)
    batch = [n for n in left if n in right and n in out]
    inner = [n for n in left if n in right and n not in out]
    rows, columns = (
        [n for n in own if n not in other] for own, other in ((left, right), (right, left))
    )
    size = dict(zip((*left, *right), (*x.shape, *y.shape)))
    B, M, K, N = (prod(size[n] for n in names) for names in (batch, rows, inner, columns))
    a = x.transpose([left.index(n) for n in (*batch, *rows, *inner)]).reshape(B, M, K)
    b = y.transpose([right.index(n) for n in (*batch, *inner, *columns)]).reshape(B, K, N)
    z = dot(a, b) if batch else dot(a[0], b[0])
    names = (*batch, *rows, *columns)
    return z.reshape([size[n] for n in names]).transpose([names.index(n) for n in out])


def without_ones(x, left, y, right):
    """Without the axes of size 1 of one that the other has in another size: those stretch."""
    sizes, others = dict(zip(left, x.shape)), dict(zip(right, y.shape))
    alone = [n for n in left if sizes[n] == 1 and others.get(n, 1) != 1]
    stretched = [n for n in right if others[n] == 1 and sizes.get(n, 1) != 1]
    x = x.reshape([sizes[n] for n in left if n not in alone])
    y = y.reshape([others[n] for n in right if n not in stretched])
    left, right = [n for n in left if n not in alone], [n for n in right if n not in stretched]
    return x, tuple(left), y, tuple(right)


def summed_alone(x, names, kept, sum):
    """x summed over the axes whose labels are in nothing else."""
    axes = tuple(i for i, n in enumerate(names) if n not in kept)
    return (sum(x, axis=axes) if axes else x), tuple(n for n in names if n in kept)


def axes_summed(names, kept):
    """The axes of an operand along which it is summed. names, kept: the keywords that have its
    labels and those of the result."""
    return lambda out=(), **labels: tuple(
        i
        for i, n in enumerate({"out": out, **labels}[names])
        if n not in {"out": out, **labels}[kept]
    )


FORWARD = {"x": axes_summed("left", "out"), "y": axes_summed("right", "out")}


@kernel("dot", "x y", operands=FORWARD)
def einsum_forward(x, y, *, left, right, out, dot, sum):
    return contract(x, y, left, right, out, dot, sum)


@kernel("dot", COMPUTE, operands=FORWARD)
def einsum_number(x, y, *, left, right, dot, sum):
    return contract(x, y, left, right, (), dot, sum)


OTHER, OF_RESULT = {"y": axes_summed("right", "left")}, {"dz": axes_summed("out", "left")}


@kernel("dot", GIVEN, operands=OTHER, gradients=OF_RESULT)
def einsum_dx(dz, y, *, left, right, out, shape, dot, sum):
    """The gradient of the operand with labels `left`, of this shape; the other one is y."""
    wanted = [n for n, size in zip(left, shape) if size != 1 and (n in out or n in right)]
    dx = contract(dz, y, out, right, tuple(wanted), dot, sum)
    sizes = [dx.shape[wanted.index(n)] if n in wanted else 1 for n in left]
    return np.broadcast_to(dx.reshape(sizes), shape)


def einsum_backward(dz, x, y, to, left, right, out):
    first = {"left": left, "right": right, "out": out, "shape": x.shape}
    second = {"left": right, "right": left, "out": out, "shape": y.shape}
    return (
        None if to[0] is None else einsum_dx(dz, y, to=to[0], **first),
        None if to[1] is None else einsum_dx(dz, x, to=to[1], **second),
    )


@op
def einsum_op(x, y, *, left, right, out):
    if out:
        z = einsum_forward(x, y, left=left, right=right, out=out)
    else:
        z = einsum_number(x, y, left=left, right=right)
    return z, (x, y), einsum_backward


# ---- the public function ------------------------------------------------------------------------


@public("fp", autocast="product")
def einsum(equation: str, *operands: Tensor) -> Tensor:
    """The sum of products that `equation` names: `einsum("bij,bjk->bik", x, y)`.

    Letters label the operands' axes, and those of the result; what is missing there is summed. A
    letter twice in one operand is its diagonal; an ellipsis stands for axes that broadcast; without
    "->" the result has the letters that occur once, in alphabetical order. Raises ArgumentError for
    an equation that cannot be read, ShapeError for operands that do not fit it.
    """
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    terms, out = read(equation, operands)
    (z, names), *others = [distinct(x, names) for x, names in zip(operands, terms)]
    for i, (y, right) in enumerate(others):
        later = {*out}.union(*(names for _, names in others[i + 1 :]))
        kept = tuple(dict.fromkeys(n for n in (*names, *right) if n in later))
        kept = out if i == len(others) - 1 else kept
        z, names = einsum_op(z, y, left=names, right=right, out=kept), kept
    return summed(z, names, out)


def distinct(x, names):
    """x with each label once: of axes that share one, the diagonal."""
    for n in dict.fromkeys(names):
        while names.count(n) > 1:
            i = names.index(n)
            j = names.index(n, i + 1)
            x = diagonal(x, 0, i, j)
            names = (*names[:i], *names[i + 1 : j], *names[j + 1 :], n)
    return x, names


def summed(x, names, out):
    """x summed over the labels that are not in `out`, in the order of `out`."""
    axes = tuple(i for i, n in enumerate(names) if n not in out)
    x, names = (sum_over(x, axes) if axes else x), tuple(n for n in names if n in out)
    return x if names == out else permute(x, [names.index(n) for n in out])
