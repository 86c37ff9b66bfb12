"""Claims that optimizers, clipping and the loss scale do what PyTorch's do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import minifp as fp
from minifp import nn, optim

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install minifp[parity])")
pytestmark = pytest.mark.nightly  # where PyTorch is installed

SHAPES = [(3, 4), (4,), (2, 1, 3)]
STEPS = 50
DTYPES = {"float64": torch.float64, "float32": torch.float32}


@pytest.fixture(autouse=True, scope="module")
def wide_numbers():
    """PyTorch keeps NAdam's product of momenta in its default format."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


class Twins:
    def __init__(self, precision="float64", shapes=SHAPES, seed=1):
        self.random, self.dtype = np.random.default_rng(seed), DTYPES[precision]
        start = [self.random.normal(size=shape).astype(precision) for shape in shapes]
        with fp.precision(precision):
            self.mine = [nn.Parameter(w) for w in start]
        self.theirs = [torch.nn.Parameter(torch.tensor(w)) for w in start]
        self.path = []  # their weights before each step

    def give_gradients(self, size=1.0, which=None):
        """Gradients that depend a little on the weights. which: of these parameters only."""
        self.path.append(np.concatenate([q.detach().numpy().reshape(-1) for q in self.theirs]))
        for i, (p, q) in enumerate(zip(self.mine, self.theirs)):
            p.grad = q.grad = None
            if which is None or i in which:
                noise = size * self.random.normal(size=p.shape) + 0.5
                p.grad = fp.Tensor(0.1 * p.array + noise.astype(p.dtype))
                q.grad = 0.1 * q.detach() + torch.tensor(noise, dtype=self.dtype)

    def difference(self):
        pairs = [(p.array, q.detach().numpy()) for p, q in zip(self.mine, self.theirs)]
        return max(np.abs(a - b).max() for a, b in pairs) / max(np.abs(b).max() for _, b in pairs)

    def largest_step(self):
        path = np.array(self.path)
        return np.abs(np.diff(path, axis=0)).max() / np.abs(path).max()


def close(twins):
    """Within 1e-10 in float64. In float32, in units of 2^-24 and after all steps:

    a weight is rounded once a step here, at most three times there; and each of the two computes
    the step itself in at most ten operations, on moments that hold the roundings of the steps
    before: of either sign, and fading with them, so that they are counted as ten more.
    """
    if twins.dtype == torch.float64:
        return twins.difference() < 1e-10
    return twins.difference() < STEPS * 2.0**-24 * (4 + 2 * 20 * twins.largest_step())


def settings_of(**own):
    common = {
        "lr": st.floats(1e-4, 0.1),
        "weight_decay": st.sampled_from([0.0, 0.01, 0.3]),
        "maximize": st.booleans(),
    }
    return st.fixed_dictionaries({**common, **own})


BETAS = st.tuples(st.floats(0, 0.99), st.floats(0, 0.9999))
EPS, FLAG = st.sampled_from([1e-8, 1e-3]), st.booleans()
DRAWN = {
    "SGD": st.one_of(
        settings_of(momentum=st.floats(0, 0.99), dampening=st.floats(0, 1)),
        settings_of(momentum=st.floats(0.01, 0.99), nesterov=st.just(True)),
    ),
    "Adam": settings_of(betas=BETAS, eps=EPS, amsgrad=FLAG, decoupled_weight_decay=FLAG),
    "AdamW": settings_of(betas=BETAS, eps=EPS, amsgrad=FLAG),
    "NAdam": settings_of(
        betas=BETAS, eps=EPS, momentum_decay=st.floats(0, 0.1), decoupled_weight_decay=FLAG
    ),
    "RAdam": settings_of(betas=BETAS, eps=EPS, decoupled_weight_decay=FLAG),
    "RMSprop": settings_of(
        alpha=st.floats(0.01, 0.999), eps=EPS, momentum=st.sampled_from([0.0, 0.5, 0.95])
    ),
    "Adagrad": settings_of(
        lr_decay=st.floats(0, 1), initial_accumulator_value=st.floats(0, 2), eps=EPS
    ),
    "Adadelta": settings_of(rho=st.floats(0, 1), eps=EPS),
    "Adamax": settings_of(betas=BETAS, eps=EPS),
}


BEGINNING = "initial_accumulator_value"  # of a group: PyTorch looks at the optimizer's only


def test_every_rule_that_pytorch_has_is_drawn():
    """LAMB is not in PyTorch: see test_optimizers.py."""
    rules = {name for name in optim.__all__ if name[0].isupper()} - {"LAMB", "Optimizer"}
    assert rules == {*DRAWN}


@pytest.mark.parametrize("kind", DRAWN)
def test_fifty_steps_in_float32_and_the_defaults_are_pytorchs(kind):
    for settings in ({"lr": 0.05} if kind == "SGD" else {}, {"lr": 0.02, "weight_decay": 0.3}):
        twins = Twins("float32")
        mine = getattr(optim, kind)(twins.mine, **settings)
        theirs = getattr(torch.optim, kind)(twins.theirs, **settings)
        for i in range(STEPS):
            if i == STEPS // 2:  # resumed from what PyTorch has saved
                mine = getattr(optim, kind)(twins.mine, **settings)
                mine.load_state_dict(theirs.state_dict())
            twins.give_gradients()
            mine.step()
            theirs.step()
        assert close(twins), settings
        group = {k: v for k, v in mine.param_groups[0].items() if k != "params"}
        assert {k: theirs.param_groups[0][k] for k in group} == group


@pytest.mark.parametrize("kind", DRAWN)
@hypothesis_settings(max_examples=15)
@given(data=st.data())
def test_with_any_settings_and_groups_fifty_steps_are_pytorchs(kind, data):
    """Also where a group has settings of its own, which change, and some gradients are missing."""
    given, other = data.draw(DRAWN[kind]), data.draw(DRAWN[kind])
    changeable = sorted({*other} - {"nesterov", "dampening", "momentum", BEGINNING})
    own = {name: other[name] for name in data.draw(st.sets(st.sampled_from(changeable)))}
    twins = Twins(seed=data.draw(st.integers(0, 99)))
    absent = data.draw(st.lists(st.sampled_from([(), (0,), (1, 2)]), min_size=1, max_size=4))

    def made(module, ps):
        return getattr(module, kind)([{"params": ps[:1]}, {"params": ps[1:], **own}], **given)

    mine, theirs = made(optim, twins.mine), made(torch.optim, twins.theirs)
    for k in range(STEPS):
        twins.give_gradients(which={0, 1, 2} - {*absent[k % len(absent)]})
        for optimizer in (mine, theirs):
            optimizer.param_groups[1]["lr"] = 0.03 / (1 + k)
            optimizer.step()
    assert close(twins)
    for state, q in zip(mine.state_dict()["state"].values(), twins.theirs):
        names = {name for name, value in theirs.state[q].items() if value is not None}
        if state["step"] and kind != "SGD":  # PyTorch's SGD counts no steps
            assert {*state} == names


@pytest.mark.parametrize("precision", DTYPES)
@given(
    norm_type=st.sampled_from([1, 1.5, 2, 2.0, 3, 7, "inf", float("inf")]),
    max_norm=st.floats(1e-3, 1e6),
    size=st.sampled_from([1e-3, 1.0, 1e3]),
    which=st.sampled_from([None, [0, 2]]),
)
def test_clipping_by_any_norm_and_by_value_is_pytorchs(precision, norm_type, max_norm, size, which):
    twins = Twins(precision)
    close = 1e-12 if precision == "float64" else 40 * 2.0**-24  # a sum of 22 powers
    twins.give_gradients(size, which)
    norm = nn.utils.clip_grad_norm_(twins.mine, max_norm, norm_type)
    theirs = torch.nn.utils.clip_grad_norm_(twins.theirs, max_norm, norm_type)
    assert norm == pytest.approx(theirs.item(), rel=close)
    nn.utils.clip_grad_value_(twins.mine, max_norm / 5)
    torch.nn.utils.clip_grad_value_(twins.theirs, max_norm / 5)
    for p, q in zip(twins.mine, twins.theirs):
        assert (p.grad is None) == (q.grad is None)
        if p.grad is not None:
            np.testing.assert_allclose(p.grad.array, q.grad.numpy(), rtol=2 * close, atol=1e-15)


@given(
    overflows=st.lists(st.booleans(), min_size=5, max_size=40),
    init=st.integers(2, 22),
    interval=st.integers(1, 5),
    growth=st.sampled_from([2.0, 4.0, 1.5]),
    backoff=st.sampled_from([0.5, 0.25]),
)
@hypothesis_settings(max_examples=40)
def test_the_dynamic_scale_and_its_skips_are_pytorchs(overflows, init, interval, growth, backoff):
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


@given(
    overflows=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=3, max_size=20),
    interval=st.integers(1, 3),
)
def test_two_optimizers_on_one_scale_skip_and_scale_as_with_one_grad_scaler(overflows, interval):
    """PyTorch skips each for itself, and backs off if one of them overflows."""
    twins = Twins("float32", shapes=[(2,), (3,)])
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12, growth_interval=interval)
    theirs = [torch.optim.Adam([q], lr=0.5) for q in twins.theirs]
    mine = fp.MixedOptimizer(
        [optim.Adam([p], lr=0.5) for p in twins.mine],
        fp.DynamicLossScale(2.0**12, growth_interval=interval, patience=99),
    )
    for pair in overflows:
        if not 1 <= scaler.get_scale() <= 2.0**24:
            break
        assert mine.scale == scaler.get_scale()
        factors = [np.inf if overflow else 0.25 for overflow in pair]
        mine.zero_grad()
        mine.backward(sum((p * f).sum() for p, f in zip(twins.mine, factors)))
        for o in theirs:
            o.zero_grad()
        scaler.scale(sum((q * f).sum() for q, f in zip(twins.theirs, factors))).backward()
        for o in theirs:
            scaler.step(o)
        scaler.update()
        assert mine.step().each == tuple(not overflow for overflow in pair)
    assert twins.difference() < 20 * 2.0**-24 * 16
