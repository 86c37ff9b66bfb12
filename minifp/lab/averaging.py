"""Averages of weights over steps, which are judged beside the weights: `Task(average=...)`.

After each step, skipped ones too, an average a goes to a + (w - a) / n, where w are the unrounded
weights, and n is how many steps there were, at most `average` times those of the whole run. So it
is the mean of all of them at first, and then an exponential one whose memory is that share of the
run. The averages are kept unrounded, and judged as what they become where the arm stores them.

The running statistics of batch norms belong to other weights. So before the averages are judged,
they are computed anew, as the mean over BATCHES batches of the training set, which is more than
their usual momentum of 0.1 remembers (19). A task with a `step` of its own calls its models in its
own way: there all buffers are averaged as the weights are.
"""

import copy
from collections.abc import Callable
from itertools import islice
from typing import Any

from minifp.autograd.tape import Tensor
from minifp.autograd.unrounded import begin_unrounded
from minifp.lab.batches import called, checked
from minifp.lab.evaluation import Evaluation, evaluate
from minifp.optim.swa_utils import AveragedModel, statistics_anew

BATCHES = 32


class Averages:
    """Those of one run. total: its steps; count: how many of them are in the averages."""

    def __init__(self, task, state, total: int) -> None:
        self.task, self.state, self.count = task, state, 0
        self.window = max(1, round(task.average * total))
        self.averaged = {
            name: AveragedModel(model, avg_fn=self.next, use_buffers=True)
            for name, model in state.models.items()
        }
        for model in self.averaged.values():
            for parameter in model.parameters():
                begin_unrounded(parameter)

    def next(self, average: Tensor, current: Tensor, count: Any) -> Tensor:
        """The next average."""
        return average + (current - average) / min(self.count, self.window)

    def update(self) -> None:
        """Take in the weights after a step."""
        self.count += 1
        for name, model in self.averaged.items():
            model.update_parameters(self.state.models[name])

    def evaluate(self, test_set, new_loader: Callable) -> Evaluation:
        """Judge the averages as weights are. new_loader: builds one of the training set."""
        judged = copy.copy(self.state)
        judged.models = {name: model.module for name, model in self.averaged.items()}
        judged.model = judged.models.get("", judged.models)
        if self.task.step is None:
            with judged.evaluating(), statistics_anew(judged.model) as norms:
                batches = checked(new_loader(), "the training set") if norms else ()
                for batch in islice(batches, BATCHES):
                    called(judged.model, batch)
        return evaluate(self.task, judged, test_set)

    def weights(self) -> dict[str, dict]:
        """As `State.weights`."""
        return {
            name: {path: t.array for path, t in model.module.state_dict().items()}
            for name, model in self.averaged.items()
        }

    def load(self, weights: dict[str, dict], count: int) -> None:
        """Go on from averages of so many steps. Raises ArgumentError for another model's."""
        self.count = count
        for name, model in self.averaged.items():
            arrays = weights.get(name, {})
            model.module.load_state_dict({path: Tensor(array) for path, array in arrays.items()})
            model.n_averaged.fill_(count)
