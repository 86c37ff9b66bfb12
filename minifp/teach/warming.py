"""What lessons need to have compiled, so that none of them waits for it."""

from dataclasses import replace
from functools import partial

from minifp import optim
from minifp.lab.compile_ahead import FIRST, PRECISIONS, Job, jobs_for, one_step
from minifp.lab.tasks import load_task
from minifp.scope import inspecting

ALL = (*PRECISIONS, "autocast", "mixed,accumulate=float16,reduce=float16")
LOOKED_AT = ("mlp", "lenet", "charlstm")
RATE = 0.1


def jobs_for_lessons() -> list[Job]:
    """The usual models in all precisions that lessons have, other optimizers, the microscope."""
    rules = {
        "SGD": partial(optim.SGD, lr=RATE),
        "momentum": partial(optim.SGD, lr=RATE, momentum=0.9),
        "decay": partial(optim.Adam, lr=RATE, weight_decay=1e-4),
    }
    jobs = jobs_for(FIRST, ALL)
    for precision in ("float32", "mixed"):
        jobs += [Job(f"mlp, {name}", precision, partial(with_rule, rule, precision))
                 for name, rule in rules.items()]  # fmt: skip
    return jobs + [
        Job(f"{model}, inspect", "mixed", partial(look_at, model)) for model in LOOKED_AT
    ]


def with_rule(rule, precision: str) -> None:
    """A step of the perceptron with another optimizer."""
    one_step(replace(load_task("mlp"), optimizer=rule), precision)


def look_at(model: str) -> None:
    """Two steps under the microscope, one of them in detail."""
    inspecting.inspect(model, "mixed", steps=2, every=1, progress=False)
