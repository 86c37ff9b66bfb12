"""Claims about LogNormalLossScale: its statistics and bounds, how often it overflows, its state."""

import json
import math

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from refusals import refuses

import minifp as fp
from minifp import nn, optim
from minifp.training.loss_scale import LogNormalLossScale, as_loss_scale

CUTOFF = math.log2(65504)


def debiased(numbers, beta):
    """Their moving average as it is defined: each weighs beta times the next, over all weights."""
    weights = beta ** np.arange(len(numbers))[::-1]
    return float(np.dot(weights, numbers) / weights.sum())


def expected_statistics(found, beta1, beta2):
    """Mean and variance of these x, from their whole history."""
    if not found:
        return 0.0, 0.0
    means = [debiased(found[:n], beta1) for n in range(1, len(found) + 1)]
    off = [1.0, *(x - mean for x, mean in zip(found[1:], means))]
    return means[-1], debiased(np.square(off), beta2)


class LogNormalMachine(RuleBasedStateMachine):
    """Any gradients in any order, with the scale saved and loaded anywhere between them."""

    @initialize(
        powers=st.tuples(st.integers(-3, 4), st.integers(0, 4), st.integers(0, 9)),
        max_overflow=st.sampled_from([0.4, 0.25, 0.001]),
        betas=st.sampled_from([(0.99, 0.999), (0.5, 0.75), (0.9, 0.1)]),
    )
    def make(self, powers, max_overflow, betas):
        low, above, more = powers
        bounds = {"min_scale": 2.0**low, "max_scale": 2.0 ** (low + above + more)}
        first = 2.0 ** (low + above)
        self.scale = LogNormalLossScale(first, max_overflow, *betas, **bounds, patience=7)
        self.found, self.limit, self.good, self.skipped = [], self.scale.max_scale, 0, 0

    @rule(powers=st.lists(st.floats(-30, 30), min_size=1, max_size=5))
    def good_steps(self, powers):
        for x in powers:
            self.scale.update(True, 2.0**x)
            self.count_good_step()
        self.found += [math.log2(2.0**x) for x in powers]

    @rule()
    def zeros(self):
        before = self.scale.value
        self.scale.update(True, 0.0)
        self.count_good_step()
        assert self.scale.value == before

    def count_good_step(self):
        self.good, self.skipped = self.good + 1, 0
        if self.good % round(1 / self.scale.max_overflow) == 0:
            self.limit = min(2 * self.limit, self.scale.max_scale)

    @rule(largest=st.sampled_from([None, 3.0, math.inf, math.nan]))
    def overflow(self, largest):
        before = self.scale.value
        self.scale.update(False, largest)
        assert self.scale.value == max(before / 2, self.scale.min_scale)  # at once
        if self.found or self.limit < self.scale.max_scale:
            self.limit = self.scale.value
        self.found, self.good = [], 0
        self.skipped += 1

    @rule()
    def save_and_load_into_one_with_other_settings(self):
        fresh = LogNormalLossScale()
        fresh.load_state_dict(json.loads(json.dumps(self.scale.state_dict())))
        assert vars(fresh) == vars(self.scale)
        self.scale = fresh

    @invariant()
    def follows_the_rule(self):
        s = self.scale
        mean, variance = expected_statistics(self.found, s.beta1, s.beta2)
        # n steps, each of some roundings of numbers up to 30, and of squares up to 60^2; those of
        # 1 - beta^n, which is at least 1 - beta, weigh as much more
        bound = 8 * (len(self.found) + 1) * 2.0**-53
        assert abs(s.mean - mean) <= bound * 30 / (1 - s.beta1)
        assert abs(s.variance - variance) <= bound * 3600 / (1 - s.beta2)
        assert (s.limit, s.skipped_in_a_row, s.patience) == (self.limit, self.skipped, 7)
        assert s.min_scale <= s.value <= s.limit <= s.max_scale
        assert math.frexp(s.value)[0] == 0.5
        if self.found and s.min_scale < s.value < s.limit:  # one power of two below the quantile
            below = CUTOFF - s.mean - s.deviations * math.sqrt(s.variance) - math.log2(s.value)
            assert 0 <= below < 1


LogNormalMachine.TestCase.settings = settings(
    max_examples=40, stateful_step_count=25, deadline=None
)
test_the_log_normal_scale_follows_its_rule = LogNormalMachine.TestCase


def trained(scale, powers):
    """Let the scale see gradients whose largest are 2^powers; which steps overflowed, and S."""
    overflowed, scales = [], []
    for x in powers:
        scales.append(scale.value)
        overflowed.append(x + math.log2(scale.value) > CUTOFF)
        scale.update(not overflowed[-1], 2.0**x)
    return np.array(overflowed), np.log2(scales)


@pytest.mark.parametrize("deviation", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("max_overflow", [0.001, 0.05])
def test_of_log_normal_gradients_no_more_overflow_than_is_said(max_overflow, deviation):
    """n overflows, each of chance p, exceed np + 4 sqrt(np) once in 30,000 times. The scale is less
    than the ideal one by up to a power of two, to be one; by one more, the limit after an overflow;
    and by what the variance errs: of some 2,000 numbers, 4 sqrt(2/2000)/2, 6% of z deviations."""
    n, scale = 10_000, LogNormalLossScale(max_overflow=max_overflow)
    overflowed, powers = trained(scale, np.random.default_rng(3).normal(-2, deviation, n))
    assert overflowed.sum() <= n * max_overflow + 4 * math.sqrt(n * max_overflow)
    lower = CUTOFF + 2 - scale.deviations * deviation - powers[n // 2 :].mean()
    assert -0.5 <= lower <= 2 + 0.07 * scale.deviations * deviation


def test_the_scale_comes_down_at_once_and_follows_gradients_that_become_smaller():
    random = np.random.default_rng(0)
    powers = np.concatenate([random.normal(-8, 0.3, 500), random.normal(4, 0.3, 500)])
    overflowed, scales = trained(LogNormalLossScale(), powers)
    assert scales[499] > CUTOFF + 8 - 3 and not overflowed[:500].any()
    skipped = int(overflowed[500:].sum())
    assert overflowed[500 : 500 + skipped].all() and skipped <= 12  # a power of two each
    # 4, and three deviations, which are at most 1 at first: as a power of two
    assert (scales[520:] >= math.floor(CUTOFF - 4 - 3.1)).all()
    scale = LogNormalLossScale()
    _, scales = trained(scale, [0.0] * 300 + [-7.0] * 3000)
    assert scales[299] == 15
    # 0.99^3000 is nothing. Each error weighs at most 1/300, and 0.999^3000 = 5% of that in the end
    assert abs(scale.mean + 7) < 1e-9 and scale.variance < 49 / (1 - 0.99**2) / 300 * 0.05 + 0.001
    assert scales[-1] >= math.floor(CUTOFF + 7 - 3.1 * math.sqrt(scale.variance)) >= 15 + 7 - 3


def test_what_the_statistics_do_not_see_overflows_no_more_often_and_always_ends_at_the_minimum():
    """Gradients of activations 16 times as large as the largest of weights'."""
    scale, finite = LogNormalLossScale(max_overflow=0.01), []
    for _ in range(2000):
        finite.append(scale.value * 16 <= 65504)
        scale.update(finite[-1], 1.0)
    assert finite[100:].count(False) == -(-1900 // 101)  # once after each 100 good steps
    assert scale.value == 2.0**11
    scale = LogNormalLossScale(min_scale=4.0, patience=20)
    for _ in range(20):
        scale.update(False)
    assert (scale.value, scale.skipped_in_a_row) == (4.0, 20)


def test_a_text_names_it_and_comes_back():
    named = as_loss_scale("lognormal + max_overflow=0.01+beta2=0.9 + beta1=0.99")
    assert (named.max_overflow, named.beta1, named.beta2) == (0.01, 0.99, 0.9)
    text = "mixed,loss_scale=lognormal+max_overflow=0.01+max_scale=1024"
    precision = fp.Precision.parse("mixed,loss_scale=lognormal+max_scale=1024+max_overflow=1e-2")
    assert str(precision) == text and fp.Precision.parse(text) == precision
    assert str(fp.Precision.parse("mixed,loss_scale=lognormal+beta1=0.99")).endswith("=lognormal")
    assert as_loss_scale("lognormal").deviations == pytest.approx(3.09, abs=0.001)  # the source's


def test_settings_that_cannot_be_are_refused():
    for arguments, words in (
        ({"max_overflow": 0.0}, "max_overflow=0.0: expected a number between 0 and 0.5"),
        ({"max_overflow": 0.5}, "max_overflow=0.5"),
        ({"max_overflow": "rare"}, "max_overflow='rare'"),
        ({"beta1": 1.0}, "beta1=1.0: expected a number between 0 and 1"),
        ({"beta2": True}, "beta2=True"),
        ({"init_scale": 1000.0}, "init_scale=1000.0: expected a power of two"),
        ({"max_scale": 3.0}, "max_scale=3.0: expected a power of two"),
        ({"min_scale": -1.0}, "min_scale=-1.0"),
        ({"min_scale": 2.0**17}, "init_scale=65536: expected it between min_scale=131072"),
    ):
        refuses(fp.PrecisionError, words, LogNormalLossScale, **arguments)


def test_no_largest_gradient_and_a_state_that_does_not_fit_are_refused_and_change_nothing():
    scale = LogNormalLossScale()
    before = scale.state_dict()
    for largest in (None, -1.0, math.inf, math.nan, "2"):
        refuses(fp.ArgumentError, "largest", scale.update, True, largest)
    for change in (
        *({"mean": math.nan}, {"variance": -1.0}, {"limit": 3.0}, {"limit": 2.0**25}),
        *({"limit": 1.0}, {"observed": -1}, {"kind": "DynamicLossScale"}),
    ):
        refuses(fp.ArgumentError, "loss scale", scale.load_state_dict, {**before, **change})
    with pytest.raises(fp.ArgumentError, match="loss scale"):
        scale.load_state_dict({name: before[name] for name in before if name != "mean"})
    assert scale.state_dict() == before


def test_a_process_that_scales_automatically_refuses_it():
    with pytest.raises(fp.PrecisionError, match="LogNormalLossScale .* MixedOptimizer"):
        fp.amp.enable_mixed_precision(
            optim.SGD(nn.Linear(2, 2).parameters(), lr=0.1), loss_scale="lognormal"
        )


def made(**settings):
    fp.manual_seed(0)
    with fp.precision("mixed,loss_scale=lognormal"):
        model = nn.Linear(4, 3)
        return model, fp.MixedOptimizer(optim.Adam(model.parameters(), lr=0.01), **settings)


def step(model, optimizer, i, factor=1.0):
    x = fp.tensor(np.random.default_rng(i).normal(size=(8, 4)).astype(np.float32))
    optimizer.backward((model(x) * factor).square().sum())
    gradients = [p.grad.array.astype(np.float64) for p in model.parameters()]
    result = optimizer.step()
    optimizer.zero_grad()
    return result, max(np.abs(g).max() for g in gradients)


@pytest.mark.parametrize("dial", [0, 5])
def test_it_reads_the_largest_gradient_as_it_is_stored_without_the_scale(dial):
    model, optimizer = made(dial=dial, loss_scale="lognormal+init_scale=64")
    result, largest = step(model, optimizer, 0)
    assert result.scale_before == 64 and optimizer.loss_scale.mean == math.log2(largest / 64)


def test_it_does_not_see_what_is_clipped_after_unscaling():
    model, optimizer = made(loss_scale="lognormal+init_scale=64")
    optimizer.backward(model(fp.ones(2, 4)).square().sum())
    largest = max(float(np.abs(p.grad.array).max()) for p in model.parameters())
    optimizer.unscale_()
    nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
    optimizer.step()
    assert optimizer.loss_scale.mean == math.log2(largest / 64)
    optimizer.zero_grad()
    step(model, optimizer, 0, factor=0.0)  # and forgets it: these are zero
    assert optimizer.loss_scale.observed == 1


def test_a_real_training_ends_with_the_loss_of_float32():
    """LeNet on digits, gradients 2^14 times smaller: without a scale many of them are lost."""
    precisions = ["float32", "mixed,loss_scale=lognormal", "mixed,loss_scale=off"]
    result = fp.compare("lenet", precisions, seeds=1, steps=150, dial=14, progress=False)
    wide, scaled, unscaled = (np.mean(run.history["loss"][-30:]) for run in result.runs)
    assert abs(scaled - wide) < 0.1 * (unscaled - wide)
    assert result.runs[1].skipped == 0 and result.runs[1].final_scale > 2.0**20
