"""What lessons need to have compiled, so that none of them waits for it."""

from dataclasses import replace
from functools import partial

import numpy as np

from minifp import optim
from minifp.lab.compile_ahead import FIRST, PRECISIONS, Job, jobs_for, one_step
from minifp.lab.tasks import load_task
from minifp.numerics.policy import precision
from minifp.ops import gather, log_softmax, tensor
from minifp.scope import inspecting

ALL = (*PRECISIONS, "autocast", "mixed,accumulate=float16,reduce=float16")
LOOKED_AT = (("mlp", "float32"), ("mlp", "mixed"), ("lenet", "mixed"), ("charlstm", "mixed"))
RATE = 0.1


def jobs_for_lessons() -> list[Job]:
    """The usual models in all precisions that lessons have, other optimizers, the microscope, and
    operations that no such model has."""
    rules = {
        "SGD": partial(optim.SGD, lr=RATE),
        "momentum": partial(optim.SGD, lr=RATE, momentum=0.9),
        "decay": partial(optim.Adam, lr=RATE, weight_decay=1e-4),
    }
    jobs = jobs_for(FIRST, ALL)
    jobs += [
        Job(f"mlp, {name}", arm, partial(with_rule, rule, arm))
        for arm in ("float32", "mixed")
        for name, rule in rules.items()
    ]
    jobs += [Job(f"{name}, inspect", arm, partial(look_at, name, arm)) for name, arm in LOOKED_AT]
    return [*jobs, Job("operations", "mixed", compute)]


def with_rule(rule, arm: str) -> None:
    """A step of the perceptron with another optimizer."""
    one_step(replace(load_task("mlp"), optimizer=rule), arm)


def look_at(model: str, arm: str) -> None:
    """Two steps under the microscope, one of them in detail."""
    inspecting.inspect(model, arm, steps=2, every=1, progress=False)


def compute() -> None:
    """Log-probabilities gathered by class, forward and back, and dot products, of float16."""
    with precision("mixed"):
        x = tensor(np.ones((2, 4), np.float16), requires_grad=True)
        log_p = log_softmax(x, -1, dtype="float32")
        gather(log_p, -1, tensor(np.zeros((2, 1), np.int64))).sum().backward()
        x[:1] @ x[1:].mT
