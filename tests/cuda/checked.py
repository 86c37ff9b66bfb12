"""Calls of a GPU kernel, within the bound, and in other orders of threads."""

import ctypes
from contextlib import suppress

import build
import numpy as np
from bounds import Call
from real_gpu import IMITATED

from minifp.numerics.kernels import KERNELS
from minifp.runtime.cuda.arrays import to_device, to_host

SEEDS = (0, 7, 11)  # of the order in which an imitated GPU runs blocks and threads; 0: as they come
NAMES = {k.name: k for k in KERNELS}


def normal(*shape, dtype="float16", seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def results_of(name, *args, to, **params):
    """The results of a kernel's compiled kernel for arrays of the host's, the same in every
    order."""
    seed = ctypes.c_uint.in_dll(build.runtime(), "rig_seed") if IMITATED else ctypes.c_uint()
    placed, runs = [to_device(a) if isinstance(a, np.ndarray) else a for a in args], []
    for seed.value in SEEDS:
        results = NAMES[name].device_kernel(*placed, to=tuple(np.dtype(t) for t in to), **params)
        results = results if isinstance(results, tuple) else (results,)
        runs.append([to_host(r) for r in results])
    seed.value = 0
    for other in runs[1:]:
        for a, b in zip(runs[0], other):
            assert a.tobytes() == b.tobytes(), f"{name} depends on the order of threads"
    return tuple(runs[0])


def check(name, *args, to, **params):
    """The same, within the bound, in the shapes of the reference, and its whole numbers exactly."""
    results = results_of(name, *args, to=to, **params)
    call = Call(NAMES[name], args, params, results, None)
    said = f"{name} of {[getattr(a, 'shape', a) for a in args]} in {to}, {params}"
    with np.errstate(all="ignore"):
        exact, _ = call.exact()
    for result, expected, dtype in zip(results, exact, to):
        assert (result.shape, result.dtype) == (np.shape(expected), dtype), said
        assert result.dtype.kind == "f" or np.array_equal(result, expected), said
    excess = call.excess()
    assert excess <= 1, f"{said}: {excess} times the bound"
    return results


def check_all(calls):
    """The results of all calls that a generator of shapes.py yields, each checked and sent it."""
    results = []
    with np.errstate(all="ignore"), suppress(StopIteration):
        call = next(calls)
        while True:
            results.append(check(call.name, *call.args, to=call.to, **call.params))
            call = calls.send(results[-1])
    return results
