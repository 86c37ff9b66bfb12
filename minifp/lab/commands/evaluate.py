"""`minifp evaluate`."""

import click

from minifp import lab
from minifp.lab.inference.evaluating import PRECISIONS, REPEATS
from minifp.lab.inference.inference_document import NAME
from minifp.shell import options
from minifp.shell.results import pictured, show


@click.command(cls=options.ManyValues)
@click.argument("checkpoints", nargs=-1, required=True, metavar="CHECKPOINT...")
@options.option(
    "-p --precision precisions",
    "NAME...",
    f"Precisions to compute in, one or more words.  [default: {' '.join(PRECISIONS)}]",
    multiple=True,
)
@options.option(
    "--task",
    "TASK",
    "The task of the weights, as for `minifp compare`. Needed if a file does not name its "
    "task, or names a task of your own: code that a file names is never run.",
)
@options.data
@options.count("--examples", "Use only the first N test examples.  [default: all]")
@options.count(
    "--batch", "Batch size for measuring time and memory.  [default: 4 times the task's]"
)
@options.count(
    "--repeats", "Time N passes and take the median. Precisions take turns.", default=REPEATS
)
@options.here("Keep all numbers, the page and the pictures in this folder.")
def evaluate(checkpoints, precisions, **how):
    """Judge trained weights in several number formats, without training.

    CHECKPOINT is a file written by `minifp train --save`, or by `compare`, `ablate` or `gallery`
    with --keep-weights, or a folder of such files. Name one or more, before --precision. With
    --task, any safetensors file of weights will do.

    For each precision you get the metric and the loss on the test set, the time per example, the
    memory of weights and activations, and the examples that are classified differently than in
    float32, as pictures if they are pictures. "mixed" computes in float16 with float32 sums, as
    GPUs do. "float16" also sums in float16, which is slow here.

    \b
    Examples:
      minifp train lenet --save runs/lenet.safetensors
      minifp evaluate runs/lenet.safetensors --precision float32 mixed --out runs/evaluated
      minifp compare lenet --seeds 3 --keep-weights --out runs/lenet
      minifp evaluate runs/lenet --precision float16 float32 --out runs/formats
    """
    inference = lab.evaluate(checkpoints, precisions or PRECISIONS, **pictured(**how))
    show(inference, f"{NAME}.html", **how)
