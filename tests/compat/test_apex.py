"""Apex's amp: what the levels make of a model and its optimizer."""

import math

import numpy as np
import pytest
from refusals import refuses

import minifp as fp
from minifp import nn
from minifp.nn import functional as F

amp = fp.amp
STORED = {"O0": ("float32",) * 2, "O1": ("float32",) * 2, "O2": ("float16", "float32")}
STORED["O3"] = ("float16",) * 2  # of a product's weights, of batch norm's
STORED |= {"O4": ("float32",) * 2, "O5": ("bfloat16", "float32")}
OUTPUTS = {"O1": "float16", "O4": "bfloat16"}


@pytest.fixture
def batch():
    fp.manual_seed(0)
    return fp.randn(64, 10), fp.randint(0, 3, (64,))


def initialized(**settings):
    fp.manual_seed(1)
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.BatchNorm1d(32), nn.Linear(32, 3))
    return amp.initialize(model, fp.optim.Adam(model.parameters(), lr=1e-2), **settings)


@pytest.mark.parametrize("level", STORED)
def test_a_level_trains_to_the_loss_of_float32(level, batch, capsys):
    model, optimizer = initialized(opt_level=level)
    assert f"Selected optimization level {level}" in capsys.readouterr().out
    x, y = batch
    for _ in range(40):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        with amp.scale_loss(loss, optimizer) as scaled:
            scaled.backward()
        nn.utils.clip_grad_norm_(amp.master_params(optimizer), 5.0)
        optimizer.step()
    assert loss.item() < 0.15
    assert (model[0].weight.dtype.name, model[2].weight.dtype.name) == STORED[level]
    assert str(model.precision) == str(fp.Precision.parse(level))
    assert optimizer.has_masters == (level in ("O2", "O5"))
    scale = amp.state_dict()["loss_scaler0"]
    assert scale["loss_scale"] == (65536 if level in ("O1", "O2") else 1)
    assert model(x).dtype == OUTPUTS.get(level, "float32")


def test_an_overflow_skips_the_next_step_and_halves_the_scale(batch, capsys):
    model, optimizer = initialized(opt_level="O2")
    x, y = batch
    before = model.state_dict()
    with amp.scale_loss(F.cross_entropy(model(x), y) * math.inf, optimizer) as scaled:
        scaled.backward()
    optimizer.step()
    after = model.state_dict()
    assert all(np.array_equal(before[n].numpy(), after[n].numpy()) for n in before if "weight" in n)
    assert "reducing loss scale to 32768" in capsys.readouterr().out
    assert amp.state_dict() == {"loss_scaler0": {"loss_scale": 32768.0, "unskipped": 0}}
    assert optimizer.steps == 0


def test_losses_accumulate_and_have_scales_of_their_own(batch):
    model, optimizer = initialized(opt_level="O1", num_losses=2, verbosity=0)
    x, y = batch
    with amp.scale_loss(F.cross_entropy(model(x), y), optimizer, delay_unscale=True) as scaled:
        scaled.backward()
    assert model[0].weight.grad.seed == 65536
    with amp.scale_loss(F.cross_entropy(model(x), y), optimizer, loss_id=1) as scaled:
        scaled.backward()
    twice = model[0].weight.grad.numpy().copy()
    assert model[0].weight.grad.seed == 1
    optimizer.zero_grad()
    with amp.scale_loss(F.cross_entropy(model(x), y), optimizer, loss_id=1) as scaled:
        scaled.backward()
    np.testing.assert_allclose(twice, 2 * model[0].weight.grad.numpy(), rtol=1e-2, atol=1e-5)
    state = amp.state_dict()
    assert [s["unskipped"] for s in state.values()] == [0, 2]
    state["loss_scaler0"]["loss_scale"] = 128.0
    amp.load_state_dict(state)
    assert amp.state_dict() == state
    with pytest.raises(fp.ArgumentError, match="loss_id=2: expected 0 to 1"):
        with amp.scale_loss(F.cross_entropy(model(x), y), optimizer, loss_id=2):
            pass


def test_overrides_are_taken_or_refused_and_disabled_changes_nothing(batch, capsys):
    settings = {"keep_batchnorm_fp32": "False", "loss_scale": "128.0"}
    model, _ = initialized(opt_level="O2", **settings, verbosity=0)
    assert model[2].weight.dtype == fp.float16
    assert amp.state_dict()["loss_scaler0"]["loss_scale"] == 128
    model, _ = initialized(opt_level="O2", cast_model_type=fp.bfloat16, loss_scale=1.0)
    assert str(model.precision) == "bfloat16"
    assert "cast_model_type        : bfloat16\n" in capsys.readouterr().out
    model, optimizer = initialized(enabled=False)
    loss = F.cross_entropy(model(batch[0]), batch[1])
    with amp.scale_loss(loss, optimizer) as scaled:
        assert scaled is loss
    assert model[0].weight.dtype == fp.float32
    for settings, text in (
        ({"opt_level": "02"}, "the letter O"),
        ({"opt_level": "O1", "keep_batchnorm_fp32": True}, "should be None"),
        ({"opt_level": "O1", "master_weights": True}, "doesn't make sense"),
        ({"opt_level": "O2", "loss_scale": "fast"}, 'expected "dynamic" or a number'),
    ):
        refuses(fp.ArgumentError, text, initialized, **settings)


def test_a_backward_past_the_loss_scale_is_told(batch):
    model, optimizer = initialized(opt_level="O2", verbosity=0)
    x, y = batch
    F.cross_entropy(model(x), y).backward()
    with pytest.warns(fp.MisuseWarning, match="gradient of 0.weight came from loss.backward"):
        optimizer.step()
    with amp.scale_loss(F.cross_entropy(model(x), y), optimizer) as scaled:
        optimizer.zero_grad()
        scaled.backward()
    optimizer.step()


def test_models_are_given_in_float32_and_states_whole(batch):
    model, _ = initialized(opt_level="O2", verbosity=0)
    for level in ("O0", "O1", "O2"):
        with pytest.raises(fp.ArgumentError, match="found parameter 0.weight in float16"):
            amp.initialize(model, opt_level=level, verbosity=0)
    for state in ({}, {"loss_scaler0": {"loss_scale": 8.0}}, {"loss_scaler0": 8.0}):
        refuses(fp.ArgumentError, "load_state_dict", amp.load_state_dict, state)
    assert amp.state_dict() == {"loss_scaler0": {"loss_scale": 65536.0, "unskipped": 0}}


def test_a_scale_of_1_accuses_nobody_and_one_that_cannot_get_smaller_ends_training(batch):
    model, optimizer = initialized(opt_level="O1", verbosity=0)
    amp.load_state_dict({"loss_scaler0": {"loss_scale": 1.0, "unskipped": 1999}})

    def step(factor=1.0):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[0]), batch[1]) * factor
        with amp.scale_loss(loss, optimizer) as scaled:
            scaled.backward()
        optimizer.step()

    step()
    assert amp.state_dict()["loss_scaler0"]["loss_scale"] == 2
    with pytest.raises(fp.TrainingError, match="fallen to 0: gradients were Inf or NaN"):
        for _ in range(130):
            step(math.nan)
