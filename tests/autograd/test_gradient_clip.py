"""Claims about clipping gradients: what it scales, what it leaves, and what it refuses."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from snapshots import frozen, gradients

import minifp as fp
from minifp import nn, optim
from minifp.autograd.gradient_clip import largest_magnitude, squared_norm, total_norm

clip_grad_norm_, clip_grad_value_ = nn.utils.clip_grad_norm_, nn.utils.clip_grad_value_


def parameter(values, gradient=None, precision="float32"):
    with fp.precision(precision):
        p = nn.Parameter(np.asarray(values, np.float64))
        if gradient is not None:
            give(p, gradient)
    return p


def give(p, gradient, seed=1.0):
    with fp.precision(p.precision):
        factor = fp.tensor(np.broadcast_to(np.asarray(gradient, np.float64), p.shape))
        (p * factor).sum().backward(seed=seed)


def refused(parameters, error, *words, call):
    """The call raises `error` with all the words, and changes no gradient."""
    owner = type("Owner", (), {"parameters": parameters})
    before = gradients(owner)
    with pytest.raises(error) as caught:
        call()
    assert ([w for w in words if w not in str(caught.value)], gradients(owner)) == ([], before)


def test_clipping_scales_all_gradients_together_and_returns_their_norm():
    assert optim.clip_grad_norm_ is fp.nn.utils.clip_grad_norm_
    assert optim.clip_grad_value_ is fp.nn.utils.clip_grad_value_
    ps = [parameter([0.0, 0.0], [3.0, 0.0], "float64"), parameter([0.0], -4.0, "float64")]
    norm = clip_grad_norm_(ps, 2.5)
    assert (norm.item(), norm.shape, norm.dtype) == (5.0, (), np.float64)
    np.testing.assert_allclose(ps[0].grad.array, [1.5, 0.0], rtol=1e-6)
    np.testing.assert_allclose(ps[1].grad.array, [-2.0], rtol=1e-6)
    before = frozen(ps[0].grad.array)
    assert clip_grad_norm_(ps, math.inf, foreach=True).item() == pytest.approx(2.5)  # only measures
    clip_grad_value_(ps, math.inf)
    assert frozen(ps[0].grad.array) == before


@pytest.mark.parametrize("norm_type, norm", [
    (1, 7.0), (1.0, 7.0), (2, 5.0), (3, 91 ** (1 / 3)), (0.5, (3**0.5 + 2.0) ** 2),
    ("inf", 4.0), (math.inf, 4.0), (60.0, 4.0),
])  # fmt: skip
def test_the_norm_can_be_another(norm_type, norm):
    ps = [parameter([0.0, 0.0], [3.0, 0.0], "float64"), parameter([0.0], -4.0, "float64")]
    assert clip_grad_norm_(ps, norm / 2, norm_type) == pytest.approx(norm, rel=1e-7)
    np.testing.assert_allclose(ps[0].grad.array, [1.5, 0.0], rtol=1e-6)
    np.testing.assert_allclose(ps[1].grad.array, [-2.0], rtol=1e-6)


@pytest.mark.parametrize("norm_type", [1, 2, 3.5, "inf"])
@pytest.mark.parametrize("size", [2.0**-24, 65504.0])
def test_no_norm_overflows_or_vanishes(norm_type, size):
    whole = size * (1 if norm_type == "inf" else 4096 ** (1 / norm_type))
    assert total_norm([np.full(4096, size, np.float16)], norm_type) == pytest.approx(whole)
    assert total_norm([np.full(16, 1e30 * size, np.float32)], 16) < np.inf
    assert total_norm([np.zeros(4), np.zeros(0)], norm_type) == 0.0


@given(
    sizes=st.lists(st.integers(0, 200000), min_size=1, max_size=3),
    norm_type=st.sampled_from([1, 2, 3, "inf"]),
)
def test_a_norm_is_over_all_elements_of_all_arrays(sizes, norm_type):
    random = np.random.default_rng(sizes)
    arrays = [random.normal(size=n) for n in sizes]
    joined = np.concatenate(arrays)
    order = np.inf if norm_type == "inf" else norm_type
    expected = np.linalg.norm(joined, order) if joined.size else 0.0
    assert total_norm(arrays, norm_type) == pytest.approx(expected, rel=1e-11)
    assert squared_norm(joined) == pytest.approx(float(joined @ joined), rel=1e-11)


@pytest.mark.parametrize("precision", ["float32", "mixed"])
def test_clipping_leaves_gradients_below_the_norm_as_they_are(precision):
    p = parameter([0.0, 0.0], [0.3, 0.4], precision)
    before = frozen(p.grad.array)
    clip_grad_norm_([p], 0.6)
    clip_grad_value_([p], 0.5)
    assert frozen(p.grad.array) == before


def test_clipping_loses_no_small_gradient_and_leaves_what_is_not_finite_for_the_step():
    p = parameter([0.0, 0.0], [1.0, 2.0**-24], "mixed")
    clip_grad_norm_(p, 2.0**-6)
    assert p.grad.array.dtype == np.float32
    np.testing.assert_allclose(p.grad.array, [2.0**-6, 2.0**-30], rtol=1e-5)
    # Where PyTorch would make of an Inf the largest gradient that is allowed.
    p = parameter(np.zeros(4), [np.inf, -np.inf, np.nan, 2.0])
    clip_grad_value_(p, 0.5)
    np.testing.assert_array_equal(p.grad.array, [np.inf, -np.inf, np.nan, 0.5])
    assert fp.MixedOptimizer(optim.SGD([p])).step().skipped


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("norm_type", [1, 2, 3, "inf"])
def test_clipping_hides_no_overflow(value, norm_type):
    p = parameter([1.0, 2.0], [value, 1.0])
    call = lambda: clip_grad_norm_(p, 1.0, norm_type, error_if_nonfinite=True)  # noqa: E731
    refused([p], fp.TrainingError, "error_if_nonfinite", call=call)
    norm = clip_grad_norm_([p], 1.0, norm_type).item()
    assert not np.isfinite(norm) and not np.isfinite(p.grad.array).all()


@pytest.mark.parametrize("precision", ["float32", "mixed", "float64"])
def test_clipping_by_value_limits_each_element(precision):
    p, other = parameter(np.zeros(4), [-3.0, -0.5, 0.25, 2.0], precision), parameter([0.0])
    assert clip_grad_value_([p, other], 0.5) is None
    assert p.grad.array.tolist() == [-0.5, -0.5, 0.25, 0.5] and other.grad is None


EITHER = [partial(clip_grad_norm_, max_norm=4.0), partial(clip_grad_value_, clip_value=4.0)]
either = pytest.mark.parametrize("clip", EITHER)


@either
def test_clipped_gradients_are_still_good_for_one_step_and_no_more(clip):
    p = parameter([0.0], 8.0)
    clip(p for p in [p])
    give(p, 1.0)
    optim.SGD([p], lr=1.0).step()
    np.testing.assert_allclose(p.array, -5.0, rtol=1e-6)
    p = parameter([0.0], 8.0)
    optimizer = optim.SGD([p], lr=1.0)
    optimizer.step()
    give(p, 8.0)
    clip([p])
    with pytest.warns(fp.MisuseWarning, match="zero_grad"):
        optimizer.step()


@either
def test_what_cannot_be_clipped_is_refused_by_who_complains(clip):
    name, p = clip.func.__name__, parameter([1.0])
    for nothing in ([p], []):
        refuses(fp.TapeError, f"{name} without gradients", clip, nothing)
    give(p, 1.0)
    optim.SGD([p]).step()
    refuses(fp.TapeError, f"{name} on gradients .* already used", clip, [p])
    for none in (5, None, ["w"], [np.zeros(2)]):
        refuses(fp.DTypeError, "clip_grad_", clip, none)
    scaled = parameter([1.0, 2.0])
    give(scaled, 1e-9, seed=1024.0)
    refused([scaled], fp.TapeError, "1024", "unscale_()", call=lambda: clip([scaled]))
    ps = [parameter([1.0], 1.0), parameter([1.0])]  # of two seeds
    give(ps[1], 1.0, seed=8.0)
    refused(ps, fp.TapeError, "multiplied by 8", call=lambda: clip(ps))


def test_an_impossible_limit_or_kind_of_norm_is_refused_by_name():
    p, nan = parameter([1.0], 2.0), math.nan
    for bad in (-1.0, nan, -math.inf, "1", None, [1.0], True):
        refused([p], fp.ArgumentError, "max_norm", call=lambda b=bad: clip_grad_norm_([p], b))
        refused([p], fp.ArgumentError, "clip_value", call=lambda b=bad: clip_grad_value_([p], b))
    for bad in (0, 0.0, -1, -math.inf, nan, "fro", None, True):
        refused([p], fp.ArgumentError, "norm_type", call=lambda b=bad: clip_grad_norm_([p], 1.0, b))
    call = lambda: clip_grad_norm_([p], 1.0, error_if_nonfinite=1)  # noqa: E731
    refused([p], fp.ArgumentError, "error_if_nonfinite", call=call)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("values", [
    [], [0.0, -0.0], [1.0, -3.0], [-2.0, -1.0], [1e-7], [-np.inf, 1], [np.inf, np.nan],
])  # fmt: skip
def test_the_largest_magnitude_is_read_from_the_bits(values, dtype):
    a = np.array(values, dtype)
    expected = np.max(np.abs(a.astype(np.float64)), initial=0.5)
    np.testing.assert_equal(largest_magnitude(a, np.array([[0.5], [-0.25]])), expected)
