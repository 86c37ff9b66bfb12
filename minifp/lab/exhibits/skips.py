"""Skipped steps and the schedule: how often a dynamic loss scale may skip before it matters.

Where S is as large as it can be, it doubles after every growth interval of good steps, overflows,
and is halved: about one step in (interval + 1) is skipped. The batch of such a step is lost, and
the schedule of the learning rate stands still for it. The claim is that this needs no other
schedule, as such steps are rare: the default interval is 2,000. Here they are made frequent.
"""

from functools import partial

from minifp import data, optim
from minifp.lab.exhibits.exhibit import Exhibit
from minifp.lab.schedules import cosine
from minifp.lab.task import Task
from minifp.models import MLP
from minifp.nn import functional as F
from minifp.numerics import policy

INTERVALS = (20, 50, 100, 200, 500, 1000, 2000)
MARGIN = 0.3  # points, as for all tasks on MNIST
EPOCHS = {"quick": 1, "evening": 4, "full": 10}  # of 1,875 steps
SIDE = 28  # of a picture, in pixels


def digit_reader(scale: str) -> Task:
    """A perceptron on MNIST under a cosine schedule, for one of the scales."""
    return Task(
        name="skips-mnist",
        description="a multilayer perceptron with hidden layers of 128 and 64, on MNIST",
        model=partial(MLP, SIDE**2, 128, 64, 10),
        data=data.mnist,
        loss=F.cross_entropy,
        optimizer=partial(optim.Adam, lr=1e-3),
        schedule=cosine,
        margin=MARGIN,
        batch_size=32,
        epochs=EPOCHS[scale],
    )


def arm_of(interval: int) -> str:
    """The precision whose scale grows after so many good steps."""
    return str(policy.as_precision(f"mixed,loss_scale=dynamic+growth_interval={interval}"))


DOSES = {arm_of(interval): interval for interval in INTERVALS}

EXHIBITS = (
    Exhibit(
        name="skips",
        title="Skipped steps",
        claim="steps that are skipped now and then need no other schedule",
        published=None,
        task=digit_reader,
        arms=("float32@order", *DOSES),
        doses=DOSES,
        dose="growth interval",
        kind="doses",
    ),
)
