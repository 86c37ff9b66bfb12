"""One run: the same seed sees the same things in every precision, and failures are results."""

import math

import numpy as np
import pytest
from lab_blobs import Watched, blobs, clouds, network

import minifp as fp
from minifp import nn, optim
from minifp.data import TensorDataset
from minifp.lab import settings
from minifp.lab.run import COLUMNS, evaluation_steps, train
from minifp.nn import functional as F
from minifp.numerics import policy
from minifp.runtime import random


def batches_seen(precision, **changes):
    watched = Watched(clouds(160, 1))
    run = train(blobs(data=lambda: (watched, clouds(16, 2)), **changes), precision, 3)
    return watched.asked, run


def test_float32_is_bit_identical_again_with_a_loss_scale_and_with_a_dial():
    plain, *others = (
        train(blobs(dial=dial), precision, 1)
        for dial, precision in ((0, "float32"), (0, "float32"), (0, "float32,loss_scale=128"),
                                (11, "float32"))
    )  # fmt: skip
    assert others[0].history == plain.history and others[0].evaluations == plain.evaluations
    for run in others:
        assert plain.history["loss"] == run.history["loss"]
        assert plain.history["grad_norm"] == run.history["grad_norm"]
    assert train(blobs(), "float32", 2).history != plain.history  # of another seed
    mixed = train(blobs(steps=1), "mixed,loss_scale=1024", 1)
    assert mixed.history["grad_norm"] == pytest.approx(plain.history["grad_norm"][:1], rel=1e-2)


def test_all_precisions_see_the_same_batches_also_after_skipped_steps():
    plain, _ = batches_seen("float32")
    half, run = batches_seen("mixed", loss=lambda y, t: F.cross_entropy(y, t) * 3000.0, margin=1.0)
    assert run.skipped > 0
    assert plain == half
    runs = [train(blobs(steps=1), p, 5) for p in ("float64", "float32", "mixed")]
    first = [run.history["loss"][0] for run in runs]
    assert first == pytest.approx([first[0]] * 3, rel=2e-3)  # the same weights and masks, rounded


def test_training_batches_are_transformed_in_every_precision_alike_and_test_batches_never():
    def mirrored(fields, indices, draws):
        x, t = fields
        seen.append((len(x), indices.tolist(), draws.uniform(indices, "mirror").tolist()))
        return -x, np.eye(4, dtype=np.float32)[(t + 2 * (x.prod(1) < 0)) % 4]

    found = []
    for precision in ("float32", "mixed"):
        seen: list = []
        run = train(blobs(transform=mirrored, steps=12), precision, 1)
        found.append(seen)
        assert len(seen) >= 12 and {n for n, *_ in seen} == {16}
    assert found[0] == found[1] and math.isfinite(run.metric)
    task = blobs(transform=mirrored)
    assert "mirrored" in settings.settings(task, task.data())["augmentation"]


def test_the_history_has_a_line_for_every_step_and_the_metric_is_the_last_and_improves():
    run = train(blobs(), "mixed", 0)
    assert (tuple(run.history), run.history["step"]) == (COLUMNS, list(range(1, 41)))
    assert {len(column) for column in run.history.values()} == {40}
    assert sum(run.history["skipped"]) == run.skipped
    assert all(math.isfinite(loss) for loss in run.history["loss"])
    steps, metrics, losses = zip(*run.evaluations)
    assert steps == (10, 20, 30, 40)
    assert run.metric == metrics[-1] > 90
    assert losses[-1] < losses[0]
    assert run.finished and run.note == ""
    run = train(blobs(metric=None, goal="min", metric_unit="nats", margin=0.1), "float32", 0)
    assert run.metric == run.evaluations[-1][2]  # the test loss


def test_evaluation_is_at_ends_of_epochs_about_twenty_times():
    for total, epoch, expected in (
        *((40, 10, {10, 20, 30, 40}), (5, 10, {5}), (25, 10, {10, 20, 25})),
        (400, 1, {*range(20, 401, 20)}),
    ):
        assert evaluation_steps(total, epoch) == expected


def test_the_schedule_advances_on_successful_steps_only():
    rates = []

    class Counting:
        def __init__(self, optimizer, steps):
            self.optimizer, self.total = optimizer, steps

        def step(self):
            rates.append(self.total)

    loss = lambda y, t: F.cross_entropy(y, t) * 3000.0  # noqa: E731
    run = train(blobs(schedule=Counting, loss=loss, steps=20), "mixed", 0)
    assert run.skipped > 0
    assert rates == [20] * (20 - run.skipped)


def test_a_run_that_skips_every_step_is_stopped_and_an_exploding_one_has_diverged():
    run = train(blobs(epochs=20), "mixed,loss_scale=1e30", 0)
    assert run.status == "stopped"
    assert "skip" in run.note
    assert run.evaluations[-1][0] == run.steps == len(run.history["step"])
    run = train(blobs(optimizer=lambda p: optim.SGD(p, lr=300.0)), "float32", 0)
    assert run.status in ("diverged", "stopped")
    assert run.note and not run.finished


@pytest.mark.parametrize("field, array", [("inputs", 0), ("targets", 1)])
def test_nan_in_the_data_names_its_batch(field, array):
    x, t = clouds(160, 1).arrays
    arrays = [x.copy(), x.copy()]
    arrays[array][70, 1] = np.nan
    data = TensorDataset(*arrays)
    regression = {"model": lambda: nn.Linear(2, 2), "loss": F.mse_loss, "metric": None}
    regression |= {"goal": "min", "metric_unit": "", "margin": 0.1}
    said = rf"NaN or Inf in the {field} of batch \d of epoch 0 of the training set: 1 of 32"
    with pytest.raises(fp.DataError, match=said):
        train(blobs(data=lambda: (data, data), **regression), "mixed", 0)
    x = x[:80].copy()
    x[79] = np.nan
    test = TensorDataset(x, t[:80])
    with pytest.raises(fp.DataError, match="inputs of batch 1 of the test set: 2 of 32 values"):
        train(blobs(data=lambda: (clouds(160, 1), test)), "float32", 0)


def test_bytes_are_of_the_formats_that_are_stored():
    single, mixed = (train(blobs(steps=3), p, 0).bytes for p in ("float32", "mixed"))
    numbers = 2 * 16 + 16 + 16 * 4 + 4
    assert (single["weights"], single["masters"]) == (4 * numbers, 0)
    assert (mixed["weights"], mixed["masters"]) == (2 * numbers, 4 * numbers)
    assert single["optimizer_state"] == mixed["optimizer_state"] == 8 * numbers
    assert 0.4 < mixed["activations"] / single["activations"] < 0.8


def test_a_run_leaves_seed_precision_and_recording_as_they_were():
    random.manual_seed(77)
    random.uniform((3,), purpose="mine")
    before = random.get_state()
    train(blobs(steps=2), "mixed", 0)
    assert (random.get_state(), str(policy.get_precision())) == (before, "float32")
    assert (fp.tensor([1.0], requires_grad=True) * 2).requires_grad


def test_evaluation_computes_in_the_models_precision_and_records_nothing():
    seen, judged = [], []

    class Spy(nn.Module):
        def __init__(self):
            self.inner = network()

        def forward(self, x):
            y = self.inner(x)
            if not self.training:
                seen.append((y.dtype.name, y.requires_grad))
            return y

    def metric(outputs, targets):
        judged.append((outputs.shape, outputs.dtype, targets.shape))
        return 1.0

    train(blobs(model=Spy, steps=1, metric=metric), "mixed", 0)
    assert set(seen) == {("float16", False)}
    assert set(judged) == {((80, 4), np.dtype("float32"), (80,))}  # the whole test set at once
