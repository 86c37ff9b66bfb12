"""The loss of sequences without an alignment beside PyTorch's, and decoding of what it trains."""

from itertools import product

import numpy as np
import pytest
from refusals import refuses

import minifp as fp
import minifp.nn.functional as F
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.ops.losses import ctc_decode
from minifp.runtime import cpu


def log_probs(T, N, C, spread=1.0, seed=0):
    z = np.random.default_rng(seed).normal(0, spread, (T, N, C))
    return z - np.logaddexp.reduce(z, -1)[..., None]


def loss_and_gradient(x, *args):
    x.requires_grad_()
    loss = F.ctc_loss(x, *args, reduction="sum")
    loss.backward()
    return loss.item(), x.grad.array


@pytest.mark.parametrize(("T", "L", "spread"), [(400, 20, 1.0), (1000, 100, 2.0), (60, 28, 0.5)])
def test_errors_are_at_most_those_of_pytorch(torch, T, L, spread):
    """Both float32, of the same logarithms: held against float64."""
    x = log_probs(T, 2, 12, spread).astype(np.float32)
    targets = np.random.default_rng(1).integers(1, 12, (2, L))
    lengths = [T, T - 3], [L, L - 1]
    with fp.precision("float64"):
        exact = loss_and_gradient(fp.tensor(x.astype(np.float64)), targets, *lengths)
    ours = loss_and_gradient(fp.tensor(x), targets, *lengths)
    y = torch.tensor(x, requires_grad=True)
    loss = torch.nn.functional.ctc_loss(y, torch.tensor(targets), *lengths, reduction="sum")
    loss.backward()
    for mine, other, right in zip(ours, (loss.item(), y.grad.numpy()), exact):
        unit = 2.0**-24 * np.abs(right).max()  # what rounding the result alone may cost
        assert np.abs(mine - right).max() <= max(np.abs(other - right).max(), unit)


def all_labels(x, blank):
    """The logarithm of the probability of every labelling, by all paths of x (T, C)."""
    found = {}
    for path in product(range(x.shape[1]), repeat=len(x)):
        collapsed = [c for k, c in enumerate(path) if k == 0 or c != path[k - 1]]
        labels = tuple(c for c in collapsed if c != blank)
        p = sum(x[t, c] for t, c in enumerate(path))
        found[labels] = np.logaddexp(found.get(labels, -np.inf), p)
    return found


@pytest.mark.parametrize("blank", [0, 2])
def test_a_wide_beam_finds_the_likeliest_labels_of_all(blank):
    x = log_probs(6, 5, 3)
    found = F.ctc_beam_search_decode(fp.tensor(x), [6] * 5, blank, beam_width=1000)
    for n, (labels, score) in enumerate(zip(found.labels, found.scores)):
        every = all_labels(x[:, n], blank)
        assert tuple(labels) == max(every, key=every.get)
        assert score == pytest.approx(every[tuple(labels)], abs=1e-6)


def test_greedy_decoding_says_the_likeliest_path():
    path = [0, 1, 1, 0, 1, 2, 2, 0, 0, 2]
    x = np.log(np.where(np.arange(4) == np.array(path)[:, None], 0.7, 0.1))
    for steps, expected in ((10, [1, 1, 2, 2]), (5, [1, 1]), (1, []), (0, [])):
        found = F.ctc_greedy_decode(fp.tensor(x), steps)
        np.testing.assert_array_equal(found.labels[0], expected)
        assert found.scores[0] == pytest.approx(steps * np.log(0.7), rel=1e-6)
    np.testing.assert_array_equal(F.ctc_greedy_decode(x, 10, blank=2).labels[0], [0, 1, 0, 1, 0])


@pytest.mark.skipif(not cpu.can_compile(), reason="nothing is compiled")
@pytest.mark.parametrize("width", [1, 2, 7, 50])
def test_the_compiled_search_is_the_reference(width):
    """Also where prefixes are dropped and come again, and of impossible classes."""
    for seed in range(3):
        x = log_probs(25, 3, 4, 0.7, seed)
        x[3, 0, 1:3] = x[5:7, 1, 0] = -np.inf
        steps, blank = np.array([25, 11, 0]), seed
        labels, counts, scores = ctc_decode.searched(x, steps, blank, width)
        for n, count in enumerate(steps.tolist()):
            expected, score = ctc_decode.search(x[:count, n].tolist(), blank, width)
            assert tuple(labels[n, : counts[n]]) == expected
            assert scores[n] == pytest.approx(score, rel=1e-12)


@pytest.mark.parametrize("decode", [F.ctc_greedy_decode, F.ctc_beam_search_decode])
def test_what_cannot_be_decoded_is_refused(decode):
    x = fp.tensor(log_probs(3, 2, 4))
    for args, error, message in (
        ((fp.tensor([1.0, 2.0]), [2]), ShapeError, "expected .T, N, C. or .T, C."),
        ((fp.tensor([[1, 2]]), [1]), DTypeError, "expected floating numbers"),
        ((x, [4, 1]), ArgumentError, "input_lengths .4, 1.: expected 0 to 3"),
        ((x, [1.0, 2.0]), DTypeError, "expected integers"),
        ((x, [1]), ShapeError, "expected .2,."),
        ((x, [3, 3], 4), ArgumentError, "blank=4: expected a class, 0 to 3"),
        ((fp.tensor(np.full((2, 1, 2), np.nan)), [2]), ArgumentError, "NaN or Inf"),
    ):
        refuses(error, f"{decode.__name__}: .*{message}", decode, *args)
    refuses(ArgumentError, "beam_width=0", F.ctc_beam_search_decode, x, [3, 3], beam_width=0)
