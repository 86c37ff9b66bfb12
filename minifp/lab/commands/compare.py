"""`minifp compare`."""

from pathlib import Path

import click

from minifp import lab
from minifp.errors import MinifpError
from minifp.lab.results.store import RESULTS
from minifp.lab.tasks import BUILT_IN, load_task
from minifp.lab.workers.cluster import connected
from minifp.shell import options
from minifp.shell.results import products, where


@click.command(cls=options.ManyValues)
@click.argument("task", required=False)
@options.data
@options.precisions
@options.seeds
@options.epochs
@options.steps
@options.dial
@options.out("Keep results, pictures and report in this folder, and resume from what is there.")
@options.products
@options.keep_weights
@options.device
@options.jobs
@options.scheduler
@click.option(
    "--plan", is_flag=True, help="Run a pilot: say how many seeds the margin needs. --out keeps it."
)
@options.quiet
def compare(
    task, data, precisions, seeds, epochs, steps, dial, out, keep_weights, device, jobs, scheduler,
    plan, quiet, **made,
):  # fmt: skip
    """Train TASK once for each precision and seed, and say what differs.

    For each seed, all precisions start from the same weights and see the same batches, so runs
    can be compared in pairs. TASK comes first: mlp or lenet (on digits, mnist or fashion_mnist),
    charlstm or gpt (on shakespeare), or your own, as file.py:name or package.module:name.

    \b
    Precisions:
      float32   everything in float32: the baseline of all comparisons
      mixed     float16 storage, float32 sums, master weights, dynamic loss scaling
      autocast  float32 weights; a table says which operations work in float16
      autocast-bfloat16  autocast in bfloat16, without a loss scale
      bfloat16  mixed in bfloat16, without a loss scale
      float8    bfloat16, but products round their operands to 8 bits, with scales
      float16   float16 for everything, also sums; no master weights, no loss scaling
      float64   everything in float64
    Change any of them with switches, after commas and without spaces: mixed,loss_scale=128 or
    mixed,loss_scale=off or mixed,master_weights=off or mixed,accumulate=float16. The other switches
    are weights, activations, gradients, operands, gradient_operands, operand_scale (current or
    row), saved (activations or operands: what backward stores), reduce, norm_parameters,
    optimizer_state, second_moment, optimizer_state_scale (tensor or block:2048) and operations.
    Without masters there are also update_rounding=stochastic and compensated=on.
    A dynamic loss scale takes settings: mixed,loss_scale=dynamic+growth_interval=100. A lognormal
    one adapts to the statistics of gradients: mixed,loss_scale=lognormal.
    accumulate and reduce take chunked:32: add 32 numbers in float16, then these sums in float32.
    Under autocast, the name of an operation is a switch: autocast,softmax=float16.
    To set the precision of single modules, add patterns of their paths after semicolons, in
    quotes: "mixed;fc*=float32" or "mixed;lstm=bfloat16;*.norm*=float32". Later patterns win. If a
    task trains several models, their names come before the paths: "mixed;critic=float32".
    To set one product of a layer (fprop, dgrad or wgrad), name it before the switch:
    float16,wgrad:accumulate=float32, or for some modules "float16;fc*.wgrad:accumulate=float32".

    \b
    Examples:
      minifp compare lenet --precision float32 mixed float16 --seeds 5 --out runs/lenet
      minifp compare mlp --precision float32 mixed,master_weights=off --epochs 5
      minifp compare lenet --precision float32 "mixed;fc*=float32" "float32;fc*=mixed"
      minifp compare charlstm --steps 500 --dial 11 --precision float32 mixed mixed,loss_scale=off
      minifp compare spirals.py:task --seeds 10 --out runs/spirals

    Controls show what any small disturbance does. Write them after a precision, as in
    float32@order mixed@ulp: @order shuffles the data differently, @ulp moves one weight by one
    unit in its last place, @kernels sums in NumPy instead of compiled code, and @repeat runs the
    same again, which must give the same bits.

    With --out, every run is saved as soon as it ends. Run the same command again after Ctrl-C to
    resume. With more seeds or precisions it trains only the missing runs.
    """
    if task is None:
        raise click.UsageError(
            f"no TASK: name one of {', '.join(BUILT_IN)}, or file.py:name. Put it before "
            "--precision, which takes all words up to the next option"
        )
    chosen = load_task(task, data)
    try:
        with connected(scheduler) as client:
            comparison = lab.compare(
                chosen,
                precisions or ("float32", "mixed"),
                seeds,
                epochs,
                steps,
                dial,
                out=out,
                **products(out, **made),
                progress=not quiet,
                device=device,
                jobs=jobs,
                client=client,
                pilot=plan,
                keep_weights=keep_weights,
            )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(finished_before_interrupt(out)) from None
    click.echo(lab.Plan(comparison).table() if plan else comparison.table())
    click.echo("\n" + where(Path(out) / "report.html" if out else None, made["figures"]))
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
    comparison.report(Path(out) / "report.html")
    click.echo(comparison.table())
    there = len(comparison.asked) - len(comparison.missing())
    return (
        f"{there} of {len(comparison.asked)} runs are finished and saved in {out}. Run the same "
        "command again to resume."
    )
