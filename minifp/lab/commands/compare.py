"""`minifp compare`."""

from pathlib import Path

import click

from minifp import lab
from minifp.errors import MinifpError
from minifp.lab.planning import looks_ahead
from minifp.lab.results.store import REPORT, RESULTS
from minifp.lab.tasks import BUILT_IN, load_task
from minifp.shell import options
from minifp.shell.results import pictured, show


@click.command(cls=options.ManyValues)
@click.argument("task", required=False)
@options.data
@options.precisions
@options.seeds_beside("5")
@options.budget
@options.length
@options.flag(
    "--plan", "Run a pilot: say how many seeds are needed. With --budget: only show its looks."
)
@options.where(
    "Keep results, pictures and report in this folder, each run as it ends. The same command "
    "trains what is missing."
)
def compare(task, data, precisions, seeds, budget, epochs, steps, dial, plan, **how):
    """Train TASK once for each precision and seed, and say what differs.

    All precisions of a seed start from the same weights and see the same batches, so runs are
    compared in pairs. TASK comes first: mlp, lenet, charlstm, gpt, or your own, as file.py:name
    or package.module:name. `minifp help precision` and `minifp help controls` list what there is to
    compare.

    \b
    Examples:
      minifp compare lenet --precision float32 mixed float16 --seeds 5 --out runs/lenet
      minifp compare lenet --precision float32 "mixed;fc*=float32" "float32;fc*=mixed"
      minifp compare charlstm --steps 500 --dial 11 --precision float32 mixed mixed,loss_scale=off
      minifp compare spirals.py:task --budget 2h --out runs/spirals
    """
    if task is None:
        raise click.UsageError(
            f"no TASK: name one of {', '.join(BUILT_IN)}, or file.py:name. Put it before "
            "--precision, which takes all words up to the next option"
        )
    chosen, arms, at = load_task(task, data), precisions or ("float32", "mixed"), pictured(**how)
    lengths = {"epochs": epochs, "steps": steps, "dial": dial}
    if plan and budget is not None:
        click.echo(looks_ahead(chosen, arms, seeds, budget, lab.Where(**at), **lengths).text())
        return
    try:
        comparison = lab.compare(chosen, arms, seeds, **lengths, pilot=plan, budget=budget, **at)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(finished_before_interrupt(how["out"])) from None
    show(lab.Plan(comparison) if plan else comparison, REPORT, **how)
    differing = comparison.unrepeatable()
    if differing:
        raise MinifpError(f"not repeatable: {differing[0]}")


def finished_before_interrupt(out) -> str:
    """What an interrupted comparison leaves: its table, and its report."""
    if out is None:
        return "Nothing was saved: --out DIR keeps finished runs."
    comparison = lab.Comparison.load(out) if (Path(out) / RESULTS).is_file() else None
    if comparison is None or not comparison.runs:
        return "No run was finished."
    comparison.report(Path(out) / REPORT)
    click.echo(comparison.table())
    there = len(comparison.asked) - len(comparison.missing())
    return (
        f"{there} of {len(comparison.asked)} runs are finished and saved in {out}. Run the same "
        "command again to resume."
    )
