"""Claims that optimizers, clipping, schedules and the loss scale do what PyTorch's do."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minifp as fp
from minifp import nn, optim

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install minifp[parity])")

SHAPES = [(3, 4), (4,), (2, 1, 3)]
STEPS = 50
DTYPES = {"float64": torch.float64, "float32": torch.float32}

SETTINGS = [
    ("SGD", {"lr": 0.05}),
    ("SGD", {"lr": 0.05, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.05, "momentum": 0.9}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.05, "momentum": 0.7, "nesterov": True, "weight_decay": 0.1}),
    ("Adam", {}),
    ("Adam", {"lr": 0.02, "betas": (0.8, 0.95), "eps": 1e-3}),
    ("Adam", {"lr": 0.02, "weight_decay": 0.3}),
    ("AdamW", {}),
    ("AdamW", {"lr": 0.02, "weight_decay": 0.3}),
    ("AdamW", {"lr": 0.02, "betas": (0.0, 0.0)}),
]
every_setting = pytest.mark.parametrize(
    ("kind", "given"), SETTINGS, ids=[f"{kind}-{given}" for kind, given in SETTINGS]
)


class Twins:
    """The same parameters here and in PyTorch."""

    def __init__(self, precision="float64", shapes=SHAPES):
        self.random, self.dtype = np.random.default_rng(1), DTYPES[precision]
        start = [self.random.normal(size=shape).astype(precision) for shape in shapes]
        with fp.precision(precision):
            self.mine = [nn.Parameter(w) for w in start]
        self.theirs = [torch.nn.Parameter(torch.tensor(w)) for w in start]

    def give_gradients(self, size=1.0, which=None):
        """Gradients that depend a little on the weights. which: of these parameters only."""
        for i, (p, q) in enumerate(zip(self.mine, self.theirs)):
            p.grad = q.grad = None
            if which is None or i in which:
                noise = size * self.random.normal(size=p.shape) + 0.5
                p.grad = fp.Tensor(0.1 * p.array + noise.astype(p.dtype))
                q.grad = 0.1 * q.detach() + torch.tensor(noise, dtype=self.dtype)

    def difference(self, of=lambda p: p):
        """The largest, relative to the largest weight."""
        pairs = [(of(p), of(q).detach().numpy()) for p, q in zip(self.mine, self.theirs)]
        largest = max(np.abs(b).max() for _, b in pairs)
        return max(np.abs(a.array - b).max() for a, b in pairs) / largest


def close(twins, largest_step=0.05):
    """Within 1e-10 in float64. In float32, after all steps:

    a weight is rounded once a step here, at most three times there; and each of the two computes
    the step itself in at most ten operations on moments, of which the oldest counts for 1 / (1 -
    0.9) steps. Units of 2^-24 of the largest weight, and of the largest step.
    """
    if twins.dtype == torch.float64:
        return twins.difference() < 1e-10
    return twins.difference() < STEPS * 2.0**-24 * (4 + 2 * 10 * 10 * largest_step)


@every_setting
@pytest.mark.parametrize("precision", DTYPES)
def test_fifty_steps_are_pytorchs(kind, given, precision):
    twins = Twins(precision)
    mine = getattr(optim, kind)(twins.mine, **given)
    theirs = getattr(torch.optim, kind)(twins.theirs, **given)
    for _ in range(STEPS):
        twins.give_gradients()
        mine.step()
        theirs.step()
    assert close(twins)


@every_setting
def test_parameters_that_often_have_no_gradient_are_treated_as_in_pytorch(kind, given):
    twins = Twins()
    mine = getattr(optim, kind)(twins.mine, **given)
    theirs = getattr(torch.optim, kind)(twins.theirs, **given)
    for k in range(STEPS):
        twins.give_gradients(which=[i for i in range(3) if k % (i + 2) == 0 or k == 1])
        if any(p.grad is not None for p in twins.mine):
            mine.step()
            theirs.step()
    assert close(twins)


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW"])
def test_groups_are_treated_as_in_pytorch(kind):
    twins = Twins()

    def groups(ps):
        return [{"params": ps[:1]}, {"params": ps[1:2], "lr": 0.03}, {"params": ps[2:], **decay}]

    decay = {"weight_decay": 0.2}
    mine = getattr(optim, kind)(groups(twins.mine), lr=0.01)
    theirs = getattr(torch.optim, kind)(groups(twins.theirs), lr=0.01)
    for k in range(STEPS):
        for optimizer in (mine, theirs):
            optimizer.param_groups[1]["lr"] = 0.03 / (1 + k)  # also as changed on the way
        twins.give_gradients()
        mine.step()
        theirs.step()
    assert close(twins)
    settings = {"lr", "weight_decay"}
    assert [{k: g[k] for k in settings} for g in mine.param_groups] == [
        {k: g[k] for k in settings} for g in theirs.param_groups
    ]


def test_the_defaults_are_pytorchs():
    twins = Twins()
    for kind in ("SGD", "Adam", "AdamW"):
        mine = getattr(optim, kind)(twins.mine).param_groups[0]
        theirs = getattr(torch.optim, kind)(twins.theirs).param_groups[0]
        assert {k: theirs[k] for k in mine if k != "params"} == {
            k: v for k, v in mine.items() if k != "params"
        }


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("precision", DTYPES)
@pytest.mark.parametrize("max_norm", [1e-3, 1.0, 1e6])
def test_clipping_is_pytorchs(kind, precision, max_norm):
    twins = Twins(precision)
    mine = getattr(optim, kind)(twins.mine, lr=0.05)
    theirs = getattr(torch.optim, kind)(twins.theirs, lr=0.05)
    tolerance = 1e-12 if precision == "float64" else 40 * 2.0**-24  # a sum of 22 squares
    for k in range(5):
        twins.give_gradients(size=10.0**k, which=[0, 2] if k == 3 else None)
        norm = optim.clip_grad_norm_(twins.mine, max_norm)
        expected = torch.nn.utils.clip_grad_norm_(twins.theirs, max_norm).item()
        assert norm == pytest.approx(expected, rel=tolerance)
        for p, q in zip(twins.mine, twins.theirs):
            assert (p.grad is None) == (q.grad is None)
            if p.grad is not None:
                np.testing.assert_allclose(p.grad.array, q.grad.numpy(), rtol=2 * tolerance)
        mine.step()
        theirs.step()


# ---- schedules ----------------------------------------------------------------------------------


def cosine(module, optimizer):
    return module.CosineAnnealingLR(optimizer, 30, eta_min=0.002)


def warm_up(module, optimizer):
    return module.LinearLR(optimizer, start_factor=0.1, end_factor=0.8, total_iters=7)


def default_warm_up(module, optimizer):
    return module.LinearLR(optimizer)


def warm_up_then_cosine(module, optimizer):
    first = module.LinearLR(optimizer, start_factor=0.01, total_iters=5)
    second = module.CosineAnnealingLR(optimizer, 25)
    return module.SequentialLR(optimizer, [first, second], milestones=[5])


def three_in_a_row(module, optimizer):
    first = module.LinearLR(optimizer, start_factor=0.5, total_iters=4)
    second = module.LinearLR(optimizer, start_factor=1.0, end_factor=0.25, total_iters=3)
    third = module.CosineAnnealingLR(optimizer, 20)
    return module.SequentialLR(optimizer, [first, second, third], milestones=[4, 10])


SCHEDULES = [cosine, warm_up, default_warm_up, warm_up_then_cosine, three_in_a_row]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules_are_pytorchs(schedule):
    twins = Twins()
    groups = [
        [{"params": ps[:1], "lr": 0.4}, {"params": ps[1:], "lr": 0.03}]
        for ps in (twins.mine, twins.theirs)
    ]
    mine, theirs = optim.SGD(groups[0]), torch.optim.SGD(groups[1])
    schedulers = schedule(optim.lr_scheduler, mine), schedule(torch.optim.lr_scheduler, theirs)
    for _ in range(30):
        rates = [[g["lr"] for g in o.param_groups] for o in (mine, theirs)]
        np.testing.assert_allclose(*rates, rtol=1e-9, atol=1e-12)
        twins.give_gradients()
        for optimizer, scheduler in zip((mine, theirs), schedulers):
            optimizer.step()
            scheduler.step()
    assert close(twins)


# ---- the loss scale -----------------------------------------------------------------------------


@given(
    overflows=st.lists(st.booleans(), min_size=5, max_size=40),
    init=st.integers(2, 22),
    interval=st.integers(1, 5),
    growth=st.sampled_from([2.0, 4.0, 1.5]),
    backoff=st.sampled_from([0.5, 0.25]),
)
@settings(max_examples=40)
def test_the_dynamic_scale_and_its_skips_are_those_of_pytorchs_grad_scaler(
    overflows, init, interval, growth, backoff
):
    """On the same overflows, as long as PyTorch's scale stays within [1, 2^24]."""
    twins = Twins("float32", shapes=[(2,)])
    names = {"growth_factor": growth, "backoff_factor": backoff, "growth_interval": interval}
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**init, **names)
    theirs = torch.optim.SGD(twins.theirs, lr=0.5)
    mine = fp.MixedOptimizer(
        optim.SGD(twins.mine, lr=0.5), fp.DynamicLossScale(2.0**init, patience=99, **names)
    )
    for overflow in overflows:
        if not 1 <= scaler.get_scale() <= 2.0**24:
            break
        assert mine.scale == scaler.get_scale()
        factor = np.inf if overflow else 0.25
        mine.zero_grad()
        mine.backward((twins.mine[0] * factor).sum())
        theirs.zero_grad()
        scaler.scale((twins.theirs[0] * factor).sum()).backward()
        before = twins.theirs[0].detach().clone()
        scaler.step(theirs)
        scaler.update()
        assert mine.step().skipped == torch.equal(before, twins.theirs[0]) == overflow
        assert twins.mine[0].array.tolist() == twins.theirs[0].tolist()
