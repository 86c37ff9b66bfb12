"""`minifp ablate`."""

import click

from minifp import lab
from minifp.lab.ablation.factors import DEFAULT, OF_PRODUCT, WITHOUT
from minifp.lab.results.store import EFFECTS
from minifp.lab.tasks import load_task
from minifp.shell import options
from minifp.shell.results import pictured, show


@click.command(cls=options.ManyValues)
@click.argument("task")
@options.data
@options.option(
    "--factors",
    "NAME...",
    f"Techniques to take away: {', '.join(WITHOUT)}; also of one product ({OF_PRODUCT}) or "
    f"of a part ('*.{OF_PRODUCT}').  [default: {' '.join(DEFAULT)}]",
    multiple=True,
)
@options.option("--base", "NAME", "The precision to take them from.", default="mixed")
@options.seeds
@options.length
@options.where("Keep results, pictures and pages in this folder, and resume from what is there.")
def ablate(task, data, factors, seeds, **how):
    """Find out which techniques of mixed-precision training TASK needs.

    Trains float32 and every combination of master weights, loss scaling and float32 sums: three
    techniques make eight combinations, each with every seed. To take a technique away is to set its
    switch to off or to float16, or to drop what --base sets for one product or part. To replace it
    instead, write loss_scale=128 for loss_scale.

    \b
    Examples:
      minifp ablate mlp --epochs 3 --seeds 3
      minifp ablate lenet --dial 12 --out runs/ablation
      minifp ablate mlp --factors loss_scale reduce --seeds 10 --out runs/reduce
      minifp ablate mlp --base float16,wgrad:accumulate=float32 --factors wgrad:accumulate --seeds 3
      minifp ablate mlp --base float8 --factors operands gradient_operands --seeds 3
    """
    chosen = load_task(task, data)
    ablation = lab.ablate(chosen, factors or DEFAULT, seeds, **pictured(**how))
    show(ablation, f"{EFFECTS}.html", **how)
