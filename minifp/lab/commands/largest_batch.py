"""`minifp largest-batch`."""

import click

from minifp import lab
from minifp.lab.capacity.capacity_document import NAME
from minifp.lab.capacity.searching import PRECISIONS
from minifp.lab.tasks import load_task
from minifp.shell import options
from minifp.shell.results import pictured, show


@click.command(cls=options.ManyValues)
@options.task
@options.data
@options.option(
    "--memory",
    "SIZE",
    "How many bytes of arrays a step may hold: 2GB (10^9 each), 512MB, 1.5GiB (2^30).",
    required=True,
)
@options.precisions
@options.here("Keep all trials, the page and the picture in this folder.")
def largest_batch(task, data, memory, precisions, **how):
    """Find the largest batch of TASK whose training step fits a memory size.

    TASK is one that `minifp compare` knows. For each precision, real training steps are tried, each
    in its own process: the batch doubles until a step does not fit, then the search narrows.
    Weights, masters, optimizer state, activations and gradients count, at the peak of a step. The
    table also shows by how much the process grew.

    \b
    Examples:
      minifp largest-batch lenet --memory 200MB
      minifp largest-batch mlp --memory 50MB --precision float32 mixed --out runs/largest
    """
    chosen, arms = load_task(task, data), precisions or PRECISIONS
    show(lab.largest_batch(chosen, memory, arms, **pictured(**how)), f"{NAME}.html", **how)
