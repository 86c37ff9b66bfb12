"""Options that several commands have: the task, the precision, how long, where to, and on what."""

from functools import wraps
from itertools import chain

import click

from minifp.saving import files

# ---- what an option takes -----------------------------------------------------------------------


class Place(click.Path):
    """A path, with "~" for the home folder also in --out=~/runs, which shells leave as it is."""

    def convert(self, value, param, ctx):
        """Refuse what can be no path, such as what an unset variable leaves."""
        return super().convert(str(files.as_path(value)), param, ctx)


class ManyValues(click.Command):
    """A command whose options with several values take all words up to the next option."""

    def parse_args(self, ctx, args):
        """Parse, with the flag repeated before each of its values."""
        several = [p.opts for p in self.params if isinstance(p, click.Option) and p.multiple]
        return super().parse_args(ctx, repeated(args, [*chain(*several)]))


def repeated(args, flags) -> list:
    """["-p", "a", "b", "--seeds", "5"] as ["-p", "a", "-p", "b", "--seeds", "5"]."""
    words: list[str] = []
    flag = None
    for i, arg in enumerate(args):
        if arg == "--":
            return words + list(args[i:])
        if arg in flags:
            flag = arg
            if i + 1 == len(args) or args[i + 1].startswith("-"):
                raise click.BadOptionUsage(arg, f"{arg} needs at least one value")
        elif flag is not None and not arg.startswith("-"):
            words += [flag, arg]
        else:
            flag = None
            words.append(arg)
    return words


def together(*options):
    """Several options as one decorator, in their order."""

    def add(command):
        for option in reversed(options):
            command = option(command)
        return command

    return add


def seeds_of(ctx, param, value):
    """How many seeds, or which: "5", or "0,3,7", or "7," for this one alone; None is none."""
    if value is None:
        return None
    try:
        which = [int(part) for part in value.removesuffix(",").split(",")]
    except ValueError:
        raise click.BadParameter(
            f"{value!r}: expected how many seeds (5), or which ones (0,3,7)"
        ) from None
    return which if "," in value else which[0]


# ---- what is trained, in which precision, from which seed ---------------------------------------

task = click.argument("task")
data = click.option(
    "--data",
    metavar="NAME",
    help="Data set of a built-in task: digits, mnist, fashion_mnist, shakespeare.",
)
precision = click.option(
    "-p",
    "--precision",
    metavar="NAME",
    help="The precision (see `minifp help precision`).  [default: mixed, or the checkpoint's]",
)
precisions = click.option(  # of ManyValues
    "-p",
    "--precision",
    "precisions",
    multiple=True,
    metavar="NAME...",
    help="Precisions to compare.  [default: float32 mixed]",
)
seed = click.option(
    "--seed", type=int, metavar="N", help="The seed.  [default: 0, or the checkpoint's]"
)
seeds = click.option(
    "--seeds",
    default="5",
    show_default=True,
    callback=seeds_of,
    metavar="N",
    help="How many seeds, or which ones: 0,3,7 (write 7, for seed 7 alone).",
)


def seeds_beside(said):
    """--seeds where something else says them: what its default is, in words."""
    text = f"How many seeds, or which ones: 0,3,7.  [default: {said}]"
    return click.option("--seeds", callback=seeds_of, metavar="N", help=text)


# ---- how long -----------------------------------------------------------------------------------

epochs = click.option(
    "--epochs", type=int, metavar="N", help="How many epochs to train.  [default: the task's]"
)
steps = click.option(
    "--steps", type=int, metavar="N", help="How many steps to train, instead of --epochs."
)
dial = click.option(
    "--dial",
    type=int,
    metavar="K",
    help="Exponent dial: make gradients 2^K times smaller, to see what float16 loses.",
)
length = together(epochs, steps, dial)
one_run = together(task, data, precision, seed, length)
every = click.option(
    "--every",
    type=int,
    default=20,
    show_default=True,
    metavar="N",
    help="Look at the first step, then at every N-th.",
)

# ---- where to, and on what ----------------------------------------------------------------------


def out(help, default=None):
    """The folder for results, --out, with what is put there as its help."""
    shown = {"default": default, "show_default": default is not None}
    return click.option("--out", type=Place(file_okay=False), metavar="DIR", help=help, **shown)


def checkpoint(flag, help):
    """The path of a checkpoint: --save, --resume or --checkpoint."""
    return click.option(flag, type=Place(dir_okay=False), metavar="PATH", help=help)


figures = click.option(
    "--figures",
    type=click.Choice(["png", "svg", "pdf", "none"]),
    default="png",
    show_default=True,
    help="Format of the pictures in DIR.",
)
style = click.option(
    "--style",
    type=click.Choice(["screen", "paper"]),
    help="Style of the pictures; paper: one column wide, captions in captions.txt.",
)
width = click.option(
    "--width", metavar="W", help="Width of a picture: 3.25in, 85mm, 8.5cm or 240pt."
)
font = click.option("--font", metavar="NAME", help="An installed font for the pictures.")
tensorboard = click.option(
    "--tensorboard", is_flag=True, help="Write event files, into DIR/tensorboard."
)


# What is made of results beside the page: pictures and event files.
products = together(figures, style, width, font, tensorboard)
keep_weights = click.option(
    "--keep-weights", is_flag=True, help="Keep the weights too, in DIR/runs, for `minifp evaluate`."
)
device = click.option(
    "--device",
    type=click.Choice(["cpu", "cuda"]),
    help="Where to train.  [default: MINIFP_DEVICE, else cpu]",
)
jobs = click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Train N runs at a time, each in a process with one thread.  [default: 1, with all "
    "threads]",
)
dry_run = click.option(
    "--dry-run",
    is_flag=True,
    help="Only say how many runs there are, and about how long they take.",
)


budget = click.option(
    "--budget",
    metavar="TIME",
    help="Spend at most --seeds (32) where verdicts are cheapest, in 2h or 90m for all of DIR.",
)
scheduler = click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Train on the workers of this Dask scheduler, such as tcp://head:8786. Dask sends "
    "pickles: use trusted machines only.",
)


def workers(command):
    """Options of who trains; the command gets a client of the scheduler, or None, as `client`."""

    @wraps(command)
    def with_client(*args, scheduler, **settings):
        from minifp.lab.workers.cluster import connected

        with connected(scheduler) as client:
            return command(*args, client=client, **settings)

    return together(device, jobs, scheduler)(with_client)


quiet = click.option(
    "-q",
    "--quiet",
    "progress",
    is_flag=True,
    callback=lambda ctx, param, is_quiet: not is_quiet,
    help="Show no progress bar.",
)
