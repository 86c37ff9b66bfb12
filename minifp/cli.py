"""The command line: `minifp compare`, `train`, `demo`, `inspect`, `explain` and
`doctor`.

Exit codes: 0, 2 for a wrong argument or another error that minifp explains, 130 after Ctrl-C, 143
after SIGTERM, which ends a command as Ctrl-C does.
"""

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import minifp
from minifp.errors import MinifpError
from minifp.saving import files

try:
    import click
except ModuleNotFoundError as error:
    if error.name != "click":
        raise
    print("minifp's command line needs click: python -m pip install click", file=sys.stderr)
    raise SystemExit(2) from None

INTERRUPTED = 130  # 128 and the number of SIGINT, as shells have it


class Refusal(click.ClickException):
    """An error that minifp explains: one message, no traceback."""

    exit_code = 2


class Commands(click.Group):
    """Commands whose errors and interruptions end in a message and an exit code."""

    def invoke(self, ctx):
        """Run the command that was asked for."""
        with Stopped() as stopped:
            try:
                return super().invoke(ctx)
            except MinifpError as error:
                raise Refusal(str(error)) from error
            except OSError as error:
                if error.errno not in files.FULL:
                    raise
                raise Refusal(f"the output cannot be written: {error}") from error
            except KeyboardInterrupt as interrupt:
                click.echo(f"\nInterrupted. {interrupt}".rstrip(), err=True)
                ctx.exit(stopped.code)


class Stopped:
    """SIGTERM, which schedulers of clusters send before they kill, taken as Ctrl-C."""

    def __init__(self):
        self.code = INTERRUPTED
        self.takes = signal.getsignal(signal.SIGTERM) == signal.SIG_DFL  # or somebody else decides

    def __enter__(self):
        self.handle(self.stop)
        return self

    def __exit__(self, *raised):
        self.handle(signal.SIG_DFL)

    def handle(self, handler):
        """Set what is done at the signal."""
        if self.takes:
            with suppress(ValueError):  # of other threads than the main one
                signal.signal(signal.SIGTERM, handler)

    def stop(self, number, frame):
        """What is done at the signal."""
        self.code = 128 + number  # as shells have it
        raise KeyboardInterrupt


class Place(click.Path):
    """A path, with "~" for the home folder also in --out=~/runs, which shells leave as it is."""

    def convert(self, value, param, ctx):
        """Refuse what can be no path, such as what an unset variable leaves."""
        return super().convert(str(files.as_path(value)), param, ctx)


class ManyValues(click.Command):
    """A command whose --precision takes all words up to the next option."""

    def parse_args(self, ctx, args):
        """Parse, with the flag repeated before each of its values."""
        return super().parse_args(ctx, repeated(args, ("--precision", "-p")))


def repeated(args, flags) -> list:
    """["-p", "a", "b", "--seeds", "5"] as ["-p", "a", "-p", "b", "--seeds", "5"]."""
    found: list[str] = []
    flag = None
    for i, arg in enumerate(args):
        if arg == "--":
            return found + list(args[i:])
        if arg in flags:
            flag = arg
            if i + 1 == len(args) or args[i + 1].startswith("-"):
                raise click.BadOptionUsage(arg, f"{arg} needs at least one precision")
        elif flag is not None and not arg.startswith("-"):
            found += [flag, arg]
        else:
            flag = None
            found.append(arg)
    return found


def seeds_of(ctx, param, value):
    """How many seeds, or which: "5", or "0,3,7"."""
    try:
        which = [int(part) for part in value.split(",")]
    except ValueError:
        raise click.BadParameter(
            f"{value!r}: expected a number, or numbers such as 0,3,7"
        ) from None
    return which if "," in value else which[0]


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="`minifp COMMAND --help` tells more of each. From Python: import minifp as fp; "
    'fp.compare("lenet", seeds=5).',
)
@click.version_option(minifp.__version__, package_name="minifp")
def main():
    """Train the same network in float32 and in float16, and see what differs.

    minifp stores numbers as a half-precision GPU would, and has each technique of mixed-precision
    training as a switch of its own: float32 sums, loss scaling, float32 master weights.

    \b
    Start here:
      minifp demo                        four experiments in a few minutes, with a report to read
      minifp compare lenet --seeds 3     a small convolutional network, in float32 and mixed
      minifp train lenet --save PATH     train once, with checkpoints to go on from
      minifp inspect charlstm --out DIR  where the numbers of a run lie, and what is lost
      minifp explain 0.1                 what each number format makes of a number, bit by bit
      minifp doctor                      what minifp finds on this machine
    """


# ---- options that several commands have ---------------------------------------------------------

DATA = click.option(
    "--data", metavar="NAME", help="Data set of a built-in task: digits, mnist, shakespeare."
)
PRECISION = click.option(
    "-p",
    "--precision",
    metavar="NAME",
    help="The precision, as `minifp compare` takes it.  [default: mixed, or the checkpoint's]",
)
SEED = click.option(
    "--seed", type=int, metavar="N", help="The seed.  [default: 0, or the checkpoint's]"
)
EPOCHS = click.option(
    "--epochs", type=int, metavar="N", help="Train so many epochs, not the task's own number."
)
STEPS = click.option("--steps", type=int, metavar="N", help="Train so many steps, not epochs.")
DIAL = click.option(
    "--dial", type=int, metavar="K", help="Exponent dial: gradients 2^K times smaller."
)
DEVICE = click.option(
    "--device",
    type=click.Choice(["cpu", "cuda"]),
    help="Where to train.  [default: MINIFP_DEVICE's, or cpu]",
)
QUIET = click.option("-q", "--quiet", is_flag=True, help="Show no progress bar.")

# ---- the commands -------------------------------------------------------------------------------


@main.command(cls=ManyValues, short_help="Train in several precisions, and say what differs.")
@click.argument("task", required=False)
@DATA
@click.option(
    "-p",
    "--precision",
    "precisions",
    multiple=True,
    metavar="NAME...",
    help="Precisions to compare, one or more words.  [default: float32 mixed]",
)
@click.option(
    "--seeds",
    default="5",
    show_default=True,
    callback=seeds_of,
    metavar="N",
    help="How many seeds, or which ones: 0,3,7.",
)
@EPOCHS
@STEPS
@DIAL
@click.option(
    "--out",
    type=Place(file_okay=False),
    metavar="DIR",
    help="Keep results, pictures and report in this folder, and go on from what is there.",
)
@click.option(
    "--figures",
    type=click.Choice(["png", "svg", "pdf", "none"]),
    default="png",
    show_default=True,
    help="Format of the pictures in DIR.",
)
@DEVICE
@QUIET
def compare(task, data, precisions, seeds, epochs, steps, dial, out, figures, device, quiet):
    """Train TASK once for each precision and seed, and say what differs.

    All runs begin from the same weights and see the same batches, so they are compared pair by
    pair. TASK comes first: mlp or lenet (on digits or mnist), charlstm (on shakespeare), or one of
    your own, as file.py:name.

    \b
    Precisions:
      float32   everything in float32: what the others are compared with
      mixed     float16 storage, float32 sums, master weights, dynamic loss scaling
      autocast  float32 weights; each operation in float16 or float32, by a table
      float16   float16 for everything, without master weights and scaling
      float64   everything in float64
    Each can be changed by switches after commas, without spaces: mixed,loss_scale=128 or
    mixed,loss_scale=off or mixed,master_weights=off or mixed,accumulate=float16. The other switches
    are weights, activations, gradients, reduce, norm_parameters, optimizer_state and operations;
    under autocast also single operations: autocast,softmax=float16.

    \b
    Examples:
      minifp compare lenet --precision float32 mixed float16 --seeds 5 --out runs/lenet
      minifp compare mlp --precision float32 mixed,master_weights=off --epochs 5
      minifp compare charlstm --steps 500 --dial 11 --precision float32 mixed mixed,loss_scale=off
      minifp compare spirals.py:task --seeds 10 --out runs/spirals

    With --out, every finished run is kept at once. After Ctrl-C the same command goes on where it
    stopped; with more seeds or precisions it trains only what is missing.
    """
    from minifp import lab
    from minifp.lab.tasks import BUILT_IN, load_task

    if task is None:
        raise click.UsageError(
            f"which TASK? One of {', '.join(BUILT_IN)}, or file.py:name. It comes before "
            "--precision, which takes all words up to the next option"
        )
    chosen = load_task(task, data)
    try:
        comparison = lab.compare(
            chosen,
            precisions or ("float32", "mixed"),
            seeds,
            epochs,
            steps,
            dial,
            out=out,
            figures=picture_format(figures) if out else None,
            progress=not quiet,
            device=device,
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(finished_before_interrupt(out)) from None
    click.echo(comparison.table())
    click.echo("\n" + where(Path(out) / "report.html" if out else None, figures))


def picture_format(figures) -> str | None:
    """The format, or None where pictures are not wanted or cannot be made."""
    from minifp.report import drawing

    return figures if figures != "none" and drawing.is_available() else None


def where(report, figures) -> str:
    """The last lines: where the results are, and how to get what is not there."""
    from minifp.report import drawing

    if report is None:
        return "Nothing was written: with --out DIR there are a report, pictures and all numbers."
    hint = [] if figures == "none" or drawing.is_available() else [drawing.HOW_TO_GET]
    return "\n".join([*hint, f"Report: {report}"])


def finished_before_interrupt(out) -> str:
    """What an interrupted comparison leaves: its table, and its report."""
    from minifp.lab import Comparison
    from minifp.lab.store import RESULTS

    if out is None:
        return "With --out DIR, finished runs would be kept."
    comparison = Comparison.load(out) if (Path(out) / RESULTS).is_file() else None
    if comparison is None or not comparison.runs:
        return "No run was finished."
    comparison.report(Path(out) / "report.html")
    click.echo(comparison.table())
    return (
        f"{len(comparison.runs)} finished runs are in {out}; the same command goes on from there."
    )


@main.command(short_help="Train once, with checkpoints to go on from.")
@click.argument("task")
@DATA
@PRECISION
@SEED
@EPOCHS
@STEPS
@DIAL
@click.option(
    "--save",
    type=Place(dir_okay=False),
    metavar="PATH",
    help="Write a checkpoint there, a safetensors file.  [default: --resume's path]",
)
@click.option(
    "--every",
    type=int,
    metavar="N",
    help="Save after every N steps, and at the end.  [default: about once an epoch]",
)
@click.option(
    "--resume",
    type=Place(dir_okay=False),
    metavar="PATH",
    help="Go on from this checkpoint, bit for bit as if training had never stopped.",
)
@DEVICE
@click.option(
    "--graph/--no-graph",
    default=None,
    help="On a GPU, repeat whole steps as a CUDA graph.  [default: where the step allows it]",
)
@QUIET
def train(
    task, data, precision, seed, epochs, steps, dial, save, every, resume, device, graph, quiet
):
    """Train TASK once, and save checkpoints.

    TASK is one that `minifp compare` knows: mlp, lenet, charlstm, or one of your own, as
    file.py:name. A checkpoint holds the weights in float32 under PyTorch's names, the optimizer
    with its masters, the loss scale, the schedule, the place in the data and the random streams;
    it is replaced only when the next one is complete.

    --resume goes on to where the run was meant to end. With --epochs N, in all, it trains longer,
    or shorter, whether it had ended or not: a schedule of learning rates is from there on that of N
    epochs, so that after a cosine to 0 the rate rises again. N must not be less than what is done.

    \b
    Examples:
      minifp train lenet --save runs/lenet.safetensors
      minifp train charlstm --precision mixed --save runs/lstm.safetensors --every 200
      minifp train charlstm --resume runs/lstm.safetensors
      minifp train lenet --resume runs/lenet.safetensors --epochs 20
      minifp train charlstm --device cuda --no-graph
    """
    from minifp.lab.page.table import run_table
    from minifp.lab.resume import train_one
    from minifp.lab.tasks import load_task

    chosen, path = load_task(task, data), resume if save is None else save
    try:
        run = train_one(
            *(chosen, precision, seed, epochs, steps, dial),
            save=save,
            every=every,
            resume=resume,
            progress=not quiet,
            device=device,
            graph=graph,
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(how_to_go_on(path)) from None
    click.echo(run_table(chosen, run))
    click.echo(f"\nCheckpoint: {path}" if path else "\nNothing was written: --save PATH keeps it.")


def how_to_go_on(path) -> str:
    """What an interrupted training leaves."""
    if path is None:
        return "With --save PATH one could go on."
    there = Path(path).is_file()
    return f"Go on with --resume {path}." if there else "Nothing was saved yet; see --every."


@main.command()
@click.option(
    "--out",
    type=Place(file_okay=False),
    default="runs/demo",
    show_default=True,
    metavar="DIR",
    help="Where the report, the pictures and all numbers go.",
)
@QUIET
def demo(out, quiet):
    """See each technique of mixed precision at work, on bundled data.

    \b
    (a) a convolutional network on digits: mixed ends where float32 ends
    (b) without float32 master weights, a small learning rate is lost
    (c) without loss scaling, a character LSTM diverges
    (d) where sums in float16 fail

    Takes a few minutes on two cores. Interrupted, it goes on where it stopped.
    """
    from minifp.lab.demo import PARTS
    from minifp.lab.page import story

    done, page, overview = [], Path(out) / "report.html", Path(out) / "demo.png"
    files.check_writable(page, overview)
    try:
        for part in PARTS:
            click.echo(f"\n({part.key}) {part.title}\n\n{part.claim}\n")
            done.append((part, part.run(out, not quiet, picture_format("png"))))
            click.echo(done[-1][1].table())
    except KeyboardInterrupt:
        said = f"What was finished is in {out}; the same command goes on from there."
        raise KeyboardInterrupt(said) from None
    report = story.write_story(done, page)
    if picture_format("png"):
        story.save_overview(done, overview)
    click.echo("\n" + where(report, "png"))


# What gives a piece of an explanation its colour, in any terminal of 8 colours, light or dark.
COLOURS: dict[str, dict[str, Any]] = {
    "title": {"bold": True},
    "sign": {"fg": "magenta", "bold": True},
    "exponent": {"fg": "green"},
    "mantissa": {"fg": "cyan"},
    "lost": {"fg": "red"},
    "bad": {"fg": "red", "bold": True},
    "good": {"fg": "green", "bold": True},
    "muted": {"dim": True},
}


def coloured(text, role) -> str:
    """A piece of an explanation in the colour of its role."""
    return click.style(text, **COLOURS[role])


def wants_colour() -> bool:
    """Whether the output is a terminal, of one who has not said NO_COLOR (no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


@main.command(
    short_help="Show a number, or a sum, in every number format, bit by bit.",
    context_settings={"ignore_unknown_options": True},  # -0.1 is a number
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="NUMBER [+|-|*|/ NUMBER]")
def explain(words):
    """Show what each number format makes of NUMBER, or of a calculation with two.

    The formats are float64, float32, float16, bfloat16 and both float8: e4m3fn (no Inf, at most
    448) and e5m2 (at most 57344). For a number: its bits, value, neighbours and rounding error, and
    whether it is normal, subnormal, flushed to zero or too large. For a calculation: how the
    operands are rounded, what falls off when a sum is aligned or a product is cut, and whether an
    addend vanishes.

    A number is 0.1, 1e-8, 0x1.8p-3, 2^-24, inf or nan. It is read exactly and rounded once,
    directly to each format. All that is printed is exact, or correctly rounded after a "~".

    \b
    Examples:
      minifp explain 0.1
      minifp explain -65520
      minifp explain 2^-25
      minifp explain 1 + 0.0005
      minifp explain "256 - 0.009"
      minifp explain "3e4 * 3"           in quotes, because of the *; or x: 3e4 x 3

    In colour, where the output is a terminal and the variable NO_COLOR is not set.
    """
    from minifp.scope.explaining import explained_text

    if not words:
        raise click.UsageError(
            'which number? `minifp explain 0.1`, or a calculation: `minifp explain "1 + 0.0005"`'
        )
    if len(words) > 3:
        raise click.UsageError(
            f"{len(words)} words: expected a number, or two with +, -, * or / between. Put a "
            'calculation with * in quotes, as in "3 * 0.1": the shell takes a bare * for files'
        )
    style = coloured if wants_colour() else explained_text.plain
    click.echo(minifp.explain(" ".join(words)).text(style))


@main.command(short_help="See what each number format does to a training run.")
@click.argument("task")
@DATA
@PRECISION
@SEED
@EPOCHS
@STEPS
@DIAL
@click.option(
    "--every",
    type=int,
    default=20,
    show_default=True,
    metavar="N",
    help="Look at every N-th step.",
)
@click.option(
    "--checkpoint",
    type=Place(dir_okay=False),
    metavar="PATH",
    help="Begin from this checkpoint, and make one step with one batch; the file stays as it is.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Then train with constant loss scales inside and outside of the advised range.",
)
@click.option(
    "--out",
    type=Place(file_okay=False),
    metavar="DIR",
    help="Write report.html, scope.npz, scope.txt and scope.png into this folder.",
)
@DEVICE
@QUIET
def inspect(
    task, data, precision, seed, epochs, steps, dial, every, checkpoint, check, out, device, quiet
):
    """Train TASK under the microscope: where its numbers lie, and what is lost.

    The report has exact histograms of weights, activations and gradients by power of two, with a
    slider for the loss scale; advice on the loss scale; why steps were skipped, down to the
    operation; updates that were lost. Of one step it has every kernel and its format, the error
    that each operation adds, who holds memory, and what bounds the time, here and on GPUs. TASK is
    one that `minifp compare` knows.

    \b
    Examples:
      minifp inspect charlstm --data shakespeare --steps 500 --dial 11 --out runs/scope
      minifp inspect lenet --precision float32 --steps 200 --out runs/lenet
      minifp inspect charlstm --steps 300 --dial 11 --check
      minifp inspect lenet --checkpoint runs/lenet.safetensors --out runs/one-batch

    After Ctrl-C it tells, and writes, what it has seen until then.
    """
    from minifp.lab.tasks import load_task
    from minifp.scope.findings import places
    from minifp.scope.inspecting import INTERRUPTED
    from minifp.scope.inspecting import inspect as look

    if out is not None:
        files.check_writable(*places(out))
    found = look(
        *(load_task(task, data), precision, seed, epochs, steps, dial),
        every=every,
        checkpoint=checkpoint,
        check=check,
        progress=not quiet,
        device=device,
    )
    click.echo(found.summary())
    if out is None:
        click.echo("\nNothing was written: with --out DIR there are a report and all numbers.")
    else:
        click.echo(f"\nReport: {found.write(out, progress=not quiet)}")
    if INTERRUPTED in found.about:
        raise KeyboardInterrupt(f"What was seen until then is above ({found.about[INTERRUPTED]}).")


@main.command(short_help="Print what minifp finds on this machine, and what is missing.")
def doctor():
    """Print what minifp finds on this machine, and how to install what is missing."""
    from minifp.lab.doctor import doctor_text

    click.echo(doctor_text())
