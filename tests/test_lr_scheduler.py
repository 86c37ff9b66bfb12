"""Claims about schedules: closed forms of a count that a skipped step does not advance."""

import json
import math

import numpy as np
import pytest

import minifp as fp
from minifp import nn, optim
from minifp.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR


def mixed_optimizer(*rates, scale=2.0**10):
    """A MixedOptimizer of one parameter a rate, under mixed precision with a static scale."""
    with fp.precision("mixed"):
        groups = [{"params": [nn.Parameter(np.ones(2))], "lr": lr} for lr in rates]
        return fp.MixedOptimizer(optim.SGD(groups), loss_scale=scale)


def step(optimizer, overflow=False):
    """One step, good or skipped."""
    optimizer.zero_grad()
    with fp.precision("mixed"):
        loss = sum(p.sum() for p in optimizer.parameters)
        optimizer.backward(loss * (1e30 if overflow else 1.0))
    assert optimizer.step().skipped == overflow


def rates_over(schedule, steps, base=0.5):
    """The rate before each of `steps` good steps, and after the last."""
    optimizer = mixed_optimizer(base)
    scheduler = schedule(optimizer)
    rates = scheduler.get_last_lr()
    for _ in range(steps):
        step(optimizer)
        scheduler.step()
        rates += scheduler.get_last_lr()
        assert [g["lr"] for g in optimizer.param_groups] == rates[-1:]
    return rates


def cosine(optimizer):
    """From the base to 0.1 in 8 steps."""
    return CosineAnnealingLR(optimizer, T_max=8, eta_min=0.1)


def warm_up(optimizer):
    """From a quarter to the whole in 4 steps."""
    return LinearLR(optimizer, start_factor=0.25, total_iters=4)


def warm_up_then_cosine(optimizer):
    """4 steps up, 8 down."""
    return SequentialLR(optimizer, [warm_up(optimizer), cosine(optimizer)], milestones=[4])


all_schedules = pytest.mark.parametrize("schedule", [cosine, warm_up, warm_up_then_cosine])


def test_cosine_goes_from_the_base_through_the_middle_to_the_end():
    rates = rates_over(cosine, 8)
    expected = [0.3 + 0.2 * math.cos(math.pi * n / 8) for n in range(9)]
    np.testing.assert_allclose(rates, expected, rtol=1e-14)
    assert (rates[0], rates[8]) == (0.5, 0.1)


def test_warm_up_is_a_line_and_then_stays():
    assert rates_over(warm_up, 6, base=1.0) == [0.25, 0.4375, 0.625, 0.8125, 1.0, 1.0, 1.0]


def test_one_schedule_follows_another_from_its_own_beginning():
    rates = rates_over(warm_up_then_cosine, 12)
    assert rates[:4] == rates_over(warm_up, 3)
    assert rates[4:] == rates_over(cosine, 8)


@all_schedules
def test_every_group_goes_its_way_from_its_own_base(schedule):
    optimizer = mixed_optimizer(0.5, 4.0, 0.0)
    scheduler = schedule(optimizer)
    for _ in range(5):
        step(optimizer)
        scheduler.step()
        alone = [schedule(mixed_optimizer(base)) for base in (0.5, 4.0, 0.0)]
        for one in alone:
            one.count = scheduler.count
            one._set()
        assert scheduler.get_last_lr() == [rate for one in alone for rate in one.get_last_lr()]


def test_a_schedule_that_ends_at_zero_trains_on_with_a_rate_of_zero():
    optimizer = mixed_optimizer(0.5)
    scheduler = CosineAnnealingLR(optimizer, T_max=2)
    for _ in range(2):
        step(optimizer)
        scheduler.step()
    before = optimizer.parameters[0].array.copy()
    step(optimizer)
    assert scheduler.get_last_lr() == [0.0]
    assert optimizer.parameters[0].array.tolist() == before.tolist()


# ---- skipped steps ------------------------------------------------------------------------------


@all_schedules
def test_a_skipped_step_does_not_advance_a_schedule_of_steps(schedule):
    """Rates are those of a run without the skips, however these fall."""
    optimizer = mixed_optimizer(0.5)
    scheduler = schedule(optimizer)
    seen = []
    for overflow in [True, False, False, True, True, False, True, False, False, False]:
        if not overflow:
            seen += scheduler.get_last_lr()
        step(optimizer, overflow)
        scheduler.step()
    assert seen == rates_over(schedule, 5)
    assert scheduler.count == 6


@all_schedules
@pytest.mark.parametrize(
    "epoch", [(False, True, False), (True, True, False), (True, True, True), (False,)]
)
def test_an_epoch_always_advances_a_schedule_of_epochs(schedule, epoch):
    optimizer = mixed_optimizer(0.5)
    scheduler = schedule(optimizer)
    seen = scheduler.get_last_lr()
    for _ in range(5):
        for overflow in epoch:
            step(optimizer, overflow)
        scheduler.step()
        seen += scheduler.get_last_lr()
    assert seen == rates_over(schedule, 5)


def test_several_optimizers_advance_together_unless_all_of_them_skipped():
    with fp.precision("mixed"):
        ps = [nn.Parameter(np.ones(2)) for _ in range(2)]
    optimizer = fp.MixedOptimizer([optim.SGD([p], lr=0.5) for p in ps], loss_scale=8.0)
    scheduler = cosine(optimizer)
    counts = []
    for factors in [(1.0, 1.0), (1e30, 1.0), (1e30, 1e30), (1.0, 1.0)]:
        optimizer.zero_grad()
        with fp.precision("mixed"):
            optimizer.backward(sum((p * p).sum() * f for p, f in zip(ps, factors)))
        optimizer.step()
        scheduler.step()
        counts.append(scheduler.count)
    assert counts == [1, 2, 2, 3]
    assert len(set(scheduler.get_last_lr())) == 1


# ---- state --------------------------------------------------------------------------------------


@all_schedules
def test_continuing_from_a_state_equals_never_having_stopped(schedule):
    """Also after a skip, and through JSON, in which a checkpoint keeps it."""
    pattern = [False, True, False, False, True, True, False, False]
    optimizer = mixed_optimizer(0.5, 2.0)
    scheduler = schedule(optimizer)
    for overflow in pattern[:5]:
        step(optimizer, overflow)
        scheduler.step()
    saved, state = json.loads(json.dumps(scheduler.state_dict())), optimizer.state_dict()

    resumed = mixed_optimizer(0.5, 2.0)
    again = schedule(resumed)
    resumed.load_state_dict(state)
    again.load_state_dict(saved)
    assert again.get_last_lr() == scheduler.get_last_lr()
    for overflow in pattern[5:]:
        for o, s in ((optimizer, scheduler), (resumed, again)):
            step(o, overflow)
            s.step()
        assert again.get_last_lr() == scheduler.get_last_lr()
        assert again.state_dict() == scheduler.state_dict()


def test_a_state_is_a_copy():
    scheduler = cosine(mixed_optimizer(0.5))
    state = scheduler.state_dict()
    state["base_lrs"][0][0] = 99.0
    assert scheduler.base_lrs == [[0.5]]


@pytest.mark.parametrize(
    "damage",
    [
        lambda s: s.pop("count"),
        lambda s: s.update(gamma=1.0),
        lambda s: s.update(base_lrs=[[0.1]]),
        lambda s: s.update(base_lrs=[]),
    ],
)
def test_a_state_that_does_not_fit_is_refused_and_nothing_is_changed(damage):
    scheduler, other = (cosine(mixed_optimizer(0.5, 2.0)) for _ in range(2))
    other.count = 3
    state, before = other.state_dict(), scheduler.state_dict()
    damage(state)
    with pytest.raises(fp.ArgumentError, match="CosineAnnealingLR"):
        scheduler.load_state_dict(state)
    assert (scheduler.state_dict(), scheduler.get_last_lr()) == (before, [0.5, 2.0])


# ---- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda o: CosineAnnealingLR(o, T_max=0), "T_max"),
        (lambda o: CosineAnnealingLR(o, T_max=2.5), "T_max"),
        (lambda o: CosineAnnealingLR(o, T_max=5, eta_min=-0.1), "eta_min"),
        (lambda o: CosineAnnealingLR(o, T_max=5, eta_min=float("nan")), "eta_min"),
        (lambda o: LinearLR(o, start_factor=-0.5), "start_factor"),
        (lambda o: LinearLR(o, start_factor=float("nan")), "start_factor"),
        (lambda o: LinearLR(o, end_factor=1.5), "end_factor"),
        (lambda o: LinearLR(o, total_iters=0), "total_iters"),
        (lambda o: SequentialLR(o, [cosine(o)], [3]), "milestone"),
        (lambda o: SequentialLR(o, [warm_up(o), cosine(o), cosine(o)], [7, 3]), "ascending"),
    ],
)
def test_an_impossible_schedule_is_refused_naming_what_is_wrong(make, word):
    with pytest.raises(fp.ArgumentError, match=word):
        make(mixed_optimizer(0.5))


def test_an_impossible_schedule_leaves_the_rate_as_it_was():
    optimizer = mixed_optimizer(0.5)
    with pytest.raises(fp.ArgumentError):
        LinearLR(optimizer, total_iters=0)
    assert optimizer.param_groups[0]["lr"] == 0.5
