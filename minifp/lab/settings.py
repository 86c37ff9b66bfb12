"""What makes runs comparable: what was asked for, checked, and the settings that all runs share."""

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from textwrap import shorten

from minifp.data import fingerprint
from minifp.data.dataset import as_dataset
from minifp.data.downloads import planned
from minifp.errors import ArgumentError, DataError
from minifp.lab.arms import Arm, as_arm
from minifp.lab.environment import installed
from minifp.lab.run import total_steps
from minifp.lab.state import State
from minifp.numerics import policy
from minifp.runtime import random
from minifp.training.loss_scale import as_loss_scale

MOST_SEEDS = 10_000

# ---- what is asked for ---------------------------------------------------------------------------


def adjusted(task, epochs=None, steps=None, dial=None):
    """The task with what the caller wants otherwise. Only one of epochs and steps can count."""
    if epochs is not None and steps is not None:
        raise ArgumentError(f"epochs={epochs} and steps={steps}: give one of them")
    changes = {"epochs": epochs, "steps": steps, "dial": dial}
    changes = {name: value for name, value in changes.items() if value is not None}
    return replace(task, **({"steps": None} if epochs is not None else {}), **changes)


def canonical(precisions) -> list[str]:
    """The canonical text of each precision, or arm; each may be there once."""
    single = isinstance(precisions, (str, policy.Precision, Arm))
    several = [precisions] if single else list(precisions)
    arms = [as_arm(p) for p in several]
    for arm in arms:
        as_loss_scale(arm.precision.loss_scale)  # whose settings may not go together
    texts = list(map(str, arms))
    if not texts:
        raise ArgumentError("precisions is empty, expected at least one, such as 'mixed'")
    for text in texts:
        if texts.count(text) > 1:
            raise ArgumentError(f"the precision {text} appears twice: expected each once")
    return texts


def seed_list(seeds) -> list[int]:
    """The seeds, from how many or from which."""
    count = hasattr(seeds, "__index__") and not isinstance(seeds, bool)
    several = range(seeds) if count else seeds if isinstance(seeds, Iterable) else ()
    which = list(islice(several, MOST_SEEDS + 1))
    if len(which) > MOST_SEEDS:
        raise ArgumentError(
            f"seeds={shorten(repr(seeds), 60)}: more than {MOST_SEEDS:,} runs of each precision; "
            "to use that number as a seed, write it in a list"
        )
    integers = [s for s in which if hasattr(s, "__index__") and not isinstance(s, bool)]
    is_whole = integers == which and all(0 <= s < 2**63 for s in which)
    if not which or not is_whole or len(set(which)) < len(which):
        raise ArgumentError(
            f"seeds={seeds!r}: expected how many (at least 1), or different integers of at least "
            "0, below 2^63"
        )
    return [int(s) for s in which]


# ---- what is shared ------------------------------------------------------------------------------


def settings(task, data) -> dict:
    """All that makes runs comparable, as JSON holds it. The model is built once to be described."""
    before = random.get_state()
    try:
        random.manual_seed(0)
        with policy.precision("float32"):
            state = State(task, as_arm("float32"), 0)
    finally:
        random.set_state(before)
    optimizers = [f"{n}: {described(o)}".removeprefix(": ") for n, o in state.plain.items()]
    return {
        "minifp": installed("minifp"),
        "task": task.name,
        "task file": task.source,
        "training data": data_text(data[0], task.collate),
        "test data": data_text(data[1], task.collate),
        "model": shapes(state.models),
        "optimizer": "; ".join(optimizers),
        "loss": name_of(task.loss),
        "metric": "; ".join(f"{m.name}: {name_of(m.function)}" for m in task.all_metrics),
        "schedule": name_of(task.schedule),
        "batch size": task.batch_size,
        "steps": total_steps(task, data[0]),
        "clip norm": task.clip_norm,
        "dial": task.dial,
        **others(task),
    }


def others(task) -> dict:
    """The fields of a task that most have not, if they are not the default."""
    config = {
        "schedule by": task.schedule_by,
        "skipping": task.skip,
        "step function": name_of(task.step),
        "evaluation": name_of(task.evaluate),
        "collating": name_of(task.collate),
        "augmentation": name_of(task.transform),
        "order": name_of(task.sampler),
        "accumulated batches": task.accumulate,
        "early stopping": task.early_stopping and str(task.early_stopping),
        "averaged weights": task.average and f"over {task.average:g} of the run",
    }
    return {k: v for k, v in config.items() if v not in (None, 1, "step", "each")}


def shapes(models) -> dict:
    """The shape of each parameter by its name, of several models behind theirs."""
    return {
        f"{model}.{name}".removeprefix("."): list(p.shape)
        for model, module in models.items()
        for name, p in module.named_parameters()
    }


def check_data(data) -> tuple:
    """The pair (training set, test set) that a task's data function returned.

    Raises DataError if it is not two data sets with examples.
    """
    if not isinstance(data, (tuple, list)) or len(data) != 2:
        raise DataError(
            f"the task's data function returned {type(data).__name__}, "
            "expected a pair: (training set, test set)"
        )
    for name, dataset in zip(("training", "test"), data):
        try:
            as_dataset(f"the {name} set", dataset)
        except ArgumentError as error:
            raise DataError(str(error)) from None
        if len(dataset) == 0:
            raise DataError(f"the {name} set is empty, expected at least one example")
    return tuple(data)


def planned_data(task) -> tuple:
    """The same of a task that is planned with: nothing is downloaded. Raises DataError."""
    with planned():
        return check_data(task.data())


def described(optimizer) -> str:
    """An optimizer's class and the settings of each of its groups."""
    groups = [
        ", ".join(f"{k}={v}" for k, v in group.items() if k != "params")
        for group in optimizer.param_groups
    ]
    return f"{type(optimizer).__name__}({'; '.join(groups)})"


def data_text(dataset, collate=None) -> str:
    """A data set's name, length and hash."""
    name = getattr(dataset, "name", type(dataset).__name__)
    digest = fingerprint(dataset, by_item=collate is not None)
    return f"{name}, {len(dataset)} examples, sha256 {digest[:16]}"


def name_of(function) -> str | None:
    """A function's name, without what differs from one process to the next."""
    if function is None:
        return None
    return re.sub(r" at 0x[0-9a-fA-F]+", "", getattr(function, "__qualname__", repr(function)))
