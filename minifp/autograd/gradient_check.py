"""gradcheck: are an operation's gradients the slopes of its values?

For a random direction u of each input and random weights v of the outputs, backward's <grad, u>
must equal the slope of s(x) = <v, f(x)> along u, measured as (s(x + h u) - s(x - h u)) / 2h in
float64.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minifp.autograd.grad_mode import no_grad
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, MinifpError
from minifp.numerics import policy
from minifp.numerics.formats import float64


class GradcheckError(MinifpError, AssertionError):
    """A gradient is not the slope."""


def gradcheck(
    fn: Callable[..., Any],
    inputs: Tensor | Sequence[Tensor],
    eps: float = 1e-6,
    atol: float = 1e-6,
    rtol: float = 1e-5,
    seed: int = 0,
) -> bool:
    """True if the gradients of `fn(*inputs)` (a tensor or several) agree with measured slopes.

    inputs: tensors; those that require a gradient must be float64. eps: the step h. The two slopes
    may differ by atol + rtol |slope|. Raises GradcheckError that names the input and both slopes,
    ArgumentError for inputs that cannot be checked.
    """
    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    checked = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    if not checked or any(inputs[i].dtype != float64 for i in checked):
        raise ArgumentError("gradcheck: expected float64 inputs with requires_grad=True")
    random = np.random.default_rng(seed)
    with policy.precision("float64"):
        outputs = _outputs(fn, inputs)
        weights = [random.standard_normal(y.shape) for y in outputs]
        gradients = _gradients(outputs, weights, [inputs[i] for i in checked])
        for i, gradient in zip(checked, gradients):
            if not gradient.size:
                continue  # it has no direction
            x, u = inputs[i], random.standard_normal(inputs[i].shape)
            slope, before, sides = float((gradient * u).sum()), x.array.copy(), []
            try:
                for h in (eps, -eps):
                    x.data = before + h * u
                    with no_grad():
                        ys = _outputs(fn, inputs)
                    sides.append(sum(float((y.array * v).sum()) for y, v in zip(ys, weights)))
            finally:
                x.data = before
            measured = (sides[0] - sides[1]) / (2 * eps)
            if not abs(slope - measured) <= atol + rtol * abs(measured):
                raise GradcheckError(
                    f"input {i} of shape {x.shape}: backward gives slope {slope:.9g}, "
                    f"measured {measured:.9g} along a random direction"
                )
    return True


def _gradients(outputs, weights, leaves):
    """The gradient of <weights, outputs> for each leaf, whose `.grad` stays as it was."""
    held = [x.grad for x in leaves]
    try:
        for x in leaves:
            x.grad = None
        for y, v in zip(outputs, weights):
            if y.requires_grad:
                y.backward(gradient=v, retain_graph=True)
        return [np.zeros(x.shape) if x.grad is None else x.grad.array for x in leaves]
    finally:
        for x, grad in zip(leaves, held):
            x.grad = grad


def _outputs(fn, inputs):
    y = fn(*inputs)
    return list(y) if isinstance(y, (tuple, list)) else [y]
