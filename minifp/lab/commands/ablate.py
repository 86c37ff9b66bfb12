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
    help=f"Techniques to take away, of {', '.join(WITHOUT)}, of one product ({OF_PRODUCT}), or of "
    f"a part ('*.{OF_PRODUCT}').  [default: {' '.join(DEFAULT)}]",
)
@click.option(
    "--base", default="mixed", show_default=True, metavar="NAME", help="What they are taken from."
)
@options.seeds
@options.epochs
@options.steps
@options.dial
@options.out("Keep results, pictures and pages in this folder, and go on from what is there.")
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
    """Say what each technique of mixed-precision training does for TASK.

    Trains float32 and every combination of master weights, loss scaling and float32 sums: eight of
    three techniques, with each seed. Where a technique is missing, its switch is off, or float16,
    and what --base says of one product, or in a part, it does not say; loss_scale=128 in place of
    loss_scale says otherwise.

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
