"""Every kernel of a GPU on what the tests of operations give it, within the bound of bounds.py.

The calls are those that all cases (see tests/cases) make on the CPU, forward and backward, in both
storage formats, and some of them with arrays that lie in strides.
"""

import os
from functools import cache
from itertools import product
from unittest.mock import patch

import numpy as np
import pytest

pytest.importorskip("hypothesis")
from bounds import Call, Calls
from cases import CASES, LAYOUTS
from sampling import ENVIRONMENT, number_of, takes_all

import minifp as fp
from minifp.numerics.implementations import REFERENCE, implementation_of
from minifp.numerics.kernels import KERNELS, Kernel
from minifp.numerics.policy import precision
from minifp.runtime.cuda.arrays import is_on_device, to_device, to_host

MOST = 60  # calls of one kernel
# What no case calls: casts, and dropout that draws its own numbers.
ELSEWHERE = {"arithmetic.copy", "dropout.dropped"}


@cache
def calls():
    """By the name of a kernel, the calls of it, no two alike."""
    found: dict = {}
    with patch.object(Kernel, "compiled", None):  # the references: nothing is compiled for the CPU
        for storage, case in product(("float16", "float32"), CASES):
            with precision(f"float32,storage={storage}"), Calls() as made:
                run(case)
            for call in made:
                kinds = [
                    (a.shape, a.dtype, a.strides) if isinstance(a, np.ndarray) else a
                    for a in call.args
                ]
                found.setdefault(call.kernel.name, {})[repr((kinds, call.params))] = call
    return {name: list(made.values()) for name, made in found.items()}


def run(case):
    y = case.fn(*[fp.tensor(a, requires_grad=True) for a in case.arrays()])
    for out in y if isinstance(y, tuple) else (y,):
        if out.requires_grad:
            out.backward(gradient=np.ones(out.shape), retain_graph=True)


def excess(call, layout="contiguous"):
    """How far the device's results of a call are off: see bounds.py; None if it leaves them."""
    placed = [LAYOUTS[layout](a) if isinstance(a, np.ndarray) else a for a in call.args]
    args = [placed_on_device(a) for a in placed]
    compiled, to = call.kernel.device_kernel, tuple(r.dtype for r in call.results)
    results = compiled(*args, to=to, **call.params)
    if results is None:
        return None
    results = results if isinstance(results, tuple) else (results,)
    assert all(is_on_device(r) for r in results)
    stored = tuple(to_host(r) for r in results)
    for r, expected in zip(stored, call.results):
        assert (r.shape, r.dtype) == (expected.shape, expected.dtype)
    for a, before in zip(args, placed):
        if is_on_device(a):
            assert np.array_equal(to_host(a), before, equal_nan=before.dtype.kind == "f")
    if any(r.dtype.kind == "b" for r in stored):
        assert all(map(np.array_equal, stored, call.results))
        return 0.0
    return Call(call.kernel, call.args, call.params, stored, call.formats).excess()


def placed_on_device(a):
    """An array of the host's on the device, in the same strides."""
    if not isinstance(a, np.ndarray):
        return a
    owner = a if a.base is None or not isinstance(a.base, np.ndarray) else a.base
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if owner is a or not a.size or 0 in a.strides or owner.dtype != a.dtype:
        return to_device(np.ascontiguousarray(a)).reshape(a.shape)
    first = (a.ctypes.data - owner.ctypes.data) // a.itemsize
    flat = to_device(owner.ravel(order="K"))
    return strided(flat, first, a.shape, tuple(s // a.itemsize for s in a.strides))


def strided(flat, first, shape, steps):
    """A view of a flat array by slices alone, for steps that are even in each axis."""
    import cupy

    if hasattr(flat, "host"):
        host = np.lib.stride_tricks.as_strided(
            flat.host[first:], shape, [s * flat.itemsize for s in steps]
        )
        return flat._as_view(host)
    return cupy.lib.stride_tricks.as_strided(
        flat[first:] if min(steps, default=0) >= 0 else flat,
        shape,
        [s * flat.itemsize for s in steps],
    )


# Update rules are tested in test_step.py, what gives no numbers in test_device.py.
OTHERS = ("minifp.optim.", "minifp.ops.pointwise.comparison")
NAMES = [
    k.name
    for k in KERNELS
    if implementation_of(k, "cuda").how != REFERENCE
    and not k.reference.__module__.startswith(OTHERS)
]


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_stays_within_the_bound_also_of_arrays_in_strides(name, request):
    """Of the first calls also in other layouts: all of them with --exhaustive, or one in eight."""
    made = calls().get(name, ())
    assert made or name in ELSEWHERE, f"no case calls {name}"
    asked = [(call, "contiguous") for call in made[:: max(1, len(made) // MOST)]]
    for i, (call, layout) in enumerate(product(made[:8], ("fortran", "strided"))):
        if takes_all(request.config) or number_of(os.environ[ENVIRONMENT], name, str(i)) % 8 == 0:
            asked.append((call, layout))
    worst = [excess(call, layout) for call, layout in asked]
    for (call, layout), error in zip(asked, worst):
        shapes = [getattr(a, "shape", a) for a in call.args]
        said = f"{name} of {shapes}, {layout}, {call.params}: {error} times the bound"
        assert error is None or error <= 1, f"{said}, of {call.args}"
    assert {*worst} != {None}, f"{name} leaves every call to the CPU"
