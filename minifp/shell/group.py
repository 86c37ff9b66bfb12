"""Groups of commands: each is imported when it is called, and ends in an exit code."""

import signal
from contextlib import contextmanager, suppress
from importlib import import_module

import click

from minifp.errors import MinifpError
from minifp.runtime.nearest import nearest
from minifp.saving import files

INTERRUPTED = 130  # 128 and the number of SIGINT, as shells have it


class Refusal(click.ClickException):
    """An error that minifp explains: one message, no traceback."""

    exit_code = 2


class Index(click.Group):
    """Commands that are listed by an index: {name: (room, one line of help)}.

    The command `name` of a room is the function `name` in minifp/<room>/commands/<name>.py; a
    hyphen is an underscore there. prefix: of a group inside of others, what stands before `name`
    in the names of function and file, such as "teach_".
    """

    def __init__(self, *args, index, prefix="", **settings):
        super().__init__(*args, **settings)
        self.index, self.prefix = index, prefix

    def list_commands(self, ctx):
        """All names, in the order of the index."""
        return [*self.index]

    def get_command(self, ctx, name):
        """The command of that name, imported now; None if there is none."""
        if name not in self.index:
            return None
        room, _ = self.index[name]
        stem = self.prefix + name.replace("-", "_")
        return getattr(import_module(f"minifp.{room}.commands.{stem}"), stem)

    def format_commands(self, ctx, formatter):
        """List the index, for which no command need be imported."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self.index.items()])

    def resolve_command(self, ctx, args):
        """Find the command that the words begin with; name the nearest where there is none."""
        if args[0] not in self.index and not ctx.resilient_parsing:
            meant = " or ".join(nearest(args[0], self.index))
            near = f"did you mean {meant}?"
            hint = near if meant else f"the commands are {', '.join(self.index)}"
            ctx.fail(f"no command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)


@contextmanager
def written():
    """Explain where an output cannot be written, such as that a disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno not in files.FULL:
            raise
        raise Refusal(f"the output cannot be written: {error}") from error


class Commands(Index):
    """The group of all: what a command raises ends in an exit code."""

    def make_context(self, *args, **settings):
        """Read the arguments, of which --help and --version write at once."""
        with written():
            return super().make_context(*args, **settings)

    def invoke(self, ctx):
        """Run the command that was asked for; errors and interruptions end in an exit code."""
        with Stopped() as stopped:
            try:
                with written():
                    return super().invoke(ctx)
            except MinifpError as error:
                raise Refusal(str(error)) from error
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
