"""Functions of boxes beside those of torchvision: the same arrays, results and gradients."""

import numpy as np

import minifp as fp
from minifp.numerics.formats import float64


def random_boxes(n, seed=0, picture=300, largest=80):
    """Boxes of at least one pixel, in float32, some of them beyond the right and lower border."""
    random = np.random.default_rng(seed)
    corner, size = random.uniform(0, picture, (n, 2)), random.uniform(1, largest, (n, 2))
    return np.concatenate([corner, corner + size], axis=1).astype("f4")


def both(fn, their_fn, *arrays, gradients=True):
    """Results and gradients of two functions of the same arrays are equal, but for rounding."""
    import torch

    ours = [fp.tensor(a, dtype=a.dtype, requires_grad=gradients) for a in arrays]
    theirs = [torch.tensor(a, requires_grad=gradients) for a in arrays]
    y, z = fn(*ours), their_fn(*theirs)
    pairs = [(y.array, z)]
    if gradients:
        dy = np.random.default_rng(1).uniform(-1, 1, y.shape).astype(y.dtype)
        y.backward(gradient=dy)
        z.backward(gradient=torch.tensor(dy))
        pairs += [(a.grad.array, b.grad) for a, b in zip(ours, theirs)]
    for a, b in pairs:
        b = b.detach().numpy()
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        close = 1e-11 if a.dtype == float64 else 1e-5
        np.testing.assert_allclose(a, b, rtol=close, atol=close * np.abs(b).max(initial=0))
