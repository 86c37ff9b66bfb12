"""The microscope on a GPU: what it counts is what is stored there; captured steps are seen too."""

import numpy as np
from test_capture import batches, made, training_step

import minifp as fp
import minifp.nn.functional as F
from minifp import models
from minifp.runtime.device import default_device
from minifp.scope.histogram import Histogram
from minifp.scope.observed import KINDS, WEIGHT_GRADIENTS


def watched(captured, count=8, every=3):
    """A training under the microscope: what was found, and its losses."""
    model, optimizer = made()
    step = training_step(model, optimizer)
    step = fp.capture(step, device="cuda") if captured else step
    with fp.microscope(model, optimizer, every=every) as scope:
        losses = [step(x.to("cuda"), t.to("cuda")) for x, t in batches(count)]
    return scope, [loss.item() for loss in losses]


def test_numbers_on_a_gpu_are_counted_as_they_are_stored_there():
    x = fp.tensor(np.array([0.0, 1.0, 2.0**-20, np.inf, -3.0]), dtype="float16", device="cuda")
    h = Histogram.of(x.array)
    assert h.exponents == {0: 1, -20: 1, 1: 1} and (h.zeros, h.infs) == (1, 1)


def test_every_step_is_counted_some_are_looked_at_and_captured_ones_are_as_others():
    scope, losses = watched(captured=False)
    assert scope.count == 8 and [step.step for step in scope.steps] == [1, 4, 7]
    assert all(step.histograms[kind] for step in scope.steps for kind in KINDS)
    assert all(step.updates for step in scope.steps)
    assert "scal" in str(scope.advice())
    captured, same = watched(captured=True)
    assert same == losses
    for a, b in zip(captured.steps, scope.steps):
        for name, h in a.histograms[WEIGHT_GRADIENTS].items():
            assert h.exponents == b.histograms[WEIGHT_GRADIENTS][name].exponents


def test_graphs_go_on_when_the_microscope_is_put_away():
    _, losses = watched(captured=False, count=4)
    model, optimizer = made()
    step, seen = fp.capture(training_step(model, optimizer), device="cuda"), []
    for i, (x, t) in enumerate(batches(12)):
        if i < 4:
            with fp.microscope(model, optimizer, every=1):
                seen.append(step(x.to("cuda"), t.to("cuda")))
        else:
            seen.append(step(x.to("cuda"), t.to("cuda")))
    assert step.graphs == 1 and np.isfinite(seen[-1].item())
    assert [loss.item() for loss in seen[:4]] == losses


def test_details_say_that_they_are_for_the_cpu():
    model, optimizer = made()
    with fp.microscope(model, optimizer, details=1) as scope:
        for x, t in batches(2):
            optimizer.minimize(F.cross_entropy(model(x.to("cuda")), t.to("cuda")))
    assert "refused" in scope.details


def test_a_summary_of_a_model_that_is_there_is_that_of_the_cpu():
    def text():
        return repr(fp.summary(models.CharLSTM(65, hidden=8).to(place), (5,), 2, integers=True))

    place = "cpu"
    here, place = text(), "cuda"
    assert text() == here
    with default_device("cuda"):
        assert text() == here
        fp.summary(lambda: models.CIFARResNet(10, 8), (3, 32, 32))
