"""`minifp explain`."""

import os
import sys
from typing import Any

import click

from minifp.report.pieces import plain
from minifp.scope.explaining.explain import explain as explanation_of

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


@click.command(context_settings={"ignore_unknown_options": True})  # -0.1 is a number
@click.option(
    "--formats",
    metavar="FORMAT,...",
    help="Formats to show, by name or by bits: float16,e5m7,e4m3+saturates=on.",
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="NUMBER [+|-|*|/ NUMBER]")
def explain(words, formats):
    """Show what each number format makes of NUMBER, or of a calculation with two numbers.

    By default the formats are float64, float32, float16, bfloat16 and both float8: e4m3fn (no Inf,
    at most 448) and e5m2 (at most 57344). For a number you see its bits, value, neighbours and
    rounding error, and whether it is normal, subnormal, flushed to zero or too large. For a
    calculation you see how its two numbers are rounded, which bits of the result are lost, and
    whether adding changes anything.

    Write a number as 0.1, 1e-8, 0x1.8p-3, 2^-24, inf or nan. It is read exactly and rounded once to
    each format. Printed values are exact; a "~" marks those that are correctly rounded.

    \b
    Examples:
      minifp explain 0.1
      minifp explain -65520
      minifp explain 2^-25
      minifp explain 1 + 0.0005
      minifp explain "256 - 0.009"
      minifp explain 30 --formats float6_e3m2,e4m3
      minifp explain "3e4 * 3"  # in quotes, or the shell takes * for names of files; or 3e4 x 3

    A terminal shows colours, unless the environment variable NO_COLOR is set.
    """
    if not words:
        raise click.UsageError(
            'no number: try `minifp explain 0.1`, or a calculation: `minifp explain "1 + 0.0005"`'
        )
    if len(words) > 3:
        raise click.UsageError(
            f"{len(words)} words: expected one number, or two with +, -, * or / between. Put a "
            'calculation with * in quotes, as in "3 * 0.1": the shell takes a bare * for files'
        )
    style = coloured if wants_colour() else plain
    names = None if formats is None else formats.split(",")
    click.echo(explanation_of(" ".join(words), formats=names).text(style))
