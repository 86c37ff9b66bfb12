"""`minifp ablate`."""

import click

from minifp import lab
from minifp.lab.ablation.factors import DEFAULT, OF_PRODUCT, WITHOUT
from minifp.lab.tasks import load_task
from minifp.lab.workers.cluster import connected
from minifp.saving import files
from minifp.shell import options
from minifp.shell.results import products, where


class ManyFactors(click.Command):
    """A command whose --factors takes all words up to the next option."""

    def parse_args(self, ctx, args):
        """Parse, with the flag repeated before each of its values."""
        return super().parse_args(ctx, options.repeated(args, ("--factors",)))


@click.command(cls=ManyFactors)
@click.argument("task")
@options.data
@click.option(
    "--factors",
    multiple=True,
    metavar="NAME...",
    help=f"Techniques to take away: {', '.join(WITHOUT)}; also of one product ({OF_PRODUCT}) or "
    f"of a part ('*.{OF_PRODUCT}').  [default: {' '.join(DEFAULT)}]",
)
@click.option(
    "--base",
    default="mixed",
    show_default=True,
    metavar="NAME",
    help="The precision to take them from.",
)
@options.seeds
@options.epochs
@options.steps
@options.dial
@options.out("Keep results, pictures and pages in this folder, and resume from what is there.")
@options.products
@options.keep_weights
@options.device
@options.jobs
@options.scheduler
@options.quiet
def ablate(
    task,
    data,
    factors,
    base,
    seeds,
    epochs,
    steps,
    dial,
    out,
    keep_weights,
    device,
    jobs,
    scheduler,
    quiet,
    **made,
):
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
    with connected(scheduler) as client:
        ablation = lab.ablate(
            load_task(task, data),
            factors or DEFAULT,
            seeds,
            base=base,
            epochs=epochs,
            steps=steps,
            dial=dial,
            out=out,
            **products(out, **made),
            progress=not quiet,
            device=device,
            jobs=jobs,
            client=client,
            keep_weights=keep_weights,
        )
    click.echo(ablation.table())
    page = files.as_path(out) / "effects.html" if out else None
    click.echo("\n" + where(page, made["figures"]))
