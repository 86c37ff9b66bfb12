"""Claims about normalisation: running statistics, halves that would overflow, and bad input."""

import numpy as np
import pytest
from bounds import Calls
from refusals import check_refusals

import minifp as fp
import minifp.nn.functional as F
from minifp import nn


def batches(*shape, steps=4):
    random = np.random.default_rng(0)
    return [random.normal(step, 1 + step, shape).astype("float32") for step in range(steps)]


@pytest.mark.parametrize("size", [5, 90])
def test_responses_of_halves_whose_squares_overflow_are_those_of_float64(in_mixed, size):
    x = np.random.default_rng(0).normal(0, 400, (2, 90, 380))  # more positions than fit a block
    with Calls() as calls:
        x = fp.tensor(x, requires_grad=True)
        F.local_response_norm(x, size).backward(gradient=np.ones(x.shape, "float32"))
    own = [call for call in calls if "local_response" in call.kernel.name]
    assert [call.results[0].dtype for call in own] == [np.float16] * 2
    assert [call.excess() <= 1 for call in own] == [True] * 2


INSTANCES = {"track_running_stats": True, "affine": True}
FOLLOWED = [(name, {"momentum": m}) for name in ("BatchNorm1d", "BatchNorm2d") for m in (0.4, None)]
FOLLOWED += [("InstanceNorm1d", {"momentum": m, **INSTANCES}) for m in (0.3, None)]


@pytest.mark.parametrize(("name", "options"), FOLLOWED)
def test_running_statistics_follow_pytorchs(torch, name, options):
    ours, theirs = (getattr(m, name)(3, **options) for m in (nn, torch.nn))
    for step, x in enumerate(batches(4, 3, 5, *[2] * (name[-2] == "2"))):
        y, z = ours.train(step != 2)(fp.tensor(x)), theirs.train(step != 2)(torch.tensor(x))
        np.testing.assert_allclose(y.array, z.detach().numpy(), rtol=1e-4, atol=1e-5)
        for key, buffer in ours.named_buffers():
            expected = theirs.get_buffer(key).numpy()
            np.testing.assert_allclose(buffer.array, expected, rtol=1e-5, atol=1e-7, err_msg=key)


def test_a_batch_that_is_not_finite_does_not_count_in_the_average_of_all_batches():
    ours, other = nn.BatchNorm1d(3, momentum=None), nn.BatchNorm1d(3, momentum=None)
    first, second = batches(8, 3, steps=2)
    for x in (first, first * np.inf, second):
        ours(fp.tensor(x))
    for x in (first, second):
        other(fp.tensor(x))
    np.testing.assert_allclose(ours.running_mean.array, np.mean([first, second], (0, 1)), rtol=1e-5)
    assert ours.num_batches_tracked.item() == 2
    np.testing.assert_array_equal(ours.running_mean.array, other.running_mean.array)
    np.testing.assert_array_equal(ours.running_var.array, other.running_var.array)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_running_statistics_of_instances_refuse_what_is_not_finite(value):
    norm, x = nn.InstanceNorm1d(2, track_running_stats=True), np.ones((3, 2, 4))
    x[1, 0, 2] = value
    y = norm(fp.tensor(x))
    assert np.isnan(y.array[1, 0]).all() and np.isfinite(y.array[:, 1]).all()
    assert (norm.running_mean.tolist(), norm.running_var.tolist()) == ([0, 0], [1, 1])


def test_statistics_of_a_batch_too_large_for_the_running_ones_format_are_refused():
    with fp.precision("mixed,norm_parameters=float16"):
        norm = nn.BatchNorm1d(1, momentum=1.0)
        norm(fp.tensor([[-60000.0], [60000.0]]))  # of variance 7.2e9
    assert norm.running_var.tolist() == [1]


def test_one_group_is_a_layer_and_a_group_for_each_channel_an_instance_also_without_a_batch():
    x = fp.tensor(batches(3, 4, 5)[0])
    one = F.group_norm(x, 1).array
    np.testing.assert_allclose(one, F.layer_norm(x, (4, 5)).array, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(F.group_norm(x, 4).array, F.instance_norm(x).array)
    x, norm = batches(3, 5)[0], nn.InstanceNorm1d(3)
    np.testing.assert_array_equal(norm(fp.tensor(x)).array, norm(fp.tensor(x[None])).array[0])


def test_squares_that_overflow_in_float16_or_an_eps_that_is_0_there_spoil_nothing(in_mixed):
    x = fp.tensor(np.full((2, 4, 6), 60000.0) * np.array([1, -1] * 3), requires_grad=True)
    for y in (F.rms_norm(x, 6), F.layer_norm(x, 6), F.group_norm(x, 2), F.instance_norm(x)):
        np.testing.assert_array_equal(np.abs(y.array), 1)
        y.sum().backward()
        assert np.isfinite(x.grad.array).all()
    x = fp.tensor(np.full((1, 4), 60000.0))
    np.testing.assert_array_equal(F.normalize(x).array, 0.5)
    np.testing.assert_array_equal(F.normalize(x, p=3.5).array, np.float16(4 ** (-1 / 3.5)))
    assert F.cosine_similarity(x, x).tolist() == [1]
    assert F.pairwise_distance(x, x * 0.5).tolist() == [60000]
    x = fp.zeros(1, 3, requires_grad=True)
    F.normalize(x, eps=0.5).sum().backward()
    assert (F.normalize(x).tolist(), x.grad.tolist()) == ([[0] * 3], [[2] * 3])
    assert F.cosine_similarity(x, x).tolist() == [0]


def test_slopes_of_vectors_that_broadcast_are_summed_in_float64():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3, 4)), rng.normal(size=(3, 1))
    with fp.precision("float64"):
        x, y = (fp.tensor(v, requires_grad=True) for v in (a, b))
        F.pairwise_distance(x, y).sum().backward()
    v = a - b + 1e-6
    expected = -(v / np.linalg.norm(v, axis=-1, keepdims=True)).sum((0, 2))
    np.testing.assert_allclose(y.grad.array[:, 0], expected, rtol=1e-13)


def test_the_default_eps_of_rms_norm_is_that_of_the_format_it_is_computed_in(torch, in_mixed):
    """With float16's own, 2^-10, a row of 0.001 would come out as 0.032."""
    x = np.full((1, 4), 1e-3)
    y = F.rms_norm(fp.tensor(x), 4)
    theirs = torch.nn.functional.rms_norm(torch.tensor(x).half(), (4,))
    np.testing.assert_array_equal(y.array, theirs.numpy())
    assert y.array[0, 0] == pytest.approx(0.945, abs=1e-3)
    with fp.precision("float64"):
        assert F.rms_norm(fp.tensor(x), 4).array[0, 0] == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(
    ("precision", "expected"),
    [("float32", "float32"), ("mixed", "float32"), ("float16", "float16"), ("float64", "float64")],
)
def test_parameters_and_statistics_are_norm_parameters(precision, expected):
    with fp.precision(precision):
        layers = nn.Sequential(
            *(nn.GroupNorm(2, 4), nn.RMSNorm(4), nn.LayerNorm(4), nn.BatchNorm1d(4)),
            nn.InstanceNorm1d(4, affine=True, track_running_stats=True),
        )
        y = layers(fp.randn(3, 4, 4))
    stored = [*layers.named_parameters(), *layers.named_buffers()]
    assert {t.dtype.name for name, t in stored if "tracked" not in name} == {expected}
    assert y.dtype == ("float16" if precision == "mixed" else expected)


def test_without_parameters_or_bias_there_are_none():
    assert nn.GroupNorm(2, 4, affine=False).parameters() == []
    assert nn.InstanceNorm2d(4).parameters() == []
    assert nn.RMSNorm(4, elementwise_affine=False).parameters() == []
    for norm in (nn.GroupNorm(2, 4, bias=False), nn.BatchNorm1d(4, bias=False)):
        assert [n for n, _ in norm.named_parameters()] == ["weight"]


X, V = np.ones((2, 4, 3), "float32"), np.ones(3, "float32")


def test_what_does_not_fit_is_refused_by_name():
    check_refusals(r"""
    F.group_norm(x, 3) -> ArgumentError: num_groups=3 does not divide the 4
    F.group_norm(x, 0) -> ArgumentError: num_groups=0
    F.group_norm(x, 2.0) -> ArgumentError: num_groups=2\.0
    F.group_norm(x[0, 0], 1) -> ShapeError: group_norm: input of shape \(3,\)
    F.group_norm(x, 2, V) -> ShapeError: weight of shape \(3,\), expected \(4,\)
    F.group_norm(x, 2, [1.0] * 4) -> DTypeError: weight is a list
    F.group_norm(x, 2, eps=0) -> ArgumentError: group_norm: eps=0
    F.group_norm(x[:1, :, :1], 4) -> ShapeError: 1 value a group
    F.instance_norm(x[0]) -> ShapeError: instance_norm: input of shape \(4, 3\)
    F.instance_norm(x[:, :, :1]) -> ShapeError: 1 value a channel
    F.instance_norm(x, use_input_stats=False) -> ArgumentError: without running
    F.instance_norm(x, momentum=2) -> ArgumentError: momentum=2
    F.rms_norm(x, 4) -> ShapeError: rms_norm: input .* does not end in \(4,\)
    F.rms_norm(x, 3, eps=-1) -> ArgumentError: rms_norm: eps=-1
    F.rms_norm(x, 3, x) -> ShapeError: rms_norm: weight of shape \(2, 4, 3\)
    F.local_response_norm(x[0], 2) -> ShapeError: local_response_norm: input of shape \(4, 3\)
    F.local_response_norm(x, 0) -> ArgumentError: local_response_norm: size=0
    F.local_response_norm(x, 2, "a") -> DTypeError: alpha='a': expected a number
    F.layer_norm(x, ()) -> ShapeError: normalized_shape=\(\)
    F.layer_norm(x, 3.0) -> DTypeError: normalized_shape=3\.0
    F.layer_norm(x, "a") -> DTypeError: normalized_shape='a'
    F.layer_norm(x, 3, [1, 1, 1]) -> DTypeError: layer_norm: weight is a list
    F.layer_norm(x, 3, eps=np.nan) -> ArgumentError: layer_norm: eps=nan
    F.layer_norm(fp.tensor([[1, 2]]), 2) -> DTypeError: input of int64
    F.batch_norm(x, fp.zeros(4), None) -> ArgumentError: running_var is None
    F.batch_norm(x, V, V) -> ShapeError: running_mean of shape \(3,\)
    F.batch_norm(x, [0.0] * 4, [1.0] * 4) -> DTypeError: running_mean is a list
    F.batch_norm(x, np.zeros(4), np.ones(4), training=True) -> DTypeError: running_mean is an array
    F.batch_norm(x, None, None, momentum=None) -> ArgumentError: momentum=None
    F.batch_norm(x, None, None, eps=-1.0) -> ArgumentError: eps=-1\.0
    F.normalize(x, p=0) -> ArgumentError: normalize: p=0
    F.normalize(x, p=-1) -> ArgumentError: normalize: p=-1
    F.normalize(x, dim=3) -> ShapeError: normalize: dim=3
    F.cosine_similarity(x, V[:2]) -> ShapeError: cosine_similarity: .*broadcast
    F.cosine_similarity(x, [1.0]) -> DTypeError: cosine_similarity: x2 is a list
    F.cosine_similarity(x, x, 5) -> ShapeError: cosine_similarity: dim=5
    F.cosine_similarity(x, x, eps=-1) -> ArgumentError: eps=-1
    F.pairwise_distance(x, 1.0) -> DTypeError: pairwise_distance: x2 is a float
    F.pairwise_distance(x, x, p="2") -> ArgumentError: p='2'
    F.pairwise_distance(fp.tensor(1.0), fp.tensor(2.0)) -> ShapeError: without dimensions
    F.softmax(x, 1.5) -> DTypeError: softmax: dim=1.5
    F.log_softmax(x, 3) -> ShapeError: log_softmax: dim=3
    F.softmax(fp.tensor([1, 2]), 0) -> DTypeError: softmax: input of int64
    nn.BatchNorm1d(3, momentum=-0.1) -> ArgumentError: BatchNorm1d: momentum=-0.1
    nn.BatchNorm2d(3, eps="a") -> ArgumentError: BatchNorm2d: eps='a'
    nn.BatchNorm2d(3, affine=None) -> ArgumentError: affine=None
    nn.BatchNorm1d(3)([1.0]) -> ArgumentError: BatchNorm1d\(3\) on a list
    nn.InstanceNorm1d(3, momentum=2) -> ArgumentError: momentum=2
    nn.InstanceNorm1d(5)(x) -> ArgumentError: InstanceNorm1d\(5\) on a tensor
    nn.InstanceNorm2d(4)(x[0]) -> ArgumentError: InstanceNorm2d\(4\)
    nn.GroupNorm(2, 6)(x) -> ArgumentError: GroupNorm\(2, 6\) on a tensor
    nn.GroupNorm(4, 6) -> ArgumentError: num_groups=4 does not divide
    nn.GroupNorm(-1, 6) -> ArgumentError: num_groups=-1
    nn.LayerNorm((2, -1)) -> ShapeError: normalized_shape=\(2, -1\)
    nn.RMSNorm(4, eps=-1) -> ArgumentError: RMSNorm: eps=-1
    nn.RMSNorm("a") -> DTypeError: RMSNorm: normalized_shape='a'
    """, names={"V": V, "X": X}, x=X)  # fmt: skip


def test_a_normalisation_that_is_refused_leaves_its_running_statistics():
    mean, var = fp.zeros(4), fp.ones(4)
    x = fp.tensor(X)
    for call in (
        lambda: F.instance_norm(x, mean, var, fp.ones(3)),
        lambda: F.instance_norm(x[:, :, :1], mean, var),
        lambda: F.batch_norm(x[:1, :, :1], mean, var, training=True),
        lambda: F.batch_norm(x, mean, var, fp.ones(3), training=True),
        lambda: F.batch_norm(x, mean, fp.ones(3), training=True),
        lambda: F.batch_norm(x[0, 0], mean, var, training=True),
    ):
        with pytest.raises(fp.ShapeError):
            call()
    assert (mean.tolist(), var.tolist()) == ([0] * 4, [1] * 4)
