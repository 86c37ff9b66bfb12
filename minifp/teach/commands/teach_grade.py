"""`minifp teach grade`."""

import secrets
from pathlib import Path

import click

from minifp.runtime.bars import tqdm
from minifp.saving import files
from minifp.shell import options
from minifp.teach.grading import points_text
from minifp.teach.grading.grade import read_class
from minifp.teach.grading.process import Limits

SEEDS = 2**32
ABOVE_0 = click.FloatRange(min=0.1)


@click.command(name="grade")
@click.argument("folder", type=options.Place(exists=True, file_okay=False))
@options.checkpoint("--out", "Also write the points and reasons to this file, as CSV.")
@options.option(
    "--lesson lessons",
    "NAME",
    "Grade the exercises of this lesson (repeat it for others).  [default: of all lessons of which "
    "a file has an exercise]",
    multiple=True,
)
@options.option(
    "--seconds", "S", "Time for an exercise, all its calls together.", type=ABOVE_0, default=10
)
@options.option(
    "--memory", "GIB", "Memory for a student's code, beside Python's.", type=ABOVE_0, default=2
)
@options.option(
    "--seed",
    "N",
    "Draw the same cases as an earlier grading.  [default: new cases]",
    type=click.IntRange(0, SEEDS),
)
@options.quiet
def teach_grade(folder, out, lessons, seconds, memory, seed, progress):
    """Grade a class's exercises: a point for each that is right.

    FOLDER has a notebook or a .py file for each student, or a folder for each student. An exercise
    is found by the name that its lesson gives to the function or variable.

    A student's code runs in a process of its own. It is given inputs that are drawn anew in each
    grading, and returns plain numbers and arrays; judges and right answers stay in this process.
    Only the statements that an exercise needs are run. docs/teaching/instructor.md says what that
    promises, and what it does not.

    \b
    Examples:
      minifp teach grade submitted
      minifp teach grade submitted --lesson 01-sixteen-bits --out grades.csv
      minifp teach grade submitted --seed 1234
    """
    seed = secrets.randbelow(SEEDS) if seed is None else seed
    graded = read_class(Path(folder), lessons, seed, Limits(seconds, int(memory * 2**30)))
    names, done = [e.name for e in graded.exercises], []
    if out is not None:
        files.check_writable(out)
    bar = {"total": len(graded.rows), "desc": "grade", "unit": "student", "leave": False}
    with tqdm(graded.grade(), disable=not progress, **bar) as rows:
        for row in rows:
            rows.set_postfix_str(row.student)
            done.append(row)
            if out is not None:
                files.write(out, points_text.csv_of(done, names))
    click.echo(points_text.text_of(done, names))
    click.echo(f"\n{points_text.conclusion(graded)}")
    if out is not None:
        click.echo(f"Table: {out}")
