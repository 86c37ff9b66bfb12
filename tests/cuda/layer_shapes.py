"""The same as shapes.py for layers: normalisation, windows, convolutions, places, recurrences."""

from itertools import product
from unittest.mock import patch

import numpy as np
from shapes import BOTH, SINGLE, call, shapes

from minifp.ops.convolution import conv_cuda
from minifp.ops.normalization import batch_norm_cuda
from minifp.ops.pointwise.glu_prelu import halves
from minifp.ops.pooling.pool_windows import pool_axes
from minifp.ops.recurrent.sequence import states_before, steps_of
from minifp.ops.windows import window_count

EPS = 1e-5


def parameters(numbers, C, dtype="float32"):
    return numbers.normal(C, dtype, 0.5, 1.0), numbers.normal(C, dtype)


def batch(numbers, shape, dtype, shift=2.0, of_parameters="float32"):
    x, dy = numbers.normal(shape, dtype, 1, shift), numbers.normal(shape, dtype)
    w, b = parameters(numbers, shape[1], of_parameters)
    m, v = yield call("batch_norm.batch_norm_statistics", x, to=SINGLE)
    yield call("batch_norm.batch_norm_forward", x, w, b, m, v, eps=EPS, to=dtype)
    to = (dtype, of_parameters, of_parameters)
    for constant in False, True:
        args = dy, x, w, m, v
        yield call("batch_norm.batch_norm_dx", *args, eps=EPS, constant=constant, to=to)


@shapes()
def batch_norm(numbers):
    for shape in (300, 5), (11, 6, 8, 8):
        yield from batch(numbers, shape, "float16", of_parameters="float16")
    with patch.object(batch_norm_cuda, "ENOUGH", 4):  # so that threads have all they can hold
        for shape, dtype in numbers.rows(zip([(40, 6, 16, 16), (40, 6, 15, 15), (3000, 40)])):
            yield from batch(numbers, shape, dtype)
    for shape in (16, 3, 32, 32), (5000, 3):  # a variance far below the square of the mean
        yield from batch(numbers, shape, "float32", shift=1000.0)


@shapes()
def group_norm_of_what_is_not_finite(numbers):
    """Pictures of five channels, of which two are finite, and a gradient."""
    x, dy = numbers.normal((6, 5, 9, 8)), numbers.normal((6, 5, 9, 8))
    x[0, 1, 3, 3], x[2, 2, 0, 0], x[3, 3] = np.nan, np.inf, 65504
    x[4, 4, 1, 1], x[5, 4, 1, 1], dy[1, 0, 2, 2] = np.inf, -np.inf, np.inf
    (w, b), given = parameters(numbers, 5), {"groups": 5, "to": ("float16", *SINGLE)}
    _, m, r = yield call("group_norm.group_norm_forward", x, w, b, eps=EPS, **given)
    yield call("group_norm.group_norm_dx", dy, x, w, m, r, **given)


@shapes()
def norms_of_what_is_large_equal_or_far_from_0(numbers):
    x = np.full((4, 2, 16, 16), 60000, "float16")  # sums beyond the largest half
    x[:, 1, ::2] = -60000
    yield call("batch_norm.batch_norm_statistics", x, to=SINGLE)
    given = {"eps": 0.0, "to": ("float16", "float32")}
    yield call("rms_norm.rms_norm_forward", x.reshape(2, -1), None, **given)
    equal, far = np.full((3, 40), 3, "float32"), numbers.normal((1, 3, 60, 70), "float32", 1, 1e3)
    yield call("group_norm.instance_norm_statistics", far, to=SINGLE)
    for x, eps in (equal, 0.0), (far, EPS):
        to = ("float32", *SINGLE)
        yield call("layer_norm.layer_norm_forward", x, None, None, eps=eps, to=to)


def pooled(numbers, x, *given):
    axes = pool_axes("pool", x, 2, *given, False, 1)
    places = "uint8" if np.prod([a.size for a in axes]) <= 256 else "int32"
    y, chosen = yield call("max_pool.max_pool_forward", x, axes=axes, to=("float16", places))
    dy, given = numbers.normal(y.shape), {"axes": axes, "to": "float16"}
    yield call("max_pool.max_pool_dx", dy, chosen, **given)
    given |= {"include_pad": True, "override": None}
    yield call("avg_pool.avg_pool_forward", x, **given)
    yield call("avg_pool.avg_pool_dx", dy, **given)


@shapes()
def pool_of_what_is_alike_or_not_finite(numbers):
    x = np.zeros((4, 6, 40, 40), "float16")  # the first of equal ones and the first NaN win
    x[1], x[2, :, ::3, ::5], x[3, :, 20:] = -np.inf, np.nan, 65504
    for given in (3, 2, 1), (20, 5, 3), (16, 16, 0):
        yield from pooled(numbers, x, *given)
    x = np.full((1, 2, 32, 32), 60000, "float16")
    for size in 2, 16, 32:  # sums beyond the largest half
        yield from pooled(numbers, x, size, size, 0)
    x = numbers.normal((1, 1, 8, 8))
    axes = pool_axes("pool", x, 2, 3, 2, 1, False, 1)
    _, chosen = yield call("max_pool.max_pool_forward", x, axes=axes, to=("float16", "uint8"))
    dy = np.full(chosen.shape, 60000, "float16")
    dy[0, 0, 1, 1] = np.nan
    yield call("max_pool.max_pool_dx", dy, chosen, axes=axes, to="float16")


PLAIN = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 1}
PICTURES = [
    ((3, 5, 19, 21), (7, 5, 3, 3), {"padding": (1, 1)}),  # more than one block, side by side
    ((2, 3, 16, 32), (4, 3, 3, 3), {"padding": (1, 1)}),  # a matrix for each picture
    ((11, 4, 9, 7), (6, 2, 2, 3), {"groups": 2, "stride": (2, 3), "dilation": (3, 2)}),
    ((9, 6, 4, 4), (5, 6, 1, 1), {}),  # nothing to unfold
    ((9, 6, 7, 7), (5, 6, 1, 1), {"stride": (2, 2)}),
    ((4, 2, 5, 6), (3, 2, 3, 3), {"padding": (2, 2)}),
    ((2, 3, 5, 5), (4, 3, 2, 2), {"padding": (4, 3), "stride": (3, 3)}),
]
GROUPS = [  # of one channel, and sequences with long kernels
    *(((3, 6, 13, 11), (6 * n, 1, 3, 3), {"padding": (1, 1), "groups": 6}) for n in (1, 3)),
    ((2, 3, 900), (3, 1, 500), {"padding": (20,), "dilation": (1,), "groups": 3}),
    ((2, 3, 900), (4, 3, 300), {"padding": (20,), "dilation": (1,), "groups": 1}),
]


def convolved(numbers, shape, w_shape, dtype="float16", bias="float16", to=None, **given):
    given, to = {**PLAIN, **given}, to or dtype
    sizes = zip(shape[2:], w_shape[2:], given["stride"], given["padding"], given["dilation"])
    counts = tuple(window_count(n, k, s, p, d) for n, k, s, p, d in sizes)
    x, w = numbers.normal(shape, dtype), numbers.normal(w_shape, dtype)
    b = numbers.normal(w_shape[:1], bias) if bias else None
    (y,) = yield call("conv.conv_forward", x, w, b, counts=counts, to=to, **given)
    dy = numbers.normal(y.shape, dtype)
    yield call("conv.conv_dx", dy, w, x_sizes=shape[2:], to=to, **given)
    yield call("conv.conv_dw", dy, x, w_shape=w_shape, to=to, **given)


@shapes()
def conv(numbers):
    for shape, w_shape, given, dtype in numbers.rows(PICTURES):
        yield from convolved(numbers, shape, w_shape, dtype, dtype, **given)
        with patch.object(conv_cuda, "WORKSPACE", 5000):  # pictures in several parts
            yield from convolved(numbers, shape, w_shape, dtype, None, **given)
    for (shape, w_shape, given), stride, dtype in numbers.rows(product(GROUPS, (1, 2))):
        given = {**given, "stride": (stride,) * (len(shape) - 2)}
        yield from convolved(numbers, shape, w_shape, dtype, **given)
    x, dy = numbers.normal((40, 2, 24, 24)), numbers.normal((40, 2, 24, 24))
    given = {**PLAIN, "padding": (1, 1), "groups": 2}  # more windows than a block sums
    yield call("conv.conv_dw", dy, x, w_shape=(2, 1, 3, 3), to="float16", **given)
    half, single = BOTH
    for formats in (half, single, half), (half, half, single), (single, single, half):
        yield from convolved(numbers, (2, 3, 6, 7), (4, 3, 3, 3), *formats)
    x, w = numbers.normal((2, 3, 6, 7)), numbers.normal((4, 3, 3, 3), "float32")
    for groups, weights in (1, w), (3, w[:3, :1]):
        given = {**PLAIN, "groups": groups, "counts": (4, 5)}
        yield call("conv.conv_forward", x, weights, None, to="float16", **given)
    for groups in 1, 2:
        yield from convolved(numbers, (0, 2, 5, 5), (4, 2 // groups, 3, 3), groups=groups)


@shapes()
def conv_of_what_is_not_finite(numbers):
    x, w = np.full((1, 64, 4, 4), 60000, "float16"), np.ones((2, 64, 1, 1), "float16")
    w[0, 1::2] = -1  # sums beyond the largest half on the way
    yield call("conv.conv_forward", x, w, None, counts=(4, 4), to="float16", **PLAIN)
    x, w = np.ones((2, 3, 9, 9), "float16"), np.ones((2, 3, 3, 3), "float16")
    x[0, 1, 4, 4], x[1, 2, 0, 0] = np.nan, np.inf
    yield call("conv.conv_forward", x, w, None, counts=(7, 7), to="float16", **PLAIN)
    for groups in 1, 3:  # padding is zeros that are multiplied
        given = {**PLAIN, "padding": (1, 1), "groups": groups, "to": "float16"}
        x, w = numbers.normal((2, 3, 6, 6)), numbers.normal((3, 3 // groups, 3, 3))
        dy = numbers.normal((2, 3, 6, 6))
        w[1, 0, 0, 0], dy[0, 0, 0, 0] = np.inf, np.nan
        yield call("conv.conv_forward", x, w, None, counts=(6, 6), **given)
        yield call("conv.conv_dw", dy, x, w_shape=w.shape, **given)


@shapes()
def conv_transpose(numbers):
    """Whose bias is added before it rounds."""
    for stride, w_shape in product((1, 2), ((4, 3, 3, 3), (4, 1, 3, 3))):
        x, w = numbers.normal((3, 4, 9, 8)), numbers.normal(w_shape)
        groups = 1 if w_shape[1] > 1 else 4
        b = numbers.normal(w_shape[1] * groups, scale=100)
        y_sizes = tuple((n - 1) * stride + 1 + stride for n in (9, 8))
        given = {**PLAIN, "stride": (stride, stride), "padding": (1, 1), "groups": groups}
        name = "conv_transpose.conv_transpose_forward"
        yield call(name, x, w, b, y_sizes=y_sizes, to="float16", **given)


@shapes()
def remainder(numbers):
    for dtype, name in product(BOTH, ("remainder", "floor_divide")):
        x = np.array([0, -0.0, 1, -1, 3, np.nan, np.inf, -np.inf, 6e-8, 65504, -65504], dtype)
        y = np.append(x, np.array([0.1, -0.1, 1e-3], dtype))
        (z,) = yield call(f"arithmetic.{name}_forward", x[:, None], y, to="float32")
        expected = getattr(np, name)(x[:, None], y, dtype="float32")
        assert np.array_equal(np.isnan(z), np.isnan(expected)), name
        zero = expected == 0
        assert np.array_equal(np.signbit(z[zero]), np.signbit(expected[zero])), name


@shapes()
def gate(numbers):
    x = np.array([0, 1, np.nan, np.inf, -np.inf, 65504, -65504, -80], "float16")
    a, b = halves(np.stack(np.broadcast_arrays(x[:, None], x)).reshape(2, -1), 0)
    yield call("glu_prelu.glu_forward", a, b, to="float16")
    dy, second = np.ones_like(a), np.array([[[0]], [[1]]], "float16")
    yield call("glu_prelu.glu_dx", dy, a, b, second.reshape(2, 1, 1), to="float16")


@shapes()
def embedding(numbers):
    name = "embedding.embedding_dw"
    dy, i = numbers.normal((129, 8)), np.repeat([0, 1], [64, 65])  # as many as LONG, and one more
    yield call(name, dy, i, rows=2, padding_idx=None, to="float16")
    dy, i = np.ones((3000, 4), "float16"), np.zeros(3000, int)  # summed in float32
    yield call(name, dy, i, rows=2, padding_idx=None, to="float16")


ROOM = 5, 70, 6, 11  # steps, sequences, inputs, units
WALKS = [*product((False, True), (None, (70, 70, 33, 2, 1)))]  # backwards; sizes of each step
GATES = {"lstm": 4, "gru": 3, "rnn": 1}


def drawn(numbers, dtype, *sizes):
    return [numbers.normal(s, dtype, 0.7) for s in sizes]


def walks(numbers, *others):
    """(steps, rows, format, ...) of each kind of walk along sequences."""
    for reverse, sizes, dtype, *more in numbers.rows(WALKS, *others):
        steps = steps_of(ROOM[:3], sizes, reverse)
        yield steps, max(stop for _, stop in steps), dtype, *more


def weights(numbers, dtype, gates, P, is_biased=True):
    """The weights and biases of a layer whose state has P numbers."""
    _, _, I, H = ROOM
    w = drawn(numbers, dtype, (gates * H, I), (gates * H, P), (gates * H,), (gates * H,))
    return w if is_biased else [*w[:2], None, None]


@shapes("forward", "projected")
def lstm(kind, numbers):
    (_, B, I, H), own = ROOM, int(kind == "projected")  # which has a weight and a result more
    P = 5 if own else H
    for steps, N, dtype, biased in walks(numbers, (True, False)):
        x, h, c = drawn(numbers, dtype, (N, I), (B, P), (B, H))
        w, last = weights(numbers, dtype, 4, P, biased), drawn(numbers, dtype, *[(P, H)] * own)
        given = {"steps": steps, "to": (dtype,) * (5 + own)}
        _, cs, *kept = yield call(f"lstm.lstm_{kind}", x, h, c, *w, *last, **given)
        args = *drawn(numbers, dtype, (N, P), (B, P), (B, H)), states_before(cs, c, steps), cs
        given["to"] = (dtype,) * (3 + own)
        name = "lstm.lstm_projected_dz" if own else "lstm.lstm_dz"
        yield call(name, *args, kept[own], w[1], *last, **given)


@shapes()
def gru(numbers):
    _, B, I, H = ROOM
    for steps, N, dtype, biased in walks(numbers, (True, False)):
        x, h = drawn(numbers, dtype, (N, I), (B, H))
        w, to = weights(numbers, dtype, 3, H, biased), (dtype,) * 3
        hs, gates, _ = yield call("gru.gru_forward", x, h, *w, to=to, steps=steps)
        args = *drawn(numbers, dtype, (N, H), (B, H)), states_before(hs, h, steps), gates, w[1]
        yield call("gru.gru_da", *args, to=to, steps=steps)


@shapes()
def rnn(numbers):
    _, B, I, H = ROOM
    for steps, N, dtype, kind in walks(numbers, ("tanh", "relu")):
        x, h = drawn(numbers, dtype, (N, I), (B, H))
        w, given = weights(numbers, dtype, 1, H), {"steps": steps, "nonlinearity": kind}
        hs, _ = yield call("rnn.rnn_forward", x, h, *w, to=(dtype,) * 2, **given)
        dy, dh = drawn(numbers, dtype, (N, H), (B, H))
        yield call("rnn.rnn_dz", dy, dh, hs, w[1], to=(dtype,) * 2, **given)


@shapes(*GATES)
def saturated(kind, numbers):
    """What is not finite, and what is far from 0."""
    x, gates = np.ones((8, 3), "float16"), GATES[kind]
    x[0], x[1, 1], x[2], x[3] = 6e4, np.nan, -6e4, np.inf
    h, w_ih, w_hh = drawn(numbers, "float16", (4, 5), (gates * 5, 3), (gates * 5, 5))
    states, to = ((h, h) if kind == "lstm" else (h,)), {"lstm": 5, "gru": 3, "rnn": 2}[kind]
    given = {"nonlinearity": "relu"} if kind == "rnn" else {}
    args, steps = (x, *states, w_ih, w_hh, None, None), steps_of((2, 4, 3), None, False)
    yield call(f"{kind}.{kind}_forward", *args, to=("float16",) * to, steps=steps, **given)
