"""`minifp train`."""

from pathlib import Path

import click

from minifp.lab.metrics import AVERAGED, TEST_LOSS
from minifp.lab.page.captions import metric_places
from minifp.lab.resume import train_one
from minifp.lab.tasks import load_task
from minifp.report import words
from minifp.shell import options


@click.command()
@options.one_run
@options.checkpoint(
    "--save", "Write checkpoints to this safetensors file.  [default: --resume's path]"
)
@options.option(
    "--every",
    "N",
    "Save after every N steps, and at the end.  [default: about once per epoch]",
    type=int,
)
@options.checkpoint(
    "--resume",
    "Resume from this checkpoint. The run ends with the same bits as one that never stopped.",
)
@options.device
@click.option(
    "--graph/--no-graph",
    default=None,
    help="On a GPU, repeat whole steps as a CUDA graph.  [default: where the step allows it]",
)
@options.quiet
def train(task, data, save, resume, **how):
    """Train TASK once, and save checkpoints.

    TASK is mlp, lenet, charlstm, gpt, or your own, as file.py:name. A checkpoint holds weights in
    float32 under PyTorch's names, the optimizer with its master weights, the loss scale, the
    schedule of the learning rate, the place in the data and the state of the random numbers. The
    old file is replaced only once the new one is complete.

    --resume trains to the length that was first requested. With --epochs N, the run ends after N
    epochs, counted from its first start. N may be more or fewer than before, but not fewer than are
    already done. From the checkpoint on, the learning rate follows the schedule of a run of N
    epochs. If it had already fallen to 0, it rises again.

    \b
    Examples:
      minifp train lenet --save runs/lenet.safetensors
      minifp train charlstm --precision mixed --save runs/lstm.safetensors --every 200
      minifp train charlstm --resume runs/lstm.safetensors
      minifp train lenet --resume runs/lenet.safetensors --epochs 20
    """
    chosen, path = load_task(task, data), resume if save is None else save
    try:
        run = train_one(chosen, save=save, resume=resume, **how)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(how_to_go_on(path)) from None
    click.echo(run_table(chosen, run))
    click.echo(f"\nCheckpoint: {path}" if path else NOTHING)


NOTHING = "\nNothing was saved: --save PATH writes a checkpoint."


def run_table(task, run) -> str:
    """What one run came to, a line for each figure."""
    losses = [loss for loss in run.history["loss"] if words.is_number(loss)]
    rows = [
        ("task", task.name),
        ("precision", f"{run.precision}, seed {run.seed}"),
        ("status", run.status + (f": {run.note}" if run.note else "")),
        ("steps", f"{run.steps}, of which {run.skipped} skipped"),
        ("training loss", f"{losses[-1]:.4g} at the last step" if losses else "-"),
        (task.metric_name, words.fixed(run.metric, metric_places(task)) + unit_text(task)),
        *averaged_rows(task, run),
        ("loss scale", words.scale_text(run.final_scale)),
        ("seconds", f"{words.seconds_text(run.seconds_per_step)} a step, median"),
        ("memory", f"{words.bytes_text(sum(run.bytes.values()))} at the peak of a step"),
    ]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:{width}}  {value}" for name, value in rows)


def unit_text(task) -> str:
    """The unit of a task's metric, behind a number."""
    return f" {task.metric_unit}" if task.metric_unit else ""


def averaged_rows(task, run) -> list[tuple[str, str]]:
    """What averages of the weights came to, where there are any."""
    known = {AVERAGED + task.metric_name: unit_text(task), AVERAGED + TEST_LOSS: ""}
    return [
        (name, f"{words.fixed(run.metrics[name][-1], None)}{unit}")
        for name, unit in known.items()
        if name in run.metrics
    ]


def how_to_go_on(path) -> str:
    """What an interrupted training leaves."""
    if path is None:
        return "Nothing was saved: --save PATH makes a run resumable."
    there = Path(path).is_file()
    return f"Resume with --resume {path}." if there else "Nothing was saved yet; see --every."
