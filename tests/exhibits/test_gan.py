"""The gallery's GAN: distances between pictures, the scorer, two optimizers on one scale."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from minifp.exhibits.digit_scorer import scored

import minifp as fp
from minifp import data
from minifp.errors import ArgumentError, ShapeError
from minifp.exhibits import gan
from minifp.lab import Picture
from minifp.lab.arms import as_arm
from minifp.lab.feature_distances import feature_distance, frechet, within
from minifp.lab.run import train
from minifp.lab.state import State


def normal(seed, n, mean=0.0, deviation=1.0):
    return np.random.default_rng(seed).normal(mean, deviation, (n, 4))


def test_both_distances_are_their_formulas_and_that_of_a_kernel_right_on_the_mean():
    linalg = pytest.importorskip("scipy.linalg")
    x, y = normal(1, 60) @ normal(2, 4), normal(3, 50, 0.5)
    of_x, of_y = np.cov(x.T), np.cov(y.T)
    off = x.mean(0) - y.mean(0)
    expected = off @ off + np.trace(of_x + of_y - 2 * linalg.sqrtm(of_x @ of_y))
    assert frechet(x, y) == pytest.approx(expected.real, rel=1e-9)
    assert frechet(x, x) == pytest.approx(0, abs=1e-9)
    x = normal(1, 12)
    k = [[(a @ b / 4 + 1) ** 3 for b in x] for a in x]
    pairs = [k[i][j] for i in range(12) for j in range(12) if i != j]
    assert within(x) == pytest.approx(np.mean(pairs))
    # 200 pairs of samples that are drawn alike: the mean is 0 but for five of its deviations
    found = [feature_distance(normal(s, 8), normal(1000 + s, 20), 2).kernel for s in range(200)]
    assert abs(np.mean(found)) < 5 * np.std(found) / 200**0.5


def test_its_interval_is_narrow_where_pictures_are_many_and_holds_what_it_is_of():
    real = normal(9, 300)
    few, many = (feature_distance(normal(1, n, 0.3), real) for n in (100, 1000))
    assert few.low < few.kernel < few.high and few.high - few.low > many.high - many.low
    true = feature_distance(normal(5, 20_000, 0.3), real).kernel
    covered = [
        found.low <= true <= found.high
        for found in (feature_distance(normal(100 + s, 200, 0.3), real) for s in range(100))
    ]
    assert 82 <= sum(covered) <= 97  # 90 of 100 are expected, with a deviation of 3


def test_features_that_do_not_fit_are_refused_and_those_that_are_no_numbers_have_no_distance(small):
    for made, real, said in (
        (np.ones((20, 3)), np.ones((20, 4)), r"\(m, d\)"),
        (np.ones((19, 4)), np.ones((20, 4)), "at least two"),
        (np.ones(20), np.ones(20), r"\(m, d\)"),
    ):
        with pytest.raises(ShapeError, match=said):
            feature_distance(made, real)
    assert np.isnan(feature_distance(np.full((20, 4), np.nan), normal(0, 20)).kernel)
    with pytest.raises(ArgumentError, match=r"skip is 'never', expected \"each\" or \"together\""):
        replace(small[0], skip="never")


def test_the_scorer_knows_digits_it_was_not_trained_on_and_real_ones_are_near_each_other():
    (train_x, _), (x, t) = (part[np.arange(len(part))] for part in data.digits())
    with fp.precision("float16"):  # it is in float32 all the same
        features, p = scored(x)
    assert features.dtype == np.float32 and features.shape == (360, 32)
    assert np.mean(p.argmax(1) == t) > 0.975
    near = feature_distance(scored(train_x)[0], features)
    far = feature_distance(scored(1 - train_x)[0], features)
    assert near.kernel < 0.02 < 0.5 < far.kernel and near.frechet < 0.05 < 1 < far.frechet


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(gan, "WIDTH", 1 / 64)
    monkeypatch.setattr(gan, "MADE", 40)
    task = gan.EXHIBITS[0].task("quick")
    parts = tuple(data.Subset(part, range(32)) for part in task.data())
    return replace(task, batch_size=16, epochs=2, steps=None), parts


def test_a_grid_of_the_same_noise_is_kept_for_each_evaluation(small):
    task, parts = small
    run = train(task, "mixed", 0, parts)
    assert run.finished and run.steps == 4
    assert {*run.metrics} == {"kernel distance", "Frechet distance", "sure", "low", "high"}
    assert run.metrics["low"][-1] < run.metric < run.metrics["high"][-1]
    pictures = [run.kept[f"samples after {n} steps"] for n in (2, 4)]
    assert all(isinstance(p, Picture) for p in pictures)
    assert pictures[0].pixels.shape == (4 * (4 * 17 - 1), 4 * (8 * 17 - 1))
    assert (pictures[0].pixels != pictures[1].pixels).any()
    again = train(task, "mixed", 0, parts).kept["samples after 4 steps"]
    np.testing.assert_array_equal(again.pixels, pictures[1].pixels)
    assert len(run.history["discriminator"]) == 4


@pytest.mark.parametrize("skip, moved", [("each", [True, False]), ("together", [False, False])])
def test_both_optimizers_are_on_one_scale_and_skip_as_is_said(small, skip, moved):
    """The discriminator's gradients are made infinite: then the generator's step is done, or is
    not; the one scale is halved in either case."""
    task, parts = small
    with fp.precision("mixed"):
        state = State(replace(task, skip=skip), as_arm("mixed"), 0)
        optimizer, networks = state.optimizer, state.model["gan"]
        assert len(optimizer.optimizers) == 2 and [*state.plain] == ["0", "1"]
        real = fp.tensor(parts[0][np.arange(16)][0])
        both = networks.generator, networks.discriminator
        before = [n.parameters()[0].numpy().copy() for n in both]
        optimizer.backward(networks.generator(gan.noise(16, gan.NOISE)).mean())
        optimizer.backward(networks.discriminator(real).mean() * float("inf"))
        scale, result = optimizer.scale, optimizer.step()
    after = [n.parameters()[0].numpy() for n in both]
    assert [bool((a != b).any()) for a, b in zip(before, after)] == moved
    assert not result.stepped and optimizer.scale == scale / 2


def gradients_after(passes, networks, batch):
    """Those of both networks in a step that does the first so many backward passes alone."""
    losses, noted = [], []

    def backward(loss):
        losses.append(loss)
        if len(losses) <= passes:
            loss.backward()

    def step():
        for network in (networks.generator, networks.discriminator):
            noted.append([p.grad is not None and p.grad.numpy() for p in network.parameters()])

    fp.manual_seed(3)
    optimizer = SimpleNamespace(backward=backward, step=step, zero_grad=networks.zero_grad)
    gan.step(SimpleNamespace(model={"gan": networks}, optimizer=optimizer), batch)
    return noted


def test_the_generators_loss_leaves_the_discriminator_alone(small):
    networks, batch = gan.networks()["gan"], [fp.tensor(a) for a in small[1][0][np.arange(16)]]
    (none, once), (made, both) = (gradients_after(n, networks, batch) for n in (1, 2))
    assert none == [False] * len(made) and all(np.abs(g).max() > 0 for g in made)
    for a, b in zip(once, both):
        np.testing.assert_array_equal(a, b)
    assert all(p.requires_grad for p in networks.parameters())
