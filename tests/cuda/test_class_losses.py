"""Cross entropy and the negative log-likelihood on a GPU."""

import numpy as np
import pytest
from checked import check, results_of

import minifp as fp
from minifp.autograd.tape import Tensor
from minifp.runtime.cuda.arrays import to_device

ONE = np.array(1.5, "float32")
SHAPES = [(5, 10), (40, 16), (7, 100), (3, 2000), (3, 5, 6), (2, 60, 35), (9,), (40000, 2)]
SETTINGS = [(False, 0.0), (False, 0.1), (True, 0.0), (True, 0.1)]


def made(shape, weighted, dtype="float16"):
    """(z, t, w), with one row that is ignored, if there are several."""
    rng = np.random.default_rng(len(shape))
    axis = min(1, len(shape) - 1)
    z = (rng.normal(size=shape) * 3).astype(dtype)
    t = np.array(rng.integers(0, shape[axis], size=shape[:axis] + shape[axis + 1 :]))
    if t.ndim:
        t[..., -1:] = -100
    return z, t, rng.uniform(0.2, 1.5, shape[axis]).astype(dtype) if weighted else None


@pytest.mark.parametrize("weighted, smoothing", SETTINGS)
@pytest.mark.parametrize("shape", SHAPES)
def test_cross_entropy_of_classes(shape, weighted, smoothing):
    z, t, w = made(shape, weighted)
    given = {"ignore_index": -100, "smoothing": smoothing}
    for reduction in ("mean", "sum"):
        both = {**given, "reduction": reduction}
        check("cross_entropy.cross_entropy_total", z, t, w, to=("float32",), **both)
        check("cross_entropy.cross_entropy_dz", ONE, z, t, w, to=("float16",), **both)
    each = check("cross_entropy.cross_entropy_each", z, t, w, to=("float16",), **given)
    given["reduction"] = "none"
    check("cross_entropy.cross_entropy_dz", each, z, t, w, to=("float16",), **given)


@pytest.mark.parametrize("weighted, smoothing", SETTINGS)
@pytest.mark.parametrize("shape", [s for s in SHAPES if s[0] < 1000])
def test_cross_entropy_of_probabilities(shape, weighted, smoothing):
    z, t, w = made(shape, weighted, "float32")
    q = np.abs(np.roll(z, 1))
    given = {"smoothing": smoothing}
    each = check("cross_entropy.soft_cross_entropy_each", z, q, w, to=("float16",), **given)
    for reduction, dl in (("mean", ONE), ("none", each)):
        given["reduction"] = reduction
        for d in ("dz", "dq"):
            check(f"cross_entropy.soft_cross_entropy_{d}", dl, z, q, w, to=("float16",), **given)
    given["reduction"] = "mean"
    check("cross_entropy.soft_cross_entropy_total", z, q, w, to=("float32",), **given)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [*SHAPES, (0, 4)])
def test_the_negative_log_likelihood(shape, weighted):
    x, t, w = made(shape, weighted)
    each = check("nll_loss.nll_loss_each", x, t, w, to=("float16",), ignore_index=-100)
    for reduction, dl in (("mean", ONE), ("sum", ONE), ("none", each)):
        given = {"ignore_index": -100, "reduction": reduction}
        if reduction != "none":
            check("nll_loss.nll_loss_total", x, t, w, to=("float32",), **given)
        check("nll_loss.nll_loss_dx", dl, x, t, w, to=("float16",), **given)


@pytest.mark.parametrize("kind", ["int32", "uint8"])
def test_labels_of_other_integers(kind):
    z, t, w = made((40, 16), True)
    given = {"ignore_index": 255, "smoothing": 0.0, "reduction": "mean"}
    t = np.where(t < 0, 255, t).astype(kind)
    check("cross_entropy.cross_entropy_total", z, t, w, to=("float32",), **given)


def test_a_row_that_is_not_finite_gives_nan():
    z, t, _ = made((8, 16), False)
    z[0], z[1, 3], z[2, 5] = -np.inf, np.nan, np.inf
    given = {"ignore_index": -100, "smoothing": 0.0}
    losses = check("cross_entropy.cross_entropy_each", z, t, None, to=("float16",), **given)
    assert np.isnan(losses[:3]).all() and np.isfinite(losses[3:]).all()
    given["reduction"] = "sum"
    check("cross_entropy.cross_entropy_dz", ONE, z, t, None, to=("float16",), **given)


def test_a_mean_of_no_row_is_nan():
    given = {"ignore_index": 1, "reduction": "mean"}
    z, t = np.ones((3, 4), "float16"), np.ones(3, int)
    for name, more in (
        ("cross_entropy.cross_entropy", {"smoothing": 0.0}),
        ("nll_loss.nll_loss", {}),
    ):
        (loss,) = results_of(f"{name}_total", z, t, None, to=("float32",), **given, **more)
        assert np.isnan(loss)


@pytest.mark.parametrize("loss", [fp.nn.functional.cross_entropy, fp.nn.functional.nll_loss])
def test_a_target_that_is_no_class_gives_nan_on_a_gpu(loss):
    z = Tensor(to_device(np.zeros((4, 3), "float32")), requires_grad=True)
    t = Tensor(to_device(np.array([0, 3, -1, 2])))
    losses = loss(z, t, reduction="none")
    assert np.isnan(losses.numpy()).tolist() == [False, True, True, False]
    loss(z, t, reduction="sum").backward()
    assert np.isnan(z.grad.numpy()).all(1).tolist() == [False, True, True, False]
