"""A model at a glance: what is counted, and that nothing is computed for it."""

import json
from functools import partial

import cases
import numpy as np
import pytest
from refusals import refuses
from terminals import call

import minifp as fp
from minifp import models, nn, optim
from minifp.lab.memory import measure_bytes
from minifp.nn import functional as F
from minifp.numerics import policy


class Tied(nn.Module):
    def __init__(self):
        self.layer, self.scale = nn.Linear(6, 6), nn.Parameter(np.ones(1))

    def forward(self, x):
        return self.layer(F.relu(self.layer(x))) * self.scale


def test_layers_are_told_as_they_are_called():
    found = fp.summary(Tied, 6, batch=4)
    assert [(x.kind, x.depth, x.output, x.again) for x in found.layers] == [
        *(("Tied", 0, (4, 6), False), ("Linear", 1, (4, 6), False), ("Linear", 1, (4, 6), True))
    ]
    assert (found.parameters, found.multiply_adds) == (6 * 6 + 6 + 1, 2 * 4 * 36)
    lines = repr(found).splitlines()
    assert "Linear (layer)" in lines[4] and "again" in lines[4]


@pytest.mark.parametrize(("layer", "gates"), [(nn.LSTM, 4), (nn.GRU, 3), (nn.RNN, 1)])
def test_products_of_a_recurrent_layer_are_those_of_each_step(layer, gates):
    """Of 2 sequences of 6 steps: 5 inputs and 3 states for each of the 3 units of a gate."""
    found = fp.summary(lambda: layer(5, 3, batch_first=True), (6, 5), 2, precisions=["mixed"])
    assert found.multiply_adds == 2 * 6 * gates * 3 * (5 + 3)


def test_nothing_is_drawn_and_nothing_written(monkeypatch):
    for name in ("uniform", "normal"):
        monkeypatch.setattr(f"minifp.runtime.random.{name}", None)
    found = fp.summary(models.ResNet34, (3, 224, 224), precisions=["float32"])
    assert found.parameters == 21_797_672


PARTS = "float32;fc*=mixed"
SCALED = "mixed,optimizer_state=float8_e4m3fn,second_moment=float16,optimizer_state_scale=block:32"
COMPENSATED = "mixed,master_weights=off,compensated=on"
EIGHT = "mixed,gradients=float8_e5m2"
NARROW = ["bfloat16", "float8", "float8,saved=operands", EIGHT, SCALED]


@pytest.mark.parametrize("precision", ["float32", "mixed", "autocast", COMPENSATED, PARTS, *NARROW])
def test_bytes_are_those_that_are_measured_in_training(precision):
    with fp.precision(precision):
        model = fp.assign_precision(models.LeNet(size=8))
        optimizer = fp.MixedOptimizer(optim.Adam(model.parameters()))
        x, t = fp.Tensor(np.ones((16, 1, 8, 8), np.float32)), fp.tensor(np.arange(16) % 10)
        optimizer.minimize(F.cross_entropy(model(x), t))
        with measure_bytes(model, optimizer) as measured:
            optimizer.zero_grad()
            optimizer.backward(model(x).sum())
            optimizer.step()
    lenet = partial(models.LeNet, size=8)
    found = fp.summary(lenet, (1, 8, 8), 16, precisions=[precision]).bytes[precision]
    assert found == measured


def test_a_model_that_is_there_is_looked_at_and_left_as_it_is():
    with fp.precision("mixed"):
        model = models.MLP(4, 3, 2)
    before = [p.array.copy() for p in model.parameters()]
    assert fp.summary(model, 4).bytes.keys() == {"float32"}
    x = fp.randn(2, 4)
    assert np.isfinite(model(x).numpy()).all() and model(x).dtype == fp.float16
    for p, array in zip(model.parameters(), before):
        np.testing.assert_array_equal(p.array, array)


@pytest.mark.sampled(8, core=lambda case: "conv" in case.name or "attention" in case.name)
@pytest.mark.parametrize("case", cases.CASES, ids=str)
def test_shapes_and_formats_are_those_of_the_numbers(case):
    told = []
    for variant in (lambda p: p, policy.shapes_only):
        with policy.precision(variant(policy.as_precision("mixed"))):
            fp.manual_seed(0)
            results = case.fn(*[fp.Tensor(np.asarray(a)) for a in case.arrays()])
            several = results if isinstance(results, tuple) else (results,)
            told.append([(y.shape, y.dtype) for y in several])
    assert told[0] == told[1]


def test_the_command_shows_a_model_or_says_what_is_wrong():
    for words, expected in (
        ("ResNet18 --input 3 32 32 --set stem=small classes=10 width=0.25", "ResNet18 on 1 x 3"),
        ("CharLSTM --input 8 --set characters=65 --integers --optimizer sgd", "LSTM (lstm)"),
        (f"LeNet --input 1 28 28 --precision float32 {EIGHT}", f"\n{EIGHT} "),
        ("ResNet181 --input 3 32 32", "expected ResNet18"),
        ("LeNet --input 1 0 28", "at least 1"),
        ("ResNet18 --input 3 32 32 --set depth=3", "'depth'. Set its arguments with --set"),
        ("CharLSTM --input 8", "missing a required argument: 'characters'"),
        ("CharLSTM --input 8 --set characters=65", "say --integers"),
        ("LeNet --input 1 28 28 --set width", "expected name=value"),
    ):
        result = call("summary", *words.split())
        assert expected in result.output
        if result.exit_code == 0:  # errors are one line, which the terminal folds
            assert all(len(line) <= 100 for line in result.output.splitlines())
        else:
            assert isinstance(result.exception, SystemExit)
    held = json.loads(call(*"summary LeNet --input 1 28 28 --json".split()).output)
    assert held["layers"][1]["kind"] == "Conv2d" and held["multiply_adds"] > 0
    refuses(fp.ArgumentError, "expected a module", fp.summary, "ResNet50", 3)
    refuses(fp.ArgumentError, "'sgd', 'momentum', 'adam'", fp.summary, Tied, 6, optimizer="lion")
