"""Optimizers and schedules as PyTorch's programs define them, and docs/operations.md's."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses

import minifp as fp
from minifp import nn, optim
from minifp.optim.lr_scheduler import CosineAnnealingWarmRestarts, LRScheduler, SequentialLR, StepLR

PAGE = (Path(fp.__file__).parents[1] / "docs" / "operations.md").read_text(encoding="utf-8")
PAGES: dict = {"__name__": "operations_page"}
exec("\n".join(re.findall(r"```python\n(.*?)```", PAGE.split("## Your own optim")[1], re.S)), PAGES)
Momentum, Lion, Warmup = (PAGES[name] for name in ("Momentum", "Lion", "Warmup"))
X, T = fp.tensor(np.random.default_rng(0).normal(size=(16, 4))), fp.tensor(np.arange(16) % 2)


WAYS = {
    "plain": lambda loss, o: (loss().backward(), o.step()),
    "closure": lambda loss, o: o.step(lambda: loss().backward()),
    "mixed": lambda loss, o: fp.MixedOptimizer(o).minimize(loss()),
    "scaler": lambda loss, o: (s := fp.GradScaler("cpu"), s.scale(loss()).backward(), s.step(o)),
    "automatic": lambda loss, o: (
        fp.amp.enable_mixed_precision(o),
        *WAYS["plain"](loss, o),
        fp.amp.disable_mixed_precision(),
    ),  # fmt: skip
}


def trained(make, way, model, steps=5):
    """(model, optimizer) after so many steps in one of the ways to step."""
    optimizer = make(model.parameters())
    for _ in range(steps):
        WAYS[way](lambda: nn.functional.cross_entropy(model(X), T), optimizer)
        optimizer.zero_grad()
    return model, optimizer


@pytest.mark.parametrize("way", WAYS)
def test_a_step_of_ones_own_is_as_good_as_minifps_and_saved(way, tmp_path):
    model, other = nn.Linear(4, 2), nn.Linear(4, 2)
    other.load_state_dict(model.state_dict())
    model, optimizer = trained(lambda p: Momentum(p, 0.1), way, model)
    other, theirs = trained(lambda p: optim.SGD(p, 0.1, 0.9), way, other)
    np.testing.assert_allclose(model.weight.numpy(), other.weight.numpy(), rtol=1e-5, atol=1e-7)
    assert (optimizer.steps, optimizer.attempts) == (theirs.steps, theirs.attempts) == (5, 5)
    fp.save(tmp_path / "c", model, optimizer)
    again, resumed = trained(Momentum, way, nn.Linear(4, 2), 1)
    fp.load(tmp_path / "c", again, resumed)
    for net, rule in ((model, optimizer), (again, resumed)):
        WAYS["plain"](lambda net=net: net(X).sum(), rule)
    np.testing.assert_array_equal(model.weight.numpy(), again.weight.numpy())


def test_what_a_step_of_ones_own_would_lose_is_refused():
    model, optimizer = trained(Momentum, "plain", nn.Linear(4, 2), 0)
    fp.GradScaler("cpu").scale(model(X).sum()).backward()
    refuses(fp.TapeError, "made with seed", optimizer.step)
    with fp.precision("mixed"):
        narrow = nn.Linear(4, 2)
    refuses(fp.PrecisionError, "float16.*update", fp.MixedOptimizer, Momentum(narrow.parameters()))
    trained(Lion, "mixed", narrow)  # the page's, which has masters


class Decay(LRScheduler):
    def get_lr(self):  # by the rates before
        return [g["lr"] * 0.5 ** bool(self.last_epoch) for g in self.optimizer.param_groups]


class OwnStep(Decay):
    def step(self, epoch=None):  # which PyTorch's constructor calls
        self.last_epoch += 1
        self.optimizer.param_groups[0]["lr"] = self.base_lrs[0] / (1 + self.last_epoch)


@pytest.mark.parametrize("make, at, expected", [
    (lambda o: Warmup(o, 3), None, [1 / 3, 2 / 3, 1.0, 1.0]),
    (lambda o: optim.lr_scheduler.ChainedScheduler([Warmup(o, 3), StepLR(o, 2)]), None,
     [1 / 3, 2 / 3, 0.1, 1.0]),
    (lambda o: Decay(o, -1), None, [1.0, 0.5, 0.25, 0.125]),
    (lambda o: OwnStep(o, -1), None, [1.0, 1 / 2, 1 / 3, 1 / 4]),
    (lambda o: StepLR(o, 3), 2, [1.0, 1.0, 0.1, 0.01]),
    (lambda o: CosineAnnealingWarmRestarts(o, 2), 0.75,
     [(1 + math.cos(math.pi * (t % 2) / 2)) / 2 for t in (0, 0.75, 1.5, 2.25)]),
])  # fmt: skip
def test_schedules_of_ones_own_and_given_counts(make, at, expected):
    schedule, other = (make(optim.SGD([nn.Parameter(X)], lr=1.0)) for _ in range(2))
    optimizer, rates = schedule.optimizer, schedule.get_last_lr()
    for i in range(3):
        WAYS["plain"](optimizer.parameters[0].sum, optimizer)
        optimizer.zero_grad()
        schedule.step(*(() if at is None else (at * (i + 1),)))
        rates += schedule.get_last_lr()
    np.testing.assert_allclose(rates, expected, atol=1e-12)
    other.load_state_dict(schedule.state_dict())
    assert (other.get_last_lr(), other.count) == (schedule.get_last_lr(), schedule.count)
    if isinstance(schedule, Decay):
        refuses(fp.ArgumentError, "define rate", SequentialLR, other.optimizer, [other], [])
