"""Everything that a step may change, as plain values that can be compared: to the last bit."""

import numpy as np
import pytest

from minifp.autograd.tape import Tensor


def frozen(x):
    """x with every array as (dtype, shape, bytes), and every number with its type."""
    if isinstance(x, dict):
        return {k: frozen(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return tuple(frozen(v) for v in x)
    if isinstance(x, Tensor):
        return frozen(x.array)
    return (str(x.dtype), x.shape, x.tobytes()) if isinstance(x, np.ndarray) else repr(x)


def gradients(optimizer):
    """Each gradient, the seed it was made with, and whether a step has used it."""
    grads = [p.grad for p in optimizer.parameters]
    return frozen([None if g is None else (g, g.seed, g.consumed) for g in grads])


def snapshot(optimizer):
    """Weights, gradients, settings, masters, state, step counts, and the scale if there is one."""
    held = {"state": optimizer.state_dict(), "weights": [p.array for p in optimizer.parameters]}
    return frozen(held | {"gradients": gradients(optimizer)})


def refused(optimizer, error, *words, call=None):
    """The call (by default step()) raises `error` with all the words, and changes nothing."""
    before = snapshot(optimizer)
    with pytest.raises(error) as caught:
        (call or optimizer.step)()
    assert ([w for w in words if w not in str(caught.value)], snapshot(optimizer)) == ([], before)
