"""Local response normalisation over neighbouring channels (Krizhevsky, Sutskever and Hinton 2012,
section 3.3; alpha there is alpha / size here, as in PyTorch).

d_c = k + alpha / size sum x_i^2 over the `size` channels i from c - floor(size / 2) on,
y_c = x_c d_c^-beta.   x, y: (N, C, ...), stored; channels beyond the first and last count as 0.

    dx_i = dy_i d_i^-beta - 2 alpha beta / size x_i sum dy_c x_c d_c^(-beta-1) over c that see i

Only x is kept for backward, which computes d again. The sums are in `reduce`; y and dx are rounded
once. A square overflows in float16 from x = 256 on.
"""

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.checks import check_count
from minifp.errors import ShapeError
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import GIVEN
from minifp.ops.elementwise import as_numbers, takes_floats
from minifp.ops.public import public
from minifp.ops.windows import padded


def window_sums(x, size, before, sum):
    """For each channel the sum of `size` channels of x, of which `before` come before it."""
    C = x.shape[1]
    around = padded(x, (before, *(0 for _ in x.shape[2:])), (C + size - 1, *x.shape[2:]))
    return sum(np.stack([around[:, i : i + C] for i in range(size)]), axis=0)


def denominators(x, size, alpha, k, sum):
    """d, whose power x is divided by."""
    return k + alpha * (window_sums(x * x, size, size // 2, sum) / size)


@kernel("norm", "x")
def local_response_norm_forward(x, *, size, alpha, beta, k, sum):
    return x * denominators(x, size, alpha, k, sum) ** -beta


@kernel("norm", GIVEN)
def local_response_norm_dx(dy, x, *, size, alpha, beta, k, sum):
    d = denominators(x, size, alpha, k, sum)
    direct = dy * d**-beta
    shared = window_sums(direct * (x / d), size, (size - 1) // 2, sum)
    return direct - 2 * alpha * beta / size * x * shared


def local_response_norm_backward(dy, x, to, **settings):
    return (local_response_norm_dx(dy, x, to=to[0], **settings),)


@op
def local_response_norm_op(x, *, size, alpha, beta, k):
    y = local_response_norm_forward(x, size=size, alpha=alpha, beta=beta, k=k)
    return y, (x,), local_response_norm_backward


@public("F", autocast="wide_sum")
@takes_floats
def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """input / (k + alpha m)^beta, where m is the mean square of `size` neighbouring channels.

    input: (N, C, ...), with three dimensions or more. The channels are size // 2 before and
    (size - 1) // 2 after each one; those that are not there count as zeros in the mean. Raises
    ShapeError for fewer dimensions, ArgumentError for a size that is no integer above 0.
    """
    if input.ndim < 3:
        raise ShapeError(
            f"local_response_norm: input of shape {input.shape}: expected (N, C, L, ...)"
        )
    size = check_count("local_response_norm: size", size)
    numbers = as_numbers("local_response_norm", alpha=alpha, beta=beta, k=k)
    return local_response_norm_op(input, size=size, **{n: float(v) for n, v in numbers.items()})
