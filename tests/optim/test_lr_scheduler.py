"""Claims about schedules: closed forms of a count that a skipped step does not advance."""

import doctest
import json
import math
from itertools import permutations

import numpy as np
import pytest
from refusals import refuses

import minifp as fp
from minifp import nn, optim
from minifp.optim import lr_scheduler
from minifp.optim.lr_scheduler import (
    ChainedScheduler,
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiStepLR,
    OneCycleLR,
    PolynomialLR,
    ReduceLROnPlateau,
    SequentialLR,
    StepLR,
)


def mixed_optimizer(*rates, scale=2.0**10, **settings):
    """A MixedOptimizer of one parameter a rate, under mixed precision with a static scale."""
    with fp.precision("mixed"):
        groups = [{"params": [nn.Parameter(np.ones(2))], "lr": lr} for lr in rates]
        return fp.MixedOptimizer(optim.SGD(groups, **settings), loss_scale=scale)


def step(optimizer, overflow=False):
    optimizer.zero_grad()
    with fp.precision("mixed"):
        loss = sum(p.sum() for p in optimizer.parameters)
        optimizer.backward(loss * (1e30 if overflow else 1.0))
    assert optimizer.step().skipped == overflow


def rates_over(schedule, steps, base=0.5):
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
    return CosineAnnealingLR(optimizer, T_max=8, eta_min=0.1)


def warm_up(optimizer):
    return LinearLR(optimizer, start_factor=0.25, total_iters=4)


def warm_up_then_cosine(optimizer):
    return SequentialLR(optimizer, [warm_up(optimizer), cosine(optimizer)], milestones=[4])


def decays_at_once(optimizer):
    """Two factors and a cosine, one of them a sequence."""
    first = SequentialLR(optimizer, [warm_up(optimizer), StepLR(optimizer, 2)], [3])
    return ChainedScheduler([first, ExponentialLR(optimizer, 0.9), cosine(optimizer)])


SCHEDULES = {
    "cosine": cosine, "warm_up": warm_up, "warm_up_then_cosine": warm_up_then_cosine,
    "decays_at_once": decays_at_once, "StepLR": lambda o: StepLR(o, step_size=2, gamma=0.5),
    "MultiStepLR": lambda o: MultiStepLR(o, [4, 1, 4]),
    "ExponentialLR": lambda o: ExponentialLR(o, 0.7),
    "ConstantLR": lambda o: ConstantLR(o, 0.25, 3),
    "PolynomialLR": lambda o: PolynomialLR(o, 9, 2.0),
    "LambdaLR": lambda o: LambdaLR(o, lambda n: 1 / (1 + n)),
    "restarts": lambda o: CosineAnnealingWarmRestarts(o, 2, 2, 0.1),
}  # fmt: skip
all_schedules = pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)


@pytest.mark.parametrize(("schedule", "rates"), [
    ("cosine", [0.55 + 0.45 * math.cos(math.pi * n / 8) for n in range(7)]),
    ("warm_up", [0.25, 0.4375, 0.625, 0.8125, 1.0, 1.0, 1.0]),
    ("StepLR", [1, 1, 0.5, 0.5, 0.25, 0.25, 0.125]),
    ("MultiStepLR", [1, 0.1, 0.1, 0.1, 1e-3, 1e-3, 1e-3]),
    ("ExponentialLR", [0.7**n for n in range(7)]), ("ConstantLR", [0.25, 0.25, 0.25, 1, 1, 1, 1]),
    ("PolynomialLR", [(1 - n / 9) ** 2 for n in range(7)]),
    ("LambdaLR", [1 / n for n in range(1, 8)]),
    ("restarts", [1, 0.55, 1, 0.55 + 0.45 / 2**0.5, 0.55, 0.55 - 0.45 / 2**0.5, 1]),
])  # fmt: skip
def test_the_rates_are_their_closed_forms(schedule, rates):
    np.testing.assert_allclose(rates_over(SCHEDULES[schedule], 6, base=1.0), rates, rtol=1e-12)


def test_a_cosine_and_a_polynomial_stay_at_their_end_and_a_constant_at_the_base():
    assert rates_over(cosine, 8)[8] == 0.1
    assert rates_over(SCHEDULES["PolynomialLR"], 12)[9:] == [0.0] * 4
    assert rates_over(SCHEDULES["ConstantLR"], 12)[3:] == [0.5] * 10


def test_a_chain_multiplies_factors_alone_in_a_sequence_and_in_a_chain():
    def chain(optimizer):
        return ChainedScheduler([warm_up(optimizer), StepLR(optimizer, 3), StepLR(optimizer, 2)])

    warm = [0.25, 0.4375, 0.625, 0.8125, 1.0, 1.0, 1.0]
    steps, rates = [1, 1, 0.1, 0.01, 1e-3, 1e-3, 1e-5], rates_over(chain, 6, base=1.0)
    np.testing.assert_allclose(rates, np.multiply(warm, steps), rtol=1e-12)
    rates = rates_over(
        lambda o: ChainedScheduler([LinearLR(o, 0.0, total_iters=2), ExponentialLR(o, 0.5)]), 3
    )
    np.testing.assert_allclose(rates, [0.0, 0.125, 0.125, 0.0625])

    # In PyTorch a chain that begins a sequence begins one step late.
    def in_sequence(optimizer):
        return SequentialLR(optimizer, [decays_at_once(optimizer), StepLR(optimizer, 1)], [9])

    assert rates_over(in_sequence, 8) == rates_over(decays_at_once, 8)

    def nested(optimizer):
        inner = ChainedScheduler([warm_up(optimizer), cosine(optimizer)], optimizer)
        return ChainedScheduler([inner, StepLR(optimizer, 2)], optimizer)

    def flat(optimizer):
        return ChainedScheduler([warm_up(optimizer), cosine(optimizer), StepLR(optimizer, 2)])

    assert rates_over(nested, 8) == rates_over(flat, 8)


@all_schedules
def test_the_rate_of_any_count_can_be_asked_for_in_any_order(schedule):
    scheduler = schedule(mixed_optimizer(0.5))
    rates = {n: scheduler.rate(0.5, n, 0) for n in (5, 2, 0, 7, 1, 6, 3, 4, 8)}
    assert [rates[n] for n in range(9)] == rates_over(schedule, 8)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_order_in_which_parts_are_made_does_not_matter(order):
    """Each begins with the rate of the group before any of them set it."""

    def sequence(optimizer):
        makers = [warm_up, cosine, lambda o: StepLR(o, 2)]
        parts = {n: makers[n](optimizer) for n in order}
        return SequentialLR(optimizer, [parts[0], parts[1], parts[2]], [4, 6])

    rates = rates_over(sequence, 8)
    assert rates[:4] == rates_over(warm_up, 3) and rates[4:6] == rates_over(cosine, 1)
    assert rates[6:] == [0.5, 0.5, 0.05]


def test_the_docstring_tells_the_truth():
    results = doctest.testmod(lr_scheduler)
    assert results.failed == 0 < results.attempted


def cycle_settings(optimizer, steps, **arguments):
    """(rate, momentum) of the first group before each step, and after the last."""
    scheduler = OneCycleLR(optimizer, **arguments)
    group, found = optimizer.param_groups[0], []
    for n in range(steps + 1):
        found.append((group["lr"], group["betas"][0] if "betas" in group else group["momentum"]))
        if n < steps:
            step(optimizer)
            scheduler.step()
    return found


def test_in_one_cycle_the_rate_goes_up_and_down_and_the_momentum_down_and_up():
    arguments = {"max_lr": 1.0, "total_steps": 11, "pct_start": 5 / 11, "anneal_strategy": "linear"}
    found = cycle_settings(mixed_optimizer(9.0, momentum=0.5), 11, div_factor=5.0, **arguments)
    rates, momenta = zip(*found)
    np.testing.assert_allclose(rates[:5], np.linspace(0.2, 1.0, 5), rtol=1e-12)
    np.testing.assert_allclose(rates[4:11], np.linspace(1.0, 2e-5, 7), rtol=1e-9)
    np.testing.assert_allclose(momenta[:5], np.linspace(0.95, 0.85, 5), rtol=1e-12)
    np.testing.assert_allclose(momenta[4:11], np.linspace(0.85, 0.95, 7), rtol=1e-12)
    assert found[11] == found[10]  # after the last step there is no other


@pytest.mark.parametrize("rule", [optim.SGD, optim.Adam, optim.RMSprop])
def test_one_cycle_also_moves_a_momentum_that_was_zero(rule):
    """Of an optimizer that was made without one and has not stepped yet."""
    with fp.precision("mixed"):
        p = nn.Parameter(np.ones(2))
    optimizer = fp.MixedOptimizer(rule([p]), loss_scale=8.0)
    settings = cycle_settings(optimizer, 5, max_lr=0.1, total_steps=6)
    assert min(m for _, m in settings) == pytest.approx(0.85, abs=0.02)


def test_a_cycle_has_no_step_after_its_last():
    optimizer = mixed_optimizer(0.5)
    scheduler = OneCycleLR(optimizer, 1.0, epochs=2, steps_per_epoch=2)
    for _ in range(4):
        step(optimizer)
        scheduler.step()
    before = scheduler.state_dict(), scheduler.get_last_lr()
    step(optimizer)
    refuses(fp.ArgumentError, "step 5 .*total_steps=4", scheduler.step)
    assert (scheduler.state_dict(), scheduler.get_last_lr()) == before


def plateau(optimizer, **arguments):
    return ReduceLROnPlateau(optimizer, factor=0.5, patience=1, **arguments)


def test_the_rate_is_reduced_when_the_metric_stops_getting_better_in_steps_that_count():
    optimizer = mixed_optimizer(0.5, 4.0)
    scheduler, rates = plateau(optimizer, min_lr=[0.2, 0.0]), []
    for metric in [1.0, 0.5, 0.5, fp.tensor(0.6), 0.4, np.float32(0.41), 0.42, float("nan"), 9]:
        step(optimizer)
        scheduler.step(metric)
        rates.append(scheduler.get_last_lr())
    assert rates == [[0.5, 4.0]] * 3 + [[0.25, 2.0]] * 3 + [[0.2, 1.0]] * 2 + [[0.2, 0.5]]
    optimizer = mixed_optimizer(0.5)
    scheduler = plateau(optimizer)
    for overflow in (False, False, True, True, False):
        step(optimizer, overflow)
        scheduler.step(1.0)
    assert scheduler.count == 3 and scheduler.get_last_lr() == [0.25]


@pytest.mark.parametrize(("mode", "worst"), [("min", math.inf), ("max", -math.inf)])
def test_the_worst_metric_there_is_is_not_better_than_none(mode, worst):
    optimizer = mixed_optimizer(0.5)
    scheduler = plateau(optimizer, mode=mode)
    for metric in (worst, math.nan, 0.5, 0.5):
        step(optimizer)
        scheduler.step(metric)
    assert scheduler.get_last_lr() == [0.25] and scheduler.best == 0.5


@pytest.mark.parametrize("metric", [None, "low", [1.0, 2.0], fp.tensor([1.0, 2.0])], ids=repr)
def test_what_is_no_metric_is_refused(metric):
    scheduler = plateau(mixed_optimizer(0.5))
    before = scheduler.state_dict()
    refuses(fp.ArgumentError, "ReduceLROnPlateau.step", scheduler.step, metric)
    assert scheduler.state_dict() == before


@all_schedules
def test_every_group_goes_its_way_from_its_own_base(schedule):
    optimizer = mixed_optimizer(0.5, 4.0, 0.0)
    scheduler = schedule(optimizer)
    for _ in range(5):
        step(optimizer)
        scheduler.step()
        alone = [schedule(mixed_optimizer(base)) for base in (0.5, 4.0, 0.0)]
        for one in alone:
            one.load_state_dict({**one.state_dict(), "count": scheduler.count})
        assert scheduler.get_last_lr() == [rate for one in alone for rate in one.get_last_lr()]


@all_schedules
def test_a_group_added_later_needs_another_scheduler(schedule):
    optimizer = mixed_optimizer(0.5)
    scheduler = schedule(optimizer)
    with fp.precision("mixed"):
        optimizer.add_param_group({"params": nn.Parameter(np.ones(2)), "lr": 1.0})
    before = [group["lr"] for group in optimizer.param_groups]
    refuses(fp.ArgumentError, "2 groups", scheduler.step)
    assert [group["lr"] for group in optimizer.param_groups] == before
    step(optimizer)
    schedule(optimizer).step()


def test_two_schedulers_that_step_in_turn_are_refused_and_one_after_the_other_are_not():
    optimizer = mixed_optimizer(0.5)
    first, second = StepLR(optimizer, 1), ExponentialLR(optimizer, 0.5)
    step(optimizer)
    first.step()
    step(optimizer)
    second.step()
    second.step()
    rates = second.get_last_lr()
    refuses(fp.ArgumentError, "StepLR.*ExponentialLR.*ChainedScheduler", first.step)
    assert second.get_last_lr() == rates
    second.step()


@all_schedules
def test_a_skipped_step_does_not_advance_a_schedule_of_steps(schedule):
    optimizer = mixed_optimizer(0.5)
    scheduler, seen = schedule(optimizer), []
    for overflow in [True, False, False, True, True, False, True, False, False, False]:
        if not overflow:
            seen += scheduler.get_last_lr()
        step(optimizer, overflow)
        scheduler.step()
    assert (seen, scheduler.count) == (rates_over(schedule, 5), 6)


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
    scheduler, counts = cosine(optimizer), []
    for factors in [(1.0, 1.0), (1e30, 1.0), (1e30, 1e30), (1.0, 1.0)]:
        optimizer.zero_grad()
        with fp.precision("mixed"):
            optimizer.backward(sum((p * p).sum() * f for p, f in zip(ps, factors)))
        optimizer.step()
        scheduler.step()
        counts.append(scheduler.count)
    assert (counts, len(set(scheduler.get_last_lr()))) == ([1, 2, 2, 3], 1)


def test_a_step_that_a_grad_scaler_skips_does_not_advance_a_schedule_and_one_too_early_is_told():
    w = fp.ones(2, requires_grad=True)
    optimizer, scaler, counts = optim.SGD([w], lr=0.5), fp.GradScaler(), []
    schedule = StepLR(optimizer, 1)
    for factor in (math.inf, math.inf, 1.0, math.inf, 1.0):
        optimizer.zero_grad()
        scaler.scale((w * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        schedule.step()
        counts.append(schedule.count)
    assert (counts, optimizer.steps, optimizer.attempts) == ([0, 0, 1, 1, 2], 2, 5)
    schedule = StepLR(mixed_optimizer(0.5), 2)
    with pytest.warns(fp.MisuseWarning, match=r"StepLR.step\(\) before optimizer.step\(\)"):
        schedule.step()
    schedule.step()


def with_other_settings(optimizer):
    """The parts of decays_at_once."""
    inner = SequentialLR(optimizer, [LinearLR(optimizer), StepLR(optimizer, 7, 0.9)], [1])
    cosine = CosineAnnealingLR(optimizer, 3)
    return ChainedScheduler([inner, ExponentialLR(optimizer, 0.1), cosine])


# A schedule, and what its state is loaded into: also one that was made with other settings.
CONTINUED = {
    **{name: (schedule, schedule) for name, schedule in SCHEDULES.items()},
    "others at once": (decays_at_once, with_other_settings),
    "cycle": (lambda o: OneCycleLR(o, 1.0, 12), lambda o: OneCycleLR(o, 7.0, 3)),
    "plateau": (lambda o: plateau(o, cooldown=1), ReduceLROnPlateau),
}
METRICS = [1.0, 0.9, 0.95, 1.1, 0.9, 1.0, 0.95, 1.2, 0.2, 1.0]


@pytest.mark.parametrize("schedule, other", CONTINUED.values(), ids=CONTINUED)
def test_continuing_from_a_state_equals_never_having_stopped(schedule, other):

    def advance(optimizer, scheduler, k):
        step(optimizer, overflow=k in (1, 4, 5))
        scheduler.step(*METRICS[k : k + isinstance(scheduler, ReduceLROnPlateau)])
        settings = [{**group, "params": None} for group in optimizer.param_groups]
        return settings, scheduler.get_last_lr(), scheduler.state_dict()

    for cut in range(1, 9):
        whole, resumed = (mixed_optimizer(*rates, momentum=0.9) for rates in [(0.5, 2), (0.25, 9)])
        scheduler = schedule(whole)
        for k in range(cut):
            advance(whole, scheduler, k)
        saved, state = json.loads(json.dumps(scheduler.state_dict())), whole.state_dict()
        again = other(resumed)
        if cut % 2:
            resumed.load_state_dict(state)
        again.load_state_dict(saved)
        if not cut % 2:  # in either order
            resumed.load_state_dict(state)
        assert again.get_last_lr() == scheduler.get_last_lr(), cut
        for k in range(cut, 10):
            assert advance(resumed, again, k) == advance(whole, scheduler, k), (cut, k)


def test_a_state_is_a_copy():
    scheduler = cosine(mixed_optimizer(0.5))
    state = scheduler.state_dict()
    state["base_lrs"][0] = 99.0
    assert scheduler.base_lrs == [0.5]


@pytest.mark.parametrize("make, damage", [
    *((cosine, lambda s, change=change: s.update(change)) for change in (
        {"gamma": 1.0}, {"base_lrs": [0.1]}, {"base_lrs": []}, {"base_lrs": [0.1, -1.0]},
        {"base_lrs": 5}, {"count": -1}, {"count": 1.5}, {"seen": [1]}, {"seen": [1, None]},
        {"kind": "StepLR"}, {"settings": {}}, {"settings": None}, {"schedulers": None},
    )), (cosine, lambda s: s.pop("count")), (cosine, lambda s: s["settings"].update(T_max=0)),
    (cosine, lambda s: s["settings"].update(gamma=1.0)),
    (cosine, lambda s: s.update(schedulers=[s])),
    *((plateau, lambda s, change=change: s.update(change)) for change in (
        {"best": "low"}, {"num_bad_epochs": -1}, {"cooldown_counter": 0.5}, {"lrs": [0.1]},
        {"lrs": [-1.0, 0.1]}, {"lrs": None},
    )), (plateau, lambda s: s["settings"].update(mode="middle")),
    (plateau, lambda s: s["settings"].update(min_lrs=0.0)),
])  # fmt: skip
def test_a_state_that_does_not_fit_is_refused_and_nothing_is_changed(make, damage):
    scheduler, other = (make(mixed_optimizer(0.5, 2.0)) for _ in range(2))
    other.count = 3
    state, before = other.state_dict(), scheduler.state_dict()
    damage(state)
    words = "T_max|mode=|min_lr=|" + before["kind"]
    for take in (scheduler.check_state_dict, scheduler.load_state_dict):
        refuses(fp.ArgumentError, words, take, state)
    assert (scheduler.state_dict(), scheduler.get_last_lr()) == (before, [0.5, 2.0])


@pytest.mark.parametrize("take", ["check_state_dict", "load_state_dict"])
def test_the_state_of_another_kind_or_of_none_is_refused(take):
    kinds = {**SCHEDULES, "cycle": lambda o: OneCycleLR(o, 1.0, 9), "plateau": plateau}
    schedulers = [kind(mixed_optimizer(0.5)) for kind in kinds.values()]
    for scheduler in schedulers:
        before, given = scheduler.state_dict(), [other.state_dict() for other in schedulers]
        given = [state for state in given if state["kind"] != before["kind"]]
        for state in [*given, {}, None, [], 3]:
            refuses(fp.ArgumentError, type(scheduler).__name__, getattr(scheduler, take), state)
        assert scheduler.state_dict() == before
        getattr(scheduler, take)(before)


def test_a_state_whose_part_does_not_fit_is_refused_and_no_part_is_changed():
    scheduler = decays_at_once(mixed_optimizer(0.5))
    before = scheduler.state_dict()
    for damage in (
        *(lambda s: s["schedulers"].pop(), lambda s: s["schedulers"].reverse()),
        lambda s: s["schedulers"][2]["settings"].update(T_max=-1),
        lambda s: s["schedulers"][0].update(settings={"milestones": [3, 4]}),
        lambda s: s["schedulers"][0]["schedulers"][0].pop("settings"),
    ):
        state = json.loads(json.dumps(before))
        state["schedulers"][1]["settings"]["gamma"] = 0.2
        damage(state)
        with pytest.raises(fp.ArgumentError):
            scheduler.load_state_dict(state)
        assert scheduler.state_dict() == before


NAN = float("nan")
IMPOSSIBLE = {  # what is given, and what is named
    CosineAnnealingLR: [
        ({"T_max": 0}, "T_max"), ({"T_max": 2.5}, "T_max"),
        ({"T_max": 5, "eta_min": -0.1}, "eta_min"), ({"T_max": 5, "eta_min": NAN}, "eta_min"),
    ],
    LinearLR: [
        ({"start_factor": -0.5}, "start_factor"), ({"start_factor": NAN}, "start_factor"),
        ({"end_factor": 1.5}, "end_factor"), ({"total_iters": 0}, "total_iters"),
    ],
    StepLR: [({"step_size": 0}, "step_size"), ({"step_size": 5, "gamma": -1.0}, "gamma")],
    MultiStepLR: [({"milestones": [5, -1]}, "milestone"), ({"milestones": [5, 0.5]}, "milestone")],
    ConstantLR: [({"factor": 1.5}, "factor"), ({"total_iters": None}, "total_iters")],
    PolynomialLR: [({"total_iters": 0}, "total_iters"), ({"power": -1}, "power")],
    LambdaLR: [({"lr_lambda": 0.5}, "lr_lambda"), ({"lr_lambda": [abs, abs]}, "2 functions for 1")],
    CosineAnnealingWarmRestarts: [({"T_0": 0}, "T_0"), ({"T_0": 5, "T_mult": 1.5}, "T_mult")],
    OneCycleLR: [
        ({"max_lr": 0.1}, "total_steps"), ({"max_lr": 0.1, "epochs": 3}, "steps_per_epoch"),
        ({"max_lr": 0.1, "epochs": 3, "steps_per_epoch": 0}, "steps_per_epoch"),
        ({"max_lr": 0.1, "total_steps": 0}, "total_steps"),
        *(({"max_lr": 0.1, "total_steps": 9, **wrong}, next(iter(wrong))) for wrong in (
            {"max_lr": [0.1, 0.2]}, {"max_lr": None}, {"pct_start": 1.5}, {"div_factor": 0},
            {"anneal_strategy": "sin"}, {"cycle_momentum": "no"}, {"base_momentum": 1.0},
            {"max_momentum": [0.9, 0.9]}, {"three_phase": 1},
        )),
    ],
    ReduceLROnPlateau: [
        ({"mode": "low"}, "mode"), ({"factor": 1.0}, "factor"), ({"patience": -1}, "patience"),
        ({"threshold_mode": "both"}, "threshold_mode"), ({"min_lr": [0.0, 0.0]}, "min_lr"),
        ({"eps": -1.0}, "eps"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", IMPOSSIBLE)
def test_an_impossible_schedule_is_refused_naming_what_is_wrong_and_leaves_the_rate(kind):
    for settings, word in IMPOSSIBLE[kind]:
        optimizer = mixed_optimizer(0.5)
        refuses(fp.ArgumentError, word, kind, optimizer, **settings)
        assert optimizer.param_groups[0]["lr"] == 0.5


def test_what_is_no_optimizer_and_no_list_of_schedulers_is_refused():
    o, other = mixed_optimizer(0.5), mixed_optimizer(1.0)
    refuses(fp.ArgumentError, "Optimizer", LinearLR, [o])
    refuses(fp.ArgumentError, "Optimizer", StepLR, cosine(o), 3)
    refuses(fp.ArgumentError, "no momentum", OneCycleLR, optim.Adagrad(o.parameters), 0.1, 9)
    for schedulers, milestones, words in (
        (cosine(o), [], "schedulers"), ([], [], "schedulers"),
        ([cosine(o), o], [3], "MixedOptimizer"),
        ([cosine(o), plateau(o)], [3], "ReduceLROnPlateau"),
        ([cosine(o), cosine(o)], 3, "milestone"), ([cosine(o), cosine(o)], [-3], "milestone"),
        ([cosine(o)], [3], "milestone"), ([warm_up(o), cosine(o), cosine(o)], [7, 3], "ascending"),
    ):  # fmt: skip
        refuses(fp.ArgumentError, words, SequentialLR, o, schedulers, milestones)
    for schedulers, words in (
        *(([OneCycleLR(o, 0.1, 9)], "OneCycleLR"), ([cosine(o), cosine(other)], "another")),
        *((None, "schedulers"), ([], "schedulers"), ([3], "int")),
    ):
        refuses(fp.ArgumentError, words, ChainedScheduler, schedulers)


@pytest.mark.parametrize("name", ["ConstantLR", "LinearLR", "PolynomialLR"])
def test_another_last_epoch_than_pytorchs_default_is_refused_naming_what_to_call(name):
    getattr(lr_scheduler, name)(mixed_optimizer(0.5), last_epoch=-1)
    with pytest.raises(fp.ArgumentError, match=f"{name}: last_epoch=3.*load_state_dict"):
        getattr(lr_scheduler, name)(mixed_optimizer(0.5), last_epoch=3)


def test_a_list_of_functions_has_one_for_each_group():
    optimizer = mixed_optimizer(1.0, 1.0)
    scheduler = LambdaLR(optimizer, [lambda n: 0.5**n, lambda n: 1 + n])
    step(optimizer)
    scheduler.step()
    assert scheduler.get_last_lr() == [0.5, 2.0]
