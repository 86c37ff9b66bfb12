"""A small task for the tests of the laboratory: four clouds of points, told apart in 40 steps."""

import numpy as np

from minifp import nn, optim
from minifp.data import TensorDataset
from minifp.lab.comparison import opened
from minifp.lab.task import Task
from minifp.nn import functional as F
from minifp.report import rendering


def clouds(n, seed):
    generator = np.random.default_rng(seed)
    t, centres = generator.integers(0, 4, n), np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    x = centres[t] + 0.4 * generator.standard_normal((n, 2))
    return TensorDataset(x.astype(np.float32), t, name="clouds")


class Watched:
    """A data set, and the indices that it was asked for."""

    takes_arrays = True

    def __init__(self, dataset):
        self.dataset, self.asked = dataset, []

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, index):
        self.asked.append(np.asarray(index).tolist())
        return self.dataset[index]


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


def only_picture(monkeypatch, name="loss"):
    """Of the pictures of a result one alone is drawn."""
    all_of = rendering._drawings
    monkeypatch.setattr(rendering, "_drawings", lambda d: [x for x in all_of(d) if x[0] == name])
