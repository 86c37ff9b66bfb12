"""What compiled kernels element by element promise besides: any two layouts, elementary functions.

Each of them against its reference, on calls drawn at random: test_compiled_kernels.py.
"""

import math
from itertools import product

import numpy as np
import pytest
from bounds import Call
from claims import Claims
from kernel_calls import NAMED

from minifp.numerics.formats import float16, float32, float64
from minifp.runtime import cpu

if not cpu.can_compile():
    pytest.skip("kernels are not compiled here", allow_module_level=True)

from minifp.derive import elementary
from minifp.numerics.dispatch import pointwise
from minifp.runtime.cpu.kernels.pointwise import SMALL


def halves(*shape, seed=0):
    return np.asarray(np.random.default_rng(seed).normal(0, 2, shape), float16)


def check(name, args, to=float16, **params):
    kernel = NAMED[name]
    stored = np.dtype(bool if kernel.name.startswith("comparison") else to)
    y = kernel.compiled(*args, to=(stored,), **params)
    assert type(y) is np.ndarray and y.flags.c_contiguous and y.flags.writeable
    assert y.dtype == stored
    call = Call(kernel, args, params, (y,), None)
    if stored.kind == "b":
        np.testing.assert_array_equal(y, call.exact()[0][0])
    else:
        assert call.excess() <= 1


LAYOUTS = {
    **{"broadcast rows": lambda x: (x, x[:1]), "broadcast columns": lambda x: (x, x[:, :1])},
    "an outer product": lambda x: (x[:1], x[:, :1].copy()),
    "a missing axis": lambda x: (x, x[0]),
    "an array without dimensions": lambda x: (x, x[3, 4]),
    **{"transposed": lambda x: (x.T, x.T.copy()), "both transposed": lambda x: (x.T, x.T)},
    "in steps": lambda x: (x[1::2, 2::3], x[: len(x) // 2, 2::3]),
    **{"backwards": lambda x: (x[::-1, ::-1], x), "read-only": lambda x: (readonly(x), x)},
    "stretched": lambda x: (np.broadcast_to(x[:1], x.shape), x),
    **{"unaligned": lambda x: (unaligned(x), x), "other formats": lambda x: (x, x.astype(float32))},
}


def readonly(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def unaligned(x):
    y = np.empty(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    y[...] = x
    return y


@pytest.mark.parametrize("count", [1, 3])
def test_any_layout_small_and_large(count, threads):
    threads(count)
    with Claims() as claims:
        for layout, shape in product(LAYOUTS, ((12, 9), (67, 85), (1300, 700))):
            with claims("a layout is read", layout, shape):
                x, y = map(np.asarray, LAYOUTS[layout](halves(*shape)))
                check("mul_forward", (x, y))
                check("add_forward", (y, x), alpha=1)
                check("where_forward", (x > 0, x, y), float32)


def test_arrays_without_dimensions_numbers_and_axes_of_all_kinds():
    x = halves()
    for y in (2, 2.5, True, x, halves(4, 5, seed=1)):
        for args in ((x, y), (y, x)):
            check("mul_forward", args, float32)
            check("gt", args)
    base = halves(2, 3, 4, 5, 6, 7)
    x = base.transpose(3, 0, 5, 1, 4, 2)
    y = base[:1, :, :1, :, :, 1:2].transpose(3, 0, 5, 1, 4, 2)
    check("mul_forward", (x, y))
    check("mul_forward", (y, x))
    assert base.size > SMALL


def test_an_argument_that_is_no_stored_number_is_left_to_the_reference():
    x, mul = halves(3, 4), NAMED["mul_forward"].compiled
    for y in (x.astype(float64), x.astype(np.int64), x.astype(">f2"), np.float32(2), None):
        assert mul(x, y, to=(float16,)) is None
    assert mul(x, x, to=(float64,)) is None
    assert mul(2.0, 3.0, to=(float16,)) is None


def test_mixed_formats_masks_that_broadcast_and_a_reduced_gradient_that_keeps_its_format():
    for shape in ((5, 6), (300, 50)):
        x, y = halves(*shape), halves(*shape, seed=1).astype(float32)
        mask = halves(shape[0], 1, seed=2) > 0
        for to in (float16, float32):
            check("mul_forward", (x, y), to)
            check("dropout_forward", (y, mask), to, p=0.5)
            check("relu_dx", (y, x), to)
            check("copy", (y,), to)
    x = halves(4, 5)
    assert NAMED["reduce_to"].compiled(x, shape=(5,), to=(None,)).dtype == float16
    assert NAMED["reduce_to"].compiled(x, shape=(), to=(None,)).dtype == float32


FUNCTIONS = {  # the exact one, and the largest error in ulp that elementary.py states
    **{"exp": (np.exp, 1.2), "expm1": (np.expm1, 1.5), "log": (np.log, 0.9)},
    **{"log1p": (np.log1p, 1.4), "log2": (np.log2, 2.0), "log10": (np.log10, 2.2)},
    **{"tanh": (np.tanh, 2.4), "erf": (np.vectorize(math.erf, otypes=[float64]), 1.3)},
    **{"sin": (np.sin, 2.3), "cos": (np.cos, 2.3)},
}
OF_HALVES = ("sin", "cos")  # arithmetic of these alone


def ulp(x):
    """The gap between float32 numbers at |x|, at least that of subnormal ones."""
    exponent = np.floor(np.log2(np.maximum(np.abs(x), 2.0**-126)))
    return 2.0 ** (exponent - 23)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_elementary_function_is_as_accurate_as_it_says_and_keeps_the_sign_of_zero(name):
    exact, largest = FUNCTIONS[name]
    function = getattr(elementary, name)

    def formula(x):
        return function(x)

    random = np.random.default_rng(0)
    everywhere = random.integers(0, 2**32, 200_000, dtype=np.uint32).view(float32)
    special = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, -1e-45, 1e-39, -1e-39]
    x = [
        *(special, random.uniform(-110, 110, 100_000), random.uniform(-4, 4, 200_000)),
        *(random.uniform(0.5, 1.5, 50_000), np.arange(2**16, dtype=np.uint16).view(float16)),
    ]
    x = np.concatenate([np.asarray(part, float32) for part in x])
    x = x.astype(float16) if name in OF_HALVES else np.concatenate([x, everywhere])
    y = pointwise(formula)(x, to=(float32,))
    with np.errstate(all="ignore"):
        expected = exact(x.astype(float64))
        rounded = expected.astype(float32)
        finite = np.isfinite(rounded)
        np.testing.assert_array_equal(y[~finite], rounded[~finite])
        near = np.abs(expected) >= np.finfo(float32).max * (1 - 2.0**-22)  # may be Inf as well
        error = np.abs(y.astype(float64) - expected) / ulp(expected)
    assert error[finite & ~near].max() <= largest
    np.testing.assert_array_equal(y[: len(special)], rounded[: len(special)])
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(y[zero]), np.signbit(rounded[zero]))
