"""Glances at whatever trains: a microscope's numbers, and no bit of the run changed."""

import itertools

import numpy as np
import pytest

import minifp as fp
import minifp.nn.functional as F
from minifp.scope import glances
from minifp.scope.observed import GRADIENTS, KINDS
from minifp.training import mixed

X = fp.tensor(np.random.default_rng(0).normal(size=(5, 6)).astype(np.float32))
SCALES = 37  # that the slider has


def made(precision="mixed", **settings):
    fp.manual_seed(0)
    with fp.precision(precision):
        model = fp.nn.Sequential(fp.nn.Linear(6, 9), fp.nn.ReLU(), fp.nn.Linear(9, 3))
        optimizer = fp.MixedOptimizer(fp.optim.Adam(model.parameters(), lr=0.1), **settings)
    return model, optimizer


def train(model, optimizer, steps=6):
    for n in range(steps):
        optimizer.minimize(F.cross_entropy(model(X * 0.01), fp.tensor([n % 3] * 5)))
    return [p.tolist() for p in model.parameters()]


@pytest.fixture
def glanced(monkeypatch):
    monkeypatch.setattr(glances, "SHARE", 1)
    told = []
    observer = glances.Glances(lambda optimizer, data: told.append((optimizer, data)))
    mixed.observers.append(observer)
    yield told
    mixed.observers.remove(observer)
    observer.close()


@pytest.mark.parametrize("precision", ["mixed", "float32", "bfloat16", "float16,loss_scale=off"])
def test_they_are_a_microscopes_numbers(glanced, precision):
    model, optimizer = made(precision)
    with fp.microscope(model, optimizer, every=1) as scope:
        train(model, optimizer)
    assert [data["step"] for _, data in glanced] == [2, 3, 4, 5, 6]
    for (of, data), seen in zip(glanced, scope.steps[1:]):
        assert of is optimizer and (data["step"], data["shift"]) == (seen.step, seen.shift)
        assert data["updates"]["wanted"] == sum(u.wanted for u in seen.updates.values())
        assert data["updates"]["lost"] == sum(u.lost for u in seen.updates.values())
        for kind, told in zip(KINDS, data["kinds"]):
            check_kind(told, seen.total(kind), scope.format_of(kind), seen.shift)
            assert len(told["losses"]["flushed"]) == (SCALES if kind in GRADIENTS else 1)


def check_kind(told, h, format, shift):
    assert (told["total"], told["zeros"], told["nonzero"]) == (h.total, h.zeros, h.nonzero)
    assert told["format"]["name"] == format.name
    assert {told["lowest"] + i: n for i, n in enumerate(told["counts"]) if n} == h.exponents
    found = zip(*(told["losses"][name] for name in ("flushed", "subnormal", "overflow")))
    for k, losses in enumerate(found, told["first"] - shift):
        assert losses == (h.flushed(k, format), h.subnormal(k, format), h.overflowing(k, format))


def test_no_bit_of_the_run_is_changed(glanced):
    seen = train(*made())
    assert len(glanced) == 5
    held, unseen = mixed.observers.pop(), train(*made())
    mixed.observers.append(held)
    assert seen == unseen and len(glanced) == 5


def test_a_skipped_step_is_looked_at_too(glanced):
    train(*made(loss_scale=2.0**40), steps=3)
    assert [data["updates"]["wanted"] for _, data in glanced] == [0, 0]
    assert all(kind["broken"] for kind in glanced[-1][1]["kinds"] if kind["gradient"])


def test_steps_that_are_looked_at_are_a_share_of_the_time(glanced, monkeypatch):
    monkeypatch.setattr(glances, "SHARE", 0.25)
    monkeypatch.setattr(glances, "perf_counter", itertools.count().__next__)
    train(*made(), steps=40)
    steps = [data["step"] for _, data in glanced]
    assert 2 < len(steps) < 40 / 2 and steps[0] == 2


def test_of_two_in_turn_each_has_its_own_gradients_and_one_that_ends_is_not_waited_for(glanced):
    models = [made(), made()]
    for n in range(4):
        for model, optimizer in models:
            optimizer.minimize(F.cross_entropy(model(X), fp.tensor([n % 3] * 5)))
    of_weights = [data["kinds"][KINDS.index("weight gradients")] for _, data in glanced]
    size = sum(p.array.size for p in models[0][0].parameters())
    assert of_weights and all(told["total"] == size for told in of_weights)
    model, optimizer = made()
    train(model, optimizer, steps=20)
    assert glanced[-1][0] is optimizer and glanced[-1][1]["step"] == 20
