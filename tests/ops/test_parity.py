"""The same numbers as PyTorch: every case, every layer with its weights, and how layers begin."""

import inspect
from itertools import product

import numpy as np
import pytest
from beside_torch import as_tuple, one_thread_of_torch, with_weights_of  # noqa: F401
from cases import BY_OPERATION, DRAWN, LAYERS, LAYOUTS
from claims import Claims
from hypothesis import given, settings
from hypothesis import strategies as st

import minifp as fp
import minifp.nn.functional as F
from minifp import nn

torch = pytest.importorskip("torch", reason="parity is with PyTorch: pip install 'minifp[parity]'")
tnn = torch.nn

pytestmark = pytest.mark.nightly
OF_TORCH = {name: [c for c in cases if c.torch] for name, cases in BY_OPERATION.items()}
OF_TORCH = {name: cases for name, cases in OF_TORCH.items() if cases}
in_torch = pytest.mark.parametrize("operation", OF_TORCH)


def both(case, arrays, dtype, layout=np.array):
    """(values, gradients) of ours, and of PyTorch, for the same gradients of the outputs."""
    laid = [layout(a.astype(dtype)) for a in arrays]
    ours = [fp.Tensor(a, requires_grad=True) for a in laid]
    theirs = [torch.tensor(a.copy(), requires_grad=True) for a in laid]
    ys, ts = as_tuple(case.fn(*ours)), as_tuple(case.torch(torch, *theirs))
    random = np.random.default_rng(2)
    dys = [random.uniform(-1, 1, y.shape).astype(dtype) for y in ys]
    for y, dy in zip(ys, dys):
        y.backward(gradient=dy, retain_graph=True)
    torch.autograd.backward(ts, [torch.tensor(dy) for dy in dys])
    return (
        ([y.array for y in ys], [x.grad.array for x in ours]),
        ([t.detach().numpy() for t in ts], [t.grad.numpy() for t in theirs]),
    )


def assert_same(ours, theirs, close):
    """Values and gradients of both are of one shape and format, and as close."""
    for a, b in zip([*ours[0], *ours[1]], [*theirs[0], *theirs[1]], strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=close, atol=close)


def at_kinks(case):
    """Whole numbers: zeros, equal ones, and numbers at the limits of clamp."""
    return [np.round(a) if case.low < 0 else np.maximum(np.round(a), 1) for a in case.arrays()]


@in_torch
def test_values_and_gradients_are_those_of_pytorch(operation):
    """In float32 both err by a few 2^-24 of what they add up, and no more than 2^5 is added up."""
    with Claims() as claims:
        for case in OF_TORCH[operation]:
            for kind, arrays, dtype, close in (
                ("random numbers", case.arrays(), "float64", 1e-12),
                ("at kinks and ties", at_kinks(case), "float64", 1e-12),
                ("random numbers", case.arrays(), "float32", 2e-5),
            ):
                with claims(kind, case, dtype), fp.precision(dtype):
                    assert_same(*both(case, arrays, dtype), close)
            check_not_finite(claims, case)


@pytest.mark.parametrize("operation", sorted(DRAWN))
@settings(max_examples=40)
@given(data=st.data(), layout=st.sampled_from(sorted(LAYOUTS)), seed=st.integers(0, 2**32 - 1))
def test_with_any_arguments_all_is_as_in_pytorch(operation, data, layout, seed):
    case = data.draw(DRAWN[operation])
    for dtype, close in (("float64", 1e-11), ("float32", 5e-5)):
        with fp.precision(dtype):
            assert_same(*both(case, case.arrays(seed), dtype, LAYOUTS[layout]), close)


def test_every_operation_that_pytorch_has_is_drawn():
    """A new operation needs a strategy in tests/cases (`drawn`), for every keyword it takes."""
    assert not {*OF_TORCH} - {*DRAWN}


# With Inf among the weights PyTorch's order of operations decides between Inf and NaN (and with
# padding, whether 0 is multiplied by it); its slope of |NaN| is 0,
# and so is its sign of NaN. Its gelu(Inf) is NaN in float32 alone, and there only in long arrays.
# On some CPUs its slope of a NaN is 1 where an activation has a straight part.
OTHER_NAN = {
    *("abs", "sign", "gelu", "norm", "batch_norm", "layer_norm", "lstm", "rnn"),
    *("conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d", "group_norm", "instance_norm"),
    "scaled_dot_product_attention",  # whose masked keys it leaves out of sums, or multiplies by 0
    *("l1_loss", "smooth_l1_loss", "pairwise_distance"),  # by the sign of NaN
    *("elu", "celu", "selu", "hardswish"),
    # Inf here, Inf - Inf or 0 Inf there
    *("kl_div", "binary_cross_entropy_with_logits", "sigmoid_focal_loss"),
}


def check_not_finite(claims, case):
    """An Inf, -Inf or NaN in the first or the last element of each input, forward and backward."""
    arrays = case.arrays()
    places = [(i, k) for i, a in enumerate(arrays) for k in {0, a.size - 1} if a.size]
    for (i, k), value in product(places, (np.inf, -np.inf, np.nan)):
        changed = [a.copy() for a in arrays]
        changed[i].reshape(-1)[k] = value
        with claims("what is not finite is where PyTorch has it", case, value, f"{k} of input {i}"):
            ours, theirs = both(case, changed, "float32")
            for a, b in zip([*ours[0], *ours[1]], [*theirs[0], *theirs[1]], strict=True):
                if case.operation in OTHER_NAN:
                    assert not np.isfinite(a[~np.isfinite(b)]).any()
                else:
                    for look in (np.isnan, np.isposinf, np.isneginf):
                        np.testing.assert_array_equal(look(a), look(b))


def test_the_gradient_of_a_window_without_a_finite_number_is_not_lost_in_the_padding():
    x = np.full((1, 1, 2, 2), -np.inf, "float32")
    a, b = fp.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    F.max_pool2d(a, 2, 2, 1).sum().backward()
    torch.nn.functional.max_pool2d(b, 2, 2, 1).sum().backward()
    np.testing.assert_array_equal(a.grad.array, b.grad.numpy())


def check_layer(ours, theirs, *shape, dtype="float32", tolerance=1e-5):
    """One forward and backward of both, with the same weights, inputs and gradients."""
    with_weights_of(theirs, ours)
    random = np.random.default_rng(0)
    x = random.normal(0, 1, shape).astype(dtype)
    a, b = fp.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    y, z = ours(a), theirs(b)
    dy = random.normal(0, 1, y.shape).astype(dtype)
    y.backward(gradient=dy)
    z.backward(torch.tensor(dy))
    close = {"rtol": tolerance, "atol": tolerance}
    np.testing.assert_allclose(y.array, z.detach().numpy(), **close)
    np.testing.assert_allclose(a.grad.array, b.grad.numpy(), **close)
    for (name, p), q in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(p.grad.array, q.grad.numpy(), err_msg=name, **close)
    for (name, b), c in zip(ours.named_buffers(), theirs.named_buffers(), strict=True):
        assert name == c[0]
        np.testing.assert_allclose(b.array, c[1].numpy(), 1e-5, 1e-7, err_msg=name)
    assert [n for n, _ in ours.named_modules()] == [n for n, _ in theirs.named_modules()]


@pytest.mark.parametrize("make, shape", LAYERS.values(), ids=LAYERS)
def test_layers_with_pytorchs_weights_are_pytorchs(make, shape):
    check_layer(make(nn), make(tnn), *shape)


@pytest.mark.parametrize("name", ["Dropout", "Dropout1d", "Dropout2d"])
def test_dropout_in_evaluation_and_with_certainty_is_pytorchs(name):
    x = np.arange(24.0, dtype="float32").reshape((2, 3, 4) if name[-2:] == "1d" else (2, 3, 4, 1))
    for p, training in ((0.5, False), (0.0, True), (1.0, True)):
        ours, theirs = (getattr(m, name)(p).train(training) for m in (nn, tnn))
        np.testing.assert_array_equal(ours(fp.tensor(x)).array, theirs(torch.tensor(x)))


BEGINNINGS = {
    "Linear": lambda m: m.Linear(300, 200),
    "Conv2d": lambda m: m.Conv2d(16, 32, (3, 5), groups=2),
    "LSTM": lambda m: m.LSTM(64, 40, 2, bidirectional=True),
    "LSTM with projection": lambda m: m.LSTM(64, 40, proj_size=9),
    **{"GRU": lambda m: m.GRU(64, 40, 2), "RNN": lambda m: m.RNN(64, 40, 2, bidirectional=True)},
    **{"GRUCell": lambda m: m.GRUCell(64, 40), "Embedding": lambda m: m.Embedding(500, 60)},
    **{"BatchNorm2d": lambda m: m.BatchNorm2d(7), "LayerNorm": lambda m: m.LayerNorm((3, 4))},
}


def distance(a, b):
    """The largest distance of two samples' distribution functions (Kolmogorov and Smirnov)."""
    both = np.concatenate([a, b])
    return np.abs(
        np.searchsorted(np.sort(a), both, "right") / a.size
        - np.searchsorted(np.sort(b), both, "right") / b.size
    ).max()


@pytest.mark.parametrize("make", BEGINNINGS.values(), ids=BEGINNINGS)
def test_initial_values_are_distributed_as_pytorchs(make):
    """Two samples of n and m differ by more than 2.5 sqrt(1/n + 1/m) once in 100,000 times."""
    torch.manual_seed(0)
    ours, theirs = make(nn), make(tnn)
    for (name, p), q in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        a, b = p.array.reshape(-1).astype(float), q.detach().numpy().reshape(-1).astype(float)
        assert distance(a, b) <= 2.5 * (1 / a.size + 1 / b.size) ** 0.5, name


# What minifp's functions leave out of PyTorch's signatures.
LEFT_OUT = {
    *("inplace", "size_average", "reduce", "_stacklevel"),
    *("max_norm", "norm_type", "scale_grad_by_freq", "sparse"),
}


def test_functional_takes_pytorchs_arguments_in_pytorchs_order():
    """By position, as far as PyTorch's are written in Python."""
    checked = set()
    for name, ours in vars(F).items():
        theirs = getattr(torch.nn.functional, name, None)
        if not (inspect.isfunction(ours) and inspect.isfunction(theirs)):
            continue
        expected = [p for p in inspect.signature(theirs).parameters if p not in LEFT_OUT]
        mine = ["input" if p == "x" else p for p in inspect.signature(ours).parameters]
        if "args" not in expected and "x" not in expected:
            assert mine == [p for p in expected if p in mine], name
            checked.add(name)
    assert {"batch_norm", "cross_entropy", "layer_norm", "mse_loss", "softmax"} <= checked
