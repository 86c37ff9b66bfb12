"""How a comparison is made again, by a command."""

import shlex

from minifp.lab.tasks import BUILT_IN
from minifp.report import markup

ABOUT = (
    "The same seeds give the same initial weights, batches and dropout masks on every machine; the "
    "last bits of sums may differ between BLAS libraries. The script reproduce.sh beside the "
    "results repeats everything with the same settings and compares the two."
)


def parts(comparison) -> list:
    """The command, and how far the same numbers come out."""
    return [markup.command(command(comparison)), markup.paragraph(ABOUT)]


def command(comparison) -> str:
    """What makes this comparison again; of a task that came as an object, YOUR_FILE.py has it."""
    options = option_words(comparison, comparison.precisions, comparison.seeds)
    return shlex.join(["minifp", "compare", *task_words(comparison), *options, "--out", "again"])


def task_words(comparison) -> list[str]:
    """The task as a command names it."""
    model, _, data = comparison.task.name.partition("-")
    origin = comparison.origin
    if origin.task is not None:
        return [origin.task, *(["--data", origin.data] if origin.data else [])]
    if data in BUILT_IN.get(model, ((), ()))[1] and not comparison.config.get("task file"):
        return [model, "--data", data]
    return ["YOUR_FILE.py:task"]


def option_words(comparison, arms, seeds) -> list[str]:
    """What a command says of these arms with these seeds."""
    whole = seeds == list(range(len(seeds)))
    words = ["--precision", *arms, "--seeds", str(len(seeds)) if whole else seeds_text(seeds)]
    steps = comparison.config.get("steps")
    words += ["--steps", str(steps)] if steps else []
    return words + (["--dial", str(comparison.dial)] if comparison.dial else [])


def seeds_text(seeds) -> str:
    """Which seeds, as --seeds takes them; one alone has a comma, as 7 would be how many."""
    return ",".join(map(str, seeds)) + "," * (len(seeds) == 1)
