"""A small task for the tests of the laboratory: four clouds of points, told apart in 40 steps."""

import numpy as np

from minifp import nn, optim
from minifp.data import TensorDataset
from minifp.lab.comparison import opened
from minifp.lab.task import Task
from minifp.lab.workers import here
from minifp.nn import functional as F


def clouds(n, seed):
    generator = np.random.default_rng(seed)
    t = generator.integers(0, 4, n)
    centres = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    x = centres[t] + 0.4 * generator.standard_normal((n, 2))
    return TensorDataset(x.astype(np.float32), t, name="clouds")


def network():
    return nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 4))


def blobs(**changes):
    fields = {
        "name": "blobs",
        "model": network,
        "data": lambda: (clouds(160, 1), clouds(80, 2)),
        "loss": F.cross_entropy,
        "optimizer": lambda parameters: optim.Adam(parameters, lr=0.02),
        "batch_size": 16,
        "epochs": 4,
    }
    return Task(**{**fields, **changes})


def comparison_of(runs, arms=None, **changes):
    """A comparison of runs that were never trained, of the task with fields changed."""
    task, seeds = blobs(**changes), sorted({run.seed for run in runs})
    arms = arms or dict.fromkeys(run.precision for run in runs)
    whole = opened(task, task.data(), [*arms], seeds, None)
    whole.runs, whole.asked = list(runs), []
    return whole


def runs_trained(monkeypatch):
    """The (arm, seed) pairs that are really trained in this process from now on, in order."""
    pairs, train = [], here.train

    def counted(task, arm, seed, *args, **kwargs):
        pairs.append((arm, seed))
        return train(task, arm, seed, *args, **kwargs)

    monkeypatch.setattr(here, "train", counted)
    return pairs
