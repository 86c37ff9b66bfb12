"""Boxes on a GPU, and pictures inside of them: what its kernels decide for themselves."""

import numpy as np
import pytest

import minifp as fp
import minifp.nn.functional as F
from minifp.autograd.tape import Tensor
from minifp.numerics import kernels
from minifp.ops.detection.roi_align import weights_of_boxes
from minifp.ops.detection.roi_pool import bins_of_boxes
from minifp.runtime.cuda.arrays import is_on_device, to_device, to_host


def random_boxes(n, seed=0):
    """Boxes of a picture of 20 x 15, some of them beyond its borders."""
    random = np.random.default_rng(seed)
    corner = random.uniform(-4, 18, (n, 2))
    return np.concatenate([corner, corner + random.uniform(0, 9, (n, 2))], axis=1).astype("f4")


@pytest.fixture
def pictures():
    return np.random.default_rng(0).normal(size=(2, 3, 15, 20)).astype("float16")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("given", [(1.0, 0, True), (0.6, 2, False), (0.3, 0, False)])
def test_weights_and_bins_are_those_of_the_cpu(given, dtype):
    boxes = random_boxes(40).astype(dtype)
    boxes[3, 1], boxes[7] = np.nan, [-1e9, -1e9, 1e9, 1e9]
    shape, size = (2, 3, 15, 20), (4, 7)
    found = weights_of_boxes(to_device(boxes), shape, size, *given)
    for a, b in zip(found, weights_of_boxes(boxes, shape, size, *given)):
        assert is_on_device(a) and a.dtype == b.dtype
        np.testing.assert_allclose(to_host(a), b, atol=20 * 3 * 2.0**-24)
    found = bins_of_boxes(to_device(boxes), shape, size, given[0])
    for a, b in zip(found, bins_of_boxes(boxes, shape, size, given[0])):
        np.testing.assert_array_equal(to_host(a), b)


@pytest.mark.parametrize("pool", [F.roi_align, F.roi_pool])
def test_a_box_of_a_picture_that_is_not_there_reads_nan_and_adds_nothing(pool, pictures):
    """On a GPU numbers are not looked at, as one would have to wait for them."""
    boxes = np.insert(random_boxes(4) % 12, 0, [0, 2, -1, 1], axis=1).astype("f4")
    x = Tensor(to_device(pictures), requires_grad=True)
    y = pool(x, Tensor(to_device(boxes)), 2)
    assert np.isnan(y.numpy()).all((1, 2, 3)).tolist() == [False, True, True, False]
    y.backward(gradient=to_device(np.ones(y.shape, "float16")))
    assert np.isfinite(x.grad.numpy()).all() and x.grad.numpy().any((1, 2, 3)).all()


def test_suppression_runs_on_the_cpu_and_says_so():
    boxes, scores = random_boxes(30), np.random.default_rng(1).permutation(30).astype("f4")
    for name, more in (("nms", ()), ("batched_nms", (np.arange(30) % 3,))):
        function = getattr(F, name)
        expected = function(fp.tensor(boxes), fp.tensor(scores), *more, 0.3)
        kernels.ran_on_host.discard(name)
        there = [Tensor(to_device(a)) for a in (boxes, scores, *more)]
        with pytest.warns(kernels.OnHostWarning, match=f"{name} runs on the CPU"):
            kept = function(*there, 0.3)
        assert is_on_device(kept.array)
        np.testing.assert_array_equal(kept.numpy(), expected.array)


def test_small_boxes_are_found_there():
    boxes = random_boxes(30)
    found = F.remove_small_boxes(Tensor(to_device(boxes)), 3.0)
    assert is_on_device(found.array)
    expected = F.remove_small_boxes(fp.tensor(boxes), 3.0).array
    assert 0 < len(expected) < 30
    np.testing.assert_array_equal(found.numpy(), expected)
