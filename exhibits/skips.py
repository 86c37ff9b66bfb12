"""Skipped steps and the schedule: how often a dynamic loss scale may skip before it matters.

Where S is as large as it can be, it doubles after every growth interval of good steps, overflows,
and is halved: about one step in (interval + 1) is skipped. The batch of such a step is lost, and
the schedule of the learning rate stands still for it. The claim is that this needs no other
schedule, as such steps are rare: the default interval is 2,000. Here they are made frequent.
"""

from dataclasses import replace

from minifp import Task, load_task
from minifp.lab import Exhibit
from minifp.lab.schedules import cosine

INTERVALS = (20, 50, 100, 200, 500, 1000, 2000)
MARGIN = 0.3  # points, as for all tasks on MNIST
EPOCHS = {"quick": 1, "evening": 4, "full": 10}  # of 1,875 steps


def digit_reader(scale: str) -> Task:
    """The built-in perceptron on MNIST, under a cosine schedule, for one of the scales."""
    task = load_task("mlp", "mnist")
    return replace(task, name="skips-mnist", schedule=cosine, margin=MARGIN, epochs=EPOCHS[scale])


# By the precision whose scale grows after so many good steps.
DOSES = {f"mixed,loss_scale=dynamic+growth_interval={n}": n for n in INTERVALS}

EXHIBITS = (
    Exhibit(
        name="skips",
        title="Skipped steps",
        claim="steps that are skipped now and then need no other schedule",
        task=digit_reader,
        arms=("float32@order", *DOSES),
        doses=DOSES,
        dose="growth interval",
        kind="doses",
    ),
)
