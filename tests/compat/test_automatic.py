"""TensorFlow's one variable: scripts that know nothing of mixed precision train in it."""

import math
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses

import minifp as fp
from minifp.compat.amp import automatic
from minifp.nn import functional as F
from minifp.numerics import policy

SCRIPTS = Path(__file__).parent / "unchanged"


@pytest.fixture
def process(monkeypatch):
    """A process that was started with the variable, S = 1024."""
    monkeypatch.setitem(vars(policy.DEFAULT), "value", policy.NAMED["float32"])
    yield automatic.start("autocast", fp.DynamicLossScale(1024.0))
    automatic.stop()


def test_gradients_arrive_without_the_scale_and_in_float32(process, capsys):
    w, seen = fp.tensor([1.0, 2.0], requires_grad=True), []
    w.register_hook(lambda g: seen.append((g.seed, g.numpy().tolist())))
    h = w * w
    h.register_hook(lambda g: seen.append((g.seed, g.array.tolist())))
    h.retain_grad()
    h.sum().backward()
    assert seen == [(1024.0, [1024.0, 1024.0]), (1.0, [2.0, 4.0])]
    assert (w.grad.seed, w.grad.numpy().tolist()) == (1.0, [2.0, 4.0])
    assert h.grad.numpy().tolist() == [1.0, 1.0]
    assert fp.grad((w * w).sum(), w)[0].numpy().tolist() == [2.0, 4.0]
    (w * 3).sum().backward(seed=2.0)  # a seed of its own
    assert w.grad.seed == 2.0
    told = capsys.readouterr().err
    assert 'automatic mixed precision "autocast", loss scale 1024' in told and "mul" in told


def test_a_step_with_inf_changes_nothing_and_halves_the_scale_once(process, capsys):
    a, b = fp.ones(2, requires_grad=True), fp.ones(2, requires_grad=True)
    first, second = fp.optim.SGD([a], lr=0.5), fp.optim.SGD([b], lr=0.5)
    ((a * math.inf).sum() + b.sum()).backward()
    assert np.isinf(a.grad.numpy()).all()
    assert first.step() is None and first.last_result.skipped and a.grad is None
    second.step()
    assert second.last_result.stepped and b.numpy().tolist() == [0.5, 0.5]
    assert process.loss_scale.value == 1024
    second.zero_grad()
    b.sum().backward()  # S is adapted here, once for both
    assert process.loss_scale.value == 512 and a.numpy().tolist() == [1, 1]
    b.sum().backward()  # no step between: it adds up, and there is no change
    assert b.grad.numpy().tolist() == [2, 2]
    assert (process.loss_scale.value, process.loss_scale.good_steps) == (512, 0)
    second.step()
    second.zero_grad()
    b.sum().backward()
    assert process.loss_scale.good_steps == 1
    process.tell_end()
    assert (
        "1 of 3 steps skipped for Inf or NaN, loss scale at the end 512" in capsys.readouterr().err
    )


def test_a_scaler_or_a_mixed_optimizer_switches_it_off(process):
    w = fp.ones(2, requires_grad=True)
    with pytest.warns(fp.MisuseWarning, match="creates a GradScaler, which scales losses itself"):
        fp.GradScaler("cpu")
    w.sum().backward()
    assert w.grad.seed == 1 and fp.optim.SGD([w], lr=0.1).guard is None


def test_narrow_weights_get_masters_and_a_precision_without_them_is_refused(process):
    model = fp.nn.Linear(4, 2).half()
    optimizer = fp.amp.enable_mixed_precision(fp.optim.SGD(model.parameters(), lr=1e-5))
    before = model.weight.exact.copy()
    for _ in range(3):
        optimizer.zero_grad()
        model(fp.ones(1, 4)).float().sum().backward()
        optimizer.step()
    assert optimizer.has_masters
    np.testing.assert_allclose(before - model.weight.exact, 3e-5, rtol=2e-2)
    with fp.precision("mixed,master_weights=off,update_rounding=stochastic"):
        model = fp.nn.Linear(4, 2)
    optimizer = fp.amp.enable_mixed_precision(fp.optim.SGD(model.parameters(), lr=1e-5))
    model.weight.sum().backward()
    refuses(fp.PrecisionError, "update_rounding=stochastic, which has no effect", optimizer.step)


def test_nan_that_nobody_looked_for_is_told_of_and_a_wrong_value_refused(process, monkeypatch):
    w = fp.ones(2, requires_grad=True)
    (w * math.inf).sum().backward()
    with fp.no_grad():
        w -= w.grad
    with pytest.warns(fp.MisuseWarning, match="no optimizer has checked gradients"):
        w.sum().backward()
    monkeypatch.setenv(automatic.VARIABLE, "yes")
    refuses(fp.PrecisionError, "expected 1 .float32 weights", automatic.start_from_environment)
    monkeypatch.setenv(automatic.VARIABLE, "1")
    monkeypatch.setenv("MINIFP_PRECISION", "mixed")
    refuses(fp.PrecisionError, "expected one of them", automatic.start_from_environment)


def test_a_checkpoint_continues_the_scale_bit_for_bit(process, tmp_path):
    """Saved after a step that overflowed, before the backward that halves S."""

    def made():
        fp.manual_seed(0)
        model = fp.nn.Linear(3, 2)
        return model, fp.optim.Adam(model.parameters(), lr=0.1)

    def step(model, optimizer, factor=1.0):
        optimizer.zero_grad()
        (model(fp.ones(4, 3)) * factor).sum().backward()
        optimizer.step()

    model, optimizer = made()
    step(model, optimizer)
    step(model, optimizer, math.inf)
    path = fp.save(tmp_path / "a.safetensors", model, optimizer)
    expected = process.state_dict()
    step(model, optimizer)
    assert process.loss_scale.value == 512.0
    process.load_state_dict(automatic.Automatic("autocast", fp.DynamicLossScale()).state_dict())
    again, its_optimizer = made()
    fp.load(path, again, its_optimizer)
    assert process.state_dict() == expected
    step(again, its_optimizer)
    assert process.loss_scale.value == 512.0
    np.testing.assert_array_equal(again.weight.numpy(), model.weight.numpy())

    automatic.stop()
    with pytest.warns(fp.MisuseWarning, match="not active in this process"):
        fp.load(path, again, its_optimizer)
    automatic.start("autocast", 8.0)  # another kind
    refuses(fp.CheckpointError, "StaticLossScale", fp.load, path, again, its_optimizer)


def score(script, **variables):
    kept = {name: v for name, v in os.environ.items() if not name.startswith("MINIFP_PREC")}
    command = [sys.executable, str(SCRIPTS / f"{script}.py")]
    done = subprocess.run(command, env={**kept, **variables}, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert ("automatic mixed precision" in done.stderr) == (automatic.VARIABLE in variables)
    return float(re.fullmatch(r"score=([-\d.]+)\n", done.stdout)[1])


def test_a_script_that_changes_weights_by_hand_ends_where_it_does_in_float32():
    """Its gradients are so small that float16 without a loss scale fails."""
    single = score("sgd_by_hand")
    assert abs(score("sgd_by_hand", **{automatic.VARIABLE: "1"}) - single) < 0.04
    assert score("sgd_by_hand", MINIFP_PRECISION="autocast") < single - 0.3


@pytest.mark.parametrize("variable", automatic.MODES)
def test_a_variable_counts_that_a_script_sets_before_it_trains(variable, monkeypatch):
    monkeypatch.setitem(vars(policy.DEFAULT), "value", policy.NAMED["float32"])
    w = fp.nn.Linear(3, 2).weight
    for value, precision in (("1", "autocast"), ("0", "float32")):
        monkeypatch.setenv(variable, value)
        w.sum().backward() if value == "1" else fp.nn.Linear(3, 2)
        assert str(fp.get_precision()) == precision


def test_grad_never_overflows_by_the_scale(process):
    w, x = fp.ones(1, 2, requires_grad=True), fp.full((3, 2), 0.5, requires_grad=True)
    h = F.linear(x, w)
    h.retain_grad()
    dx, dw = fp.grad((h.float() * 10000).sum(), [x, w])
    assert set(dx.numpy().ravel()) == set(h.grad.numpy().ravel()) == {np.float16(10000)}
    assert set(dw.numpy().ravel()) == {np.float16(15000)}
    (F.linear(x, w).float() * 4e5).sum().backward()  # no optimizer has stepped: it is done again
    np.testing.assert_allclose(w.grad.numpy(), 6e5, rtol=1e-3)
