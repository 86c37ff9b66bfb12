"""Lesson 5: a small detector of digits in scenes, whose loss takes hard negatives as SSD's does."""

from functools import cache, partial
from typing import Any

import numpy as np

from minifp import data, nn, optim
from minifp.autograd.grad_mode import no_grad
from minifp.errors import TrainingError
from minifp.ops import cross_entropy, tensor
from minifp.teach.tasks import training

LEFT_OUT = -100  # a cell that the loss does not count


@cache
def scenes() -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Pictures and cells of 800 scenes to train with, and of 200 to test with; see in_cells."""
    old, new = data.digit_scenes(800, 200)
    return in_cells(old), in_cells(new)


def in_cells(scenes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Scenes as arrays: pictures (n, 1, 32, 32), and for each cell (n, 8, 8) what it shows: 0 for
    nothing, 1 to 10 for the digit whose centre lies in it."""
    pictures, cells = [], np.zeros((len(scenes), 8, 8), np.int64)
    for i in range(len(scenes)):
        picture, target = scenes[i]
        pictures.append(picture)
        for (left, top, right, bottom), label in zip(target["boxes"], target["labels"]):
            cells[i, int((top + bottom) / 8), int((left + right) / 8)] = label
    return np.stack(pictures), cells


def detector() -> Any:
    """Pictures (n, 1, 32, 32) -> scores (n, 11, 8, 8)."""
    sizes = (1, 16, 2), (16, 32, 2), (32, 32, 1), (32, 11, 1)  # channels, and the stride
    convs = [nn.Conv2d(i, o, 3, stride=stride, padding=1) for i, o, stride in sizes]
    return nn.Sequential(*[layer for conv in convs for layer in (conv, nn.ReLU())][:-1])


def mined(scores: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """The cells (n, 8, 8), with LEFT_OUT in those that are neither digits nor hard negatives."""
    scores = scores - scores.max(axis=1, keepdims=True)
    surprise = np.log(np.exp(scores).sum(axis=1)) - scores[:, 0]  # the loss where nothing is shown
    surprise[cells > 0] = -np.inf
    count = 3 * int((cells > 0).sum())
    labels = np.where(cells > 0, cells, LEFT_OUT).ravel()
    labels[np.argpartition(-surprise.ravel(), count)[:count]] = 0
    return labels.reshape(cells.shape)


def f1(model: Any) -> float:
    """How well cells of new scenes are told: of the digits that are there and those that are
    claimed, the share that is both, and right."""
    pictures, cells = scenes()[1]
    with no_grad():
        said = model(tensor(pictures)).numpy().argmax(axis=1)
    right = np.sum((said == cells) & (cells > 0))
    return float(2 * right / (np.sum(said > 0) + np.sum(cells > 0)))


def begun(precision: str, seed: int, dial: int) -> tuple[Any, Any]:
    """A model and its optimizer; the loss scale is the precision's."""
    sgd = partial(optim.SGD, lr=0.1, momentum=0.9)
    return training.begun(detector, precision, sgd, seed, dial=dial, diagnose=False)


def train(model: Any, optimizer: Any, seed: int, steps: int) -> int:
    """Train, and return how many steps were made: none, if all overflow."""
    pictures, cells = scenes()[0]
    count, random = 0, np.random.default_rng(seed)
    try:
        for _ in range(steps):
            batch = random.integers(0, len(pictures), 32)
            scores = model(tensor(pictures[batch]))
            targets = tensor(mined(scores.numpy().astype(np.float32), cells[batch]))
            loss = cross_entropy(scores, targets, ignore_index=LEFT_OUT)
            count += optimizer.minimize(loss).stepped
    except TrainingError:  # patience is over
        pass
    return count
