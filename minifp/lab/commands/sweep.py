"""`minifp sweep`."""

import click

from minifp import lab
from minifp.lab.grids.grid import PRECISIONS, grid_of, read_grid
from minifp.lab.grids.sweeping import estimate
from minifp.lab.grids.tables import NAME
from minifp.shell import options
from minifp.shell.results import pictured, show


@click.command(cls=options.ManyValues)
@click.argument("task", required=False)
@options.data
@options.precisions
@options.option(
    "--set settings", "NAME=VALUES...", "Settings to vary, with their values.", multiple=True
)
@options.checkpoint(
    "--grid", "Read task, precision, seeds and set from this TOML file instead.", "FILE"
)
@options.seeds_beside("5")
@options.length
@options.budget
@options.dry_run
@options.where("Keep all cells in this folder, and resume from what is there.")
def sweep(
    task, data, precisions, settings, grid, seeds, epochs, steps, dial, budget, dry_run, **how
):
    """Compare precisions at every point of a grid of settings.

    --set takes names with values: lr=1e-4..1e-1:5 is five values with equal ratios, lr=0..0.1:5:lin
    five values with equal steps, and loss_scale=1,8,128,dynamic a list. A name is a setting of the
    optimizer (lr, weight_decay), a setting of the task (batch_size, epochs, steps, clip_norm,
    accumulate, dial), or a switch of the precision (loss_scale, master_weights, reduce). Switches
    do not change float32, the baseline.

    In DIR, each cell is a folder as `minifp compare` writes it. sweep.html has heat maps and
    curves; sweep.csv and sweep.json have the numbers. After Ctrl-C, run the same command again to
    resume.

    \b
    Examples:
      minifp sweep mlp --set lr=1e-4..1e-1:5 --seeds 3 --out runs/rates
      minifp sweep lenet --precision float32 mixed --set lr=1e-3,1e-2 loss_scale=1,128,dynamic
      minifp sweep mlp --set lr=1e-3,1e-2 batch_size=16..128:4 --dry-run --jobs 2
    """
    if grid is None:
        if task is None or not settings:
            raise click.UsageError("expected a TASK and --set NAME=VALUES, or --grid FILE")
        axes = dict(map(named, settings))
        if len(axes) < len(settings):
            raise click.UsageError("--set: write each name once, its values separated by commas")
        seeds, precisions = 5 if seeds is None else seeds, precisions or PRECISIONS
        lengths = {"epochs": epochs, "steps": steps, "dial": dial}
        whole = grid_of(task, axes, precisions, seeds, data=data, **lengths)
    else:
        others = (task, data, *precisions, *settings, seeds, epochs, steps, dial)
        if any(value is not None for value in others):
            hint = "leave out the task and its options"
            raise click.UsageError(f"--grid {grid} already says what to train: {hint}")
        whole = read_grid(grid)
    at = pictured(**how)
    if dry_run:
        click.echo(estimate(whole, lab.Where(**at), budget).text())
        return
    show(lab.sweep(grid=whole, budget=budget, **at), f"{NAME}.html", **how)


def named(text: str) -> tuple[str, str]:
    """The name and the values in "lr=0.1,0.2"."""
    name, equals, values = text.partition("=")
    if not (name and equals and values):
        raise click.UsageError(f"--set {text}: expected NAME=VALUES, such as lr=1e-4..1e-1:5")
    return name, values
