"""`minifp teach lessons`."""

from pathlib import Path

import click

from minifp.lab.environment import python_word
from minifp.report.plain_text import columns
from minifp.shell import options
from minifp.teach.copying import chosen, copy

HOW = "Copy the notebooks with --out DIR, and open them: `{} -m jupyter lab DIR`, or in an editor."


@click.command(name="lessons")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@options.out("Copy the notebooks into this folder. Existing files are never overwritten.")
@click.option("--again", is_flag=True, help="If a file exists, copy beside it, as NAME-2.ipynb.")
def teach_lessons(names, out, again):
    """List the lessons, or copy the notebooks of some or all of them.

    The minutes are for running all cells in full, on two cores. With FAST=1 in the environment,
    lessons take fewer steps and show the same.

    \b
    Examples:
      minifp teach lessons
      minifp teach lessons --out lessons
      minifp teach lessons 01-sixteen-bits --out lessons --again
    """
    if again and out is None:
        raise click.UsageError("--again needs --out DIR, the folder for the copies")
    lessons = chosen(names)
    if out is None:
        rows = [(l.name, l.title, l.question, minutes(l.minutes)) for l in lessons]
        click.echo(columns([("lesson", "title", "question", "minutes"), *rows], (0, 1, 2)))
        click.echo(f"\n{HOW.format(python_word())}")
    else:
        for path in copy(lessons, Path(out), again):
            click.echo(path)


def minutes(number: float) -> str:
    """As a clock would tell: 0:20."""
    return f"{int(number)}:{round(number % 1 * 60):02}"
