"""What is noted of a run so that it can be held against another: some weights, some outputs.

At steps 1, 2, 4, 8, ... and at each evaluation: the same WEIGHTS coordinates of all parameters,
drawn by a fixed seed, and the outputs for the first test examples, as many as make OUTPUTS numbers.
The distance of a sample of 4,096 coordinates is that of all within about 2%.
"""

import numpy as np

from minifp.data.structure import leaves
from minifp.errors import MinifpError
from minifp.lab.batches import called

WEIGHTS, OUTPUTS = 4096, 8192


class Snapshots:
    """Those of one run. `arrays()` are what is kept: see `Run.snapshots`."""

    def __init__(self, task, state, test_set) -> None:
        self.state, self.classes = state, -1
        self.steps: list[int] = []
        self.weights: list[np.ndarray] = []
        self.outputs: list[np.ndarray] = []
        sizes = [p.numel() for p in state.parameters()]
        total, draw = sum(sizes), np.random.default_rng(0)
        chosen = np.sort(draw.choice(total, min(WEIGHTS, total), replace=False))
        starts = np.cumsum([0, *sizes])
        self.places = [chosen[(chosen >= a) & (chosen < b)] - a for a, b in zip(starts, starts[1:])]
        self.probe = None
        if task.evaluate is None and task.step is None:
            self.probe = self._probe(task, test_set)

    def _probe(self, task, test_set):
        """The batch of the first test examples, as large as OUTPUTS allows."""
        from minifp.data import DataLoader

        def batch_of(n):
            loader = DataLoader(test_set, n, collate_fn=task.collate)
            return loader.placed(next(loader.arrays()))

        y, t = self._call(batch_of(1))
        if y is None:
            return None
        self.classes = class_axis(y, t)
        return batch_of(max(1, min(len(test_set), OUTPUTS // max(1, y.numel()))))

    def _call(self, batch):
        with self.state.evaluating():
            try:
                y, t = called(self.state.model, batch)
            except MinifpError:  # what it takes to be judged is for `evaluate` to say
                return None, None
        return next((leaf for _, leaf in leaves(y) if hasattr(leaf, "numpy")), None), t

    def take(self, step: int) -> None:
        """Note weights and outputs after so many steps."""
        self.steps.append(step)
        parameters = zip(self.state.parameters(), self.places)
        taken = [p.numpy().reshape(-1)[at].astype(np.float32) for p, at in parameters]
        self.weights.append(np.concatenate(taken))
        if self.probe is not None:
            y, _ = self._call(self.probe)
            self.outputs.append(y.numpy().astype(np.float32))

    def arrays(self) -> dict[str, np.ndarray]:
        """steps (E), weights (E, K), outputs (E, n, ...), and the axis of outputs in which classes
        lie, or -1 where targets are no classes."""
        if not self.steps:
            return {}
        arrays = {"steps": np.array(self.steps), "weights": np.stack(self.weights)}
        if self.outputs:
            arrays |= {"outputs": np.stack(self.outputs), "classes": np.array(self.classes)}
        return arrays


def are_whole(arrays: dict) -> bool:
    """Whether arrays of a file are what `Snapshots.arrays` gives."""
    if not arrays:
        return True
    steps, weights, outputs = map(arrays.get, ("steps", "weights", "outputs"))
    if steps is None or weights is None or {*arrays} - {"steps", "weights", "outputs", "classes"}:
        return False
    if steps.dtype.kind != "i" or steps.ndim != 1 or not is_rows(weights, len(steps)):
        return False
    if outputs is None:
        return weights.ndim == 2
    axis = arrays.get("classes")
    if axis is None or axis.dtype.kind != "i" or axis.shape != ():
        return False
    fits = -1 <= int(axis) < outputs.ndim - 1
    return weights.ndim == 2 and is_rows(outputs, len(steps)) and fits


def is_rows(array, count: int) -> bool:
    """Whether an array is of so many rows of numbers, at least one."""
    return array.dtype.kind == "f" and array.ndim >= 2 and len(array) == count > 0


def class_axis(outputs, targets) -> int:
    """In which axis outputs have an entry for each class; -1 where targets are no class numbers."""
    kind = getattr(getattr(targets, "dtype", None), "kind", "")
    if kind not in "iu" or not kind or outputs.ndim != targets.ndim + 1:
        return -1
    return outputs.ndim - 1 if outputs.shape[:-1] == targets.shape else 1


def is_due(step: int) -> bool:
    """Whether a step is a power of two."""
    return step & (step - 1) == 0
