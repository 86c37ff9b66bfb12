"""The numerics, as claims: what is stored, what is summed in what, and what each switch changes."""

import dataclasses
import functools

import numpy as np
import pytest
from test_accumulate import loop_dot, loop_sum, loop_sums
from watching import Flow

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim
from minifp.numerics import kernels, policy
from minifp.numerics.formats import float16, float32, float64
from minifp.numerics.policy import SWITCHES

pytestmark = pytest.mark.references


def half(a):
    return np.asarray(a).astype(float16)


def random_halves(*shape, seed=0, low=-2.0, high=2.0):
    return half(np.random.default_rng(seed).uniform(low, high, shape))


def test_gradients_that_meet_are_rounded_once():
    """2048 + 0.75 + 0.75 rounds to 2050, where each part alone would vanish."""
    with fp.precision("mixed"):
        x = fp.ones(1, requires_grad=True)
        y = x * 1.0
        for leaf, z in ((x, x), (x, y)):  # at a leaf, and at a value in between
            x.grad = None
            fp.cat([z * 2048.0, z * 0.75, z * 0.75]).sum().backward(retain_graph=True)
            assert leaf.grad.tolist() == [2050]
    with fp.precision("mixed,reduce=float16"):
        x = fp.ones(1, requires_grad=True)
        fp.cat([x * 1.0] * 3000).sum().backward()
        assert x.grad.tolist() == [2048]
    with fp.precision("mixed"):
        x = fp.ones(2, requires_grad=True)
        for _ in range(3000):  # micro-batches
            (x * 1.0).sum().backward()
        assert x.grad.dtype == float32  # a leaf reached again accumulates in it from then on
        assert x.grad.tolist() == [3000, 3000]


@pytest.mark.filterwarnings("ignore:.*overflowed float16")
def test_a_python_number_enters_in_float32_and_a_loss_by_hand_does_not_overflow(in_mixed):
    x = fp.tensor([1e-3])
    for y in (x * 1e5, 1e5 * x, x / 1e-5):
        assert (y.dtype, y.item()) == (float16, 100.0625)
    assert (fp.tensor([3.0]) - 70000.0 + 70000).item() == -np.inf  # each result is rounded
    assert ((fp.tensor([1.0]) * 1e300).item(), (fp.tensor([2.0]) ** 15).item()) == (np.inf, 32768)
    x = fp.tensor(np.full(60000, 10.0), requires_grad=True)
    loss = x.sum() / 60000
    assert (loss.dtype, loss.item()) == (float32, 10)
    loss.backward(seed=2.0**24)  # 2^24 / 60000 is 279.6
    assert (x.grad.dtype, x.grad.array[0]) == (float16, half(2.0**24 / 60000))
    x = fp.tensor([1e-3, 1e-3], requires_grad=True)
    s = fp.tensor(1e5, dtype="float32", requires_grad=True)
    y = x * s
    assert y.dtype == float16 and y.tolist() == [100.0625, 100.0625]
    y.backward(gradient=[40000.0, 40000.0])
    assert (s.grad.dtype, x.grad.dtype) == (float32, float16)
    assert s.grad.item() == pytest.approx(80, rel=1e-3)
    assert np.isinf(x.grad.array).all()  # 4e9


def test_exponentials_neither_overflow_nor_vanish(in_mixed):
    """e^11.1 is beyond float16, e^88.8 beyond float32."""
    for largest in (11.2, 100.0, 60000.0):
        z = fp.tensor([[largest, largest, 0.0]], requires_grad=True)
        y, log_y = F.softmax(z, 1), F.log_softmax(z, 1)
        smallest = np.exp(-z.array[0, 0].astype(float64)) / 2
        assert y.tolist() == [[0.5, 0.5, pytest.approx(smallest, abs=2**-25)]]
        assert log_y.array[0, :2] == pytest.approx(-np.log(2), rel=1e-3)
        loss = F.cross_entropy(z, [2])
        assert loss.item() == pytest.approx(z.array[0, 0].item() + np.log(2), rel=1e-6)
        loss.backward()
        assert z.grad.tolist() == [[0.5, 0.5, pytest.approx(-1.0, abs=2e-5)]]
    # e^-40 is 0 in float16; its logarithm is not.
    assert F.cross_entropy(fp.tensor([[0.0, 40.0]]), [0]).item() == 40
    assert F.log_softmax(fp.tensor([[0.0, 40.0]]), 1).tolist() == [[-40, 0]]
    x = fp.tensor([-60000.0, -100.0, 0.0, 100.0, 60000.0], requires_grad=True)
    assert (x.sigmoid().tolist(), x.tanh().tolist()) == ([0, 0, 0.5, 1, 1], [-1, -1, 0, 1, 1])
    (x.sigmoid() + x.tanh()).sum().backward()
    assert x.grad.tolist() == [0, 0, 1.25, 0, 0]


MEETINGS = [
    ("float16", "float16", "float16"), ("float16", "float32", "float32"),
    ("float32", "float64", "float64"), ("float16", "float64", "float64"),
    ("float16", "int64", "float16"), ("float32", "int64", "float32"),
    ("float16", "bool", "float16"),
    ("float16", "uint8", "float16"), ("float64", "int32", "float64"),
]  # fmt: skip


@pytest.mark.parametrize("a, b, met", MEETINGS)
def test_the_wider_format_wins_and_integers_never_decide(a, b, met):
    x, y = fp.tensor([1.0, 2.0], dtype=a), fp.tensor([1, 0], dtype=b)
    for precision in ("mixed", "float32", "float16"):
        with fp.precision(precision):
            results = [x + y, y + x, x * y, x - y, fp.maximum(x, y), fp.where(x == y, x, y)]
            assert [z.dtype.name for z in results] == [met] * 6
            assert fp.cat([x, y]).dtype == met or "int" in b or b == "bool"


@pytest.mark.parametrize("a", ["float16", "float32", "float64"])
@pytest.mark.parametrize("b", ["float16", "float32", "float64"])
def test_tensors_without_dimensions_are_weak(a, b):
    """They decide only among themselves, as in PyTorch."""
    x, s, r = fp.tensor([2.0], dtype=a), fp.tensor(3.0, dtype=b), fp.tensor(3.0, dtype=a)
    assert (x * s).dtype == (s * x).dtype == fp.where(x > 0, x, s).dtype == a
    assert (r * s).dtype == np.promote_types(a, b)
    assert (x * np.float64(3)).dtype == (np.float64(3) * x).dtype == a
    assert (x * np.array([3.0, 4.0])).dtype == float64


def test_a_batch_is_rounded_at_the_door_of_weights_and_norm_parameters_decide_no_format(in_mixed):
    a = np.random.default_rng(0).uniform(-1, 1, (5, 4)).astype(float32)
    for layer, shape in ((nn.Linear(4, 3), (5, 4)), (nn.Conv2d(1, 3, (1, 4)), (5, 1, 1, 4))):
        x = fp.tensor(a.reshape(shape), dtype="float32", requires_grad=True)
        y = layer(x)
        assert y.dtype == float16
        np.testing.assert_array_equal(y.array, layer(fp.tensor(half(x.array))).array)
        y.backward(gradient=np.ones(y.shape))
        assert x.grad.dtype == float32  # in x's own format again, of a gradient rounded before
        assert (half(x.grad.array) == x.grad.array).all()
        assert layer.weight.grad.dtype == float16
    for layer, shape in ((nn.BatchNorm1d(4), (5, 4)), (nn.LayerNorm(4), (5, 4))):
        x = fp.tensor(random_halves(*shape), requires_grad=True)
        y = layer(x)
        assert (layer.weight.dtype, y.dtype) == (float32, float16)
        y.backward(gradient=np.ones(shape))
        assert (layer.weight.grad.dtype, x.grad.dtype) == (float32, float16)


def test_float64_is_never_computed_in_less_and_to_rounds_once():
    for precision in ("mixed", "float16", "float32"):
        with fp.precision(precision):
            x = fp.tensor([[1.0, 2**-40]], dtype="float64", requires_grad=True)
            assert x.sum().item() == (x @ np.ones((2, 1))).item() == 1 + 2**-40
            (x * x).sum().backward()
            assert x.grad.tolist() == [[2, 2**-39]]
    x = fp.tensor([1 + 2**-11, 1 + 3 * 2**-11, 1e5, 2**-25], requires_grad=True)
    y = x.to("float16")
    assert y.tolist() == [1, 1 + 2**-9, np.inf, 0]  # ties to even
    y.backward(gradient=[1.0, 2.0, 3.0, 4.0])
    assert x.grad.dtype == float32 and x.grad.tolist() == [1, 2, 3, 4]
    assert x.half().dtype == float16 and x.half().float().dtype == float32
    assert x.to(fp.float32) is x


#
# Against loops over np.float16 numbers, which NumPy rounds after each operation.


def fold_axis(a, axes):
    """The sums over some axes, in C order, with the axes kept."""
    return np.expand_dims(loop_sums(a, axes), axes)


def both(fn, *arrays, switch, gradient=None, variant=lambda p: p):
    """Stored results and gradients of fn in mixed with float16 sums and, to differ, without."""
    found = []
    for precision in (f"mixed,{switch}=float16", "mixed"):
        with fp.precision(variant(fp.Precision.parse(precision))):
            xs = [fp.tensor(a, dtype="float16", requires_grad=True) for a in arrays]
            y = fn(*xs)
            dy = gradient(*y.shape, seed=9) if callable(gradient) else gradient
            y.backward(gradient=np.ones(y.shape) if dy is None else dy)
            found.append([y.array, *(x.grad.array for x in xs)])
    return found


def assert_sequential(expected, fn, *arrays, switch="reduce", gradient=None):
    """fn with float16 sums gives what is expected, in all bits; mixed gives another."""
    sequential, wide = both(fn, *arrays, switch=switch, gradient=gradient)
    for i, (a, b, e) in enumerate(zip(sequential, wide, expected, strict=True)):
        if e is not None:
            np.testing.assert_array_equal(a, e.astype(a.dtype), err_msg=f"result {i}")
            assert (a != b).any(), f"result {i} is the same with float32 sums"


def test_products_add_in_float16_one_after_the_other_and_then_the_bias():
    x, y, dz = random_halves(30, 40), random_halves(40, 20, seed=1), random_halves(30, 20, seed=2)
    expected = [loop_dot(x, y), loop_dot(dz, y.T), loop_dot(x.T, dz)]
    assert_sequential(expected, fp.matmul, x, y, switch="accumulate", gradient=dz)
    x, w, b = random_halves(30, 40), random_halves(20, 40, seed=1), random_halves(20, seed=2)
    dy, y = random_halves(30, 20, seed=3), loop_dot(x, w.T) + b.astype(float32)
    expected = [half(y), loop_dot(dy, w), loop_dot(dy.T, x), None]
    assert_sequential(expected, F.linear, x, w, b, switch="accumulate", gradient=dy)
    assert_sequential([None, None, None, fold_axis(dy, (0,))[0]], F.linear, x, w, b, gradient=dy)


def test_conv2d_adds_in_float16_channels_rows_columns():
    """y[n,o,p,q] over c, i, j; dx[n,c,h,w] over o and dy's places; dw[o,c,i,j] over n, p, q."""
    x, w = random_halves(3, 4, 5, 4), random_halves(6, 4, 3, 2, seed=1)
    b, dy = random_halves(6, seed=2), random_halves(3, 6, 3, 3, seed=3)
    y, dx, dw = np.empty(dy.shape, float32), np.empty(x.shape, float32), np.empty(w.shape, float32)
    for n, o, p, q in np.ndindex(*y.shape):
        window = x[n, :, p : p + 3, q : q + 2]
        y[n, o, p, q] = loop_sum((window * w[o]).reshape(-1)) + b[o].astype(float32)
    for o, c, i, j in np.ndindex(*w.shape):
        dw[o, c, i, j] = loop_sum((dy[:, o] * x[:, c, i : i + 3, j : j + 3]).reshape(-1))
    padded, turned = np.pad(dy, ((0, 0), (0, 0), (2, 2), (1, 1))), w[:, :, ::-1, ::-1]
    for n, c, h, v in np.ndindex(*x.shape):
        window = padded[n, :, h : h + 3, v : v + 2]
        dx[n, c, h, v] = loop_sum((window * turned[:, c]).reshape(-1))
    assert_sequential([half(y), dx, dw, None], F.conv2d, x, w, b, switch="accumulate", gradient=dy)
    db = fold_axis(dy, (0, 2, 3)).reshape(-1)
    assert_sequential([None, None, None, db], F.conv2d, x, w, b, gradient=dy)


def looped(x, axis=None, keepdims=False):
    """The primitive `sum` in float16, by the loop."""
    axes = tuple(sorted(i % x.ndim for i in np.atleast_1d(range(x.ndim) if axis is None else axis)))
    y = fold_axis(x, axes)
    return y if keepdims else y.squeeze(axes)


SUMMED = [  # what sums, how many of its results and gradients depend on how, shapes
    (lambda x, *p: F.batch_norm(x, None, None, *p, training=True), 4, (5, 3, 4, 2), (3,), (3,)),
    (lambda x, w, b: F.layer_norm(x, 40, w, b), 4, (9, 40), (40,), (40,)),
    *((lambda x, n=n: getattr(F, n)(x, 1), 2, (20, 60)) for n in ("softmax", "log_softmax")),
    (lambda z: F.cross_entropy(z, np.arange(50)), 2, (50, 60)),
    (F.mse_loss, 1, (50, 60), (50, 60)),
    *((lambda x, n=n: getattr(x, n)(0), 1 + (n == "var"), (40, 6)) for n in ("sum", "mean", "var")),
]


@pytest.mark.parametrize("fn, count, shapes", [(fn, n, shapes) for fn, n, *shapes in SUMMED])
def test_each_sum_is_added_in_float16_as_by_a_loop(fn, count, shapes, monkeypatch):
    arrays = [random_halves(*s, seed=i, low=-2.0 * (i > 0)) for i, s in enumerate(shapes)]
    dy = None if fn is F.mse_loss or shapes == [(50, 60)] else random_halves
    sequential, wide = both(fn, *arrays, switch="reduce", gradient=dy)
    plain = kernels.primitives

    def primitives(sums):
        found = plain(sums)
        return found._replace(sum=looped) if found is plain("float16") else found

    monkeypatch.setattr(kernels, "primitives", primitives)
    expected, _ = both(fn, *arrays, switch="reduce", gradient=dy, variant=policy.by_references)
    for a, e in zip(sequential, expected, strict=True):
        np.testing.assert_array_equal(a, e)
    assert sum((a != b).any() for a, b in zip(sequential, wide)) >= count


def test_gradients_of_repeated_and_broadcast_reads_add_in_float16():
    dy, w = random_halves(50, 3), random_halves(2, 3, seed=1)
    i = np.arange(50) % 2
    dw = np.stack([fold_axis(dy[i == k], (0,))[0] for k in range(2)])
    for read in (lambda w: F.embedding(i, w), lambda w: w[i], lambda w: w[i, :]):
        assert_sequential([None, dw], read, w, gradient=dy)
    dx = fold_axis(dy, (0,))[0]
    for spread in (lambda x: x.expand(50, 3), lambda x: x + fp.zeros(50, 3)):
        assert_sequential([None, dx], spread, w[0], gradient=dy)
    by = fp.tensor(random_halves(50, 3, seed=4))
    dx = fold_axis(dy.astype(float32) * by.array, (0,))[0]
    assert_sequential([None, dx], lambda x: x * by, w[0], gradient=dy)


def test_overlapping_windows_add_in_float16():
    x, dy = random_halves(1, 1, 9, 9, low=1.0), random_halves(1, 1, 4, 4, low=1.0, seed=1)
    y, parts = np.empty((1, 1, 4, 4), float32), [[[] for _ in range(9)] for _ in range(9)]
    share = dy.astype(float32) / float32.type(9)
    for p, q in np.ndindex(4, 4):
        window = x[0, 0, 2 * p : 2 * p + 3, 2 * q : 2 * q + 3]
        y[0, 0, p, q] = loop_sum(window.reshape(-1)) / float32.type(9)
    for i, j, p, q in np.ndindex(3, 3, 4, 4):  # by places in the window, as the kernel adds
        parts[2 * p + i][2 * q + j].append(share[0, 0, p, q])
    dx = np.array([[[[loop_sum(addends) for addends in row] for row in parts]]])
    assert_sequential([half(y), dx], lambda x: F.avg_pool2d(x, 3, 2), x, gradient=dy)


CHUNKED = [
    ("accumulate", fp.matmul, (30, 40), (40, 20)),
    ("accumulate", F.linear, (30, 40), (20, 40), (20,)),
    ("accumulate", F.conv2d, (2, 3, 7, 7), (4, 3, 3, 3), (4,)),
    ("accumulate", F.conv_transpose1d, (2, 3, 9), (3, 4, 5)),
    ("accumulate", lambda *a: fp.einsum("bij,bjk->bik", *a), (2, 6, 30), (2, 30, 5)),
    ("accumulate", lambda x, w: fp.ops.lstm(x, *np.zeros((2, 5, 8)), w / 64, np.zeros((32, 8)))[0],
     (1, 5, 60), (32, 60)),
    ("accumulate", F.scaled_dot_product_attention, *[(2, 2, 40, 50)] * 3),
    ("reduce", F.scaled_dot_product_attention, *[(2, 2, 40, 50)] * 3),
    ("reduce", lambda x: x.sum(1), (5, 200)), ("reduce", lambda x: x.cumsum(0), (200, 3)),
    ("reduce", lambda x: x.var(0), (200, 3)), ("reduce", lambda x: F.softmax(x, 1), (4, 200)),
    ("reduce", lambda x, w, b: F.layer_norm(x, (90,), w, b), (40, 90), (90,), (90,)),
    ("reduce", lambda w: F.embedding(np.arange(400) % 3, w), (4, 8)),
]  # fmt: skip


@pytest.mark.parametrize("switch, fn, shapes", [(s, fn, shapes) for s, fn, *shapes in CHUNKED])
def test_every_operation_sums_in_chunks(switch, fn, shapes):
    """Of more addends than there are it is float16; of fewer, neither that nor float32."""
    arrays, found = [random_halves(*s, seed=i, low=0.0) for i, s in enumerate(shapes)], {}
    for sums in ("float16", "chunked:100000", "chunked:16", "float32"):
        with fp.precision(f"mixed,{switch}={sums}"):
            xs = [fp.tensor(a, dtype="float16", requires_grad=True) for a in arrays]
            y = fn(*xs)
            y.backward(gradient=random_halves(*y.shape, seed=9, low=0.0))
            found[sums] = [y.array, *(x.grad.array for x in xs)]
    for a, b in zip(found["float16"], found["chunked:100000"], strict=True):
        np.testing.assert_array_equal(a, b)
    for sums in ("float16", "float32"):
        assert any((a != b).any() for a, b in zip(found[sums], found["chunked:16"])), sums


@functools.cache
def observe(precision):
    """What each switch is said to decide, looked up in what a training step really did."""
    fp.manual_seed(0)
    with fp.precision(precision) as p:
        layer, norm = nn.Linear(64, 3), nn.BatchNorm1d(3)
        x = fp.tensor(random_halves(40, 64, low=0.0), dtype=p.activations)
        optimizer = fp.MixedOptimizer(optim.Adam([*layer.parameters(), *norm.parameters()]))
        with Flow() as flow:
            y = norm(layer(x))
            optimizer.backward((y * y).sum())
        inner = {g.dtype for k, op, g in flow if k == "gradient" and op not in ("leaf", "sum")}
        ones = fp.ones(64, 1, dtype=float16)
        eighths = x.to("float8_e4m3fn").float().array  # which operands=float8_e4m3fn leaves alone
        inside = layer(fp.tensor(x.array, dtype=p.activations, requires_grad=True) * 1.0)
        between = fp.tensor([[1.0625]], dtype=float16, requires_grad=True)
        product = between @ ones[:1]
        product.backward(gradient=fp.tensor([[1.125]], dtype=float16))
        with fp.precision(dataclasses.replace(p, operands="float8_e4m3fn")):
            tiny = fp.tensor([[2.0**-12]], dtype=float16) @ ones[:1]
        memory, block = optimizer.memory(), optimizer.optimizer.blocks[0]
        return {
            "weights": layer.weight.dtype,
            "activations": {v.dtype for v in (layer(x), y, x * 2, F.softmax(x, 1))},
            "gradients": (layer.weight.grad.dtype, inner),
            "accumulate": (fp.tensor(eighths, dtype=float16) @ ones).tolist(),
            "reduce": fp.tensor(x.array, dtype=float16).sum(0).tolist(),
            "operands": product.item(),
            "gradient_operands": between.grad.item(),
            "operand_scale": tiny.item(),
            "saved": type(inside.node.saved[0]),
            "norm_parameters": {
                *(v.dtype for v in (norm.weight, norm.bias, norm.running_mean, norm.running_var))
            },
            "master_weights": memory["masters"] > 0,
            "optimizer_state": {block.state["exp_avg"].dtype},
            "second_moment": block.state["exp_avg_sq"].dtype,
            "optimizer_state_scale": [len(state.arrays) for state in block.state.values()],
            "update_rounding": block.weights.is_stochastic,
            "compensated": block.weights.compensation is not None,
            "loss_scale": optimizer.scale,
        }


CHANGES = {
    "weights": "float32", "activations": "float32", "gradients": "float32",
    "accumulate": "float16", "reduce": "float16", "norm_parameters": "float16",
    "master_weights": "off", "optimizer_state": "float16", "loss_scale": "128",
    "second_moment": "float16", "optimizer_state_scale": "tensor",
    "update_rounding": "stochastic", "compensated": "on",
    "operands": "float8_e4m3fn", "gradient_operands": "float8_e5m2", "operand_scale": "row",
    "saved": "operands",
}  # fmt: skip
BASES = {
    **dict.fromkeys(("update_rounding", "compensated"), "mixed,master_weights=off"),
    **dict.fromkeys(("operand_scale", "saved"), "mixed,operands=float8_e4m3fn"),
    "optimizer_state": "mixed,second_moment=bfloat16",  # which optimizer_state decides else
    "optimizer_state_scale": "mixed,optimizer_state=float8_e5m2",
}


def test_every_switch_is_observed_and_named_precisions_decide_what_their_table_says():
    """But `operations`: see test_autocast.py."""
    assert {*CHANGES, "operations"} == {*SWITCHES} == {*observe("mixed"), "operations"}
    mixed = observe("mixed")
    assert (mixed["weights"], mixed["activations"]) == (float16, {float16})
    assert mixed["gradients"] == (float16, {float16})
    assert mixed["norm_parameters"] == mixed["optimizer_state"] == {float32}
    assert (mixed["master_weights"], mixed["loss_scale"]) == (True, 2.0**16)
    for name, stored in (("float32", {float32}), ("float16", {float16})):
        seen = observe(name)
        formats = {seen["weights"], seen["gradients"][0], *seen["gradients"][1]}
        assert formats | seen["activations"] | seen["norm_parameters"] == stored
        assert (seen["master_weights"], seen["loss_scale"]) == (False, 1)
    assert observe("float32")["optimizer_state"] == {float32}
    with fp.precision("float16"):
        assert fp.ones(3).sum().dtype == float32  # losses are not


@pytest.mark.parametrize("switch", CHANGES)
def test_each_switch_changes_what_it_says_and_nothing_else(switch):
    base = BASES.get(switch, "mixed")
    before, after = observe(base), observe(f"{base},{switch}={CHANGES[switch]}")
    changed = {name for name in before if before[name] != after[name]}
    also = {"weights": {"master_weights"}}  # weights stored in float32 need no masters
    assert changed == {switch} | also.get(switch, set())
