"""Random arrays, and the bits of what a function makes of them."""

import numpy as np

import minifp as fp


def random_arrays(*shapes, seed=0, scale=1.0):
    random = np.random.default_rng(seed)
    return [random.normal(0, scale, s) for s in shapes]


def halves(*shapes, seed=0):
    return [a.astype("float16") for a in random_arrays(*shapes, seed=seed)]


def bits(fn, *arrays, precision="mixed,accumulate=float16"):
    with fp.precision(precision):
        xs = [fp.tensor(a, requires_grad=True) for a in arrays]
        y = fn(*xs)
        y.backward(gradient=np.ones(y.shape))
        return [y.array, *(x.grad.array for x in xs)]
