"""The compiled products, convolutions and sequences at sizes that fill tiles, panels and chunks.

Every kernel that is called is checked against its reference in float64, within the bound of
bounds.py; and no result depends on how many threads there were.
"""

from functools import partial
from itertools import product

import numpy as np
import pytest
from bounds import Calls, excess
from claims import Claims

import minifp as fp
import minifp.nn.functional as F
from minifp import nn
from minifp.models import CharLSTM, LeNet
from minifp.numerics.formats import float16, float32, float64
from minifp.ops.convolution.conv import conv_dx
from minifp.ops.windows import window_count
from minifp.runtime import cpu

if not cpu.can_compile():
    pytest.skip("nothing is compiled here", allow_module_level=True)

from minifp.ops.convolution import conv_numba
from minifp.ops.convolution.conv_plan_numba import Planes
from minifp.runtime.cpu.kernels import gemm


def random(*shape, seed=0, scale=1.0):
    return np.random.default_rng(seed).standard_normal(shape) * scale


def worst(fn, *arrays, precision="mixed"):
    """The worst error of all kernels that fn and its backward call, in units of the bound."""
    with fp.precision(precision) as p, Calls() as calls:
        y = fn(*[fp.tensor(a, dtype=p.activations, requires_grad=True) for a in arrays])
        y = y[0] if isinstance(y, tuple) else y
        y.backward(gradient=random(*y.shape, seed=9))
    return max((call.excess(), call.kernel.name) for call in calls)


SIZES = [(1, 1, 1), (1, 10, 300), (8, 48, 16), (9, 49, 17), (257, 145, 257), (33, 7, 513)]
PAIRS = {
    **{"NN": lambda a, b: (a, b), "NT": lambda a, b: (a, np.asfortranarray(b))},
    "TN": lambda a, b: (np.asfortranarray(a), b),
    "TT": lambda a, b: (np.asfortranarray(a), np.asfortranarray(b)),
    "strided": lambda a, b: (a.repeat(2, 0).repeat(3, 1)[::2, ::3], b.repeat(2, 1)[:, ::2]),
    "reversed": lambda a, b: (a[::-1, ::-1], b[:, ::-1]),
}


@pytest.mark.parametrize("dtype", [float16, float32])
def test_products_of_any_size_and_layout_are_within_the_bound(dtype):
    with Claims() as claims:
        for layout, (M, N, K) in product(PAIRS, [*SIZES, (130, 300, 64)]):
            a, b = random(M, K).astype(dtype), random(K, N, seed=1).astype(dtype)
            a, b = PAIRS[layout](a, b)
            bias = random(N, seed=2).astype(dtype)
            exact = a.astype(float64) @ b.astype(float64) + bias
            magnitude = np.abs(a).astype(float64) @ np.abs(b).astype(float64) + np.abs(bias)
            with claims("a product is within its bound", layout, M, N, K):
                assert excess(gemm.product(a, b, dtype, bias), exact, magnitude, K) <= 1


GEOMETRY = [  # N, C, O, H, W, kernel, stride, padding, dilation, groups
    *((2, 1, 6, 28, 28, 5, 1, 2, 1, 1), (3, 3, 16, 32, 32, 3, 1, 1, 1, 1)),
    *((5, 16, 32, 17, 15, 3, 2, 1, 1, 1), (3, 16, 32, 7, 9, 1, 2, 0, 1, 1)),
    *((2, 8, 8, 9, 9, 3, 1, 1, 1, 8), (2, 8, 12, 9, 11, 3, 2, 0, 2, 4)),
    *((9, 50, 49, 8, 8, 3, 1, 1, 1, 1), (2, 64, 64, 40, 41, 3, 1, 1, 1, 1)),
    *((1, 2, 3, 40, 60, 7, 3, 3, 1, 1), (2, 4, 4, 5, 5, 1, 1, 3, 1, 1)),
    *((2, 5, 60, 12, 3, 2, 3, 1, 1, 1), (1, 7, 9, 1, 33, 1, 1, 0, 1, 1)),
    *((2, 3, 3, 150, 131, 5, 2, 2, 1, 3), (9, 2, 2, 31, 30, 3, 1, 2, 2, 2)),
    *((3, 128, 56, 9, 10, 3, 1, 1, 1, 1), (2, 130, 50, 6, 6, 3, 2, 1, 1, 1)),
    (8, 1900, 64, 4, 12, 3, 1, 1, 1, 1),  # sums of several panels wait for heavy weights
    # many weights, whose chunks have several panels; a stride that leaves phases unread
    *((26, 300, 230, 4, 4, 1, 1, 0, 1, 1), (7, 48, 160, 3, 5, 3, 1, 1, 1, 1)),
    *((2, 20, 60, 18, 17, 1, 2, 0, 1, 1), (2, 9, 7, 13, 14, 1, 3, 1, 1, 1)),
]


@pytest.mark.parametrize("precision", ["mixed", "float32"])
def test_convolutions_and_their_gradients_are_within_the_bound(precision):
    with Claims() as claims:
        for N, C, O, H, W, k, *settings in GEOMETRY:
            shapes = (N, C, H, W), (O, C // settings[-1], k, k)
            x, w, b = random(*shapes[0]), random(*shapes[1], seed=1, scale=0.2), random(O, seed=2)
            conv = partial(conv2d_of, settings)
            with claims("a convolution is within its bound", shapes, settings):
                error = worst(conv, x, w, b, precision=precision)
                assert error[0] <= 1, error


def conv2d_of(settings, *tensors):
    return F.conv2d(*tensors, *settings)


def test_a_picture_too_large_for_the_cache_is_taken_by_rows():
    plan = conv_numba.forward_plan(
        (1, 64, 200, 200), (64, 64, 3, 3), 1, (200, 200), (1, 1), (1, 1), (1, 1)
    )
    assert Planes(*plan.planes).parts > 1
    arrays = random(1, 33, 90, 101), random(5, 33, 3, 3, seed=1, scale=0.1), random(5, seed=2)
    assert worst(lambda x, w, b: F.conv2d(x, w, b, 1, 1), *arrays)[0] <= 1


def test_convolutions_keep_missing_numbers_where_they_are():
    x = np.ones((1, 3, 9, 9))
    x[0, 1, 4, 4] = np.nan
    with fp.precision("mixed"):
        w = fp.tensor(np.ones((60, 3, 3, 3)))
        for channels in (60, 4):
            y = F.conv2d(fp.tensor(x), w[:channels], padding=1).numpy()
            lost = np.zeros((9, 9), bool)
            lost[3:6, 3:6] = True
            assert (np.isnan(y) == lost).all()


SQUARES = [  # H, kernel, stride, padding, dilation, groups
    *((6, 3, 1, 1, 1, 1), (6, 3, 2, 1, 1, 1), (7, 2, 3, 0, 1, 1), (6, 1, 2, 0, 1, 1)),
    *((8, 3, 2, 2, 2, 1), (6, 3, 1, 1, 1, 2), (6, 3, 2, 0, 1, 4), (9, 2, 4, 1, 3, 1)),
]


@pytest.mark.parametrize("geometry", SQUARES, ids=str)
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_a_weight_that_is_not_finite_reaches_what_its_windows_touch(geometry, value):
    """As in PyTorch, whose own kernels (not oneDNN's) agree in every NaN and Inf."""
    H, k, stride, padding, dilation, groups = geometry
    w, each = random(4, 4 // groups, k, k, seed=1), 4 // groups
    w[1, 0, k - 1, 0] = value
    count = window_count(H, k, stride, padding, dilation)
    dy, windows = random(2, 4, count, count, seed=2), stride * np.arange(count)[:, None]
    touched = np.zeros((2, 4, H + 2 * padding, H + 2 * padding), bool)
    touched[:, 1 // each * each, windows + dilation * (k - 1), windows.T] = True
    touched = touched[..., padding : padding + H, padding : padding + H]
    settings = {name: (n, n) for name, n in zip(("stride", "padding", "dilation"), geometry[2:])}
    settings |= {"x_sizes": (H, H), "groups": groups}
    reference = conv_dx.reference(dy, w, dot=np.matmul, **settings)
    for dx in (reference, *(conv_dx(dy.astype(d), w.astype(d), **settings) for d in ("f2", "f4"))):
        assert (~np.isfinite(dx) == touched).all()
        assert np.allclose(dx[~touched], reference[~touched], rtol=1e-2, atol=1e-2)


def test_a_transposed_convolution_leaves_what_no_window_touches_to_its_bias():
    w = fp.tensor(np.full((1, 1, 1, 1), np.inf))
    y = F.conv_transpose2d(fp.ones(1, 1, 2, 2), w, fp.tensor([0.5]), stride=2)
    assert y[0, 0].tolist() == [[np.inf, 0.5, np.inf], [0.5, 0.5, 0.5], [np.inf, 0.5, np.inf]]


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
@pytest.mark.parametrize("precision", ["mixed", "float32"])
def test_sequences_are_within_the_bound_at_every_step_also_packed(kind, precision):
    """Of several sizes; and packed ones of several lengths, in both directions."""
    for T, B, I, H in ((5, 19, 21, 33), (3, 8, 50, 17), (9, 1, 3, 100)):
        with fp.precision(precision):
            layer = getattr(nn, kind)(I, H)
        error = worst(layer, random(T, B, I), precision=precision)
        assert error[0] <= 1, (error, T, B, I, H)
    lengths = [7, 7, 5, 4, 4, 4, 2, 1, 1, 1]
    with fp.precision(precision):
        layer = getattr(nn, kind)(6, 20, bidirectional=True)

    def run(x):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths)
        return nn.utils.rnn.pad_packed_sequence(layer(packed)[0])

    error = worst(run, random(7, len(lengths), 6), precision=precision)
    assert error[0] <= 1, error


def trained(model, loss, steps):
    optimizer = fp.MixedOptimizer(fp.optim.Adam(model.parameters(), lr=1e-2))
    for _ in range(steps):
        optimizer.minimize(loss(model))
    return b"".join(p.array.tobytes() for p in model.parameters())


@pytest.mark.parametrize("precision", ["mixed", "float32"])
def test_no_bit_depends_on_the_number_of_threads(threads, precision):
    pictures, classes = random(48, 1, 28, 28), np.arange(48) % 10
    words, results = np.random.default_rng(3).integers(0, 30, (20, 24)), set()
    for count in (1, 2, 3, 5):
        threads(count)
        fp.manual_seed(0)
        with fp.precision(precision):
            x, cnn = fp.tensor(pictures), LeNet(10, 28)
            lstm = CharLSTM(30)
            a = trained(cnn, lambda m, x=x: F.cross_entropy(m(x), classes), 3)
            b = trained(lstm, lambda m: char_loss(m, words), 2)
        results.add(a + b)
    assert len(results) == 1


def char_loss(model, words):
    return F.cross_entropy(model(fp.tensor(words[:, :-1])), words[:, 1:])
