"""Checkpoints of trained models: what a file holds, so that it can be judged by its path alone.

`minifp train --save` and `compare(keep_weights=True)` write the same: the weights, unrounded, under
the names of the model, and beside them

    extra["run"]         the Run, without its snapshots
    extra["settings"]    what was trained, as `settings` tells it
    extra["origin"]      {"task", "data"}: by what `load_task` finds the task; None for one without
                         a name
    extra["averaged"]    averages of the weights, by name, for each model by its name; only of a
                         task that has them

The former has the optimizer, the schedule and the loader as well, to go on from.
"""

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.lab.arms import as_arm
from minifp.lab.metrics import AVERAGED
from minifp.lab.run import Run
from minifp.saving import checkpoint


def extra_of(run: Run, settings: dict, origin, averaged: dict[str, dict]) -> dict:
    """What stands beside the weights. origin: an Origin; averaged: see Averages.weights."""
    fields = asdict(replace(run, kept={}, snapshots={}, weights={}))
    # as arrays, which JSON would write out
    fields["history"] = {name: np.array(column) for name, column in run.history.items()}
    return {
        "run": fields,
        "settings": settings,
        "origin": {"task": origin.task, "data": origin.data},
        **({"averaged": averaged} if averaged else {}),
    }


def save(path: Path, run: Run, settings: dict, origin) -> None:
    """Write the weights of a finished run."""
    precision = as_arm(run.precision).precision
    plain = {n: arrays for n, arrays in run.weights.items() if not n.startswith(AVERAGED)}
    averaged = {n.removeprefix(AVERAGED): run.weights[n] for n in run.weights if n not in plain}
    models = {name: Weights(arrays, precision) for name, arrays in plain.items()}
    checkpoint.save(path, models.get("", models), extra=extra_of(run, settings, origin, averaged))


class Weights:
    """Weights by name, as `fp.save` takes a model."""

    def __init__(self, arrays: dict[str, np.ndarray], precision) -> None:
        self.arrays, self.precision = arrays, precision

    def state_dict(self) -> dict[str, Tensor]:
        """The tensors."""
        return {name: Tensor(array) for name, array in self.arrays.items()}

    def load_state_dict(self, state: dict) -> None:
        """Take others in their place."""
        self.arrays = {name: t.array for name, t in state.items()}
