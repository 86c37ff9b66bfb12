"""Norms of gradients, and clipping by them (Pascanu et al. 2013, arXiv:1211.5063).

What is clipped are gradients without a loss scale, in float32 or wider, where nothing underflows;
gradients that are still multiplied by one are refused. An Inf or NaN stays where it is, so that the
step that follows finds it.
"""

import math
from collections.abc import Iterable
from functools import reduce

import numpy as np

from minifp.autograd.gradients import multiplied, seeds_of, successor, widened
from minifp.autograd.tape import Tensor
from minifp.checks import check_flag, check_range
from minifp.errors import ArgumentError, DTypeError, TapeError, TrainingError
from minifp.numerics.compiled import compilable
from minifp.numerics.formats import as_native, downcast, float32, float64, upcast, wider
from minifp.runtime.cuda.arrays import is_on_device
from minifp.runtime.device import full, moved


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float | str = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients down together so that their norm is at most `max_norm`.

    parameters: a tensor or several; those without a gradient are left out. norm_type: p > 0 of the
    p-norm of all gradients as one vector, or "inf" (or math.inf) for the largest element. max_norm:
    math.inf only measures. foreach: PyTorch's choice of a kernel; nothing depends on it here.
    Returns the norm before clipping, a float32 tensor without dimensions (wider where gradients
    are).
    Raises TapeError for gradients still multiplied by a loss scale, for consumed ones, and for
    none; TrainingError for a norm that is Inf or NaN if `error_if_nonfinite`; ArgumentError. In
    each case nothing has changed.
    """
    max_norm = _limit("max_norm", max_norm)
    check_flag("error_if_nonfinite", error_if_nonfinite)
    parameters = _with_unscaled_gradients(parameters, "clip_grad_norm_")
    norm = total_norm([p.grad.array for p in parameters], norm_type)
    if error_if_nonfinite and not math.isfinite(norm):
        raise TrainingError(
            f"clip_grad_norm_: the norm of all gradients is {norm}, so they cannot be clipped. "
            "With error_if_nonfinite=False, the step detects it instead"
        )
    factor = clip_factor(norm, max_norm)
    if factor < 1:
        for p in parameters:
            multiply_gradient(p, factor)
    widest = reduce(wider, [p.grad.array.dtype for p in parameters], float32)
    return Tensor(downcast(np.asarray(norm), widest))


def _limit(name, value):
    """A limit of gradients, a number of at least 0 or infinity, or a tensor of one."""
    value = value.item() if isinstance(value, Tensor) else value
    if value != math.inf:
        check_range(name, value)
    return value


def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Limit every element of the gradients to the interval from -clip_value to clip_value.

    Elements that are Inf or NaN stay (PyTorch makes an Inf `clip_value`, and hides the overflow
    from the step that should be skipped). Raises as `clip_grad_norm_` does.
    """
    clip_value = _limit("clip_value", clip_value)
    for p in _with_unscaled_gradients(parameters, "clip_grad_value_"):
        wide = widened(p.grad.array)
        beyond = np.isfinite(wide) & (np.abs(wide) > clip_value)
        if not is_on_device(wide) and not beyond.any():
            continue
        limit = np.copysign(full(wide.shape, clip_value, wide.dtype, like=wide), wide)
        p.grad = successor(p.grad, np.where(beyond, limit, wide))


def _with_unscaled_gradients(parameters, asked_by):
    """The parameters that have a gradient, none of them multiplied by a loss scale."""
    if not hasattr(parameters, "__iter__"):
        raise DTypeError(f"{asked_by}: parameters is a {type(parameters).__name__}")
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    for p in parameters:
        if not isinstance(p, Tensor):
            raise DTypeError(f"{asked_by}: a {type(p).__name__} among the parameters")
    for seed in seeds_of([g for p in parameters if (g := p.grad) is not None], asked_by):
        if seed != 1:
            raise TapeError(
                f"{asked_by} on gradients still multiplied by {seed:g}: first call unscale_() of "
                "the MixedOptimizer or GradScaler, or leave the amp.scale_loss block"
            )
    return [p for p in parameters if p.grad is not None]


def clip_factor(norm, max_norm):
    """What gradients of this norm are multiplied by to have at most max_norm."""
    return 1.0 if max_norm == math.inf else min(1.0, max_norm / (norm + 1e-6))


def multiply_gradient(p, factor):
    """Replace p.grad by factor times it, in float32 or wider, as an unscaled gradient."""
    p.grad = successor(p.grad, multiplied(p.grad.array, factor))


# ---- norms --------------------------------------------------------------------------------------

CHUNK = 65536  # elements widened at a time


@compilable
def squared_norm(*arrays):
    """The sum of squares of all elements of the arrays, in float64.

    Not finite if and only if an element is not, or (in float64 arrays only) exceeds 1e150.
    """
    with np.errstate(all="ignore"):
        return sum((float(part @ part) for a in arrays for part in _parts(a)), 0.0)


@compilable
def largest_magnitude(*arrays):
    """The largest |element| of the arrays, in float64: 0 for none, NaN where an element is.

    Without their sign, floating-point numbers are in the order of their bits read as integers, and
    NaN is the largest. Of integers with a sign the negative ones are less, and without, greater.
    """
    largest = [0.0]
    for a in arrays:
        a = moved(a, "cpu").reshape(-1)
        if a.size:
            signed, unsigned = (a.view(f"{kind}{a.itemsize}") for kind in "iu")
            bits = max(int(signed.max()), int(unsigned.max()) & np.iinfo(signed.dtype).max)
            largest.append(float(as_native(np.array(bits, signed.dtype).view(a.dtype))))
    return float(np.max(largest))


def largest_gradient(parameters):
    """The largest |element| of the parameters' gradients, each without its seed."""
    gradients = [p.grad for p in parameters if p.grad is not None]
    return max(
        (
            largest_magnitude(*(g.array for g in gradients if g.seed is seed or g.seed == seed))
            / float(seed)
            for seed in dict.fromkeys(g.seed for g in gradients)
        ),
        default=0.0,
    )


def total_norm(arrays, norm_type):
    """The p-norm of all elements of the arrays, in float64."""
    p = math.inf if norm_type == "inf" else norm_type
    if p != math.inf:
        check_range("norm_type", p)
        if p == 0:
            raise ArgumentError('norm_type=0: expected a number above 0, or "inf"')
    if p == 2:
        return math.sqrt(squared_norm(*arrays))
    largest = largest_magnitude(*arrays)
    if p == math.inf or largest == 0 or not math.isfinite(largest):
        return largest
    parts = [np.abs(part) for a in arrays for part in _parts(a)]
    with np.errstate(under="ignore"):  # dividing by the largest: no power overflows
        return largest * sum(float(((part / largest) ** p).sum()) for part in parts) ** (1 / p)


def _parts(array):
    flat = moved(array, "cpu").reshape(-1)
    for start in range(0, flat.size, CHUNK):
        yield upcast(flat[start : start + CHUNK], float64)
