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
        expected = "how many seeds (5), or which ones (0,3,7)"
        raise click.BadParameter(f"{value!r}: expected {expected}") from None
    return which if "," in value else which[0]


def option(words, metavar, help, **settings):
    """A click.option. words: its flags, and what the command calls it, with blanks between. A
    default is shown."""
    shown_default = {"show_default": True} if settings.get("default") is not None else {}
    return click.option(*words.split(), metavar=metavar, help=help, **shown_default | settings)


def flag(words, help):
    """An option without a value."""
    return click.option(*words.split(), is_flag=True, help=help)


def choice(words, choices, help, **settings):
    """An option with one of some values."""
    return option(words, None, help, type=click.Choice(choices), **settings)


def count(words, help, **settings):
    """An option with an integer, at least 1."""
    return option(words, "N", help, type=click.IntRange(min=1), **settings)


# ---- what is trained, in which precision, from which seed ---------------------------------------

task = click.argument("task")
data = option(
    "--data", "NAME", "Data set of a built-in task: digits, mnist, fashion_mnist, shakespeare."
)
precision = option(
    "-p --precision",
    "NAME",
    "The precision (see `minifp help precision`).  [default: mixed, or the checkpoint's]",
)
precisions = option(  # of ManyValues
    "-p --precision precisions",
    "NAME...",
    "Precisions to compare.  [default: float32 mixed]",
    multiple=True,
)
seed = option("--seed", "N", "The seed.  [default: 0, or the checkpoint's]", type=int)
WHICH = "How many seeds, or which ones: 0,3,7"
seeds = option(
    "--seeds", "N", f"{WHICH} (write 7, for seed 7 alone).", default="5", callback=seeds_of
)


def seeds_beside(default):
    """--seeds where something else says them: what its default is, in words."""
    return option("--seeds", "N", f"{WHICH}.  [default: {default}]", callback=seeds_of)


# ---- how long -----------------------------------------------------------------------------------

epochs = option("--epochs", "N", "How many epochs to train.  [default: the task's]", type=int)
steps = option("--steps", "N", "How many steps to train, instead of --epochs.", type=int)
dial = option(
    "--dial",
    "K",
    "Exponent dial: make gradients 2^K times smaller, to see what float16 loses.",
    type=int,
)
length = together(epochs, steps, dial)
one_run = together(task, data, precision, seed, length)
every = option("--every", "N", "Look at the first step, then at every N-th.", type=int, default=20)

# ---- where to, and on what ----------------------------------------------------------------------


def out(help, default=None):
    """The folder for results, --out, with what is put there as its help."""
    return option("--out", "DIR", help, type=Place(file_okay=False), default=default)


def checkpoint(words, help, metavar="PATH", **settings):
    """The path of a file, such as a checkpoint: --save, --resume or --checkpoint."""
    return option(words, metavar, help, type=Place(dir_okay=False), **settings)


figures = choice(
    "--figures", ["png", "svg", "pdf", "none"], "Format of the pictures in DIR.", default="png"
)
style = choice(
    "--style",
    ["screen", "paper"],
    "Style of the pictures; paper: one column wide, captions in captions.txt.",
)
width = option("--width", "W", "Width of a picture: 3.25in, 85mm, 8.5cm or 240pt.")
font = option("--font", "NAME", "An installed font for the pictures.")
tensorboard = flag("--tensorboard", "Write event files, into DIR/tensorboard.")
pictures = together(figures, style, width, font)
products = together(pictures, tensorboard)  # of results, beside the page
keep_weights = flag("--keep-weights", "Keep the weights too, in DIR/runs, for `minifp evaluate`.")
device = choice("--device", ["cpu", "cuda"], "Where to train.  [default: MINIFP_DEVICE, else cpu]")
jobs = count(
    "-j --jobs",
    "Train N runs at a time, each in a process with one thread.  [default: 1, with all threads]",
    default=1,
    show_default=False,
)
dry_run = flag("--dry-run", "Only say how many runs there are, and about how long they take.")
budget = option(
    "--budget",
    "TIME",
    "Spend at most --seeds (32) where verdicts are cheapest, in 2h or 90m for all of DIR.",
)
scheduler = option(
    "--scheduler",
    "ADDRESS",
    "Train on the workers of this Dask scheduler, such as tcp://head:8786. Dask sends pickles: use "
    "trusted machines only.",
)


quiet = click.option(
    "-q",
    "--quiet",
    "progress",
    is_flag=True,
    callback=lambda ctx, param, is_quiet: not is_quiet,
    help="Show no progress bar.",
)


def workers(command):
    """Options of who trains; the command gets a client of the scheduler, or None, as `client`."""

    @wraps(command)
    def with_client(*args, scheduler, **settings):
        from minifp.lab.workers.cluster import connected

        with connected(scheduler) as client:
            return command(*args, client=client, **settings)

    return together(device, jobs, scheduler)(with_client)


def where(help):
    """What `fp.lab.Where` holds: --out, with what is put there as its help, and all else."""
    return together(out(help), products, keep_weights, workers, quiet)


def here(help):
    """What of it concerns what trains nothing."""
    return together(out(help), pictures, device, quiet)
