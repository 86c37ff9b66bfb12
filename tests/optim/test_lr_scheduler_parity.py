"""Claims that schedules are PyTorch's: the same rates and momenta, whatever their settings."""

import inspect
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import minifp as fp
from minifp import nn, optim

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install minifp[parity])")
pytestmark = pytest.mark.nightly  # where PyTorch is installed

STEPS = 60


class Scheduled:
    """One optimizer with two groups, here or in PyTorch, and its scheduler."""

    def __init__(self, library, make, rule=("SGD", {"momentum": 0.9})):
        is_mine = library is fp
        with fp.precision("float64"):
            start = [torch.ones(2, dtype=torch.float64), torch.ones(3, dtype=torch.float64)]
            ps = [nn.Parameter(w.numpy()) if is_mine else torch.nn.Parameter(w) for w in start]
        groups = [{"params": ps[:1], "lr": 0.4}, {"params": ps[1:], "lr": 0.03}]
        self.optimizer = getattr(optim if is_mine else torch.optim, rule[0])(groups, **rule[1])
        lr_scheduler = optim.lr_scheduler if is_mine else torch.optim.lr_scheduler
        for p in ps:
            p.grad = fp.Tensor(np.zeros(p.shape)) if is_mine else torch.zeros_like(p)
        with warnings.catch_warnings():  # PyTorch's own: its SequentialLR calls step(epoch)
            warnings.simplefilter("ignore")
            self.ps, self.scheduler = ps, make(lr_scheduler, self.optimizer)

    def settings(self):
        groups = self.optimizer.param_groups
        return [(g["lr"], g["betas"][0] if "betas" in g else g["momentum"]) for g in groups]

    def step(self, *metric):
        for p in self.ps:
            if isinstance(p.grad, fp.Tensor):
                p.grad.seed, p.grad.consumed = 1.0, None  # PyTorch lets them be used again
        self.optimizer.step()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.scheduler.step(*metric)


def assert_same(make, steps=STEPS, rule=("SGD", {"momentum": 0.9}), metrics=None):
    """The same settings before each step, and after the last."""
    mine, theirs = (Scheduled(library, make, rule) for library in (fp, torch))
    for k in range(steps + 1):
        np.testing.assert_allclose(mine.settings(), theirs.settings(), rtol=1e-9, atol=1e-12)
        assert mine.scheduler.get_last_lr() == [lr for lr, _ in mine.settings()]
        if k < steps:
            metric = [] if metrics is None else [metrics[k]]
            mine.step(*metric)
            theirs.step(*metric)


FACTORS, COUNTS = st.floats(0.05, 1.0), st.integers(1, 70)
LAMBDAS = [lambda n: 0.95**n, lambda n: 1 / (1 + n // 7), lambda n: 0.0 if n == 3 else 1.0]
MULTIPLYING = {
    "StepLR": {"step_size": COUNTS, "gamma": st.floats(0.1, 1.2)},
    "MultiStepLR": {"milestones": st.lists(st.integers(1, 70), max_size=5), "gamma": FACTORS},
    "ExponentialLR": {"gamma": st.floats(0.7, 1.05)},
    "ConstantLR": {"factor": FACTORS, "total_iters": COUNTS},
    "LinearLR": {"start_factor": FACTORS, "end_factor": st.floats(0, 1), "total_iters": COUNTS},
    "PolynomialLR": {"total_iters": COUNTS, "power": st.floats(0.25, 3)},
    "CosineAnnealingLR": {"T_max": st.integers(3, 70), "eta_min": st.floats(0, 0.02)},
}
SETTING = {
    "CosineAnnealingWarmRestarts": {
        "T_0": COUNTS, "T_mult": st.integers(1, 3), "eta_min": st.floats(0, 0.02)
    },
    "LambdaLR": {"lr_lambda": st.lists(st.sampled_from(LAMBDAS), min_size=2, max_size=2)},
}  # fmt: skip
DRAWN = {
    name: st.tuples(st.just(name), st.fixed_dictionaries({}, optional=arguments))
    if name in ("ConstantLR", "LinearLR", "PolynomialLR")
    else st.tuples(st.just(name), st.fixed_dictionaries(arguments))
    for name, arguments in {**MULTIPLYING, **SETTING}.items()
}


# Below its eta_min a cosine that rises again would make the rate of others negative.
CHAINED = [
    *(DRAWN[name] for name in MULTIPLYING if name != "CosineAnnealingLR"),
    *(
        st.tuples(st.just("CosineAnnealingLR"), st.fixed_dictionaries(arguments))
        for arguments in (
            {"T_max": st.integers(3, 70), "eta_min": st.just(0.0)},
            {"T_max": st.integers(STEPS, 70), "eta_min": st.floats(0, 0.02)},
        )
    ),
]


SEQUENCE = st.tuples(
    st.just("SequentialLR"), st.tuples(*[st.one_of(*CHAINED)] * 2, st.integers(1, 40))
)


def made(library, optimizer, drawn):
    name, arguments = drawn
    if name == "SequentialLR":
        *parts, milestone = arguments
        parts = [made(library, optimizer, part) for part in parts]
        return library.SequentialLR(optimizer, parts, [milestone])
    return getattr(library, name)(optimizer, **arguments)


@pytest.mark.parametrize("name", DRAWN)
@hypothesis_settings(max_examples=25)
@given(data=st.data())
def test_with_any_settings_the_rates_are_pytorchs(name, data):
    drawn = data.draw(DRAWN[name])
    assert_same(lambda library, optimizer: made(library, optimizer, drawn))


def test_every_schedule_is_drawn_and_arguments_and_their_defaults_are_pytorchs():
    here = {*DRAWN, "SequentialLR", "ChainedScheduler", "OneCycleLR", "ReduceLROnPlateau"}
    assert here == {*optim.lr_scheduler.__all__} - {"LRScheduler"}
    for name in here:
        mine, theirs = (
            {n: p.default for n, p in inspect.signature(kind.__init__).parameters.items()}
            for kind in (getattr(optim.lr_scheduler, name), getattr(torch.optim.lr_scheduler, name))
        )
        if "last_epoch" not in mine:
            theirs.pop("last_epoch", None)
        assert list(mine.items()) == list(theirs.items()), name


RULES = [("SGD", {"momentum": 0.9}), ("Adam", {}), ("RMSprop", {"momentum": 0.5})]
PER_GROUP = {"max_lr": [0.5, 2.0], "base_momentum": [0.7, 0.8], "max_momentum": [0.9, 0.97]}


@pytest.mark.parametrize("rule", RULES)
@hypothesis_settings(max_examples=25)
@given(
    drawn=st.fixed_dictionaries(
        {"max_lr": st.floats(1e-3, 10)},
        optional={
            "pct_start": st.floats(0.0, 1.0),
            "anneal_strategy": st.sampled_from(["cos", "linear"]),
            **{"cycle_momentum": st.booleans(), "base_momentum": st.floats(0.1, 0.9)},
            **{"max_momentum": st.floats(0.1, 0.99), "div_factor": st.floats(1, 100)},
            **{"final_div_factor": st.floats(1, 1e5), "three_phase": st.booleans()},
        },
    ),
    total=st.one_of(
        st.fixed_dictionaries({"total_steps": st.integers(2, 80)}),
        st.fixed_dictionaries({"epochs": st.integers(2, 9), "steps_per_epoch": st.integers(1, 9)}),
    ),
    per_group=st.sets(st.sampled_from(sorted(PER_GROUP))),
)
def test_one_cycle_is_pytorchs(rule, drawn, total, per_group):
    steps = total.get("total_steps") or total["epochs"] * total["steps_per_epoch"]
    part = drawn.get("pct_start", 0.3) * steps
    ends = [part - 1, *([2 * part - 2] if drawn.get("three_phase") else []), steps - 1]
    if min(abs(b - a) for a, b in zip([0, *ends], ends)) < 1e-6:
        return  # PyTorch divides by 0
    if drawn.get("three_phase") and 2 * part - 2 > steps - 1:
        return  # its third phase would run backwards
    arguments = {**drawn, **total, **{name: PER_GROUP[name] for name in per_group}}
    assert_same(
        lambda library, optimizer: library.OneCycleLR(optimizer, **arguments), steps - 1, rule
    )


VALUES = st.floats(0.0, 2.0), st.sampled_from([1, 0.99995, 0.9, 0.5, -1, float("nan"), np.inf])
METRICS = st.one_of(*(st.lists(value, min_size=STEPS, max_size=STEPS) for value in VALUES))


@hypothesis_settings(max_examples=60)
@given(
    metrics=METRICS,
    arguments=st.fixed_dictionaries(
        {},
        optional={
            **{"mode": st.sampled_from(["min", "max"]), "factor": st.floats(0.1, 0.9)},
            **{"patience": st.integers(0, 12), "threshold": st.sampled_from([0.0, 1e-4, 0.1])},
            **{"threshold_mode": st.sampled_from(["rel", "abs"]), "cooldown": st.integers(0, 5)},
            "min_lr": st.sampled_from([0.0, 0.01, [0.1, 1e-3]]),
            "eps": st.sampled_from([1e-8, 1e-2]),
        },
    ),
)
def test_reducing_on_a_plateau_is_pytorchs(metrics, arguments):
    assert_same(
        lambda library, optimizer: library.ReduceLROnPlateau(optimizer, **arguments),
        metrics=metrics,
    )


@hypothesis_settings(max_examples=60)
@given(
    drawn=st.lists(st.one_of(*DRAWN.values()), min_size=1, max_size=4),
    gaps=st.lists(st.integers(1, 20), min_size=3, max_size=3),
)
def test_one_after_the_other_is_pytorchs(drawn, gaps):
    milestones = [int(m) for m in np.cumsum(gaps)][: len(drawn) - 1]

    def make(library, optimizer):
        schedulers = [made(library, optimizer, one) for one in drawn]
        return library.SequentialLR(optimizer, schedulers, milestones)

    assert_same(make)


@hypothesis_settings(max_examples=60)
@given(
    first=st.one_of(*CHAINED, *(DRAWN[name] for name in SETTING)) | SEQUENCE,
    others=st.lists(st.one_of(*CHAINED), max_size=3),
)
def test_all_at_once_is_pytorchs(first, others):
    """With what sets the rate, rather than multiplies it, or a sequence, in the first place."""
    assert_same(lambda library, o: library.ChainedScheduler(
        [made(library, o, d) for d in (first, *others)], o
    ))  # fmt: skip
