"""Misuse: each is told once, with its numbers and the way out; right programs hear nothing."""

import re
import sys
import textwrap
import warnings
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses

import minifp as fp
import minifp.nn.functional as F
from minifp import models, nn, optim
from minifp.autograd import tape
from minifp.lab.run import Run, Training
from minifp.numerics import kernels
from minifp.optim.lr_scheduler import LambdaLR
from minifp.runtime import callers
from minifp.scope.misuse.changed_gradients import Change, what_was_done
from minifp.scope.misuse.guard import Guard, MisuseWarning
from minifp.scope.misuse.optimizer_numbers import were_rounded
from minifp.training import mixed

ROOT = Path(__file__).resolve().parents[2]
HERE = "test_misuse.py"
S = 2.0**12


@contextmanager
def guarded(model, optimizer, warn=False):
    guard = Guard(model, optimizer, warn)
    mixed.observers.append(guard)
    try:
        guard.checks_at_start()
        guard.look()
        yield guard
        guard.close()
    finally:
        guard.look_away()
        mixed.observers.remove(guard)
        callers.listeners[:] = [one for one in callers.listeners if one != guard.texts.append]


def mlp(precision="mixed", scale=S, rule=optim.SGD, clip_norm=None, **settings):
    with fp.precision(precision):
        model = models.MLP(16, 32, 4)
        settings = {"lr": 0.1, **settings}
        rule = rule(model.parameters(), **settings)
        optimizer = fp.MixedOptimizer(rule, loss_scale=scale, clip_norm=clip_norm)
    return model, optimizer


def batch(n=24, seed=0):
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, 16)).astype(np.float32)
    return fp.tensor(x), fp.tensor(random.integers(0, 4, n))


def told_of(between, model=None, optimizer=None, steps=1, after=None):
    """What is told of `steps` steps, each with `between(model, optimizer)` after backward."""
    if model is None:
        model, optimizer = mlp()
    with guarded(model, optimizer) as guard:
        for i in range(steps):
            x, t = batch(seed=i)
            optimizer.zero_grad()
            optimizer.backward(F.cross_entropy(model(x), t))
            between(model, optimizer)
            optimizer.step()
            if after is not None:
                after(model, optimizer)
    return guard.texts


def told_alone(found, *words):
    """The only text, in which all these words are."""
    assert len(found) == 1, found
    for word in words:
        assert word in found[0], (word, found[0])
    return found[0]


def unscaled(fault):
    def right(model, optimizer):
        optimizer.unscale_()
        fault(model, optimizer)

    return right


def clip_by_numpy(model, optimizer):
    arrays = [p.grad.array for p in model.parameters() if p.grad is not None]
    norm = np.sqrt(sum(float(np.sum(a.astype(np.float64) ** 2)) for a in arrays))
    for a in arrays:
        a *= np.float32(min(1, 1 / norm))


def clip_by_operations(model, optimizer):
    norm = sum((p.grad.norm() ** 2).item() for p in model.parameters()) ** 0.5
    for p in model.parameters():
        p.grad.mul_(min(1.0, 1 / norm))


def each(new):
    def change(model, optimizer):
        for p in model.parameters():
            p.grad.data = new(p.grad.array.astype(np.float32), p)

    return change


def in_array(change):
    return lambda model, optimizer: [change(p.grad.array) for p in model.parameters()]


cut = in_array(lambda a: a.clip(-0.5, 0.5, out=a))
NOISE = np.random.default_rng(0).normal(size=(32, 16))
FAULTS = {
    "clip by NumPy": (clip_by_numpy, ["as clipping by a norm does", "by 4096", "clip_norm=1"]),
    "by operations": (
        clip_by_operations, ["as clipping by a norm does", HERE, "p.grad.mul_", "clip_norm=1"],
    ),
    "clip each": (
        each(lambda a, _: a * min(1, 0.5 / np.linalg.norm(a))),
        ["as clipping by a norm does", "to 0."],
    ),
    "cut": (cut, ["cut at 0.5", "limit of 0.00012", "clip_grad_value_"]),
    "decay": (
        each(lambda a, p: a + 0.5 * p.array.astype(np.float32)),
        ["0.5 times the weights", "4096 times weaker", "weight_decay=0.5"],
    ),
    "noise": (
        each(lambda a, p: a + NOISE.reshape(-1)[: a.size].reshape(a.shape)),
        ["changed (", "multiplied by 4096"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault, words", FAULTS.values(), ids=FAULTS)
def test_a_change_of_scaled_gradients_is_told_with_its_kind_and_the_way_out(fault, words):
    assert "unscale_()" in told_alone(told_of(fault), *words)
    assert told_of(unscaled(fault)) == [] == told_of(fault, *mlp("float32", None))


def test_the_norm_that_is_told_is_the_true_one():
    model, optimizer = mlp(clip_norm=1.0)
    x, t = batch()
    truth = [0.0]

    def fault(model, optimizer):
        truth[0] = float(np.sqrt(sum(np.sum((p.grad.array / S) ** 2, dtype=float)
                                     for p in model.parameters())))  # fmt: skip
        clip_by_numpy(model, optimizer)

    text = told_alone(told_of(fault, model, optimizer))
    told = float(re.search(r"true norm is ([\d.e+-]+)\.", text)[1])
    # The factor that was found is that of float16 numbers, rounded by up to 2^-11, and more where
    # they became subnormal; the text has three digits
    assert told == pytest.approx(truth[0], rel=0.01)


def divide_by_operations(model, optimizer):
    for p in model.parameters():
        p.grad /= 3


def divide_what_is_read(model, optimizer):
    first = model.parameters()[0]
    first.grad.norm().item() / first.grad.seed
    first.grad.norm().item() / optimizer.scale


def clip_as_minifp_does(model, optimizer):
    optimizer.unscale_()
    nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    nn.utils.clip_grad_value_(model.parameters(), 0.1)


RIGHT = {
    "divided": in_array(lambda a: np.divide(a, 3, out=a)), "by operations": divide_by_operations,
    "masked": lambda model, _: model.parameters()[0].grad.array[:, ::2].fill(0),
    "dropped": lambda model, _: model.parameters()[0].grad.zero_(),
    "all finite": lambda model, _: [fp.isfinite(p.grad).all() for p in model.parameters()],
    "zeros": lambda model, _: [(p.grad == 0).sum().numpy() for p in model.parameters()],
    "read and divided": divide_what_is_read, "clipped after unscale_": clip_as_minifp_does,
}  # fmt: skip


@pytest.mark.parametrize("right", RIGHT.values(), ids=RIGHT)
def test_what_commutes_with_the_loss_scale_is_right(right):
    assert told_of(right) == []


def test_clipping_by_the_optimizer_is_right():
    assert told_of(lambda *_: None, *mlp(clip_norm=0.1), steps=3) == []


def test_new_tensors_made_of_scaled_gradients_are_refused_and_ones_divided_by_the_scale_are_not():
    def forget(model, optimizer):
        for p in model.parameters():
            p.grad = p.grad * 0.5

    def divide(model, optimizer):
        inverse = 1 / S
        for p in model.parameters():
            p.grad = p.grad.float() * inverse

    refuses(fp.TapeError, "still multiplied by the loss scale.*unscale_", told_of, forget)
    assert told_of(divide) == []


def step_over_micro_batches(model, optimizer, between=None):
    optimizer.zero_grad()
    for i in range(3):
        x, t = batch(seed=i)
        if i == 2 and between is not None:
            between(model, optimizer)
        optimizer.backward(F.cross_entropy(model(x), t))
    optimizer.step()


@pytest.mark.parametrize("fault", [None, clip_by_numpy, cut], ids=["none", "clip", "cut"])
def test_gradients_that_add_up_are_compared_with_their_sum(fault):
    model, optimizer = mlp()
    with guarded(model, optimizer) as guard:
        step_over_micro_batches(model, optimizer, fault)
    assert len(guard.texts) == (fault is not None), guard.texts


def test_a_tensor_read_twice_a_hook_and_gradients_asked_for_beside_are_right():
    model, optimizer = mlp()
    first = model.parameters()[0]
    first.register_hook(lambda g: g * 0.3)
    with guarded(model, optimizer) as guard:
        for retain in (True, False):
            x, t = batch()
            loss = F.cross_entropy(model(x) + model(x), t) + (first * first).sum()
            fp.grad(loss, [first], retain_graph=True)
            optimizer.backward(loss, retain_graph=retain)
            if retain:
                fp.grad(loss, [first], retain_graph=True)
                optimizer.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
    assert guard.texts == []


READS = {
    "by an operation": lambda model, _: fp.norm(model.parameters()[0].grad),
    "by NumPy": lambda model, _: np.abs(model.parameters()[0].grad.detach().numpy()).max(),
    "by a function": lambda model, _: np.asarray(model.parameters()[0].grad, np.float64),
    "as one number": lambda model, _: model.parameters()[1].grad[0].item(),
    "printed": lambda model, _: str(model.parameters()[1].grad),
}


@pytest.mark.parametrize("fault", READS.values(), ids=READS)
def test_reading_a_scaled_gradient_is_told_with_the_true_norm_and_the_line(fault):
    model, optimizer = mlp()
    text = told_alone(told_of(fault, model, optimizer, steps=3), "4096", HERE, "unscale_()")
    numbers = re.search(r"norm reads (\S+), but the true norm is (\S+)\.", text).groups()
    read, true = map(float, numbers)
    assert read / true == pytest.approx(S, rel=0.01)  # both have three digits
    assert told_of(unscaled(fault), steps=3) == []
    assert told_of(fault, *mlp("float32", None), steps=3) == []


def test_reading_after_the_step_that_used_them_is_told_too():
    read_norm = READS["by an operation"]
    found = told_of(lambda *_: None, *mlp(), 2, after=read_norm)
    assert "norm" in told_alone(found, "4096", "before optimizer.step()")
    assert told_of(lambda m, o: o.unscale_(), *mlp(), 2, after=read_norm) == []


@pytest.mark.parametrize("looked_at", [0, 1])
def test_the_steps_of_two_optimizers_in_turn_are_right(looked_at):
    pairs = [mlp(), mlp(rule=optim.LAMB)]  # whose kernels are given each gradient by itself
    with guarded(*pairs[looked_at]) as guard:
        for i in range(2):
            for _, optimizer in pairs:
                x, t = batch(seed=i)
                optimizer.zero_grad()
                losses = [F.cross_entropy(model(x), t) for model, _ in pairs]
                optimizer.backward(losses[0] + losses[1])
                optimizer.step()
                for _, other in pairs:
                    other.zero_grad()
    assert guard.texts == []


def test_the_gradient_of_an_input_is_scaled_too():
    model, optimizer = mlp()
    x, t = batch()
    x.requires_grad_()
    with guarded(model, optimizer) as guard:
        optimizer.backward(F.cross_entropy(model(x), t))
        x.grad.numpy()
        optimizer.step()
    told_alone(guard.texts, "(24, 16)", ".seed")


def told_by(compute, precision="mixed"):
    model, optimizer = mlp(precision)
    with guarded(model, optimizer) as guard, fp.precision(precision):
        for _ in range(2):
            compute(fp.tensor([[0.0, 1.0, 2.0, -1.0]], requires_grad=True))
    return guard.texts


FALSE_TRUE = np.array([[False, True, False, True]])
LOST = {
    "1e-08 is 0 there": [
        *(lambda x: 1 / (x + 1e-8), lambda x: 1 / (x.abs() - -1e-8)),
        *(lambda x: fp.maximum(x, 1e-8).log(), lambda x: x.clamp(min=1e-8).log()),
        lambda x: fp.where(FALSE_TRUE, x, 1e-8),
    ],
    "is beyond the largest": [
        *(lambda x: F.softmax(x + -1e30, dim=1), lambda x: x * -1e9, lambda x: fp.maximum(x, 1e9))
    ],
}
LOST_CASES = [(words, compute) for words, them in LOST.items() for compute in them]


@pytest.mark.parametrize(("words", "compute"), LOST_CASES)
def test_a_constant_that_float16_cannot_hold_is_told_once_with_its_line(words, compute):
    told_alone(told_by(compute), words, HERE, "float16")
    assert told_by(compute, "float32") == []


def test_other_formats_are_told_by_their_names_and_by_what_they_lack():
    found = told_by(lambda x: x * -1e9, "bfloat16,storage=float8_e4m3fn")
    told_alone(found, "float8_e4m3fn", "largest number there, 448", "3 of 4 results are NaN")
    with pytest.raises(fp.ArgumentError, match="use -448, as it has no Inf"):
        fp.ones(2, dtype="float8_e4m3fn").masked_fill(np.array([True, False]), -1e9)
    assert told_by(lambda x: x.masked_fill(FALSE_TRUE, -1e9) + 1e-30, "bfloat16") == []
    for format, told in (("float8_e5m2", 1), ("bfloat16", 0)):  # whose range is float32's
        found = told_at_the_start(*mlp(f"bfloat16,optimizer_state={format}", rule=optim.Adam))
        assert len(found) == told and all(f"in {format}: it is 0" in text for text in found)


@pytest.mark.parametrize("compute", [
    lambda x: x * 1e-9, lambda x: x + 1e-6, lambda x: x + 0.0, lambda x: x.clamp(min=-1e9, max=1e9),
    lambda x: fp.maximum(x, -1e9),
    lambda x: F.softmax(x.masked_fill(FALSE_TRUE, float("-inf")), dim=1),
    lambda x: fp.where(FALSE_TRUE, float("-inf"), x) + -6e4,
    lambda x: F.layer_norm(x, (4,), eps=1e-8), lambda x: x.sum(dtype="float32") * 1e9 + 1e-8,
    lambda x: x.float() + 1e-8,
])  # fmt: skip
def test_constants_that_mean_what_they_say_are_right(compute):
    assert told_by(compute) == []


def told_at_the_start(model, optimizer):
    with guarded(model, optimizer) as guard:
        pass
    return guard.texts


@pytest.mark.parametrize("rule", [optim.Adam, optim.RMSprop, optim.Adagrad, optim.Adadelta])
def test_second_moments_in_float16_are_told_at_the_start(rule):
    found = told_at_the_start(*mlp("mixed,optimizer_state=float16", rule=rule))
    text = told_alone(found, rule.__name__, "optimizer_state=float32", "eps=")
    assert (rule is not optim.Adam) or "2^-7.5" in text
    assert told_at_the_start(*mlp(rule=rule)) == []
    assert told_at_the_start(*mlp("mixed,optimizer_state=float16", momentum=0.9)) == []


@pytest.mark.parametrize("state, told", [
    ("float16", "2^-7.5"),
    ("float8_e5m2", "2^-3.5"),  # sqrt(2^-17 / 0.001)
    ("bfloat16", None), ("float16,optimizer_state_scale=tensor", None),
    ("float8_e5m2,optimizer_state_scale=tensor", None),
    ("float8_e4m3fn,optimizer_state_scale=block:32", "2^-9.4"),  # sqrt(2^-10 / 448)
    ("float8_e4m3fn,second_moment=float16,optimizer_state_scale=tensor", None),
])  # fmt: skip
def test_second_moments_are_told_where_their_format_loses_them(state, told):
    found = told_at_the_start(*mlp(f"mixed,optimizer_state={state}", rule=optim.Adam))
    if told is None:
        assert found == []
    else:
        told_alone(found, "Adam keeps exp_avg_sq", told)


def rounded_state(model):
    return {name: t.to("float16") for name, t in model.state_dict().items()}


def test_masters_made_of_a_float16_checkpoint_are_told_at_the_start():
    model, optimizer = mlp()
    model.load_state_dict(rounded_state(model))
    way_out = "fp.load(path, model, optimizer)"
    told_alone(told_of(lambda *_: None, model, optimizer), "masters", way_out)
    model, _ = mlp()
    model.load_state_dict(rounded_state(model))
    optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1))
    told_alone(told_of(lambda *_: None, model, optimizer), "float16")


def test_masters_that_are_rounded_in_the_middle_are_told():
    model, optimizer = mlp()

    def round_them(model, optimizer):
        if optimizer.optimizer.steps == 1:
            for p in model.parameters():
                p.data = p.array.copy()

    told_alone(told_of(round_them, model, optimizer, steps=3), "masters")


def test_masters_of_a_checkpoint_of_minifp_are_right(tmp_path):
    model, optimizer = mlp()
    told_of(lambda *_: None, model, optimizer, steps=2)
    fp.save(tmp_path / "both.safetensors", model, optimizer)
    fp.save(tmp_path / "weights.safetensors", model)
    for name, parts in (("both", 2), ("weights", 1)):
        new = mlp()
        fp.load(tmp_path / f"{name}.safetensors", *new[:parts])
        assert told_of(lambda *_: None, *new) == []


ROUND = {
    "zeros": np.zeros(4096), "ones": np.ones(4096),
    "powers of two": np.ldexp(1.0, np.arange(4096) % 24 - 14), "integers": np.arange(4096) % 2048,
    "eighths": (np.arange(4096) % 2048 - 1024) / 8,
    "steps of 1/1024": np.random.default_rng(0).integers(-1024, 1024, 4096) / 1024,
    "a few numbers": np.random.default_rng(0).normal(size=40).astype(np.float16).repeat(100),
    "float32": np.random.default_rng(0).normal(size=4096),
    "uniform": np.random.default_rng(0).uniform(-0.1, 0.1, 4096),
}  # fmt: skip


def test_round_numbers_and_numbers_of_float32_are_not_taken_for_rounded_ones():
    half, draw = np.dtype("float16"), np.random.default_rng(0)
    assert [name for name, x in ROUND.items() if were_rounded(x.astype(np.float32), half)] == []
    for size in (128, 4096, 100_000):
        for x in (draw.normal(size=size), draw.uniform(size=size)):
            assert were_rounded((0.05 * x).astype(np.float16).astype(np.float32), half)


def test_a_schedule_stepped_after_a_skipped_step_does_not_advance_so_nothing_is_told():
    model, optimizer = mlp(scale=fp.DynamicLossScale(2.0**20))
    schedule = LambdaLR(optimizer, lambda n: 1 / (1 + n))
    counts, skipped = [], []
    with guarded(model, optimizer) as guard:
        for i in range(6):
            x, t = batch(seed=i)
            optimizer.zero_grad()
            optimizer.backward(F.cross_entropy(model(x), t) * (1e4 if i < 2 else 1.0))
            skipped.append(optimizer.step().skipped)
            schedule.step()
            counts.append(schedule.count)
    assert sum(skipped) >= 2 and counts == list(np.cumsum(np.logical_not(skipped)))
    assert guard.texts == []


def test_parameters_that_no_optimizer_has_are_told_at_the_start():
    with fp.precision("mixed"):
        model = models.MLP(16, 32, 4)
        optimizer = fp.MixedOptimizer(optim.SGD(model.parameters()[:2], lr=0.1))
    name = model.parameters()[2].name
    told_alone(told_at_the_start(model, optimizer), name, "no optimizer has", "20%")
    for p in model.parameters()[2:]:
        p.requires_grad_(False)
    assert told_at_the_start(model, optimizer) == []
    model, _ = mlp("float32")
    halves = model.parameters()[:2], model.parameters()[2:]
    both = [fp.MixedOptimizer(optim.SGD(half, lr=0.1)) for half in halves]
    assert told_at_the_start(model, both[0]) == []


def test_a_layer_that_was_replaced_after_the_optimizer_was_made_is_told_twice():
    model, optimizer = mlp()
    names = [name for name, child in model.named_modules() if isinstance(child, nn.Linear)]
    parent, _, last = names[-1].rpartition(".")
    owner = dict(model.named_modules())[parent]
    with fp.precision("mixed"):
        setattr(owner, last, nn.Linear(32, 4))
    missing, strange = told_at_the_start(model, optimizer)
    assert "no optimizer has" in missing and "are not the model's" in strange


class TwoHeads(nn.Module):
    """Of whose heads forward calls one, or both in turn."""

    def __init__(self):
        self.used, self.other, self.in_turn = nn.Linear(16, 4), nn.Linear(16, 4), False

    def forward(self, x):
        return (self.other if self.in_turn and len(x) % 2 else self.used)(x)


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_a_parameter_without_a_gradient_is_told_after_the_first_steps(steps):
    model = TwoHeads()
    optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1))
    found = told_of(lambda *_: None, model, optimizer, steps)
    told_alone(found, "other.weight", "no gradient in")
    for p in model.other.parameters():
        p.requires_grad_(False)
    assert told_of(lambda *_: None, model, optimizer, steps) == []
    model = TwoHeads()
    model.in_turn = True  # which is right
    optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1))
    with guarded(model, optimizer) as guard:
        for i in range(3):
            optimizer.minimize(F.cross_entropy(model(batch(24 + i)[0]), batch(24 + i)[1]))
    assert guard.texts == []


def test_a_warning_is_given_once_and_names_the_line_of_the_program():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model, optimizer = mlp()
        with guarded(model, optimizer, warn=True) as guard:
            for i in range(3):
                x, t = batch(seed=i)
                optimizer.zero_grad()
                optimizer.backward(F.cross_entropy(model(x), t))
                cut(model, optimizer)
                optimizer.step()
    (warning,) = caught
    assert issubclass(warning.category, MisuseWarning) and warning.filename == __file__
    assert [str(warning.message)] == guard.texts


def test_a_guard_leaves_no_observer_and_sees_nothing_of_steps_between():
    model, optimizer = mlp()
    with guarded(model, optimizer) as guard:
        assert guard in tape.observers and guard in kernels.observers
        guard.look_away()
        assert not tape.observers and not kernels.observers
        step_over_micro_batches(model, optimizer, clip_by_numpy)
    assert guard.texts == [] and not tape.observers and not kernels.observers


@pytest.mark.parametrize("precision", "float32 mixed autocast float16 mixed,loss_scale=off".split())
@pytest.mark.parametrize("name", ["mlp", "lenet", "charlstm"])
def test_nothing_is_told_of_the_tasks_in_any_precision(name, precision):
    task = fp.load_task(name)
    steps = 1 if "16" in precision and name != "mlp" else 3
    with fp.precision(precision):
        training = Training(task, Run(precision, 0), small_data(task))
        with guarded(training.model, training.optimizer) as guard:
            for batch in islice(training.batches(), steps):
                training.step(batch)
            training.read()
            training.evaluate()
    assert guard.texts == []


DATA = {}


def small_data(task):
    if task.name not in DATA:
        train, test = task.data()
        DATA[task.name] = train, fp.data.TensorDataset(*test[np.arange(8)])
    return DATA[task.name]


@pytest.mark.parametrize(
    "script, given", [("train_cnn", "--epochs=1"), ("train_lstm", "--steps=2")]
)
def test_nothing_is_told_of_the_scripts(script, given, monkeypatch, capsys):
    path = ROOT / "scripts" / f"{script}.py"
    text = path.read_text(encoding="utf-8")
    head, loop = text.split("    for ", 1)
    # The loop, as it is, in a `with` block
    body = textwrap.indent("    for " + loop, "    ")
    text = f"{head}    with looked_at(model, optimizer):\n{body}"
    found = []

    @contextmanager
    def looked_at(model, optimizer):
        with guarded(model, optimizer) as guard:
            yield
        found.append(guard.texts)

    monkeypatch.setattr(sys, "argv", [str(path), "--precision=mixed", given])
    names = {"__name__": "__main__", "__doc__": "", "looked_at": looked_at}
    exec(compile(text, str(path), "exec"), names)
    assert found == [[]] and "loss scale" in capsys.readouterr().out


@pytest.mark.parametrize(("factor", "norm", "kind"), [
    (-1.0, 10.0, None),  # turned round
    (3.7, 37.123, None),  # larger
    (1 / 7, 10.123 / 7, None),  # a mean over micro-batches
    (0.3, 3.0369, None),  # a round number
    (0.3, 1.0, "norm"),  # a round norm
    (0.27182, 3.1234, "norm"),
])  # fmt: skip
def test_a_factor_is_clipping_below_1_if_it_is_not_round_or_leaves_a_round_norm(factor, norm, kind):
    old, w = np.random.default_rng(0).normal(size=(2, 1000))
    change = Change("w", old, factor * old, w, np.dtype("float32"), S, S, norm)
    assert getattr(what_was_done([change], norm), "kind", None) == kind
