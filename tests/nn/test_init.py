"""Claims about initial values: sizes, spreads, what rounding keeps, and PyTorch's rules."""

import math

import numpy as np
import pytest
from refusals import each_refused

import minifp as fp
from minifp import nn

WEIGHT = (64, 32, 3, 5)  # fan_in 480, fan_out 960
FAN_IN, FAN_OUT = 480, 960
init = nn.init
NAMES = (
    *("uniform_", "normal_", "trunc_normal_", "zeros_", "ones_", "xavier_uniform_"),
    *("xavier_normal_", "kaiming_uniform_", "kaiming_normal_", "orthogonal_"),
)


def drawn(name, shape=WEIGHT, *args, **settings):
    """What it writes into a float32 tensor, in float64."""
    tensor = fp.zeros(*shape)
    assert getattr(init, name)(tensor, *args, **settings) is tensor
    return tensor.array.astype("float64")


def within_5_deviations(x, std):
    """The mean and the deviation of so many independent numbers, of no heavier tails than normal,
    err by std / sqrt(n) and at most std / sqrt(2 n)."""
    n = x.size
    return abs(x.mean()) < 5 * std / math.sqrt(n) and abs(x.std() - std) < 5 * std / math.sqrt(
        2 * n
    )


@pytest.mark.parametrize(("name", "settings", "bound"), [
    ("uniform_", {"a": -0.5, "b": 0.5}, 0.5),
    ("xavier_uniform_", {"gain": 2.0}, 2 * math.sqrt(6 / (FAN_IN + FAN_OUT))),
    ("kaiming_uniform_", {}, math.sqrt(6 / FAN_IN)),
    ("kaiming_uniform_", {"a": math.sqrt(5)}, 1 / math.sqrt(FAN_IN)),
    ("kaiming_uniform_", {"mode": "fan_out", "nonlinearity": "relu"}, math.sqrt(6 / FAN_OUT)),
])  # fmt: skip
def test_uniform_ones_fill_their_interval(name, settings, bound, torch):
    x = drawn(name, **settings)
    assert -bound <= x.min() < -0.999 * bound and 0.999 * bound < x.max() <= bound
    assert within_5_deviations(x, bound / math.sqrt(3))
    theirs = getattr(torch.nn.init, name)(torch.empty(WEIGHT), **settings)
    assert 0.999 * bound < theirs.abs().max() <= bound * (1 + 1e-6)


@pytest.mark.parametrize(("name", "settings", "std"), [
    ("normal_", {"std": 0.3}, 0.3), ("xavier_normal_", {}, math.sqrt(2 / (FAN_IN + FAN_OUT))),
    ("kaiming_normal_", {"nonlinearity": "relu"}, math.sqrt(2 / FAN_IN)),
    ("kaiming_normal_", {"mode": "fan_out", "nonlinearity": "tanh"}, 5 / 3 / math.sqrt(FAN_OUT)),
])  # fmt: skip
def test_normal_ones_have_their_deviation(name, settings, std, torch):
    assert within_5_deviations(drawn(name, **settings), std)
    theirs = getattr(torch.nn.init, name)(torch.empty(WEIGHT), **settings)
    assert within_5_deviations(theirs.double().numpy(), std)


@pytest.mark.parametrize(
    ("mean", "std", "a", "b"), [(0, 1, -2, 2), (1, 0.5, 0, 1.25), (0, 1, 5, 6), (0, 1, -60, -50)]
)
def test_a_truncated_normal_is_a_normal_between_its_limits(mean, std, a, b):
    x = drawn("trunc_normal_", (200, 100), mean, std, a, b)
    assert a <= x.min() and x.max() <= b
    grid = np.linspace(a, b, 20001)
    density = np.exp(-((grid - mean) ** 2 - (min(max(mean, a), b) - mean) ** 2) / (2 * std**2))
    expected = (grid * density).sum() / density.sum()
    spread = math.sqrt(((grid - expected) ** 2 * density).sum() / density.sum())
    if b > -40:  # beyond, float64 has no probabilities: only the limits hold
        assert abs(x.mean() - expected) < 5 * spread / math.sqrt(x.size) + 1e-4
        assert abs(x.std() - spread) < 0.05 * spread


def test_gains_are_pytorchs(torch):
    theirs = torch.nn.init.calculate_gain
    for name in (*init.GAINS, "leaky_relu"):
        assert init.calculate_gain(name) == theirs(name)
    for slope in (0, 0.2, math.sqrt(5)):
        assert init.calculate_gain("leaky_relu", slope) == theirs("leaky_relu", slope)


@pytest.mark.parametrize("shape", [(5, 5), (7, 3), (3, 7), (4, 2, 3), (1, 1)])
def test_an_orthogonal_matrix_is_one(shape):
    x = drawn("orthogonal_", shape, gain=2.0).reshape(shape[0], -1)
    product = x @ x.T if x.shape[0] <= x.shape[1] else x.T @ x
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=4e-6)


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (0, 2)])
def test_eye_is_pytorchs(shape, torch):
    theirs = torch.nn.init.eye_(torch.empty(shape)).numpy()
    np.testing.assert_array_equal(drawn("eye_", shape), theirs)


@pytest.mark.parametrize(
    ("shape", "groups"), [((4, 2, 3), 1), ((4, 2, 3), 2), ((2, 3, 2, 5), 1), ((6, 1, 3, 3, 3), 3)]
)
def test_dirac_is_pytorchs(shape, groups, torch):
    theirs = torch.nn.init.dirac_(torch.empty(shape), groups)
    np.testing.assert_array_equal(drawn("dirac_", shape, groups), theirs.numpy())


def test_a_sparse_matrix_has_so_many_zeros_in_each_column():
    x = drawn("sparse_", (10, 50), 0.25, std=2.0)
    np.testing.assert_array_equal((x == 0).sum(0), np.full(50, 3))  # 2.5, upwards
    assert len({tuple(np.flatnonzero(column == 0)) for column in x.T}) > 10


@pytest.mark.parametrize("name", NAMES)
def test_every_precision_begins_from_the_same_numbers_and_masters_are_not_rounded(name):
    held = {}
    for precision in ("float32", "mixed", "float64"):
        fp.manual_seed(5)
        with fp.precision(precision):
            layer = nn.Linear(6, 4)
        getattr(init, name)(layer.weight)
        p = layer.weight
        assert p.requires_grad and layer.weight is p
        held[precision] = (p.array if p.exact is None else p.exact).astype("float64")
    np.testing.assert_array_equal(held["float32"], held["mixed"])
    np.testing.assert_array_equal(held["float32"], held["float64"])
    assert drawn(name, (0, 3)).shape == (0, 3) and drawn(name, (3, 0)).shape == (3, 0)


def test_drawing_moves_no_other_stream_and_constants_are_what_is_given():
    p = nn.Parameter(fp.ones(3, 3))
    before, calls = p.storage.version, fp.get_state()["calls"].get("randn", 0)
    init.normal_(p)
    assert p.storage.version > before
    assert fp.get_state()["calls"].get("randn", 0) == calls
    assert drawn("constant_", (2, 2), 0.3).tolist() == [[np.float32(0.3)] * 2] * 2
    assert np.isinf(drawn("constant_", (2,), math.inf)).all()
    assert drawn("ones_", ()).item() == 1 and drawn("zeros_", (0, 2)).shape == (0, 2)


M, V = fp.zeros(2, 3), fp.zeros(3)


test_what_makes_no_sense_is_refused_by_name = each_refused(
    (lambda: init.xavier_uniform_(V), fp.ShapeError, r"xavier_uniform_.*\(3,\).*at least 2"),
    (lambda: init.kaiming_normal_(V), fp.ShapeError, "kaiming_normal_.*at least 2"),
    (lambda: init.orthogonal_(V), fp.ShapeError, "orthogonal_.*at least 2"),
    (lambda: init.eye_(V), fp.ShapeError, "eye_.*expected 2 dimensions"),
    (lambda: init.dirac_(M), fp.ShapeError, "dirac_.*expected 3 or 4 or 5"),
    (lambda: init.dirac_(fp.zeros(3, 2, 1), 2), fp.ShapeError, "groups=2 does not divide 3"),
    (lambda: init.sparse_(V, 0.1), fp.ShapeError, "sparse_.*expected 2"),
    (lambda: init.sparse_(M, 1.5), fp.ArgumentError, "sparsity=1.5"),
    (lambda: init.normal_([1.0]), fp.DTypeError, "normal_: tensor is list"),
    (lambda: init.normal_(fp.zeros(2).to(int)), fp.DTypeError, "normal_: tensor is int64"),
    (lambda: init.normal_(M, 0, -1), fp.ArgumentError, "normal_: std=-1"),
    (lambda: init.normal_(M, math.nan), fp.ArgumentError, "normal_: mean=nan"),
    (lambda: init.uniform_(M, 2, 1), fp.ArgumentError, "a=2 and b=1"),
    (lambda: init.uniform_(M, "a"), fp.ArgumentError, "uniform_: a='a'"),
    (lambda: init.trunc_normal_(M, a=2), fp.ArgumentError, "a=2, b=2.0"),
    (lambda: init.trunc_normal_(M, std=0), fp.ArgumentError, "std=0"),
    (lambda: init.constant_(M, "1"), fp.ArgumentError, "val='1'"),
    (lambda: init.kaiming_uniform_(M, mode="fan"), fp.ArgumentError, "mode='fan'"),
    (lambda: init.kaiming_uniform_(M, "x"), fp.ArgumentError, "param='x'"),
    (lambda: init.calculate_gain("gelu"), fp.ArgumentError, "nonlinearity='gelu'"),
    (lambda: init.xavier_normal_(M, "x"), fp.ArgumentError, "gain='x'"),
    (lambda: init.zeros_(fp.ones(1).expand(3)), fp.TapeError, "expand"),
)
