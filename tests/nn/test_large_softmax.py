"""Softmax over many classes, adaptive and sampled, and the word model that needs it."""

import numpy as np
import pytest
from refusals import each_refused

import minifp as fp
from minifp import nn, optim
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.models import BigLSTM
from minifp.nn import functional as F
from minifp.nn.sampled_softmax import drawn_classes, log_uniform

CUTOFFS = [4, 7]
TARGETS = np.array([0, 8, 3, 5, 9, 4, 1])  # of the head, and of both clusters


def adaptive(**more):
    return nn.AdaptiveLogSoftmaxWithLoss(8, 11, CUTOFFS, div_value=2.0, **more)


@pytest.mark.parametrize("head_bias", [False, True])
def test_an_adaptive_softmax_is_pytorchs(torch, head_bias):
    theirs = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 11, CUTOFFS, 2.0, head_bias).double()
    with fp.precision("float64"):
        mine = adaptive(head_bias=head_bias)
        mine.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
        x = fp.randn(7, 8)
        x.requires_grad_()
        found = mine(x, fp.tensor(TARGETS))
        (found.loss + found.output[2]).backward()
        probabilities, best = mine.log_prob(x), mine.predict(x)
        alone = mine(x[1], TARGETS[1])
    y = torch.tensor(x.numpy(), requires_grad=True)
    expected = theirs(y, torch.tensor(TARGETS))
    (expected.loss + expected.output[2]).backward()
    pairs = [(found.output, expected.output), (found.loss, expected.loss), (x.grad, y.grad)]
    pairs += [(probabilities, theirs.log_prob(y)), (alone.output, expected.output[1])]
    pairs += [(p.grad, q.grad) for p, q in zip(mine.parameters(), theirs.parameters())]
    for a, b in pairs:
        np.testing.assert_allclose(a.numpy(), b.detach().numpy(), rtol=1e-10, atol=1e-13)
    assert best.numpy().tolist() == theirs.predict(y).tolist()


def test_probabilities_of_an_adaptive_softmax_sum_to_1_and_are_those_of_the_loss():
    with fp.precision("float64"):
        layer, x = adaptive(), fp.randn(7, 8)
        p, found = layer.log_prob(x).numpy(), layer(x, TARGETS)
    np.testing.assert_allclose(np.exp(p).sum(1), 1, rtol=1e-14)
    np.testing.assert_allclose(found.output.numpy(), p[np.arange(7), TARGETS], rtol=1e-12)
    assert found.loss.item() == pytest.approx(-p[np.arange(7), TARGETS].mean(), rel=1e-12)
    head_only = layer(x[:2], np.array([0, 3]))
    np.testing.assert_allclose(head_only.output.numpy(), p[[0, 1], [0, 3]], rtol=1e-12)


def test_classes_are_drawn_log_uniformly_without_repetition():
    """How often each is among 20 of 50, against what is told of the draws: 1,000 batches, so five
    deviations of the rarest are 5 sqrt(p (1 - p) / 1000)."""
    assert log_uniform(np.arange(50), 50).sum() == pytest.approx(1)
    p, counts, expected = log_uniform(np.arange(50), 50), np.zeros(50), np.zeros(50)
    for _ in range(1000):
        classes, tries = drawn_classes(50, 20)
        assert len({*classes.tolist()}) == 20 <= tries
        counts[classes] += 1
        expected += -np.expm1(tries * np.log1p(-p))
    share, told = counts / 1000, expected / 1000
    # that of frequent classes is told a little too high: repetitions are drawn anew
    assert (abs(share - told) < 5 * np.sqrt(told * (1 - told) / 1000) + 0.02).all()
    assert share[0] > 0.99 and share[-1] < 0.25


def test_the_sampled_loss_is_its_formula():
    with fp.precision("float64"):
        layer, x = nn.SampledSoftmaxLoss(4, 30, 5), fp.randn(3, 4)
        layer.bias.data = np.linspace(-1, 1, 30)
        samples, target = np.array([7, 2, 0, 19, 11]), np.array([2, 25, 0])
        found = layer.loss_against(x, fp.tensor(target), samples, tries=9).item()
    w, b = layer.weight.numpy(), layer.bias.numpy()
    expected_count = -np.expm1(9 * np.log1p(-log_uniform(np.arange(30), 30)))
    losses = []
    for row, t in zip(x.numpy(), target):
        classes = [t, *[s for s in samples if s != t]]
        s = w[classes] @ row + b[classes] - np.log(expected_count[classes])
        losses.append(np.log(np.exp(s).sum()) - s[0])
    # the corrections are float32 numbers: 2^-24 of at most 8
    assert found == pytest.approx(np.mean(losses), abs=2 * 8 * 2**-24)


def test_the_mean_gradient_of_samples_is_about_that_of_all_classes():
    """Of 40 classes 12 are drawn, 60 times: that of the features differs by less than an eighth of
    its norm, and without the correction by more than that."""
    with fp.precision("float64"):
        layer, target = nn.SampledSoftmaxLoss(6, 40, 12), fp.tensor(np.arange(20) * 2)
        layer.weight.data = 3 * layer.weight.numpy()
        x = fp.randn(20, 6)
        x.requires_grad_()

        def gradient(loss):
            x.grad = None
            loss.backward()
            return x.grad.numpy().copy()

        layer.eval()
        of_all = gradient(layer(x, target))
        np.testing.assert_array_equal(of_all, gradient(F.cross_entropy(layer.scores(x), target)))
        layer.train()
        sampled = np.mean([gradient(layer(x, target)) for _ in range(60)], axis=0)
        layer._log_expected = lambda classes, tries: np.zeros(len(classes), np.float32)
        uncorrected = np.mean([gradient(layer(x, target)) for _ in range(60)], axis=0)
    off, without = (np.linalg.norm(g - of_all) for g in (sampled, uncorrected))
    assert off < np.linalg.norm(of_all) / 8 < without


test_what_cannot_be_is_refused = each_refused(
    (lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 11, []), ArgumentError, r"cutoffs=\[\]"),
    (lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 11, [4, 4]), ArgumentError, "rising"),
    (lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 11, [11]), ArgumentError, "1 to 10"),
    (lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 11, [4, 7]), ArgumentError, "for cluster 1"),
    (lambda: adaptive()(fp.randn(2, 8), [0, 11]), ArgumentError, "0 to 10"),
    (lambda: adaptive()(fp.randn(2, 8), [0.0, 1.0]), DTypeError, "expected integers"),
    (lambda: adaptive()(fp.randn(2, 7), [0, 1]), ShapeError, r"\(N, 8\) or \(8,\)"),
    (lambda: adaptive()(fp.randn(2, 8), [0]), ShapeError, r"expected \(2,\)"),
    (lambda: nn.SampledSoftmaxLoss(4, 5, 5), ArgumentError, "n_samples=5 of 5 classes"),
    (lambda: nn.SampledSoftmaxLoss(4, 6, 5)(fp.randn(2, 4), [6, 0]), ArgumentError, "0 to 5"),
    (lambda: nn.SampledSoftmaxLoss(4, 6, 5)(np.ones((1, 4)), [0]), DTypeError, "a ndarray"),
    (lambda: BigLSTM(9, 4, 2, output="some"), ArgumentError, "'adaptive'"),
    (lambda: BigLSTM(9, 4, 2, samples=5, embedding=3, tied=True), ArgumentError, "one size"),
)


def test_it_is_as_large_as_published():
    """Two tables of 793,471 x 1,024 and a bias, and two layers; nothing of it is allocated. A word
    is one product with each weight of the layers and of the softmax."""
    found = fp.summary(BigLSTM, (20,), precisions=["mixed"], integers=True)
    layer = 4 * 8192 * (1024 + 1024) + 2 * 4 * 8192 + 1024 * 8192
    table = 793_471 * 1024
    assert found.parameters == 2 * table + 793_471 + 2 * layer
    assert found.multiply_adds == 20 * (table + 2 * (layer - 2 * 4 * 8192))


SMALL = {
    **{"sampled": {"samples": 12}, "adaptive": {"cutoffs": (6, 12)}, "full": {}},
    "tied": {"output": "full", "tied": True},
}


@pytest.mark.parametrize("kind", SMALL)
def test_small_ones_learn_a_stream_in_mixed_precision(kind):
    """20 words in a row, over and over, with the state carried: in the end it knows what comes."""
    settings = {"output": kind, **SMALL[kind]}
    with fp.precision("mixed,loss_scale=128"):
        model = BigLSTM(20, hidden=24, projection=16, layers=1, **settings)
        optimizer = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=0.05))
        words, state, losses = np.arange(41)[None] % 20, None, []
        for step in range(60):
            start = 10 * step % 20
            x, t = (fp.tensor(words[:, start + i : start + i + 10]) for i in (0, 1))
            loss, state = model.loss(x, t, state)
            state = tuple(s.detach() for s in state)
            optimizer.minimize(loss)
            losses.append(loss.item())
        model.eval()
        x, t = (fp.tensor(words[:, i : i + 10]) for i in (0, 1))
        scores, _ = model(x, state)
        after, _ = model.loss(x, t, state)
    assert losses[-1] < 0.5 * losses[0] and after.item() < 0.5 * np.log(20)
    assert scores.shape == (1, 10, 20)
    tables = [p for p in model.parameters() if p.shape == (20, 16)]
    assert len(tables) == {"adaptive": 1, "tied": 1}.get(kind, 2)


def test_a_stream_in_pieces_is_the_stream_where_its_state_is_carried():
    with fp.precision("float64"):
        model = BigLSTM(9, hidden=6, projection=4, samples=3, dropout=0.0).eval()
        codes = np.random.default_rng(0).integers(0, 9, (2, 12))
        whole, end = model(fp.tensor(codes))
        state, parts = None, []
        for start in (0, 5, 8):
            scores, state = model(fp.tensor(codes[:, start : {0: 5, 5: 8, 8: 12}[start]]), state)
            parts.append(scores.numpy())
    np.testing.assert_allclose(np.concatenate(parts, 1), whole.numpy(), rtol=1e-12, atol=1e-15)
    for a, b in zip(state, end):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-15)
