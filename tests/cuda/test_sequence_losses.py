"""The loss of sequences without an alignment on a GPU."""

import numpy as np
import pytest
from checked import check

import minifp as fp
import minifp.nn.functional as F

LABELS = 130  # whose states are more than the threads of a block


@pytest.mark.parametrize(("dtype", "zero_infinity"), [("float16", False), ("float32", True)])
def test_more_states_than_threads_and_labels_that_come_again(dtype, zero_infinity):
    """One sequence that fits, one that does not, one that is short, one without labels."""
    random = np.random.default_rng(0)
    x = random.normal(-1.5, 1, (140, 4, 200)).astype(dtype)
    labels = random.integers(1, 200, (4, LABELS))
    labels[1, :60] = 7
    steps, lengths = np.array([140, 100, 90, 5]), np.array([LABELS, 100, 40, 0])
    for n, count in enumerate(lengths.tolist()):
        labels[n, count:] = 0
    given = {"blank": 0, "zero_infinity": zero_infinity}
    each = check("ctc_loss.ctc_loss_each", x, labels, steps, lengths, to=(dtype,), **given)
    assert np.isposinf(np.float32(each[1])) != zero_infinity
    one = np.array(1.5, "float32")
    for reduction, dl in (("mean", one), ("none", np.float32([1, 2, 3, 4]))):
        given["reduction"] = reduction
        check("ctc_loss.ctc_loss_dx", dl, x, labels, steps, lengths, to=(dtype,), **given)
    given["reduction"] = "mean"
    check("ctc_loss.ctc_loss_total", x, labels, steps, lengths, to=("float32",), **given)


def test_targets_and_lengths_may_be_on_either_device():
    x, targets = np.random.default_rng(0).normal(size=(9, 2, 4)), np.array([[1, 2], [3, 0]])
    expected = F.ctc_loss(fp.tensor(x), targets, [9, 7], [2, 1]).item()
    on_gpu = fp.tensor(x, device="cuda", requires_grad=True)
    for place in ("cpu", "cuda"):
        given = (fp.tensor(a, device=place) for a in (targets, [9, 7], [2, 1]))
        loss = F.ctc_loss(on_gpu, *given)
        loss.backward()
        assert loss.item() == pytest.approx(expected, rel=1e-6) and loss.device == "cuda"
    decoded = F.ctc_greedy_decode(on_gpu, fp.tensor([9, 7], device="cuda"))
    for ours, theirs in zip(decoded.labels, F.ctc_greedy_decode(x, [9, 7]).labels):
        np.testing.assert_array_equal(ours, theirs)
