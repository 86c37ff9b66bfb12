"""Optimizers and schedules as PyTorch's programs define them, and docs/own_optimizers.md's."""

import math
import re
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim
from minifp.compat.amp import automatic
from minifp.optim import lr_scheduler

PAGE = (Path(fp.__file__).parents[1] / "docs" / "own_optimizers.md").read_text(encoding="utf-8")
PAGES: dict = {}
for _block in re.findall(r"```python\n(.*?)```", PAGE, re.S):
    exec(_block, PAGES)
Momentum, Lion, Warmup = (PAGES[name] for name in ("Momentum", "Lion", "Warmup"))
X, T = np.random.default_rng(0).normal(size=(16, 4)).astype(np.float32), np.arange(16) % 2


def trained(make, way="plain", precision="float32", steps=5):
    """(weights, optimizer, model) after so many steps in one of the ways to step."""
    fp.manual_seed(0)
    with nullcontext() if way == "scaler" else fp.precision(precision):
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        optimizer = make(model.parameters())
        mixed = fp.MixedOptimizer(optimizer) if way == "mixed" else None
        x, t = fp.tensor(X), fp.tensor(T)
        scaler = fp.GradScaler("cpu") if way == "scaler" else None

        def closure():
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), t)
            loss.backward()
            return loss

        for _ in range(steps):
            optimizer.zero_grad()
            if way == "mixed":
                mixed.minimize(F.cross_entropy(model(x), t))
            elif way == "scaler":
                with fp.autocast("cpu", fp.float16):
                    loss = F.cross_entropy(model(x), t)
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
            elif way == "closure":
                assert optimizer.step(closure).item() > 0
            else:
                closure()
                optimizer.step()
    return np.concatenate([p.numpy().ravel() for p in model.parameters()]), optimizer, model


@pytest.mark.parametrize("way, precision", [
    ("plain", "float32"), ("closure", "float32"), ("mixed", "float32"), ("scaler", "float32"),
    ("mixed", "autocast"), ("automatic", "autocast"),
])  # fmt: skip
def test_a_step_of_ones_own_is_as_good_as_minifps(way, precision):
    if way == "automatic":
        automatic.start("autocast")
    try:
        mine, optimizer, _ = trained(lambda p: Momentum(p, lr=0.1), way, precision)
        theirs, other, _ = trained(lambda p: optim.SGD(p, lr=0.1, momentum=0.9), way, precision)
    finally:
        if way == "automatic":
            fp.amp.disable_mixed_precision()
    np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-7)
    assert (optimizer.steps, optimizer.attempts) == (other.steps, other.attempts) == (5, 5)


def test_its_state_is_saved_and_taken_up(tmp_path):
    weights, optimizer, model = trained(lambda p: Momentum(p, lr=0.1))
    fp.save(tmp_path / "c", model, optimizer)
    _, other, again = trained(Momentum, steps=1)
    fp.load(tmp_path / "c", again, other)
    assert other.param_groups[0]["lr"] == 0.1 and other.steps == 5
    for net, rule in ((model, optimizer), (again, other)):
        rule.zero_grad()
        F.cross_entropy(net(fp.tensor(X)), fp.tensor(T)).backward()
        rule.step()
    for p, q in zip(model.parameters(), again.parameters()):
        np.testing.assert_array_equal(p.numpy(), q.numpy())
    with pytest.raises(fp.ArgumentError, match="state buffer of parameter 0 has shape"):
        state = other.state_dict()
        state["state"][0]["buffer"] = np.zeros(3)
        other.load_state_dict(state)


def test_what_would_be_lost_or_scaled_is_refused():
    with fp.precision("mixed"):
        narrow = nn.Linear(4, 2)
    with pytest.raises(fp.PrecisionError, match=r"Momentum .* float16: .*fp.autocast.*update\(\)"):
        fp.MixedOptimizer(Momentum(narrow.parameters()))
    layer = nn.Linear(4, 2)
    optimizer, scaler = Momentum(layer.parameters()), fp.GradScaler("cpu")
    scaler.scale(layer(fp.tensor(X)).sum()).backward()
    with pytest.raises(fp.TapeError, match="made with seed 65536"):
        optimizer.step()
    assert optimizer.attempts == 0 and not optimizer.state
    with pytest.raises(fp.ArgumentError, match="defaults is a float, expected a dict"):
        optim.Optimizer(layer.parameters(), 0.1)


@pytest.mark.parametrize("precision", ["float32", "mixed", "bfloat16"])
def test_the_pages_rule_trains_in_every_precision(precision):
    single = trained(lambda p: Lion(p, lr=1e-3), "mixed", "float32", 40)[0]
    weights, optimizer, _ = trained(lambda p: Lion(p, lr=1e-3), "mixed", precision, 40)
    assert np.abs(weights - single).max() < 0.02 and optimizer.steps == 40


class Decay(optim.lr_scheduler.LRScheduler):
    """Of PyTorch's kind, by the rates before."""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        groups = self.optimizer.param_groups
        return [g["lr"] * (self.gamma if self.last_epoch else 1.0) for g in groups]


class OwnStep(Decay):
    """One that counts for itself, which PyTorch's constructor begins."""

    def step(self, epoch=None):
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        for group, base in zip(self.optimizer.param_groups, self.base_lrs):
            group["lr"] = base / (1 + self.last_epoch)


def rates(make, steps=4, at=None):
    """The schedule, and the rate before each step and after the last."""
    layer = nn.Linear(4, 1)
    optimizer = optim.SGD(layer.parameters(), lr=1.0)
    schedule, found = make(optimizer), [optimizer.param_groups[0]["lr"]]
    for i in range(steps):
        optimizer.zero_grad()
        layer(fp.tensor(X)).sum().backward()
        optimizer.step()
        schedule.step(*(() if at is None else (at * (i + 1),)))
        found.append(optimizer.param_groups[0]["lr"])
    return schedule, found


@pytest.mark.parametrize("make, at, expected", [
    (lambda o: Warmup(o, 4), None, [0.25, 0.5, 0.75, 1.0, 1.0]),
    (lambda o: Decay(o, 0.5), None, [1.0, 0.5, 0.25, 0.125, 0.0625]),
    (lambda o: OwnStep(o, 0.5), None, [1.0, 1 / 2, 1 / 3, 1 / 4, 1 / 5]),
    (lambda o: lr_scheduler.StepLR(o, 3), 2, [1.0, 1.0, 0.1, 0.01, 0.01]),
    (lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 2), 0.75,
     [(1 + math.cos(math.pi * (t % 2) / 2)) / 2 for t in (0, 0.75, 1.5, 2.25, 3)]),
])  # fmt: skip
def test_schedules_of_ones_own_and_given_counts(make, at, expected):
    schedule, found = rates(make, at=at)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    other = rates(make, 0)[0]
    other.load_state_dict(schedule.state_dict())
    assert other.get_last_lr() == schedule.get_last_lr()
    assert other.last_epoch == schedule.last_epoch


def test_what_a_schedule_cannot_do_is_refused_with_what_to_write():
    for make, message in (
        (lambda o: lr_scheduler.SequentialLR(o, [Decay(o, 0.5)], []), "define rate.base, count, i"),
        (lambda o: lr_scheduler.LRScheduler(o), "defines neither rate.. nor get_lr.."),
        (lambda o: lr_scheduler.StepLR(o, 3).step(0.5), "StepLR.step: epoch=0.5: expected an int"),
    ):
        with pytest.raises(fp.ArgumentError, match=message):
            rates(make)
