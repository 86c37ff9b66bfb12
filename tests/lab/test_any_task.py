"""Tasks of any kind, a GAN and sequences among them. Detectors are in test_detector_task.py."""

from dataclasses import replace

import numpy as np
import pytest
from lab_blobs import Watched, blobs, clouds

import minifp as fp
from minifp import nn, optim
from minifp.data import TensorDataset, collate_pairs
from minifp.lab import Audio, Comparison, EarlyStopping, Metric, Picture, compare
from minifp.lab.resume import train_one
from minifp.lab.run import train
from minifp.models import Seq2Seq
from minifp.nn import functional as F
from minifp.optim import lr_scheduler
from minifp.report import rendering
from minifp.runtime import random

PRECISIONS = ("float32", "mixed", "float16")


def gan_models():
    return {
        "G": nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2)),
        "D": nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Dropout(0.1), nn.Linear(16, 1)),
    }


def gan_optimizers(models):
    return {name: optim.Adam(model.parameters(), lr=2e-3) for name, model in models.items()}


def gan_step(state, batch):
    real, _ = batch
    models, optimizers = state.model, state.optimizer
    fake = models["G"](fp.randn(len(real), 3))
    right, wrong = models["D"](real), models["D"](fake.detach())
    loss_d = F.binary_cross_entropy_with_logits(right, fp.ones_like(right))
    loss_d = loss_d + F.binary_cross_entropy_with_logits(wrong, fp.zeros_like(wrong))
    optimizers["D"].minimize(loss_d)
    told = models["D"](fake)
    loss_g = F.binary_cross_entropy_with_logits(told, fp.ones_like(told))
    optimizers["G"].minimize(loss_g)
    optimizers["D"].zero_grad()
    return {"loss": loss_g, "loss_d": loss_d}


def gan_evaluate(state, test_set):
    made = state.model["G"](fp.randn(64, 3)).numpy().astype(np.float32)
    real = test_set[np.arange(len(test_set))][0]
    return {
        "distance": float(np.abs(made.mean(0) - real.mean(0)).sum()), "spread": float(made.std()),
        "samples": Picture(np.abs(made[:8].reshape(4, 4))), "points": made, "log": "a line",
        "tone": Audio(np.sin(np.arange(100) / 5.0), 8000),
    }  # fmt: skip


def gan(**changes):
    fields = {
        "name": "gan", "model": gan_models, "optimizer": gan_optimizers, "loss": None,
        "step": gan_step, "evaluate": gan_evaluate, "metric": None, "metric_name": "distance",
        "metric_unit": "", "goal": "min", "margin": 0.2, "steps": 20,
    }  # fmt: skip
    return blobs(**{**fields, **changes})


class Reversals:
    """Sequences of 2 to 6 of 5 symbols, to be written backward; one at a time, as people have
    them."""

    def __init__(self, n, seed):
        generator = np.random.default_rng(seed)
        self.items = [generator.integers(1, 6, generator.integers(2, 7)) for _ in range(n)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index], np.pad(self.items[index][::-1], 1, constant_values=(0, 6))


def symbols_right(outputs, targets):
    """Of batches of different lengths, a list each."""
    pairs = [(y.argmax(-1) == t)[t != -100] for y, t in zip(outputs, targets)]
    return 100.0 * float(np.concatenate(pairs).mean())


def translation(**changes):
    fields = {
        "name": "reversal", "model": lambda: Seq2Seq(6, 7, 16, 1, dropout=0.1),
        "data": lambda: (Reversals(96, 1), Reversals(40, 2)),
        "loss": lambda y, t: F.cross_entropy(y.transpose(1, 2), t, ignore_index=-100),
        "metric": symbols_right, "metric_name": "symbols", "margin": 2.0, "collate": collate_pairs,
        "batch_size": 8, "steps": 24,
    }  # fmt: skip
    return blobs(**{**fields, **changes})


TASKS = {"gan": gan, "translation": translation}


def all_that_is_random(make, precision, monkeypatch):
    """Initial weights to rounding, items in their order, and how many random numbers were drawn for
    each purpose, which with the seed are all there is to know of them."""
    train_set, test_set = make().data()
    watched, first, drawn, set_state = Watched(train_set), [], [], random.set_state

    def model():
        made = make().model()
        for module in made.values() if isinstance(made, dict) else [made]:
            first.extend(p.numpy().astype(np.float16).tolist() for p in module.parameters())
        return made

    def noted(state):
        drawn.append(random.get_state()["calls"])
        set_state(state)

    with monkeypatch.context() as patch:
        patch.setattr(random, "set_state", noted)
        run = train(make(model=model, data=lambda: (watched, test_set)), precision, 3)
    assert len(run.history["loss"]) == run.steps and drawn[-1]
    return watched.asked, first, drawn[-1]


@pytest.mark.parametrize("make", TASKS.values(), ids=TASKS)
def test_every_precision_has_the_same_weights_order_masks_and_noise(make, monkeypatch):
    single, *others = (all_that_is_random(make, p, monkeypatch) for p in PRECISIONS)
    assert all(other == single for other in others)
    first, second = (train(make(), "mixed", 1) for _ in range(2))
    assert (first.history, first.metrics) == (second.history, second.metrics)
    assert first.finished and first.metric == list(first.metrics.values())[0][-1]


def test_what_a_gan_keeps_is_in_its_folder(tmp_path, no_pictures):
    made = compare(gan(steps=6), ("float32", "mixed"), 1, out=tmp_path, progress=False)
    assert len(made.runs[0].history["loss_d"]) == 6
    run = Comparison.load(tmp_path).runs_of("mixed")[0]
    assert set(run.kept) == {"samples", "points", "log", "tone"}
    assert np.load(tmp_path / run.kept["points"]).shape == (64, 2)
    assert (tmp_path / run.kept["log"]).read_text(encoding="utf-8") == "a line"
    assert (tmp_path / run.kept["samples"]).read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / run.kept["tone"]).read_bytes()[:4] == b"RIFF"
    assert len(run.metrics["spread"]) == len(run.evaluations)
    unsaved = compare(gan(steps=6), ("float32", "mixed"), 1, progress=False)
    unsaved.save(tmp_path / "later")
    later = Comparison.load(tmp_path / "later")
    assert np.load(later.out / later.runs[0].kept["points"]).shape == (64, 2)
    for one in (Comparison.load(tmp_path), unsaved, later):
        shown = rendering.page(one.document())
        assert shown.count('alt="samples, ') == shown.count('aria-label="tone, ') == 2
        assert shown.count('src="data:image/png;base64,') == 2 and ">a line</pre>" in shown
    (tmp_path / run.kept["samples"]).unlink()
    assert "samples.png no longer exists" in rendering.page(Comparison.load(tmp_path).document())


def test_evaluation_draws_nothing_and_a_gan_that_was_stopped_ends_as_one_that_was_not(tmp_path):
    task = gan(schedule=lambda made, _: {n: lr_scheduler.StepLR(o, 5) for n, o in made.items()})
    near = replace(task, evaluate=lambda *_: {"distance": 0.5})
    one, other = (train(made, "mixed", 1) for made in (task, near))
    train_one(task, "mixed", 1, steps=9, save=tmp_path / "gan", progress=False)
    last = train_one(task, resume=tmp_path / "gan", steps=20, progress=False)
    assert one.history == other.history == last.history and last.metric == one.metric


def test_accumulated_batches_are_one_batch():
    task = {"model": lambda: nn.Linear(2, 4), "optimizer": lambda p: optim.SGD(p, lr=0.1)}
    whole = train(blobs(**task, batch_size=16, steps=25), "float32", 1)
    parts = train(blobs(**task, batch_size=4, accumulate=4, steps=25), "float32", 1)
    assert parts.history["loss"] == pytest.approx(whole.history["loss"], rel=1e-5)
    assert parts.evaluations[-1][2] == pytest.approx(whole.evaluations[-1][2], rel=1e-5)


def test_early_stopping_ends_a_run_that_gets_no_better_and_a_schedule_may_go_by_epochs():
    stopping = {"metric": lambda y, t: 1.0, "epochs": 9, "early_stopping": EarlyStopping(2)}
    run = train(blobs(**stopping), "float32", 1)
    assert (run.steps, run.finished) == (30, True)
    assert run.note == "stopped early at step 30 of 90: no better accuracy in 2 evaluations"
    made = []

    def schedule(optimizer, epochs):
        made.append((epochs, lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)))
        return made[-1][1]

    train(blobs(schedule=schedule, schedule_by="epoch", epochs=3), "mixed", 1)
    epochs, scheduler = made[-1]
    assert epochs == 3 and scheduler.get_last_lr() == [0.02 / 8]
    assert train(translation(steps=150), "mixed", 1).metric > 40  # it learns: a fifth by guessing


NO_TARGETS = {"data": lambda: (TensorDataset(clouds(32, 1).arrays[0]), clouds(16, 2))}


@pytest.mark.parametrize("make, said", [
    (lambda: gan(step=lambda state, batch: {"loss_d": 1.0}), "step returned 'loss_d', expect"),
    (lambda: gan(step=lambda state, batch: None), "expected the loss, or a dict with 'loss'"),
    (lambda: gan(evaluate=lambda *a: {"fid": 1.0}), "no 'distance', the task's metric"),
    (lambda: gan(evaluate=lambda *a: 1.0), "evaluate returned float, expected a dict"),
    (lambda: gan(step=None, loss=F.mse_loss), "several models or optimizers: give it a `step`"),
    (lambda: gan(model=dict), "model built nothing, expected a Module"),
    (lambda: blobs(metrics=[Metric("accuracy", len)]), "'accuracy' appears twice"),
    (lambda: blobs(metrics=[Metric("mAP")]), "'mAP' has no function, and the task has no"),
    (lambda: blobs(accumulate=2, step=gan_step), "your own `step`"),
    (lambda: blobs(early_stopping=3), "expected EarlyStopping(patience=...) or None"),
    (lambda: blobs(loss=None), "loss is None, expected a function"),
    (lambda: Metric("x", goal="least"), 'expected "max" or "min"'),
    (lambda: Picture(np.ones((2, 2, 2))), "expected (H, W) or (H, W, 3)"),
    (lambda: Audio(np.ones(3, np.int16), 8), "expected floats (n)"),
    (lambda: EarlyStopping(0), "expected at least 1"),
    (lambda: blobs(**NO_TARGETS), "expected a tuple (inputs, ..., targets) or a dict"),
])  # fmt: skip
def test_what_is_wrong_with_a_task_is_said(make, said):
    with pytest.raises((fp.ArgumentError, fp.DataError)) as caught:
        train(make(), "float32", 0)
    assert said in str(caught.value)
