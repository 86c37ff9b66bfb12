"""`minifp help`."""

import click

from minifp.errors import ArgumentError
from minifp.lab.arms import CONTROLS
from minifp.lab.commands import help_precision
from minifp.numerics.precision_grammar import written_control
from minifp.runtime.nearest import nearest

CONTROLS_TEXT = """\
Controls show what any small disturbance does to a result: a precision that differs by no
more is nothing special. Write them behind a precision, as in

  minifp compare mlp --precision float32 float32@order mixed mixed@ulp

{}

Where a repetition does not give the same bits, the command fails."""


def controls() -> str:
    """What a comparison may have beside precisions."""
    rows = [(written_control("float32", name), said) for name, said in CONTROLS.items()]
    return CONTROLS_TEXT.format("\n".join(f"  {control:17}{said}" for control, said in rows))


TOPICS = {
    "precision": ("how precisions are written, with all their switches", help_precision.text),
    "controls": ("small disturbances, which are compared beside precisions", controls),
}


@click.command()
@click.argument("topic", required=False)
@click.pass_context
def help(context, topic):
    """Explain TOPIC, or list the topics. The name of a command shows its --help.

    \b
    Examples:
      minifp help
      minifp help precision
      minifp help compare
    """
    commands = context.parent.command
    if topic is None:
        click.echo("\n".join(listed()))
    elif topic in TOPICS:
        click.echo(TOPICS[topic][1]())
    elif command := commands.get_command(context.parent, topic):
        with click.Context(command, context.parent, topic) as own:
            click.echo(command.get_help(own))
    else:
        near = " or ".join(nearest(topic, [*TOPICS, *commands.index]))
        hint = near or f"{', '.join(TOPICS)}, or a command"
        raise ArgumentError(f"no topic {topic!r}: expected {hint}; `minifp help` lists the topics")


def listed() -> list[str]:
    """The lines of the topics."""
    lines = [f"  minifp help {name:12} {line}" for name, (line, _) in TOPICS.items()]
    return ["Topics:", *lines, f"  minifp help {'COMMAND':12} the same as minifp COMMAND --help"]
