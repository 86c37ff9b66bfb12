"""Kernels of a GPU on arrays that are drawn, held against their references."""

import numpy as np
from bounds import Call
from checked import results_of


def checked(kernel, *args, to, **params):
    """The results of a GPU kernel: the same in every order, and within the
    bound.

    Their shapes are the reference's, and its whole numbers exactly. to: names of formats.
    """
    results = results_of(kernel.name, *args, to=to, **params)
    call = Call(kernel, args, params, results, None)
    with np.errstate(all="ignore"):
        exact, _ = call.exact()
    for found, expected, name in zip(results, exact, to):
        assert (found.shape, found.dtype) == (np.shape(expected), name)
        assert found.dtype.kind == "f" or np.array_equal(found, expected)
    assert call.excess() <= 1
    return results if len(results) > 1 else results[0]


def drawn(shape, dtype="float16", scale=1.0, shift=0.0, seed=0):
    """Normal numbers."""
    x = np.random.default_rng(seed).normal(size=shape) * scale + shift
    return x.astype(dtype)
