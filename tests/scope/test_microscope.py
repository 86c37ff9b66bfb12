"""The microscope: its counts are exact, its advice holds in training, and it changes nothing."""

import csv
import gc
import json
import math
import warnings
import weakref
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from lab_blobs import blobs
from refusals import refuses
from snapshots import frozen

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim
from minifp.lab import tasks
from minifp.lab.resume import train_one
from minifp.lab.tasks import CHARACTERS
from minifp.models import MLP, CharLSTM, LeNet
from minifp.numerics.format_codes import codes_of, values_of
from minifp.numerics.number_format import FORMATS, format_named
from minifp.runtime import callers
from minifp.scope import histogram, inspecting
from minifp.scope.advice import advise
from minifp.scope.gradient_errors import errors_of, rounding_of
from minifp.scope.histogram import Histogram, total_of
from minifp.scope.observed import (
    ACTIVATION_GRADIENTS,
    ACTIVATIONS,
    GRADIENTS,
    KINDS,
    WEIGHT_GRADIENTS,
    WEIGHTS,
    ObservedStep,
)
from minifp.scope.record import WHAT_IF
from minifp.scope.watching import OUTSIDE

FLOATS = (np.float16, np.float32, np.float64)
CUSTOM = ["e5m7", "e3m4", "e4m2+nan=last", "e5m6+subnormals=off", "e4m3+saturates=on"]


def by_hand(x):
    """{exponent: count} of the finite numbers of x that are not 0, by frexp in float64."""
    y = np.abs(x[np.isfinite(x) & (x != 0)].astype(np.float64))
    found, counts = np.unique(np.frexp(y)[1] - 1, return_counts=True)
    return dict(zip(found.tolist(), counts.tolist()))


def check(x):
    """All that a histogram says of an array, against NumPy."""
    h, finite = Histogram.of(x), np.abs(x[np.isfinite(x) & (x != 0)].astype(np.float64))
    assert h.exponents == by_hand(x)
    counts = ((x == 0).sum(), np.isinf(x).sum(), np.isnan(x).sum())
    assert (h.zeros, h.infs, h.nans) == tuple(map(int, counts)) and h.total == x.size
    assert h.largest == finite.max(initial=0.0)
    assert h.smallest == (finite.min() if finite.size else 0.0)
    own = FORMATS[x.dtype.name]
    assert h.subnormal(format=own) == (finite < own.smallest_normal).sum()
    for shift in (-30, -7, -1, 0, 1, 5, 12, 40):
        with np.errstate(all="ignore"):
            scaled = np.ldexp(finite, shift)
            half = scaled.astype(np.float16)
        assert (h.flushed(shift), h.overflowing(shift)) == ((half == 0).sum(), np.isinf(half).sum())
        lower = (scaled < 2.0**-14) & (half != 0)
        assert h.subnormal(shift) == lower.sum()


def test_every_half_is_counted_where_it_lies():
    halves = np.tile(np.arange(65536).astype(np.uint16), 3)[:-5].view(np.float16)
    assert halves.size > 2 * histogram.BLOCK
    for view in (halves, halves[::3]):
        check(view)


@pytest.mark.parametrize("dtype", FLOATS)
def test_random_bits_of_any_format_are_counted_exactly(dtype):
    size = np.dtype(dtype).itemsize
    x = np.frombuffer(np.random.default_rng(0).bytes(size * 70001), dtype)
    check(x)
    normal = np.random.default_rng(1).normal(size=200_003).astype(dtype) * dtype(1e-3)
    if dtype is not np.float64:  # the compiled count is that of the reference
        bits, format = normal.view(histogram.UNSIGNED[size]), histogram.OF_DTYPE[normal.dtype]
        counts, *ends = histogram.counted(bits, format)
        others, *other_ends = histogram.compiled_count(bits, format)
        assert np.array_equal(counts, others) and ends == other_ends
    normal[::7], normal[::11], normal[::13] = 0, np.inf, np.nan
    check(normal)  # without subnormal numbers: the compiled way for float32


@settings(max_examples=100, deadline=None)
@given(arrays.arrays(st.sampled_from(FLOATS), arrays.array_shapes(min_dims=0, min_side=0)))
def test_any_array_is_counted_exactly(x):
    for view in (x, x.T, x[..., ::2] if x.ndim else x, x.astype(x.dtype.newbyteorder(">"))):
        check(view)


def around_borders(format):
    """Numbers beside and on all places where a format's neighbours round apart."""
    ends = [format.smallest_subnormal / 2, format.smallest_normal, format.max]
    steps = format.eps * np.float64([0, 0.5, 1, 1.5, 3, 4, 6, 8, -0.5, -1])
    x = np.outer(ends, 1 + steps).reshape(-1)
    spread = np.random.default_rng(0).normal(size=400) * np.geomspace(ends[0], ends[2], 400)
    return np.concatenate([x, np.nextafter(x, 0), np.nextafter(x, np.inf), spread])


@pytest.mark.parametrize("name", [n for n, f in FORMATS.items() if f.bits < 32] + CUSTOM)
@pytest.mark.parametrize("shift", [-3, 0, 4])
def test_what_each_format_would_lose_is_counted_as_it_rounds(name, shift):
    format = format_named(name)
    x = np.ldexp(around_borders(format), -shift)
    scaled = np.abs(np.ldexp(x, shift))
    h, rounded = Histogram.of(x), values_of(codes_of(scaled, format), format)
    endless = replace(format, name="endless", exponent_bits=10, nan="ieee", own_bias=format.bias)
    beyond = values_of(codes_of(scaled, endless), endless) > format.max
    flushed, over = ((rounded == 0) & (scaled != 0)).sum(), beyond.sum()
    least = h.flushed(shift, format) + h.overflowing(shift, format)
    assert least <= flushed + over <= least + h.uncertain(shift, format)
    if name not in CUSTOM or format.mantissa_bits == 7:
        assert not h.uncertain(shift, format)
        assert (h.flushed(shift, format), h.overflowing(shift, format)) == (flushed, over)
        lower = (scaled < format.smallest_normal) & (rounded != 0)
        assert h.subnormal(shift, format) == lower.sum()


@settings(max_examples=50, deadline=None)
@given(*[arrays.arrays(np.float32, st.integers(0, 20))] * 2)
def test_a_sum_of_histograms_is_the_histogram_of_all(x, y):
    both, one = Histogram.of(x) + Histogram.of(y), Histogram.of(np.concatenate([x, y]))
    assert both.exponents == one.exponents and both.total == one.total
    assert (both.largest, both.smallest) == (one.largest, one.smallest)
    assert both.flushed(3) == one.flushed(3) and both.overflowing(3) == one.overflowing(3)


def char_lstm(precision, *, dial=0, steps=1, every=20, hidden=64, length=32, **given):
    """A character LSTM after some steps of training: its microscope, and its last losses."""
    fp.manual_seed(0)
    train, _ = fp.data.shakespeare(length=length)
    with fp.precision(precision):
        model = CharLSTM(CHARACTERS, hidden=hidden)
        optimizer = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=2e-3), dial=dial, **given)
        loader, losses = fp.data.DataLoader(train, batch_size=32, shuffle=True), []
        with fp.microscope(model, optimizer, every=every) as scope:
            while len(losses) < steps:
                for x, t in loader:
                    losses.append(F.cross_entropy(model(x), t))
                    optimizer.minimize(losses[-1])
                    if len(losses) == steps:
                        break
    return scope, float(np.mean([loss.item() for loss in losses[-10:]]))


def dropping():
    """What a look must not disturb beside weights: running statistics and masks."""
    conv, norm = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4)
    return nn.Sequential(conv, norm, nn.ReLU(), nn.Dropout(0.5), nn.Flatten(), nn.Linear(144, 10))


def lenet():
    return LeNet(classes=10, size=8)


def small(
    precision="mixed", every=1, steps=1, watched=True, rule=optim.SGD, lr=0.1, net=lenet, **given
):
    """A network on a few digits; its microscope, with its state at the end and the random one."""
    seen = {name: given.pop(name) for name in ("details", "progress") if name in given}
    fp.manual_seed(0)
    train, _ = fp.data.digits()
    with fp.precision(precision):
        model = net()
        optimizer = fp.MixedOptimizer(rule(model.parameters(), lr=lr), **given)
        x, t = next(iter(fp.data.DataLoader(train, batch_size=16)))
        scope = fp.microscope(model, optimizer, every=every, **seen)
        with scope if watched else nullcontext():
            for _ in range(steps):
                optimizer.minimize(F.cross_entropy(model(x), t))
    scope.left = frozen(model.state_dict()), frozen(optimizer.state_dict()), fp.get_state()
    return scope


def test_weights_and_their_gradients_are_counted_whole():
    fp.manual_seed(0)
    with fp.precision("mixed"):
        model = MLP(64, 32, 10)
        optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1))
        x, t = fp.rand(8, 64), fp.tensor(np.arange(8))
        before = {n: by_hand(p.array) for n, p in model.named_parameters()}
        with fp.microscope(model, optimizer) as scope:
            optimizer.backward(F.cross_entropy(model(x), t))
            gradients = {n: by_hand(p.grad.array) for n, p in model.named_parameters()}
            optimizer.step()
    (step,) = scope.steps
    assert {n: h.exponents for n, h in step.histograms[WEIGHTS].items()} == before
    assert {n: h.exponents for n, h in step.histograms[WEIGHT_GRADIENTS].items()} == gradients
    assert (step.scale, step.shift) == (2.0**16, 16)
    assert {*step.formats[WEIGHT_GRADIENTS].values()} == {"float16"}


def test_activations_are_counted_once_each_and_by_module():
    class Net(nn.Module):
        def __init__(self):
            self.a = nn.Linear(6, 4)

        def forward(self, x):
            return F.relu(self.a(x)).reshape(2, 12).reshape(24)  # views are not counted again

    with fp.precision("float32"):
        net = Net()
        optimizer = fp.MixedOptimizer(optim.SGD(net.parameters(), lr=0.1))
        with fp.microscope(net, optimizer) as scope:
            optimizer.minimize(net(fp.rand(6, 6)).sum())
    (step,) = scope.steps
    totals = {n: h.total for n, h in step.histograms[ACTIVATIONS].items()}
    assert totals == {"a": 24, "Net": 24}
    gradients = {n: h.total for n, h in step.histograms[ACTIVATION_GRADIENTS].items()}
    assert gradients == {"a": 24, "Net": 24}


def test_another_model_on_the_same_tape_is_not_counted():
    class Critic(nn.Module):
        def __init__(self):
            self.judge = nn.Linear(10, 1)

        def forward(self, x):
            return self.judge(x)

    with fp.precision("float32"):
        model, critic = MLP(64, 16, 10), Critic()
        optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1))
        with fp.microscope(model, optimizer) as scope:
            optimizer.minimize(critic(model(fp.rand(8, 64))).sum())
    (step,) = scope.steps
    for kind in (ACTIVATIONS, ACTIVATION_GRADIENTS):
        assert step.histograms[kind] and "judge" not in str(step.histograms[kind].keys())
    assert step.total(WEIGHT_GRADIENTS).total == sum(p.array.size for p in model.parameters())


def test_a_model_inside_of_another_and_layers_called_by_themselves_are_counted():
    class Wrapper(nn.Module):
        def __init__(self, inner):
            self.inner = inner

        def forward(self, x):
            return self.inner(x)

    with fp.precision("float32"):
        model = MLP(64, 16, 10)
        optimizer, found = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1)), []
        first = next(m for m in model.modules() if isinstance(m, nn.Linear))
        for call in (model, Wrapper(model), first):
            scope = fp.microscope(model, optimizer)
            if call is first:  # the others get no gradient
                with pytest.warns(fp.MisuseWarning, match="no gradient"), scope:
                    optimizer.minimize(call(fp.rand(8, 64)).sum())
            else:
                with scope:
                    optimizer.minimize(call(fp.rand(8, 64)).sum())
            found.append(scope.steps[0].total(ACTIVATIONS).total)
    assert found[0] == found[1] and found[2] == 8 * 16


def test_every_so_many_steps_are_looked_at_and_each_is_counted():
    scope = small(every=3, steps=8)
    assert [step.step for step in scope.steps] == [1, 4, 7]
    assert (scope.count, len(scope.skipped)) == (8, 8)
    sizes = [h.counts.nbytes for s in scope.steps for k in KINDS for h in s.histograms[k].values()]
    assert sum(sizes) / 3 < 40_000  # bytes of a look


DELAYED = "float8,operand_scale=delayed"


@pytest.mark.parametrize("precision, details", [
    *((name, None) for name in ("mixed", "float32", "autocast", "float64", DELAYED)),
    *((name, 2) for name in ("mixed", "float64")),
])  # fmt: skip
def test_looking_changes_no_number(precision, details):
    """Misuse is looked for too, and details do a step again, traced, in float64 and in float32."""
    training = {"precision": precision, "steps": 4, "rule": optim.Adam, "lr": 1e-2, "net": dropping}
    seen = small(**training, every=1 if details is None else 3, details=details, progress=False)
    assert ("reference" in seen.details) == (details is not None)
    assert seen.left == small(**training, watched=False).left


def simple(loss_scale=1.0, **settings):
    fp.manual_seed(0)
    with fp.precision("mixed"):
        model = nn.Linear(6, 4)
        sgd = optim.SGD(model.parameters(), lr=0.1)
        return model, fp.MixedOptimizer(sgd, loss_scale=loss_scale, **settings), fp.rand(8, 6)


def test_two_microscopes_on_models_that_are_alike_are_told_apart():
    (a, first, x), (b, second, _) = simple(2.0), simple(64.0)
    with fp.microscope(a, first) as one, fp.microscope(b, second) as other:
        for _ in range(2):
            first.minimize(a(x).sum())
            second.minimize(b(x).sum())
    assert (one.count, other.count) == (2, 2) and one.scales != other.scales
    for scope in (one, other):  # the other's weights are no activations of this one
        assert OUTSIDE not in scope.steps[0].histograms[ACTIVATION_GRADIENTS]


def test_a_microscope_looks_once_at_a_time_but_again_later():
    model, optimizer, x = simple()
    with fp.microscope(model, optimizer) as scope:
        with pytest.raises(fp.ArgumentError, match="already in use"), scope:
            pass
        optimizer.minimize(model(x).sum())
    with scope:
        optimizer.minimize(model(x).sum())
    assert scope.count == 2 and [step.step for step in scope.steps] == [1, 2]


def test_a_microscope_that_cannot_begin_or_ends_in_an_error_leaves_nothing_behind():
    """Warnings are errors here, and misuse is a warning."""
    model, optimizer, _ = simple()
    with pytest.raises(KeyError), fp.microscope(model, optimizer):
        raise KeyError
    model.forgotten = nn.Parameter(np.ones(3, np.float32))
    with pytest.raises(fp.MisuseWarning, match="forgotten"), fp.microscope(model, optimizer):
        pass


def test_a_step_that_was_interrupted_can_be_made_again(monkeypatch):
    model, optimizer, x = simple()

    def interrupted(*_):
        raise KeyboardInterrupt

    with fp.microscope(model, optimizer) as scope:
        with pytest.raises(KeyboardInterrupt), monkeypatch.context() as patched:
            patched.setattr(optimizer.optimizer, "apply", interrupted)
            optimizer.minimize(model(x).sum())
        optimizer.zero_grad()
        optimizer.minimize(model(x).sum())
    assert scope.count == 1


def test_a_graph_that_nobody_takes_back_is_not_held():
    model, optimizer, x = simple()
    with fp.microscope(model, optimizer):
        y = model(x).reshape(32)  # as in an evaluation without no_grad
        held = weakref.ref(y.node)
        del y
        gc.collect()
        assert held() is None


def lost_share(precision):
    """The paper's figure 2a on digits: what of the updates of a small learning rate is lost."""
    fp.manual_seed(0)
    train, _ = fp.data.digits()
    with fp.precision(precision):
        model = MLP(64, 128, 64, 10)
        for p in model.parameters():
            if p.ndim == 2:
                nn.init.kaiming_normal_(p, nonlinearity="relu")
        optimizer = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=1e-5))
        with fp.microscope(model, optimizer, every=100) as scope:
            for _ in range(4):
                for x, t in fp.data.DataLoader(train, batch_size=32, shuffle=True):
                    optimizer.minimize(F.cross_entropy(model(x), t))
    found = scope.steps[-1].updates.values()
    wanted = sum(u.wanted for u in found)
    return [sum(u.number(n) for u in found) / wanted for n in ("lost", "float16", "bfloat16")]


def test_without_masters_nine_of_ten_updates_are_lost_and_with_them_none():
    lost, in_half, _ = lost_share("mixed,loss_scale=1024,master_weights=off")
    assert lost > 0.9 and lost == in_half
    lost, in_half, in_brain = lost_share("mixed,loss_scale=1024")
    assert lost == 0 and in_half > 0.9 and in_brain > in_half
    lost, in_half, _ = lost_share("mixed,loss_scale=1024,master_weights=off,compensated=on")
    assert lost < 0.1 and in_half > 0.9  # what is left over has a smallest number


def test_an_update_is_lost_below_half_a_gap_and_not_above():
    with fp.precision("mixed,master_weights=off,loss_scale=off"):
        p, holder = nn.Parameter(np.float32([1.0, 1.0, 1.0, 1.0])), nn.Module()
        holder.p = p
        optimizer = fp.MixedOptimizer(optim.SGD([p], lr=1.0))
        gradient = fp.tensor(np.float16([2.0**-13, 2.0**-12, 2.0**-11, 0.0]))
        with fp.microscope(holder, optimizer) as scope:
            optimizer.minimize((p * gradient).sum())
    (found,) = scope.steps[0].updates.values()
    # Below 1 the gap is 2^-11: 2^-13 is less than half of it, 2^-12 is half, and rounds to even.
    assert (found.count, found.wanted, found.lost, found.zero_gradients) == (4, 3, 2, 1)
    assert found.alone == {"float16": 2, "bfloat16": 3}  # whose gap is 2^-8


def test_an_optimizer_that_skipped_has_no_lost_updates():
    """skip="each": the gradients of the second are NaN, and it wants no update."""
    fp.manual_seed(0)
    with fp.precision("mixed"):
        model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
        both = [optim.SGD(m.parameters(), lr=0.1) for m in model]
        optimizer, x = fp.MixedOptimizer(both, loss_scale=1.0), fp.rand(8, 4)
    with fp.microscope(model, optimizer) as scope:
        result = optimizer.minimize(model[0](x).sum() + (model[1](x) * 0).sqrt().sum())
    assert result.each == (True, False)
    assert list(scope.steps[0].updates) == ["0.weight", "0.bias"]


def test_the_advice_has_the_scale_that_works_and_not_the_one_that_fails():
    """The exponent dial at 11: as if the loss were a mean over 2,048 times as many terms."""
    scope, loss = char_lstm("float32", dial=11, steps=200)
    held = scope.steps[0].histograms[ACTIVATION_GRADIENTS]  # of gates, inside of the LSTM
    assert held["lstm gates"].total == 32 * 32 * 4 * 64
    assert not any("gates" in name for name in held if name != "lstm gates")
    advice = scope.advice()
    assert advice.low <= 7 <= advice.high and advice.low > 0 and advice.needed
    scaled, advised = char_lstm("mixed", dial=11, steps=200, loss_scale=128.0)
    _, unscaled = char_lstm("mixed", dial=11, steps=200, loss_scale=None)
    assert abs(advised - loss) < 0.05 and unscaled > loss + 1
    # Seen in the mixed run itself the advice is the same.
    assert abs(scaled.advice().low - advice.low) <= 1


def test_a_step_overflows_above_the_ceiling_and_not_at_it():
    scope = small("float32")
    advice = scope.advice()
    k = advice.high
    assert 2.0**k <= advice.ceiling * (1 + 2.0**-11) < 2.0 ** (k + 1)
    assert f"overflows at a scale above {advice.ceiling:.3g}" in str(advice)
    assert not small(f"mixed,loss_scale={2.0**k:.17g}").skipped[0]
    assert small(f"mixed,loss_scale={2.0 ** (k + 2):.17g}").skipped[0]
    plain = small("mixed,loss_scale=1024").advice()
    for scale in (1400.0, 1500.0):  # which are no powers of two
        found = small(f"mixed,loss_scale={scale:.17g}").advice()
        assert math.isclose(found.largest, plain.largest, rel_tol=2.0**-10)
        assert found.high == plain.high
    scaled = small("float32", loss_scale=1024.0)  # the same numbers lie in the same place
    for kind in GRADIENTS:
        a, b = scope.steps[0].total(kind), scaled.steps[0].total(kind)
        assert b.lowest - scaled.steps[0].shift == a.lowest
        assert math.isclose(b.largest / 1024, a.largest, rel_tol=1e-6)


def test_a_scale_that_overflowed_between_two_looks_is_not_advised_but_for_wider_formats():
    scope = small("mixed", every=50, steps=30, loss_scale=fp.DynamicLossScale(2.0**24))
    failed = [s for s, was in zip(scope.scales, scope.skipped) if was]
    assert failed and 2.0 ** scope.advice().high < min(failed)
    assert scope.advice(format="bfloat16").high == 64


def test_a_fault_that_no_scale_mends_says_nothing_of_scales_and_a_skipped_one_is_not_advised():
    model, optimizer, x = simple(1024.0)
    with fp.microscope(model, optimizer, every=1) as scope:
        optimizer.minimize(model(x).sum())
        x.data[0, 0] = np.nan
        optimizer.minimize(model(x).sum())
    assert scope.skipped == [False, True] and scope.diagnoses[0]["persists"]
    assert scope.advice().high == advise(scope.steps[:1]).high > 10
    model, optimizer, x = simple(fp.DynamicLossScale(2.0**14), diagnose=False)
    with fp.microscope(model, optimizer, every=50) as scope:
        optimizer.minimize(model(x).sum() * 1e-3)
        optimizer.minimize(model(x).sum() * 10)
    assert scope.skipped == [False, True] and not scope.diagnoses
    assert scope.advice().high == 13


def test_gradients_that_were_all_flushed_are_no_sign_that_none_need_scaling():
    model, optimizer, x = simple(1.0)
    with fp.microscope(model, optimizer) as scope:
        optimizer.minimize(model(x).sum() * 1e-9)
    assert "stored as 0" in str(scope.advice()) and "No scaling" not in str(scope.advice())
    advice = small("float32", steps=3).advice()  # where they are large
    assert not advice.needed and "No scaling is needed in float16" in str(advice)
    model, optimizer, x = simple(2.0**16)
    with fp.microscope(model, optimizer) as scope:
        optimizer.minimize(model(x).sum())
    (step,) = scope.steps  # which has overflowed
    assert not step.stepped and not scope.advice().largest
    assert "Inf, NaN" in str(scope.advice())
    assert "no advice" in str(advise([])) and str(advise([ObservedStep(1)]))


def test_a_layer_that_was_flushed_whole_is_told_beside_one_that_was_not():
    with fp.precision("mixed"):
        model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
        optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1), loss_scale=1.0)
        x = fp.rand(8, 4)
    with fp.microscope(model, optimizer) as scope:
        optimizer.minimize(model[0](x).sum() + model[1](x).sum() * 1e-9)
    advice = scope.advice()
    assert not advice.needed and advice.unseen
    assert str(advice).startswith("As far as could be seen") and "could not be seen" in str(advice)
    assert not small("mixed", loss_scale=1024.0).advice().unseen


@pytest.mark.parametrize("name", [*WHAT_IF, "e5m6+subnormals=off"])
def test_the_error_of_a_scale_is_that_of_rounding_the_gradient(name):
    format = format_named(name)
    x = (np.random.default_rng(0).normal(size=100_000) * 2.0**-22).astype(np.float32)
    lowest = round(math.log2(format.smallest_subnormal))
    shifts = np.arange(-6, 14) + 24 + lowest
    found = errors_of(Histogram.of(x), shifts, format)
    for shift, error in zip(shifts.tolist(), found):
        scaled = np.ldexp(x.astype(np.float64), shift)
        rounded = values_of(codes_of(scaled, format), format).astype(np.float64)
        true = np.linalg.norm(rounded - scaled) / np.linalg.norm(scaled)
        assert true / 1.4 < error < true * 1.4  # a bin is a factor of 2 wide
    assert math.isclose(rounding_of(Histogram.of(x), format), found[-1], rel_tol=0.1)


def test_each_format_needs_the_scale_that_its_range_asks_for():
    """With gradients 2^12 times smaller; as seen in bfloat16 and in float32."""
    brain, single = small("bfloat16", dial=12), small("float32", dial=12)
    assert brain.gradients_in.name == "bfloat16" and single.gradients_in.name == "float16"
    assert "No scaling is needed in bfloat16" in str(brain.advice())
    for name in WHAT_IF:
        seen, known = (scope.advice(format=name) for scope in (brain, single))
        assert abs(seen.low - known.low) <= 1 and abs(seen.high - known.high) <= 1
        assert seen.needed == (name != "bfloat16") and f" in {name}" in str(seen)
        g = single.steps[0].total(WEIGHT_GRADIENTS) + single.steps[0].total(ACTIVATION_GRADIENTS)
        assert known.lost(0) == g.lost(0, format_named(name))
        assert known.lost(known.low) <= known.lost(0)
    assert single.advice(format="float8_e5m2").low > single.advice(format="float16").low
    refuses(fp.PrecisionError, "no dtype 'fp7'", single.advice, format="fp7")
    # Stored in bfloat16, which has the range, but multiplied in float8_e5m2 without a scale:
    scope = small("float8,operand_scale=off", dial=12)
    assert {*scope.steps[0].formats[WEIGHT_GRADIENTS].values()} == {"bfloat16"}
    assert "Scaling is needed in float8_e5m2" in str(scope.advice())
    assert small("float8", dial=12).gradients_in.name == "bfloat16"


@pytest.mark.nightly
def test_the_share_of_gate_gradients_below_the_smallest_half():
    """16% of those of the gate matrix, as TEACHING has it, are reached at the dial's 7th notch."""
    scope, _ = char_lstm("float32", dial=7, steps=200, hidden=128)
    names = ("lstm.weight_ih_l0", "lstm.weight_hh_l0")
    h = total_of(s.histograms[WEIGHT_GRADIENTS][name] for s in scope.steps for name in names)
    below = sum(n for e, n in h.exponents.items() if e < -24) / h.nonzero
    assert 0.08 < below < 0.24


def test_findings_come_back_from_a_file(tmp_path):
    scope = small("mixed", steps=4, loss_scale=fp.DynamicLossScale(2.0**24))
    back = fp.Findings.load(scope.save(tmp_path / "scope.npz"))
    assert back.about == scope.about and back.diagnoses == scope.diagnoses
    assert (back.scales, back.skipped) == (scope.scales, scope.skipped)
    for a, b in zip(scope.steps, back.steps):
        assert (a.step, a.scale, a.stepped, a.formats) == (b.step, b.scale, b.stepped, b.formats)
        assert a.updates == b.updates
        for kind in KINDS:
            for name, h in a.histograms[kind].items():
                other = b.histograms[kind][name]
                assert np.array_equal(h.counts, other.counts) and h.largest == other.largest
                assert (h.lowest, h.zeros, h.infs) == (other.lowest, other.zeros, other.infs)
    assert back.summary() == scope.summary()


def test_a_file_of_the_version_before_is_read_and_says_what_it_cannot_know(tmp_path):
    """Its bins had three parts, whose borders are float16's, and it knew no other format."""
    scope = small("mixed", steps=2)
    with np.load(scope.save(tmp_path / "new.npz")) as held:
        arrays = dict(held)
    told = json.loads(arrays["json"].tobytes())
    told["version"] = 2
    del told["borders"]
    for step, updates in zip(told["steps"], told["updates"]):
        step["in_half"] = "float16" in step.pop("formats")[WEIGHT_GRADIENTS].values()
        for u in updates.values():
            u["lost_in_half"] = u.pop("alone")["float16"]
    arrays["json"] = np.frombuffer(json.dumps(told).encode(), np.uint8)
    counts = arrays["counts"]
    arrays["counts"] = np.stack([counts[:, 0], counts[:, 1:-1].sum(axis=1), counts[:, -1]], axis=1)
    np.savez(tmp_path / "old.npz", **arrays)
    back = fp.Findings.load(tmp_path / "old.npz")
    assert str(back.advice()) == str(scope.advice())
    h, new = back.total(WEIGHTS), scope.total(WEIGHTS)
    assert (h.flushed(-9), h.overflowing(18)) == (new.flushed(-9), new.overflowing(18)) != (0, 0)
    tiny, up = FORMATS["float8_e5m2"], 17 - h.highest  # its border lies in the last bin but one
    least, exact = h.overflowing(up, tiny), new.overflowing(up, tiny)
    assert least < exact <= least + h.uncertain(up, tiny) and not new.uncertain(up, tiny)
    assert "in float8_e5m2 (lost: at least)" in back.report(tmp_path / "p.html").read_text("utf-8")
    assert fp.Findings.load(back.save(tmp_path / "again.npz")).summary() == back.summary()


def test_rows_say_of_each_layer_what_each_format_would_lose(tmp_path):
    scope = small("bfloat16,gradients=e5m6", steps=2)
    rows = scope.rows()
    lines = (scope.write(tmp_path, progress=False).parent / "scope.csv").read_text("utf-8")
    assert [{k: str(v) for k, v in row.items()} for row in rows] == list(
        csv.DictReader(lines.splitlines()))  # fmt: skip
    assert len(rows) == sum(len(s.histograms[k]) for s in scope.steps for k in KINDS)
    row = next(r for r in rows if (r["step"], r["layer"]) == (2, "fc1.weight") and r["zeros"])
    assert (row["kind"], row["format"], row["scale"]) == (WEIGHT_GRADIENTS, "e5m6", 1.0)
    h = scope.steps[1].histograms[WEIGHT_GRADIENTS]["fc1.weight"]
    for name in (*WHAT_IF, "e5m6"):
        assert row[f"flushed {name}"] == h.flushed(0, format_named(name))
    assert row["flushed float8_e4m3fn"] > row["flushed float8_e5m2"] > row["flushed bfloat16"] == 0


@pytest.mark.parametrize("content", [b"", b"not a zip", None, 10, -10])
def test_a_file_that_is_none_of_ours_is_refused(tmp_path, content):
    path = tmp_path / "other.npz"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.savez(path, x=np.zeros(3))
        path.write_bytes(path.read_bytes()[:content])
    refuses(fp.ArgumentError, r"other\.npz", fp.Findings.load, path)
    refuses(fp.ArgumentError, "no such file", fp.Findings.load, tmp_path / "missing.npz")


DAMAGED = {  # a value of `details`, what is there instead, and what is said
    "step": (None, "details.step: None is not"), "memory kinds 0": ("<b>", "is not one of"),
    "trace rows 0 flops": ("much", "'much' is not of type 'number'"),
    "memory here holders 0": (["weights", "a"], "too short"),
    "hardware shapes 0 size": (0, "less than the minimum"),
    "hardware machines T4 ridge": (math.inf, "T4: limits that are not finite"),
    "hardware machines T4 bound": ([], "T4: not a bound for each kernel"),
    "tape edges 0 source": (-7, "tape: an edge to no box"), "check": ([{}], "a required property"),
}  # fmt: skip


def test_details_of_a_file_are_what_a_microscope_writes(tmp_path):
    scope = small(details=1, progress=False)
    whole = json.dumps(scope.details)
    for way, (value, said) in DAMAGED.items():
        box = scope.details = json.loads(whole)
        *names, last = [int(name) if name.isdigit() else name for name in way.split()]
        for name in names:
            box = box[name]
        box[last] = value
        refuses(fp.ArgumentError, said, fp.Findings.load, scope.save(tmp_path / "a.npz"))


def by_ways(steps, every=1):
    model, optimizer, x = simple(1024.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fp.MisuseWarning)  # of the bypass
        with fp.microscope(model, optimizer, every=every) as scope:
            for way in steps:
                optimizer.zero_grad()
                way(model, optimizer, x)
                optimizer.step()
    return scope


def scaled(model, optimizer, x):
    optimizer.backward(model(x).sum())


def plain(model, optimizer, x):
    model(x).sum().backward()


def asked(model, optimizer, x):
    fp.grad(model(x).sum() * 2.0**-12, model.weight)
    scaled(model, optimizer, x)
    fp.grad(model(x).sum() * 2.0**-12, model.weight)


def test_gradients_that_bypass_the_scale_are_told_as_they_are():
    right, past = by_ways([scaled] * 3), by_ways([plain] * 3)
    assert (right.scales, past.scales) == ([1024.0] * 3, [1.0] * 3)
    assert [step.scale for step in past.steps] == [1.0] * 3
    assert past.advice().high == right.advice().high
    assert math.isclose(past.advice().largest, right.advice().largest, rel_tol=2.0**-10)
    (said,) = past.warnings  # which are on its page too
    assert "bypasses the loss scale S = 1024" in said and callers.listeners == []


def test_gradients_of_several_scales_in_one_step_are_brought_to_the_largest():
    right, mixed = by_ways([scaled]), by_ways([asked])
    assert mixed.steps[0].scale == 1024
    kind = "weight gradients"
    beside, alone = mixed.steps[0].histograms[kind], right.steps[0].histograms[kind]
    assert beside["weight"].largest == alone["weight"].largest
    assert beside["weight"].smallest == alone["weight"].smallest * 2.0**-12
    assert beside["bias"].exponents == alone["bias"].exponents
    by_hand = by_ways([lambda model, _, x: model(x).sum().backward(seed=64.0)] * 2, every=2)
    assert by_hand.scales == [64.0, 64.0] and by_hand.steps[0].scale == 64


def test_advice_does_not_promise_what_it_cannot_bound():
    few, many = by_ways([scaled] * 5).advice(), by_ways([scaled] * 60).advice()
    assert few.overflow_bound == 0.6
    assert "60 steps without an overflow would show that at most 5% do" in str(few)
    assert "With 95% confidence at most 5% of all steps overflow" in str(many)
    for advice in (few, many):
        assert "no harm" not in str(advice) and "60%" not in str(advice)
        assert all(not advice.overflowing[k] for k in range(-10, advice.high + 1))
        assert advice.overflowing[advice.high + 1]


def test_what_cannot_be_asked_is_refused_by_name(tmp_path):
    scope, path = small(), tmp_path
    assert "learning rate" not in scope.summary()  # which is not 0
    sgd = optim.SGD(MLP(4, 2).parameters(), lr=1.0)
    (tmp_path / "file").write_text("held", encoding="utf-8")
    for ask, said in (
        (lambda: scope.advice(tolerance=-1), "tolerance=-1"),
        (lambda: scope.advice(tolerance="5%"), "tolerance='5%'"),
        (lambda: scope.total("gradient"), "kind='gradient'.*weight gradients"),
        (lambda: scope.layers("gradient"), "kind='gradient'"),
        *((lambda: scope.report(path), "is a folder"), (lambda: scope.save(path), "is a folder")),
        (lambda: scope.save(None), "a path is a NoneType"),
        (lambda: scope.write(path / "file" / "below"), "is, or is in, a file"),
        (lambda: fp.microscope(3, None), "model is a int"),
        (lambda: fp.microscope(MLP(4, 2), sgd), "expected an fp.MixedOptimizer"),
        (lambda: fp.microscope(MLP(4, 2), fp.MixedOptimizer(sgd), every=0), "every"),
    ):
        refuses(fp.ArgumentError, said, ask)
    refuses(fp.DTypeError, "int64", Histogram.of, np.arange(3))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_an_operation_that_knows_one_format_only_ends_no_training():
    @fp.op
    def picky(x):
        if x.dtype != np.float16:
            raise fp.DTypeError(f"picky: {x.dtype}: expected float16")
        return x * x.dtype.type(2), (), picky_backward

    def picky_backward(dy, to):
        return (dy * dy.dtype.type(2),)

    with fp.precision("mixed,loss_scale=1"):
        model = MLP(64, 16, 10)
        optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1))
        with fp.microscope(model, optimizer, details=1, progress=False) as scope:
            result = optimizer.minimize(picky(model(fp.rand(8, 64))).sum())
    assert result.stepped and "picky" in scope.details["refused"] and "trace" in scope.details


@pytest.mark.parametrize(("precision", "tried"), [
    ("bfloat16", [0, 32, 64]), pytest.param("float32", None, marks=pytest.mark.nightly),
    pytest.param("mixed,gradients=float8_e5m2", None, marks=pytest.mark.nightly),
])  # fmt: skip
def test_advice_is_checked_in_the_format_that_it_is_for(precision, tried, monkeypatch):
    real, used = inspecting.train, []

    def train(task, precision, *args):
        used.append(str(precision))
        return real(task, precision, *args)

    monkeypatch.setattr(inspecting, "train", train)
    found = inspecting.inspect("mlp", precision, steps=2, every=1, check=True, progress=False)
    _, none, *scales = (row["scale"] for row in found.details["check"])
    checked = "mixed" if precision == "float32" else precision
    assert used[0] == "float32" and all(name.startswith(checked) for name in used[1:])
    assert none is None and scales == (tried or scales) and scales[-1] <= 64


@pytest.mark.parametrize("check", [False, True])
def test_ctrl_c_keeps_what_was_seen(check, monkeypatch):
    real, made = inspecting.train if check else inspecting.Training.update, []

    def interrupted(*args, **settings):
        made.append(1)
        if len(made) > 2:
            raise KeyboardInterrupt
        return real(*args, **settings)

    where = (inspecting, "train") if check else (inspecting.Training, "update")
    monkeypatch.setattr(*where, interrupted)
    found = inspecting.inspect("mlp", steps=4, every=1, check=check, progress=False)
    if check:
        assert [row["scale"] for row in found.details["check"]] == ["float32", None]
        assert found.about["interrupted"] == "while the advice was checked"
    else:
        assert found.count == 2 and found.about["interrupted"] == "after 2 steps"


def test_a_finished_run_whose_schedule_ended_at_0_says_so(tmp_path):
    task, path = blobs(schedule=tasks.cosine, steps=4, epochs=1), tmp_path / "run.safetensors"
    train_one(task, precision="mixed", save=path, progress=False)
    found = inspecting.inspect(task, checkpoint=path, progress=False)
    said = "The learning rate of step 1 is 0"
    found.save(tmp_path / "scope.npz")
    for one in (found, fp.Findings.load(tmp_path / "scope.npz")):
        page = one.report(tmp_path / "scope.html", progress=False).read_text(encoding="utf-8")
        for text in (one.summary(), page):
            assert said in " ".join(text.split()) and "computed were lost" not in text
