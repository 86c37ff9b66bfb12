"""Controls: arms that should not matter, and what they do to a run."""

import os
import sys

import numpy as np
import pytest
from lab_blobs import blobs
from own_process import python
from refusals import refuses

from minifp import nn
from minifp.errors import ArgumentError, PrecisionError
from minifp.lab import Comparison, compare, divergence
from minifp.lab.arms import CONTROLS, as_arm
from minifp.lab.run import train

TASK = blobs(steps=12)
NUMPY = """
from lab_blobs import blobs
from minifp.lab.run import train
print(train(blobs(steps=12), "float32", 4).history["loss"])
"""


def test_an_arm_is_its_text():
    arm = as_arm("mixed,loss_scale=128@ulp")
    assert str(arm) == "mixed,loss_scale=128@ulp" and arm.is_control
    assert str(as_arm("float32")) == "float32" and not as_arm("float32").is_control
    refuses(ArgumentError, "expected order", as_arm, "float32@ordr")
    refuses(PrecisionError, "half", as_arm, "half@ulp")


@pytest.mark.parametrize("precision", ["float32", "mixed"])
def test_each_control_disturbs_what_it_says_and_nothing_else(precision):
    plain = train(TASK, precision, 4, snapshots=True)
    runs = {c: train(TASK, f"{precision}@{c}", 4, snapshots=True) for c in CONTROLS}
    assert runs["repeat"].history == plain.history
    assert runs["order"].history["loss"] != plain.history["loss"]
    moved = runs["ulp"].snapshots["weights"][0] - plain.snapshots["weights"][0]
    assert np.abs(moved).max() < 0.01, "one weight, by one unit in its last place"
    again = train(TASK, precision, 4, snapshots=True)
    assert again.history == plain.history, "a control outlives its run"


def test_one_weight_moves_by_one_unit_in_its_last_place_and_none_that_is_all_0(monkeypatch):
    built = []
    for arm in ("mixed", "mixed@ulp"):
        task = blobs(steps=1, optimizer=lambda p: built.append([w.numpy().copy() for w in p]) or 0)
        refuses(ArgumentError, "optimizer built int", train, task, arm, 4)
    before, after = (np.concatenate([w.ravel() for w in weights]) for weights in built)
    (where,) = np.flatnonzero(before != after)
    assert after[where] == np.nextafter(before[where], np.float16(np.inf))
    # Next to 0 is a number that no sum would notice
    for seed in range(8):
        model = nn.Linear(3, 2)
        nn.init.zeros_(model.bias)
        as_arm("float32@ulp").disturb({"": model}, seed)
        assert not model.bias.numpy().any()


def test_the_references_of_one_run_are_those_of_a_process_without_compiled_kernels():
    told = python(NUMPY, MINIFP_KERNELS="numpy", PYTHONPATH=os.pathsep.join(sys.path)).stdout
    assert told.strip() == str(train(TASK, "float32@kernels", 4).history["loss"])


def test_distances_are_from_the_baseline_and_of_controls_from_what_they_disturb(tmp_path):
    arms = ["float32", "mixed", "float32@repeat", "mixed@ulp", "float32@order"]
    compare(TASK, arms, 2, out=tmp_path, progress=False)
    found = {(d.precision, d.seed): d for d in divergence.of(Comparison.load(tmp_path))}
    assert len(found) == 8
    repeat, mixed = found["float32@repeat", 1], found["mixed", 1]
    assert repeat.steps.tolist() == [1, 2, 4, 8, 10, 12]
    assert not repeat.weights.any() and not repeat.outputs.any() and not repeat.predictions.any()
    assert 0 < found["mixed@ulp", 1].weights[0] < mixed.weights[0] < 0.01
    assert found["float32@order", 1].weights[-1] > mixed.weights[-1]
    assert 0 <= mixed.predictions.max() < 0.2
