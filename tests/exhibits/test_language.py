"""The gallery's language model: its stream, its state, and what it reports."""

from dataclasses import replace

import numpy as np
import pytest

import minifp as fp
from minifp.exhibits import language
from minifp.lab.run import train


@pytest.fixture
def small(monkeypatch):
    sizes = {"HIDDEN": 16, "PROJECTION": 8, "SAMPLES": 20, "LANES": 4, "LENGTH": 6}
    for name, value in sizes.items():
        monkeypatch.setattr(language, name, value)
    task = language.EXHIBITS[0].task("quick")
    train_set, test_set = task.data()
    data = fp.data.Subset(train_set, range(400)), fp.data.Subset(test_set, range(50))
    return replace(task, batch_size=4, steps=6), data


def test_the_state_goes_on_from_batch_to_batch_and_gradients_do_not(small):
    task, data = small
    model = task.model()
    x, t = (fp.tensor(a) for a in data[0][np.arange(4)])
    assert (model.h.numpy() == 0).all()
    model.loss(x, t)
    once = model.h.numpy().copy()
    assert (once != 0).any() and model.h.array.shape == (1, 4, 8)
    loss = model.loss(x, t)
    assert (model.h.numpy() != once).any()
    loss.backward()
    assert model.h.grad is None
    np.testing.assert_allclose(once, model.model.features(x)[1][0].numpy(), rtol=1e-5, atol=1e-7)
    assert {"h", "c"} <= model.state_dict().keys()


def test_a_run_tells_perplexity_and_what_was_lost(small):
    """A scale that is 2^-20 loses nearly all gradients of scores in float16."""
    task, data = small
    whole = train(task, "float32", 0, data)
    lost = train(replace(task, dial=20), "mixed,loss_scale=1", 0, data)
    for run in (whole, lost):
        (perplexity,) = run.metrics["perplexity"]
        assert run.finished and run.metric == run.evaluations[-1][2]
        assert perplexity == pytest.approx(np.exp(run.metric))
        assert len(run.history[language.LOST]) == 6
    assert max(whole.history[language.LOST]) < 0.05 < 0.5 < min(lost.history[language.LOST])
    assert not fp.autograd.tape.observers
    assert max(whole.metric, lost.metric) < np.log(1.05 * 7115)  # that of no knowledge at all


def test_rows_read_the_text_in_its_order(small):
    """Each row of the second batch begins with what followed the first one's."""
    task, data = small
    loader = fp.data.DataLoader(data[0], 4, sampler=task.sampler(data[0], 4), seed=3)
    batches = [(x.numpy(), t.numpy()) for (x, t), _ in zip(loader, range(8))]
    goes_on = [(t[:, -1] == x[:, 0]).mean() for (_, t), (x, _) in zip(batches, batches[1:])]
    assert np.mean(goes_on) > 0.95  # one row in 400 may begin anew
