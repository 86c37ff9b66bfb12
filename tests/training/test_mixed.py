"""Claims about MixedOptimizer: unscaling, clipping, skipping, several optimizers, and resuming."""

import copy
import math
import re
import signal
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from refusals import refuses
from snapshots import frozen, gradients, refused, snapshot
from update_rules import RULES
from watching import at_once

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim
from minifp.optim.weights import Weights
from minifp.runtime.interrupts import uninterrupted

PRECISIONS = [
    *("float32", "mixed", "float16", "float64", "mixed,loss_scale=128", "mixed,loss_scale=off"),
    *("mixed,master_weights=off", "mixed,optimizer_state=float16"),
]
every_precision = pytest.mark.parametrize("precision", PRECISIONS)
every_rule = pytest.mark.parametrize("rule", RULES)
# Of every rule in every precision: each rule in one, each precision with one, and some others.
some_of_both = pytest.mark.sampled(
    4, core=lambda precision, rule, **_: rule == "Adam" or precision == "mixed"
)


def make(precision="mixed", rule="Adam", **settings):
    fp.manual_seed(0)
    with fp.precision(precision):
        model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 3))
    return model, fp.MixedOptimizer(RULES[rule](model.parameters()), **settings)


def loss_of(model, k, size=8):
    random = np.random.default_rng(k)
    with fp.precision(model.precision):
        x = fp.tensor(random.normal(size=(size, 4)))
    return F.cross_entropy(model(x), random.integers(0, 3, size))


def train(model, optimizer, batches):
    results = []
    for k in batches:
        optimizer.zero_grad()
        optimizer.backward(loss_of(model, k))
        results.append(optimizer.step())
    return results


def poison(p, value=np.inf):
    p.grad.array.reshape(-1)[-1] = value


def kept(optimizer):
    """What a skipped step may not change: weights, masters, state, step counts, settings."""
    states = copy.deepcopy(optimizer.state_dict()["optimizers"])
    for state in states:
        del state["attempts"]
    return frozen([states, [p.array for p in optimizer.parameters]])


def parameter(values, precision="mixed"):
    with fp.precision(precision):
        return nn.Parameter(np.asarray(values, np.float32))


def backward(optimizer, *factors):
    """Give each parameter the gradient `factor`, times the scale."""
    with fp.precision(optimizer.precision):
        terms = [(p * f).sum() for p, f in zip(optimizer.parameters, factors) if f is not None]
        optimizer.backward(sum(terms[1:], terms[0]))


@every_rule
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_in_float32_and_float64_it_is_the_plain_optimizer_whatever_the_dial(precision, rule):
    plain_model, wrapped = make(precision, rule)
    plain = wrapped.optimizer
    for k in range(4):
        plain.zero_grad()
        loss_of(plain_model, k).backward()
        plain.step()
    ends = []
    for dial in (0, 1, 17):
        model, optimizer = make(precision, rule, dial=dial)
        train(model, optimizer, range(4))
        assert frozen(model.state_dict()) == frozen(plain_model.state_dict()), dial
        model, optimizer = make(precision, rule, dial=dial, clip_norm=0.5)
        ends.append((train(model, optimizer, range(4)), kept(optimizer)))
    assert ends[0] == ends[1] == ends[2]


def test_a_step_says_what_it_did_and_minimize_is_backward_step_and_zero_grad():
    p = parameter([3.0, 4.0])
    optimizer = fp.MixedOptimizer(optim.SGD([p], lr=0.5), loss_scale=64.0)
    backward(optimizer, fp.tensor([3.0, -4.0], dtype="float16"))
    result = optimizer.step()
    assert result == fp.StepResult(True, None, 64.0, 64.0, 5.0, (), (True,))
    assert str(result) == "stepped; S = 64; gradient norm 5"
    assert not result.skipped and p.array.tolist() == [1.5, 6.0]
    (model, optimizer), (other, minimizing) = make(), make()
    results = train(model, optimizer, range(3))
    optimizer.zero_grad()
    assert [minimizing.minimize(loss_of(other, k)) for k in range(3)] == results
    assert snapshot(minimizing) == snapshot(optimizer)
    assert [p.grad for p in minimizing.parameters] == [None] * 6


def test_a_scale_that_is_a_power_of_two_changes_no_bit_where_nothing_underflows():
    """Nor how weights decay: with decay on scaled gradients those of a large S hardly would."""
    ends = []
    for scale in (1.0, 2.0**6):
        p = parameter([1.0, -2.0])
        rule = optim.SGD([p], lr=0.5, momentum=0.5, weight_decay=0.5)
        optimizer = fp.MixedOptimizer(rule, loss_scale=scale)
        backward(optimizer, 0.25)
        optimizer.step()
        assert p.array.tolist() == [1.0 - 0.375, -2.0 + 0.375]
        for k in range(2):
            optimizer.zero_grad()
            backward(optimizer, 0.5 + k)
            optimizer.step()
        ends.append(kept(optimizer))
    assert ends[0] == ends[1]


def test_the_precision_is_that_of_the_modules_and_halved_weights_have_a_loss_scale():
    p = parameter([1.0], "mixed,loss_scale=32,optimizer_state=float16")
    with fp.precision("float64"), pytest.warns(fp.MisuseWarning, match="float64.*made under"):
        optimizer = fp.MixedOptimizer(optim.Adam([p]))
    assert (optimizer.scale, optimizer.master_weights) == (32.0, True)
    assert list(optimizer.memory().values()) == [2, 4, 4, 0]

    def scale(*given, precision="float32", **settings):
        with fp.precision(precision):
            layer = nn.Linear(2, 1).half()
        return fp.MixedOptimizer(optim.SGD(layer.parameters(), lr=0.1), *given, **settings).scale

    assert scale() == 2.0**16
    assert (scale(128), scale(None), scale(loss_scale="dynamic")) == (128, 1, 2.0**16)
    assert scale(precision="float32,loss_scale=8") == 8
    assert scale(precision="float16") == scale(precision="mixed,loss_scale=off") == 1


@pytest.mark.parametrize("made, entered", [("float32", "mixed"), ("mixed", "float32")])
def test_a_precision_that_was_entered_too_late_is_told_with_both_ways_out(made, entered):
    with fp.precision(made):
        layers = [nn.Linear(2, 1) for _ in range(3)]
    with fp.precision(entered):
        with pytest.warns(fp.MisuseWarning) as caught:
            for layer in layers[:2]:
                fp.MixedOptimizer(optim.SGD(layer.parameters(), lr=0.1))
        (warning,) = caught
        for part in (f'fp.precision("{entered}")', f'made under "{made}"', "fp.set_precision"):
            assert part in str(warning.message)
    fp.MixedOptimizer(optim.SGD(layers[2].parameters(), lr=0.1))  # outside: as ever, no warning
    with fp.precision(made):
        fp.MixedOptimizer(optim.SGD(layers[2].parameters(), lr=0.1))


@every_precision
def test_an_optimizer_tells_precision_masters_and_scale(precision):
    model, optimizer = make(precision)
    stored = " and ".join(sorted({p.dtype.name for p in model.parameters()}))
    masters = "float32" if optimizer.master_weights else "none"
    assert repr(optimizer).startswith("MixedOptimizer(Adam, precision=")
    told = f'"{optimizer.precision}", parameters={stored}, masters={masters}, loss_scale='
    assert told in repr(optimizer) and f"LossScale({optimizer.scale:g}))" in repr(optimizer)
    both = fp.MixedOptimizer([optim.SGD([fp.ones(1, requires_grad=True)], lr=1) for _ in "ab"])
    assert repr(both).startswith('MixedOptimizer([SGD, SGD], precision="float32"')


def test_what_a_scaled_gradient_cannot_serve_is_refused_by_name():
    model, optimizer = make("float32", loss_scale=8.0)
    optimizer.backward(loss_of(model, 0))
    for error, words, call in [
        (fp.ArgumentError, ("closure", "backward(loss)"), lambda: optimizer.step(lambda: 0)),
        (fp.TapeError, ("seed 8", "MixedOptimizer"), optimizer.optimizer.step),
        (fp.TapeError, ("8", "unscale_()"), lambda: optim.clip_grad_norm_(model.parameters(), 1)),
    ]:
        refused(optimizer, error, *words, call=call)


@every_precision
def test_a_module_can_be_converted_before_and_not_after_its_optimizer_is_made(precision):
    model, optimizer = make(precision)
    to = "float64" if precision != "float64" else "float32"
    train(model, optimizer, [0])
    optimizer.zero_grad()
    optimizer.backward(loss_of(model, 1))
    model.to(to)
    refuses(fp.PrecisionError, f"{to} .*module.to.* then create the optimizer", optimizer.step)
    assert {p.dtype for p in model.parameters()} == {np.dtype(to)}
    again = fp.MixedOptimizer(optim.Adam(model.parameters()))
    again.backward(sum((p * p).sum() for p in model.parameters()))
    assert again.step().stepped and {p.dtype for p in model.parameters()} == {np.dtype(to)}


@some_of_both
@every_rule
@every_precision
def test_frozen_parameters_are_left_alone_and_trained_once_they_are_not(precision, rule):
    with fp.precision(precision):
        layers = [nn.Linear(4, 3), nn.Linear(3, 3)]
        model = nn.Sequential(*layers)
    layers[0].requires_grad_(False)
    optimizer = fp.MixedOptimizer(RULES[rule](model.parameters()))
    before = frozen(layers[0].state_dict())
    train(model, optimizer, range(2))
    assert frozen(layers[0].state_dict()) == before
    layers[0].requires_grad_(True)
    train(model, optimizer, range(2))
    assert frozen(layers[0].state_dict()) != before
    steps = [s["step"] for s in optimizer.state_dict()["optimizers"][0]["state"].values()]
    assert steps[:2] < steps[2:] == [max(steps)] * 2


class Interrupts:
    """Sends SIGINT, as Ctrl-C does, when a number of parameters has been written."""

    def __init__(self, monkeypatch, after):
        self.left, written = after, Weights.written

        def counted(weights, first, last):
            written(weights, first, last)
            self.left -= 1
            if self.left == 0:
                signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(Weights, "written", counted)


@pytest.mark.parametrize("after", [1, 2, 3, 4])
@pytest.mark.parametrize("precision", ["mixed", "float32"])
def test_ctrl_c_in_an_update_leaves_all_of_it_done(precision, after, monkeypatch):
    """Two optimizers, of two blocks each under `mixed`; the scale grows in this step."""

    def run(interrupt):
        fp.manual_seed(0)
        with fp.precision(precision):
            models = [nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)) for _ in range(2)]
            groups = [[{"params": part.parameters()} for part in model] for model in models]
            scale = fp.DynamicLossScale(1024.0, growth_interval=1)
            optimizer, x = fp.MixedOptimizer([optim.Adam(g) for g in groups], scale), fp.rand(8, 4)
            optimizer.backward((models[0](x) + models[1](x)).square().sum())
        with monkeypatch.context() as patched:
            count = Interrupts(patched, after if interrupt else 0)
            with pytest.raises(KeyboardInterrupt) if interrupt else nullcontext():
                optimizer.step()
        assert not interrupt or count.left < 0 or after == 4
        return kept(optimizer), optimizer.scale

    assert run(True) == run(False) and run(True)[1] == 2048


def test_ctrl_c_leaves_a_plain_update_whole_and_is_handled_by_whoever_handles_it(monkeypatch):
    ps = [nn.Parameter(np.float32([1.0])) for _ in range(2)]
    optimizer = optim.SGD([{"params": [p]} for p in ps], lr=1.0)
    (ps[0] + ps[1]).sum().backward()
    Interrupts(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        optimizer.step()
    assert [p.item() for p in ps] == [0, 0] and optimizer.steps == 1
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(p.item()))
    try:
        p = nn.Parameter(np.float32([1.0]))
        optimizer = optim.SGD([p], lr=1.0)
        p.sum().backward()
        Interrupts(monkeypatch, 1)
        optimizer.step()
        assert seen == [0]  # after the update, and once
        signal.raise_signal(signal.SIGINT)
        assert len(seen) == 2
    finally:
        signal.signal(signal.SIGINT, before)
    before = signal.signal(signal.SIGTERM, lambda *_: seen.append(1 / 0))  # as a timeout's raises
    try:
        with pytest.raises(ZeroDivisionError), uninterrupted():
            signal.raise_signal(signal.SIGTERM)
            seen.append("done")
        assert seen[-1] == "done" and signal.getsignal(signal.SIGTERM).__name__ == "<lambda>"
    finally:
        signal.signal(signal.SIGTERM, before)
    p = parameter([1.0])
    optimizer = fp.MixedOptimizer(optim.SGD([p], lr=1.0), loss_scale=8.0)
    backward(optimizer, 0.5)
    assert at_once(optimizer.step)[0].stepped and p.item() == 0.5


@every_precision
def test_gradients_serve_one_step_and_the_error_or_the_warning_names_what_to_call(precision):
    model, optimizer = make(precision)
    refused(optimizer, fp.TapeError, "step()", "backward()")
    optimizer.backward(loss_of(model, 0))
    optimizer.zero_grad()
    refused(optimizer, fp.TapeError, "step()", "backward()")
    refused(optimizer, fp.TapeError, "unscale_()", "backward()", call=optimizer.unscale_)
    train(model, optimizer, [0])
    loss = loss_of(model, 1)
    refused(optimizer, fp.TapeError, "already used", "zero_grad()")
    refused(optimizer, fp.TapeError, "already used", "zero_grad()", call=optimizer.unscale_)
    optimizer.zero_grad()
    optimizer.backward(loss)
    assert optimizer.step().stepped
    for k in range(3):  # the first step before used a part of: that is told, once
        optimizer.backward(loss_of(model, k))
        with pytest.warns(fp.MisuseWarning, match="zero_grad") if k == 0 else nullcontext():
            assert optimizer.step().stepped


def sgd(*values, **settings):
    """Parameters under mixed whose optimizer subtracts their gradients; by default S is 1024."""
    ps = [parameter([v]) for v in values]
    return ps, fp.MixedOptimizer(optim.SGD(ps, lr=1.0), **{"loss_scale": 1024.0, **settings})


def test_two_optimizers_with_scales_of_their_own_on_one_graph():
    """A GAN's way: the generator's backward leaves gradients in the discriminator too."""
    (d,), first = sgd(1.0)
    (g,), second = sgd(1.0, loss_scale=64.0)
    backward(first, 0.5)
    first.step()
    with fp.precision("mixed"):
        second.backward((d * g).sum())
    second.step()
    assert (d.item(), g.item()) == (0.5, 0.5)
    first.zero_grad()
    backward(first, 0.25)
    first.step()  # nothing is told: what was left there was dropped
    assert d.item() == 0.25


BYPASS = r"made by loss\.backward\(\), which bypasses .* S = 1024.*optimizer\.backward\(loss\)"
BYPASS += ".*If you multiplied the loss by S yourself"


def plain_backward(*ps):
    with fp.precision("mixed"):
        sum((p * 0.25).sum() for p in ps).backward()


def test_a_plain_backward_is_told_once_and_brought_to_one_scale_with_the_optimizers():
    ps, optimizer = sgd(1.0, 1.0)
    for told in (pytest.warns(fp.MisuseWarning, match=BYPASS), nullcontext()):
        optimizer.zero_grad()
        plain_backward(*ps)
        with told:
            optimizer.step()
    assert [p.item() for p in ps] == [0.5, 0.5]
    (p, q), optimizer = sgd(1.0, 1.0)
    plain_backward(q)
    backward(optimizer, 0.5, None)
    assert (p.grad.seed, q.grad.seed) == (1024, 1)
    with pytest.warns(fp.MisuseWarning, match=BYPASS):
        result = optimizer.step()
    assert (p.item(), q.item()) == (0.5, 0.75) and result.grad_norm == math.hypot(0.5, 0.25)


def test_it_is_told_of_clipped_unscaled_and_added_gradients_and_of_the_dial_too():
    for after, settings, words in (
        (lambda p, o: nn.utils.clip_grad_norm_([p], 1.0), {}, BYPASS),
        *((lambda p, o: o.unscale_(), {}, BYPASS), (lambda p, o: backward(o, 0.25), {}, BYPASS)),
        (lambda p, o: p.grad.mul_(0.5), {}, BYPASS),
        (lambda *_: 0, {"loss_scale": None, "dial": 3}, r"S = 1, with the exponent dial 2\^-3"),
    ):
        (p,), optimizer = sgd(1.0, **settings)
        plain_backward(p)
        after(p, optimizer)
        with pytest.warns(fp.MisuseWarning, match=words):
            optimizer.step()


@pytest.mark.parametrize("scale", [1024.0, None])
def test_gradients_that_the_user_made_or_unscaled_are_right(scale):
    """No warning: the tests let none pass."""
    (p,), optimizer = sgd(1.0, loss_scale=scale)

    def of_loss(seed=1.0):
        with fp.precision("mixed"):
            return fp.grad((p * 0.25).sum(), p, seed=seed)[0]

    def give(gradient, seed=1.0):
        p.grad = gradient
        p.grad.seed = seed

    for make_gradient in (
        lambda: (backward(optimizer, 0.25), optimizer.unscale_()),
        lambda: (backward(optimizer, 0.25), optimizer.unscale_(), p.grad.mul_(0.5)),
        *(lambda: give(of_loss()), lambda: give(of_loss(64.0), 64.0)),
        *(lambda: give(fp.tensor([0.25])), lambda: (p * 0.25).sum().backward(seed=64.0)),
    ):
        optimizer.zero_grad()
        make_gradient()
        assert optimizer.step().stepped


@pytest.mark.parametrize("scale", [None, 1.0])
def test_a_plain_backward_is_right_where_there_is_no_scale_to_bypass(scale):
    (p,), optimizer = sgd(1.0, loss_scale=scale)
    plain_backward(p)
    optimizer.step()
    assert p.item() == 0.75


@some_of_both
@every_precision
@every_rule
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_inf_or_nan_in_one_gradient_changes_no_byte_and_is_reported(precision, value, rule):
    model, optimizer = make(precision, rule)
    train(model, optimizer, range(2))
    optimizer.zero_grad()
    optimizer.backward(loss_of(model, 2))
    poison(optimizer.parameters[4], value)
    before, scale = kept(optimizer), optimizer.scale
    result = optimizer.step()
    assert kept(optimizer) == before
    assert result.skipped and not result.stepped and result.each == (False,)
    assert result.parameters == ("3.weight",) and "3.weight" in result.reason
    assert np.isnan(result.grad_norm)
    assert [p.grad for p in optimizer.parameters] == [None] * 6
    is_dynamic = isinstance(optimizer.loss_scale, fp.DynamicLossScale)
    assert (result.scale_before, result.scale_after) == (scale, scale / (2 if is_dynamic else 1))
    optimizer.backward(loss_of(model, 2))  # a skipped step has cleared the gradients
    assert optimizer.step().stepped and kept(optimizer) != before


def test_a_scale_that_overflows_is_halved_until_it_fits_and_a_static_one_stays():
    model, optimizer = make("mixed", loss_scale=fp.DynamicLossScale(2.0**24))
    before, skipped = kept(optimizer), []
    while True:
        optimizer.backward(loss_of(model, 0))
        result = optimizer.step()
        if result.stepped:
            break
        assert kept(optimizer) == before
        skipped.append(result.scale_before)
    assert skipped == [2.0 ** (24 - k) for k in range(len(skipped))] and len(skipped) > 3
    assert result.scale_before == skipped[-1] / 2 and kept(optimizer) != before
    model, optimizer = make("mixed", loss_scale=2.0**24)
    before, results = kept(optimizer), train(model, optimizer, range(3))
    optimizer.backward(loss_of(model, 0))
    optimizer.unscale_()  # which finds them as step() does
    results.append(optimizer.step())
    assert [(r.stepped, r.scale_after) for r in results] == [(False, 2.0**24)] * 4
    assert kept(optimizer) == before


@pytest.mark.parametrize("precision", ["float32", "mixed", "float16"])
@every_rule
def test_on_purpose_a_step_that_is_not_finite_is_made_all_the_same(precision, rule):
    scale = fp.StaticLossScale(8.0, patience=1)
    model, optimizer = make(precision, rule, loss_scale=scale, skip_nonfinite=False)
    optimizer.backward(loss_of(model, 0))
    poison(optimizer.parameters[0], np.nan)
    result = optimizer.step()
    assert result.stepped and result.parameters == ("0.weight",) and result.reason is None
    weight, other = optimizer.parameters[0].array, optimizer.parameters[4].array
    assert np.isnan(weight).sum() == 1 and np.isfinite(other).all()
    assert [r.stepped for r in train(model, optimizer, range(2))] == [True, True]


SCALES = {
    "dynamic": lambda n: fp.DynamicLossScale(patience=n),
    "static": lambda n: fp.StaticLossScale(128.0, patience=n),
    "none": lambda n: fp.NoLossScale(patience=n),
}


@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
@pytest.mark.parametrize("phase", ["forward", "backward"])
def test_after_so_many_skipped_steps_training_stops_and_says_where_it_broke(scale, phase):
    p = parameter([1.0, 2.0])
    p.name = "head.weight"
    optimizer = fp.MixedOptimizer(optim.Adam([p]), scale(3))
    before = kept(optimizer)
    factor = np.inf if phase == "forward" else 1e30

    def overflow():
        with fp.precision("mixed"):
            optimizer.backward(p.sum() * factor)
        return optimizer.step()

    assert [overflow().skipped for _ in range(2)] == [True, True]
    backward(optimizer, 0.0)  # a good step: it starts counting again
    optimizer.step()
    optimizer.zero_grad()
    assert [overflow().skipped for _ in range(2)] == [True, True]
    with pytest.raises(fp.TrainingError) as caught:
        overflow()
    message = str(caught.value)
    assert message.startswith("3 steps in a row") and "head.weight" in message
    assert [w for w in ("forward", "backward") if f"arose in {w}" in message] == [phase]
    assert p.grad is None and kept(optimizer) != before  # of the good step only
    assert optimizer.state_dict()["optimizers"][0]["steps"] == 1


@pytest.mark.parametrize("diagnosed", [True, False])
@pytest.mark.parametrize("fault", ["forward", "backward", "scale", "between", "given"])
def test_the_error_after_skipped_steps_does_not_contradict_itself(fault, diagnosed):
    """What no loss scale mends is not to be mended by one; and the other way about."""
    p, scale = parameter([1.0, 2.0]), fp.StaticLossScale(2.0**16, patience=1)
    optimizer = fp.MixedOptimizer(optim.SGD([p]), scale, diagnose=diagnosed)
    with fp.precision("mixed"):
        if fault == "given":
            p.grad = fp.tensor([np.inf, 1.0])
        else:
            factor = {"forward": np.inf, "backward": 1e30, "scale": 2.0}.get(fault, 0.1)
            optimizer.backward(p.sum() * factor)
    if fault == "between":
        poison(p)
    with pytest.raises(fp.TrainingError) as caught:
        optimizer.step()
    message = str(caught.value)
    hopeless, lower = "No loss scale can help" in message, "lower the loss scale" in message
    assert not (hopeless and lower) and "normal once in a while" not in message
    known = {"forward": (True, False), "given": (False, False)}
    if diagnosed:
        known |= {"backward": (True, False), "scale": (False, True), "between": (False, False)}
    assert (hopeless, lower) == known.get(fault, (False, True)), message


def test_patience_is_50_steps_and_an_overflow_among_good_micro_batches_is_found():
    p = parameter([1.0])
    optimizer = fp.MixedOptimizer(optim.SGD([p]), loss_scale=None)
    for k in range(50):
        backward(optimizer, np.inf)
        if k < 49:
            assert optimizer.step().skipped
    refuses(fp.TrainingError, "^50 steps", optimizer.step)
    p = parameter([1.0])
    optimizer = fp.MixedOptimizer(optim.SGD([p]), fp.NoLossScale(patience=1))
    backward(optimizer, 1.0)
    backward(optimizer, np.nan)
    backward(optimizer, 1.0)
    refuses(fp.TrainingError, "arose in forward", optimizer.step)


@pytest.mark.parametrize("scale", [None, 1024.0, 1000.0, "dynamic"])
def test_a_step_of_rate_1_clipped_to_c_is_c_long_whatever_the_scale(scale):
    """Clipping and then unscaling would make it S times too short (TEACHING.md, R17)."""
    model, _ = make("mixed")
    optimizer = fp.MixedOptimizer(
        optim.SGD(model.parameters(), lr=1.0), loss_scale=scale, clip_norm=0.01
    )
    before, result = model.state_dict(), train(model, optimizer, [0])[0]
    after, names = model.state_dict(), [name for name, _ in model.named_parameters()]
    moved = [after[n].array.astype(np.float64) - before[n].array for n in names]
    assert result.grad_norm > 0.1
    assert np.sqrt(sum((d**2).sum() for d in moved)) == pytest.approx(0.01, rel=1e-3)


def test_clip_norm_is_unscaling_and_clipping_by_hand_of_all_that_step():
    (model, optimizer), (other, by_hand) = make(clip_norm=0.05), make()
    for k in range(3):
        result = train(model, optimizer, [k])[0]
        by_hand.zero_grad()
        by_hand.backward(loss_of(other, k))
        by_hand.unscale_()
        assert optim.clip_grad_norm_(by_hand.parameters, 0.05) == pytest.approx(result.grad_norm)
        by_hand.step()
    for (name, mine), theirs in zip(model.state_dict().items(), other.state_dict().values()):
        np.testing.assert_allclose(mine.array, theirs.array, rtol=1e-5, atol=1e-7, err_msg=name)
    ps = [parameter([0.0]), parameter([0.0])]
    optimizer = fp.MixedOptimizer([optim.SGD([p], lr=1.0) for p in ps], loss_scale=16, clip_norm=1)
    backward(optimizer, 3.0, 4.0)
    assert optimizer.step().grad_norm == 5.0
    np.testing.assert_allclose([p.exact.item() for p in ps], [-0.6, -0.8], rtol=1e-6)
    optimizer.zero_grad()
    backward(optimizer, np.inf, 4.0)
    optimizer.step()
    np.testing.assert_allclose([p.exact.item() for p in ps], [-0.6, -1.8], rtol=1e-6)
    optimizer.zero_grad()
    backward(optimizer, 3.0, 4.0)
    optimizer.unscale_()
    assert [p.grad.item() for p in ps] == [3, 4] and optimizer.step().each == (True, True)
    np.testing.assert_allclose([p.exact.item() for p in ps], [-1.2, -2.6], rtol=1e-6)


@every_precision
def test_unscale_divides_once_in_float32_however_often_and_the_norm_is_that_of_these(precision):
    model, optimizer = make(precision)
    optimizer.backward(loss_of(model, 0))
    wide = np.promote_types(optimizer.parameters[0].dtype, np.float32)
    expected = [
        p.grad.array.astype(wide) / wide.type(optimizer.scale) for p in optimizer.parameters
    ]
    for _ in range(3):
        optimizer.unscale_()
        assert frozen([p.grad for p in optimizer.parameters]) == frozen(expected)
    norm = np.sqrt(sum((g.astype(np.float64) ** 2).sum() for g in expected))
    assert optimizer.step().grad_norm == pytest.approx(norm, rel=1e-12)


@some_of_both
@every_precision
@every_rule
def test_a_step_after_unscale_is_the_same_step(precision, rule):
    (model, optimizer), (other, unscaling) = make(precision, rule), make(precision, rule)
    for k in range(3):
        result = train(model, optimizer, [k])[0]
        unscaling.zero_grad()
        unscaling.backward(loss_of(other, k))
        unscaling.unscale_()
        assert unscaling.step() == result
    assert kept(unscaling) == kept(optimizer)


def test_unscaling_and_the_dial_keep_what_float16_cannot_hold_and_what_changes_it():
    p = parameter([1.0])
    optimizer = fp.MixedOptimizer(optim.SGD([p], lr=1.0), loss_scale=2.0**16)
    optimizer.backward(p.sum() * 2.0**-30)
    optimizer.unscale_()
    assert (p.grad.dtype, p.grad.item()) == (np.float32, 2.0**-30)
    p.grad.mul_(2.0**29)
    optimizer.step()
    assert p.item() == 0.5
    p = parameter([1.0, 1.0])
    optimizer = fp.MixedOptimizer(optim.SGD([p], lr=1.0), loss_scale=None, dial=20)
    backward(optimizer, fp.tensor([0.5, 2.0**-6], dtype="float16"))
    assert p.grad.array.tolist() == [2.0**-21, 0.0]  # of 2^-26 float16 holds nothing
    optimizer.step()
    assert p.array.tolist() == [0.5, 1.0]


@every_rule
def test_only_the_scale_less_the_dial_counts_bit_for_bit(rule):
    """(k = 10, S = 2^j) trains exactly as (k = 7, S = 2^(j-3)) does."""
    for power in (3, 9, 13):
        ends = []
        for dial, scale in ((10, 2.0**power), (7, 2.0 ** (power - 3))):
            model, optimizer = make("mixed", rule, dial=dial, loss_scale=scale)
            results = train(model, optimizer, range(5))
            ends.append((kept(optimizer), [r.grad_norm for r in results]))
        assert ends[0] == ends[1], power


def test_gradients_of_micro_batches_add_up_to_those_of_the_batch():
    with fp.precision("float32"):
        layer = nn.Linear(16, 5)
    optimizer = fp.MixedOptimizer(optim.SGD(layer.parameters()), loss_scale=256.0)
    x, found = np.random.default_rng(0).normal(size=(64, 16)).astype(np.float32), []
    for parts in (1, 16):
        optimizer.zero_grad()
        for part in np.split(x, parts):
            optimizer.backward(layer(fp.tensor(part)).square().mean() / parts)
        optimizer.unscale_()
        found.append([p.grad.array for p in layer.parameters()])
    y = x @ layer.weight.array.T + layer.bias.array
    for whole, summed, size in zip(*found, [np.abs(2 * y.T) @ np.abs(x), np.abs(2 * y).sum(0)]):
        # c * 2^-24 * sum |a||b|, with the mean's divisor; c for 64 summed terms of 16 products
        assert (np.abs(whole - summed) <= 8 * 2.0**-24 * size / y.size).all()


@pytest.mark.parametrize("precision", ["float32", "mixed"])
def test_an_overflow_in_one_micro_batch_skips_them_all(precision):
    model, optimizer = make(precision)
    before, inf = kept(optimizer), np.inf
    for factors in ((inf, 1, 1, 1), (1, 1, inf, 1), (1, 1, 1, inf), (1, inf, -inf, 1)):
        for k, factor in enumerate(factors):
            optimizer.backward(loss_of(model, k) * factor)
        assert optimizer.step().skipped and kept(optimizer) == before, factors


def pair(skip="each", **settings):
    """Two parameters, each with an optimizer of its own kind, on one scale."""
    ps = [parameter([1.0, 2.0]), parameter([3.0])]
    rules = [optim.SGD(ps[:1], lr=0.5), optim.Adam(ps[1:], lr=0.25, eps=0.0)]
    return ps, fp.MixedOptimizer(rules, skip=skip, **settings)


@hypothesis_settings(max_examples=40)
@given(
    rules=st.lists(st.sampled_from(sorted(RULES)), min_size=2, max_size=3),
    rounds=st.lists(
        st.tuples(*[st.sampled_from(["good", "inf", "nan", "none"])] * 3), min_size=1, max_size=6
    ),
    skip=st.sampled_from(["each", "together"]),
)
def test_each_or_together_holds_for_any_rules_and_any_overflows(rules, rounds, skip):
    """As in a GAN: optimizers depend on each other by the scale and the skip, and only so."""
    ps = [parameter([1.0, 2.0]) for _ in rules]
    scale = fp.DynamicLossScale(2.0**8, growth_interval=2, patience=99)
    optimizer = fp.MixedOptimizer([RULES[r]([p]) for r, p in zip(rules, ps)], scale, skip=skip)
    values, expected = {"good": 0.5, "inf": np.inf, "nan": np.nan, "none": None}, 2.0**8
    good_in_a_row = 0
    for kinds in rounds:
        kinds = kinds[: len(rules)]
        if all(kind == "none" for kind in kinds):
            continue
        before = [frozen(o.state_dict()["state"]) for o in optimizer.optimizers]
        optimizer.zero_grad()
        backward(optimizer, *(values[kind] for kind in kinds))
        result, finite = optimizer.step(), [kind in ("good", "none") for kind in kinds]
        wanted = finite if skip == "each" else [all(finite)] * len(finite)
        after = [frozen(o.state_dict()["state"]) for o in optimizer.optimizers]
        assert result.each == tuple(wanted) and result.stepped == all(wanted)
        bad = [i for i, is_good in enumerate(finite) if not is_good]
        assert result.parameters == tuple(f"parameter {i} (2,)" for i in bad)
        assert all(p.grad is None for p, go in zip(ps, wanted) if not go)
        assert [a != b for a, b in zip(after, before)] == [
            go and kind != "none" for go, kind in zip(wanted, kinds)
        ]
        good_in_a_row = good_in_a_row + 1 if all(finite) else 0
        expected = expected / 2 if not all(finite) else expected * 2 ** (good_in_a_row == 2)
        good_in_a_row %= 2
        assert result.scale_after == optimizer.scale == max(expected, 1.0)
        expected = optimizer.scale


@some_of_both
@every_rule
@every_precision
def test_a_group_added_later_is_trained_as_by_an_optimizer_of_its_own(precision, rule):
    model, optimizer = make(precision, rule, loss_scale=16.0)
    train(model, optimizer, range(2))
    late, alone = (parameter([0.3, -0.7], precision) for _ in range(2))
    optimizer.add_param_group({"params": [late], "lr": 0.5})
    apart = fp.MixedOptimizer(RULES[rule]([alone], lr=0.5), loss_scale=16.0)
    for factor in (0.25, 0.75):
        for o in (optimizer, apart):
            o.zero_grad()
        with fp.precision(precision):
            optimizer.backward((late * factor).sum())
            apart.backward((alone * factor).sum())
        assert optimizer.step().stepped and apart.step().stepped
    assert frozen(late.array) == frozen(alone.array)
    states = [o.state_dict()["optimizers"][0]["state"] for o in (optimizer, apart)]
    assert frozen(states[0][6]) == frozen(states[1][0])
    groups = optimizer.state_dict()["optimizers"][0]["param_groups"]
    assert [group["params"] for group in groups] == [[*range(6)], [6]]


def test_a_group_is_added_to_the_optimizer_that_is_named_or_refused_and_nothing_is_changed():
    ps, optimizer = pair()
    new, other = parameter([1.0]), parameter([1.0], "mixed,loss_scale=128")
    for group, index, error, words in [
        *(({"params": new}, i, fp.ArgumentError, "index") for i in (None, 2, -1, "first")),
        ({"params": ps[1]}, 0, fp.ArgumentError, "two optimizers"),
        ({"params": ps[0]}, 0, fp.ArgumentError, "twice"),
        ({"params": other}, 0, fp.PrecisionError, "loss_scale=128"),
        ({"params": new, "betas": (0.9, 0.9)}, 0, fp.ArgumentError, "betas"),
        ([], 0, fp.ArgumentError, "groups"),
    ]:
        refused(
            optimizer, error, words, call=lambda a=(group, index): optimizer.add_param_group(*a)
        )
    optimizer.add_param_group({"params": new}, 1)
    assert optimizer.optimizers[1].parameters[1] is new


def test_an_impossible_setting_is_refused():
    scales = 0, -8.0, np.inf, np.nan, "dynamical", {"init_scale": 8}
    for setting, error, values in [
        ("loss_scale", fp.PrecisionError, scales),
        *(("clip_norm", fp.ArgumentError, (-1.0, np.nan)), ("skip", fp.ArgumentError, ("none",))),
        ("dial", fp.ArgumentError, (-1, 65, 2.5, "3", None, np.nan)),
    ]:
        for value in values:
            refuses(error, f"{setting}=.*{re.escape(str(value))}", make, **{setting: value})


def test_what_cannot_be_trained_is_refused():
    p, other = parameter([1.0]), parameter([1.0], "mixed,loss_scale=128")
    for what in ([], [p], [optim.SGD([p]), p], p, 5, None):
        refuses(fp.ArgumentError, "Optimizer", fp.MixedOptimizer, what)
    with pytest.raises(fp.ArgumentError, match="two optimizers"):
        fp.MixedOptimizer([optim.SGD([p]), optim.Adam([p])])
    refuses(fp.PrecisionError, "loss_scale=128", fp.MixedOptimizer, optim.SGD([p, other]))


@some_of_both
@every_precision
@every_rule
@pytest.mark.parametrize("first", ["model", "optimizer"])
def test_continuing_from_a_checkpoint_equals_never_having_stopped(precision, rule, first):
    """Bit for bit, after a skipped step, in whichever order the two are loaded, and in the middle
    of accumulation, with the gradients so far, which are the model's, and their scale."""

    def rest(model, optimizer):
        for k in (11, 12):
            optimizer.backward(loss_of(model, k))
        results = [optimizer.step(), *train(model, optimizer, range(3, 6))]
        return frozen(model.state_dict()), snapshot(optimizer), repr(results)

    model, optimizer = make(precision, rule)
    train(model, optimizer, range(3))
    optimizer.zero_grad()
    optimizer.backward(loss_of(model, 9))
    poison(optimizer.parameters[2])
    assert optimizer.step().skipped
    optimizer.backward(loss_of(model, 10))
    saved = copy.deepcopy({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    held = [(p.grad.array.copy(), p.grad.seed) for p in optimizer.parameters]
    expected = rest(model, optimizer)

    fresh = dict(zip(("model", "optimizer"), make(precision, rule)))
    train(*fresh.values(), [7])  # not quite fresh: nothing of this may remain
    before = snapshot(fresh["optimizer"])
    assert fresh["optimizer"].check_state_dict(saved["optimizer"]) is None
    assert snapshot(fresh["optimizer"]) == before
    for name in sorted(fresh, key=lambda name: name != first):
        fresh[name].load_state_dict(saved[name])
    for p, (gradient, seed) in zip(fresh["optimizer"].parameters, held):
        p.grad = fp.Tensor(gradient)
        p.grad.seed = seed
    assert rest(*fresh.values()) == expected


def test_loaded_masters_and_tensors_of_no_precision_are_trained_from():
    model, optimizer = make("mixed")
    train(model, optimizer, range(3))
    other, fresh = make("mixed")
    fresh.load_state_dict(optimizer.state_dict())
    for mine, theirs in zip(other.parameters(), model.parameters()):
        if mine.dtype == np.float16:
            assert frozen(mine.array) == frozen(theirs.array)
    with fp.precision("mixed"):
        layer = nn.Linear(2, 2)
    loose = fp.tensor([1.0, 2.0], requires_grad=True)
    optimizer = fp.MixedOptimizer(optim.SGD([*layer.parameters(), loose], lr=0.1))
    assert str(optimizer.precision) == "mixed" and optimizer.master_weights
    alone = fp.MixedOptimizer(optim.SGD([fp.tensor([1.0], requires_grad=True)], lr=0.1))
    assert str(alone.precision) == "float32"


DAMAGES = {
    **{"no scale": lambda s: s.pop("loss_scale"), "an unknown entry": lambda s: s.update(epoch=3)},
    "an optimizer is missing": lambda s: s["optimizers"].pop(),
    "the scale of another kind": lambda s: s["loss_scale"].update(kind="NoLossScale"),
    "an impossible scale": lambda s: s["loss_scale"].update(value=-1.0),
    "a master is missing": lambda s: s["optimizers"][1]["state"][0].pop("master"),
    "a master of another shape": lambda s: s["optimizers"][1]["state"][0].update(
        master=np.zeros(2)
    ),
    "a scale that is none": lambda s: s.update(loss_scale=None),
    "no list of optimizers": lambda s: s.update(optimizers=None),
    "an optimizer that is none": lambda s: s["optimizers"].__setitem__(1, 5),
    "the optimizers exchanged": lambda s: s["optimizers"].reverse(),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_state_that_does_not_fit_is_refused_and_nothing_is_changed(damage):
    """Neither the scale nor the first optimizer, even if only the second does not fit."""
    _, source = pair(loss_scale=fp.DynamicLossScale(64.0))
    for _ in range(3):
        source.zero_grad()
        backward(source, 0.25, 0.25)
        source.step()
    source.loss_scale.update(False)
    state = copy.deepcopy(source.state_dict())
    damage(state)
    _, optimizer = pair(loss_scale=fp.DynamicLossScale(8.0))
    backward(optimizer, 0.25, 0.25)
    before = gradients(optimizer)
    for take in (optimizer.check_state_dict, optimizer.load_state_dict):
        refused(optimizer, fp.ArgumentError, call=lambda take=take: take(state))
    assert gradients(optimizer) == before and optimizer.step().stepped


def test_a_gradient_that_is_cloned_is_still_scaled_and_one_that_is_zero_is_forgotten():
    for copied in (fp.Tensor.clone, copy.deepcopy, copy.copy, fp.Tensor.detach):
        p = parameter([1.0])
        optimizer = fp.MixedOptimizer(optim.SGD([p], lr=0.25), loss_scale=1024.0)
        optimizer.backward(p.sum())
        p.grad = copied(p.grad)
        assert optimizer.step().stepped and p.item() == 0.75
    p = parameter([1.0])
    optimizer = fp.MixedOptimizer(optim.SGD([p], lr=0.25), loss_scale=1024.0)
    p.sum().backward()
    p.grad.zero_()
    optimizer.backward(p.sum())
    assert optimizer.step().grad_norm == 1


@pytest.mark.parametrize("loss", [None, 0.5, np.ones(1)])
def test_a_loss_that_is_no_tensor_is_refused(loss):
    optimizer = fp.MixedOptimizer(optim.SGD(nn.Linear(1, 1).parameters(), lr=0.1))
    refuses(fp.ArgumentError, f"a {type(loss).__name__}: expected a", optimizer.minimize, loss)
