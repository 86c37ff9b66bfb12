"""The compiled kernels that work element by element, each against its reference.

Where the reference does one operation, or only chooses, a compiled kernel must agree with it bit
for bit; elsewhere both must lie within the bound of bounds.py of the reference run in float64.
"""

import math

import numpy as np
import pytest
from bounds import Call, excess
from kernel_calls import NAMED
from kernel_calls.elementwise import calls_of, gradients_of

from minifp.numerics.formats import float16, float32, float64
from minifp.runtime import cpu

if not cpu.can_compile():
    pytest.skip("kernels are not compiled here", allow_module_level=True)

from minifp.derive import elementary
from minifp.numerics.dispatch import pointwise
from minifp.ops.pointwise import glu_prelu
from minifp.runtime.cpu.pointwise import SLAB, SMALL
from minifp.runtime.cpu.threads import get_num_threads, set_num_threads
from minifp.runtime.shapes import stretched

GRADIENTS = [pytest.param(*c, id=f"{c[0]}-{i}") for i, c in enumerate(gradients_of())]
# What one operation gives, or a choice: nothing may differ.
EXACT = {
    *("neg_forward", "neg_dx", "abs_forward", "square_forward", "copy", "relu_forward", "relu_dx"),
    *("relu6_forward", "relu6_dx", "hardtanh_forward", "hardtanh_dx", "clamp_forward", "clamp_dx"),
    *("mul_forward", "div_forward", "maximum_forward", "minimum_forward", "clamp_between"),
    *("floor_divide_forward", "remainder_forward"),
    *("where_forward", "masked_fill_forward", "sign_forward", "sign_dx", "reciprocal_forward"),
    *("leaky_relu_forward", "leaky_relu_dx", "exp_dx", "log_dx", "sqrt_forward", "dropout_forward"),
    *("dropout_dx", "eq", "ne", "lt", "le", "gt", "ge", "isfinite", "isinf", "isnan"),
    "logical_not",
}
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -3.0, 3.0, 1e-7, -6e-8, 1e-5, 65504)


class Source:
    """Arguments by letter."""

    def __init__(self, seed=0, scale=2.0, special=0.0):
        self.random, self.scale, self.special = np.random.default_rng(seed), scale, special

    def __call__(self, letter, shape, dtype=float16):
        """The argument: an array, a number, or None."""
        if letter == "-":
            return None
        if letter == "n":
            return 0.3
        if letter == "m":
            return np.asarray(self.random.random(shape) < 0.5)
        x = self.random.normal(0, self.scale, shape)
        chosen = self.random.random(shape) < self.special
        x = np.where(chosen, self.random.choice(SPECIAL, shape), x)
        return np.asarray(np.abs(x) if letter == "p" else x, dtype)


def compiled_and_reference(kernel, args, to=float16, **params):
    """What both give: the reference in float32, and rounded as kernels.py does."""
    stored = (np.dtype(bool),) if kernel.name.startswith("comparison") else (np.dtype(to),)
    ours = kernel.compiled(*args, to=stored, **params)
    assert type(ours) is np.ndarray and ours.flags.c_contiguous and ours.flags.writeable
    assert ours.dtype == stored[0]
    sums = {"sum": lambda x, **given: np.sum(x, dtype=float64, **given).astype(float32)}
    wide = [
        a.astype(float32)
        if isinstance(a, np.ndarray) and a.dtype.kind == "f"
        else float32.type(a)
        if type(a) in (int, float)
        else a
        for a in args
    ]
    with np.errstate(all="ignore"):
        theirs = kernel.reference(*wide, **params, **(sums if kernel.wants else {}))
        return ours, np.asarray(theirs).astype(stored[0])


def check(kernel, args, to=float16, **params):
    """The compiled kernel is right: see the module."""
    ours, theirs = compiled_and_reference(kernel, args, to, **params)
    assert ours.shape == theirs.shape
    if ours.dtype == bool or kernel.name.partition(".")[2] in EXACT:
        np.testing.assert_array_equal(ours, theirs)
    else:
        np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
        call = Call(kernel, args, params, (ours,), None)
        assert call.excess() <= 1
    return ours


def given(params):
    """pow takes its exponent as a further argument."""
    return ([params["y"]], {}) if "y" in params else ([], params)


# ---- arrays of one shape ------------------------------------------------------------------------


@pytest.mark.parametrize("name, letters, params", [c for c in calls_of() if c[0] in EXACT])
def test_what_is_one_operation_or_a_choice_is_that_of_the_reference_bit_for_bit(
    name, letters, params
):
    source, (more, params) = Source(special=0.2), given(params)
    for shape in ((3, 5, 7), (1,), (), (0, 4), (4099,)):
        for dtype, to in ((float16, float16), (float32, float32)):
            args = [source(letter, shape, dtype) for letter in letters]
            check(NAMED[name], (*args, *more), to, **params)


SIGNED = ("neg_forward", "copy", "mul_forward", "add_forward", "tanh_forward", "expm1_forward")


@pytest.mark.parametrize("name", [*SIGNED, "log1p_forward", "erf_forward", "sin_forward"])
def test_minus_zero_keeps_its_sign(name):
    zeros = np.array([0.0, -0.0], float16)
    args = [zeros, np.array([-0.0, -0.0], float16)][: 1 + (name[:3] in ("mul", "add"))]
    params = {"alpha": 1} if name == "add_forward" else {}
    ours, theirs = compiled_and_reference(NAMED[name], args, **params)
    np.testing.assert_array_equal(np.signbit(ours), np.signbit(theirs))


# ---- any other arrays ---------------------------------------------------------------------------

LAYOUTS = {
    "broadcast rows": lambda x: (x, x[:1]),
    "broadcast columns": lambda x: (x, x[:, :1]),
    "an outer product": lambda x: (x[:1], x[:, :1].copy()),
    "a missing axis": lambda x: (x, x[0]),
    "an array without dimensions": lambda x: (x, x[3, 4]),
    "transposed": lambda x: (x.T, x.T.copy()),
    "both transposed": lambda x: (x.T, x.T),
    "in steps": lambda x: (x[1::2, 2::3], x[: len(x) // 2, 2::3]),
    "backwards": lambda x: (x[::-1, ::-1], x),
    "read-only": lambda x: (readonly(x), x),
    "stretched": lambda x: (np.broadcast_to(x[:1], x.shape), x),
    "unaligned": lambda x: (unaligned(x), x),
    "other byte order": lambda x: (x, x.astype(float32)),
}


def readonly(x):
    """A copy that may not be written to."""
    x = x.copy()
    x.flags.writeable = False
    return x


def unaligned(x):
    """A copy at an odd address."""
    bytes_ = np.empty(x.nbytes + 1, np.uint8)
    y = bytes_[1:].view(x.dtype).reshape(x.shape)
    y[...] = x
    return y


@pytest.mark.parametrize("threads_", [1, 3])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout_small_and_large(layout, threads_):
    before = get_num_threads()
    try:
        set_num_threads(threads_)
        for shape in ((12, 9), (67, 85), (1300, 700)):
            x, y = map(np.asarray, LAYOUTS[layout](Source()("x", shape)))
            check(NAMED["mul_forward"], (x, y))
            check(NAMED["add_forward"], (y, x), alpha=1)
            check(NAMED["where_forward"], (x > 0, x, y), float32)
    finally:
        set_num_threads(before)


def test_no_result_depends_on_the_number_of_threads():
    x, y = Source()("x", (1200, 999)), Source(1)("x", (1200, 1))
    before, found = get_num_threads(), []
    try:
        for count in (1, 2, 5):
            set_num_threads(count)
            found.append(
                [
                    NAMED["gelu_forward"].compiled(x, to=(float16,), approximate="none"),
                    NAMED["mul_forward"].compiled(x, y, to=(float16,)),
                    NAMED["mul_dy"].compiled(x, x, y, shape=y.shape, to=(float16,)),
                ]
            )
    finally:
        set_num_threads(before)
    for results in found[1:]:
        for a, b in zip(results, found[0]):
            np.testing.assert_array_equal(a, b)


def test_arrays_without_dimensions_and_numbers_of_all_kinds():
    x = Source()("x", ())
    for y in (2, 2.5, True, x, Source(1)("x", (4, 5))):
        for args in ((x, y), (y, x)):
            check(NAMED["mul_forward"], args, float32)
            check(NAMED["gt"], args)


def test_axes_of_all_kinds_at_once():
    base = Source()("x", (2, 3, 4, 5, 6, 7))
    x = base.transpose(3, 0, 5, 1, 4, 2)
    y = base[:1, :, :1, :, :, 1:2].transpose(3, 0, 5, 1, 4, 2)
    check(NAMED["mul_forward"], (x, y))
    check(NAMED["mul_forward"], (y, x))
    assert base.size > SMALL


def test_an_argument_that_is_no_stored_number_is_left_to_the_reference():
    x, mul = Source()("x", (3, 4)), NAMED["mul_forward"].compiled
    for y in (x.astype(float64), x.astype(np.int64), x.astype(">f2"), np.float32(2), None):
        assert mul(x, y, to=(float16,)) is None
    assert mul(x, x, to=(float64,)) is None
    assert mul(2.0, 3.0, to=(float16,)) is None


def test_mixed_formats_and_masks_that_broadcast():
    source = Source()
    for shape in ((5, 6), (300, 50)):
        x, y = source("x", shape), source("x", shape, float32)
        for to in (float16, float32):
            check(NAMED["mul_forward"], (x, y), to)
            check(NAMED["dropout_forward"], (y, source("m", (shape[0], 1))), to, p=0.5)
            check(NAMED["relu_dx"], (y, x), to)
            check(NAMED["copy"], (y,), to)


# ---- gradients of what broadcasting stretched ---------------------------------------------------


@pytest.mark.parametrize("name, letters, params, whose", GRADIENTS)
def test_a_gradient_is_summed_to_the_shape_of_its_argument(name, letters, params, whose):
    source = Source()
    for whole in ((6, 5, 8), (1, 3, 4), (40, 30, 130), (0, 5, 3), (1, 1, 1)):
        for shape in (whole, whole[1:], (whole[0], 1, 1), (1, whole[1], 1), whole[2:], (1,), ()):
            shapes = [shape if k == whose and k else whole for k in range(len(letters))]
            args = [source(letter, s) for letter, s in zip(letters, shapes)]
            for to in (float16, float32):
                ours, theirs = compiled_and_reference(NAMED[name], args, to, shape=shape, **params)
                assert ours.shape == theirs.shape == shape
                call = Call(NAMED[name], args, {"shape": shape, **params}, (ours,), None)
                assert call.excess() <= 1


def test_a_large_gradient_is_summed_in_slabs():
    x, y = Source()("x", (300, 7, 500)), Source(1)("x", (300, 7, 500), float32)
    assert x.size > 4 * SLAB
    for shape in ((300, 1, 1), (1, 7, 1), (1, 7, 500), (500,), (300, 7, 1), ()):
        each = x.astype(float64) * y
        axes = stretched(x.shape, shape)
        ours = NAMED["mul_dx"].compiled(x, np.ones(shape, float16), y, shape=shape, to=(float32,))
        exact = each.sum(axes).reshape(shape)
        magnitude = np.abs(each).sum(axes).reshape(shape)
        assert excess(ours, exact, magnitude, x.size // max(ours.size, 1)) <= 1


def test_a_reduced_gradient_without_a_target_keeps_its_format_unless_it_is_a_scalar():
    x = Source()("x", (4, 5))
    assert NAMED["reduce_to"].compiled(x, shape=(5,), to=(None,)).dtype == float16
    assert NAMED["reduce_to"].compiled(x, shape=(), to=(None,)).dtype == float32


@pytest.mark.parametrize("y", [2, 3, -1, 0.5])
def test_slopes_of_powers(y):
    x = Source()("p" if y == 0.5 else "x", (30, 40))
    dz = Source(1)("x", (30, 40))
    for shape, dz_ in ((x.shape, dz), ((40,), dz)):
        args = (dz_, x if shape == x.shape else x[0], y)
        for to in (float16, float32):
            ours, _ = compiled_and_reference(NAMED["pow_dx"], args, to, shape=shape)
            assert Call(NAMED["pow_dx"], args, {"shape": shape}, (ours,), None).excess() <= 1
    special = np.array(SPECIAL, float16)
    for name, params in (("pow_dx", {"shape": special.shape}), ("pow_forward", {})):
        args = (np.ones_like(special), special, y)[name == "pow_forward" :]
        ours, theirs = compiled_and_reference(NAMED[name], args, float32, **params)
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


# ---- with weights and gates ---------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(6, 5), (3, 5, 7), (20, 5, 11, 9), (0, 5, 2), (5,)])
@pytest.mark.parametrize("channels", [True, False])
def test_prelu(shape, channels):
    source = Source(special=0.05)
    w = source("x", (5, *(1,) * (len(shape) - 2)) if channels and len(shape) > 1 else (), float32)
    x, dy = source("x", shape), Source(1)("x", shape)
    check(NAMED["prelu_forward"], (x, w))
    check(NAMED["prelu_dx"], (dy, x, w))
    x = Source(2)("x", shape)
    ours, _ = compiled_and_reference(NAMED["prelu_dw"], (dy, x), float32, shape=w.shape)
    call = Call(NAMED["prelu_dw"], (dy, x), {"shape": w.shape}, (ours,), None)
    assert ours.shape == w.shape and call.excess() <= 1


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(4, 6, 2), (40, 30, 22), (2, 2, 0)])
def test_glu(shape, axis):
    a, b = glu_prelu.halves(Source()("x", shape), axis)
    check(NAMED["glu_forward"], (a, b))
    second = np.array([0, 1], float16).reshape(2, *(1,) * (3 - axis))
    check(NAMED["glu_dx"], (Source(1)("x", a.shape), a, b, second))


# ---- elementary functions -----------------------------------------------------------------------


FUNCTIONS = {  # the exact one, and the largest error in ulp that elementary.py states
    "exp": (np.exp, 1.2),
    "expm1": (np.expm1, 1.5),
    "log": (np.log, 0.9),
    "log1p": (np.log1p, 1.4),
    "log2": (np.log2, 2.0),
    "log10": (np.log10, 2.2),
    "tanh": (np.tanh, 2.4),
    "erf": (np.vectorize(math.erf, otypes=[float64]), 1.3),
    "sin": (np.sin, 2.3),
    "cos": (np.cos, 2.3),
}
OF_HALVES = ("sin", "cos")  # arithmetic of these alone


def loop_of(name):
    """The function, over an array of float32 numbers, or of float16 ones."""
    function = getattr(elementary, name)

    def formula(x):
        return function(x)

    compiled = pointwise(formula)
    return lambda x: compiled(x, to=(float32,))


def ulp(x):
    """The gap between float32 numbers at |x|, at least that of subnormal ones."""
    exponent = np.floor(np.log2(np.maximum(np.abs(x), 2.0**-126)))
    return 2.0 ** (exponent - 23)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_elementary_function_is_as_accurate_as_it_says(name):
    exact, largest = FUNCTIONS[name]
    random = np.random.default_rng(0)
    everywhere = random.integers(0, 2**32, 200_000, dtype=np.uint32).view(float32)
    x = np.concatenate(
        [
            random.uniform(-110, 110, 100_000).astype(float32),
            random.uniform(-4, 4, 200_000).astype(float32),
            random.uniform(0.5, 1.5, 50_000).astype(float32),
            np.arange(2**16, dtype=np.uint16).view(float16).astype(float32),
        ]
    )
    x = x.astype(float16) if name in OF_HALVES else np.concatenate([x, everywhere])
    y = loop_of(name)(x)
    with np.errstate(all="ignore"):
        expected = exact(x.astype(float64))
        rounded = expected.astype(float32)
        finite = np.isfinite(rounded)
        np.testing.assert_array_equal(y[~finite], rounded[~finite])
        near = np.abs(expected) >= np.finfo(float32).max * (1 - 2.0**-22)  # may be Inf as well
        error = np.abs(y.astype(float64) - expected) / ulp(expected)
    assert error[finite & ~near].max() <= largest


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_elementary_function_of_special_numbers(name):
    exact = FUNCTIONS[name][0]
    x = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, -1e-45, 1e-39, -1e-39], float32)
    x = x.astype(float16) if name in OF_HALVES else x
    with np.errstate(all="ignore"):
        expected = exact(x.astype(float64)).astype(float32)
    y = loop_of(name)(x)
    np.testing.assert_array_equal(y, expected)
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(y[zero]), np.signbit(expected[zero]))
