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
@options.out("Keep results, pictures and report in this folder, and go on from what is there.")
@options.products
@options.keep_weights
@options.device
@options.jobs
@options.scheduler
@click.option(
    "--plan", is_flag=True, help="A pilot: say how many seeds the margin needs; --out keeps it."
)
@options.quiet
def compare(
    task, data, precisions, seeds, epochs, steps, dial, out, keep_weights, device, jobs, scheduler,
    plan, quiet, **made,
):  # fmt: skip
    """Train TASK once for each precision and seed, and say what differs.

    For each seed all precisions begin from the same weights and see the same batches, so that runs
    are compared in pairs. TASK comes first: mlp or lenet (on digits, mnist or fashion_mnist),
    charlstm (on shakespeare), or one of your own, as file.py:name or package.module:name.

    \b
    Precisions:
      float32   everything in float32: what the others are compared with
      mixed     float16 storage, float32 sums, master weights, dynamic loss scaling
      autocast  float32 weights; a table says which operations work in float16
      autocast-bfloat16  the same in bfloat16, without a loss scale
      bfloat16  as mixed in bfloat16, without a loss scale
      float8    as bfloat16, with operands of products rounded to 8 bits, with scales
      float16   float16 for everything, sums too, without master weights and loss scaling
      float64   everything in float64
    Each can be changed by switches after commas, without spaces: mixed,loss_scale=128 or
    mixed,loss_scale=off or mixed,master_weights=off or mixed,accumulate=float16. The other switches
    are weights, activations, gradients, operands, gradient_operands, operand_scale (current or
    row), saved (activations or operands: what is kept for backward), reduce, norm_parameters,
    optimizer_state, second_moment, optimizer_state_scale (tensor or block:2048) and operations, and
    where masters are off update_rounding=stochastic and compensated=on.
    A dynamic loss scale takes settings: mixed,loss_scale=dynamic+growth_interval=100; another that
    adapts is lognormal, by the statistics of gradients: mixed,loss_scale=lognormal.
    accumulate and reduce can be chunked:32, too: 32 addends in float16, and these sums in float32.
    Under autocast the name of an operation is a switch too: autocast,softmax=float16.
    After semicolons, and so in quotes, modules have precisions of their own, by patterns of their
    paths, of which later ones win: "mixed;fc*=float32" or "mixed;lstm=bfloat16;*.norm*=float32". A
    model of modules that are given several names has them before the paths: "mixed;critic=float32".
    Products may sum, and round what enters them, in their own ways, fprop, dgrad or wgrad:
    float16,wgrad:accumulate=float32, or of some modules "float16;fc*.wgrad:accumulate=float32".

    \b
    Examples:
      minifp compare lenet --precision float32 mixed float16 --seeds 5 --out runs/lenet
      minifp compare mlp --precision float32 mixed,master_weights=off --epochs 5
      minifp compare lenet --precision float32 "mixed;fc*=float32" "float32;fc*=mixed"
      minifp compare charlstm --steps 500 --dial 11 --precision float32 mixed mixed,loss_scale=off
      minifp compare spirals.py:task --seeds 10 --out runs/spirals

    Controls show what any perturbation does: behind a precision, @order is another order of the
    data, @ulp one weight moved by one unit in its last place, @kernels NumPy's sums in place of
    compiled ones, and @repeat the same once more, which must come out the same to the last bit:
    float32@order mixed@ulp.

    With --out, every run is saved as soon as it is finished. After Ctrl-C the same command goes on
    where it stopped; with more seeds or precisions it trains only what is missing.
    """
    if task is None:
        raise click.UsageError(
            f"which TASK? One of {', '.join(BUILT_IN)}, or file.py:name. It comes before "
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
        raise MinifpError(f"what was done again is not the same: {differing[0]}")


def finished_before_interrupt(out) -> str:
    """What an interrupted comparison leaves: its table, and its report."""
    if out is None:
        return "With --out DIR, finished runs would have been saved."
    comparison = lab.Comparison.load(out) if (Path(out) / RESULTS).is_file() else None
    if comparison is None or not comparison.runs:
        return "No run was finished."
    comparison.report(Path(out) / "report.html")
    click.echo(comparison.table())
    there = len(comparison.asked) - len(comparison.missing())
    return (
        f"{there} of {len(comparison.asked)} runs are finished and in {out}; the same command "
        "goes on from there."
    )
