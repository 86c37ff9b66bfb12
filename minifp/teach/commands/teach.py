"""`minifp teach`: the index of the commands for students and teachers."""

import click

from minifp.shell.group import Index

# The command `name` is the function `teach_<name>` in minifp/<room>/commands/teach_<name>.py.
COMMANDS = {
    "lessons": ("teach", "List the lessons, and copy their notebooks."),
    "status": ("teach", "Show your predictions, and which exercises are solved."),
    "solution": ("teach", "Show the solution of an exercise, once you have tried."),
    "grade": ("teach", "Grade a class's exercises, on cases drawn anew."),
    "collect": ("teach", "Show a class what it guessed: histograms on one page."),
    "forget": ("teach", "Delete the record of your predictions and exercises."),
}


@click.group(cls=Index, index=COMMANDS, prefix="teach_")
def teach():
    """Copy the lessons, and see how far you have come with them; grade a class.

    Your predictions and the exercises you solved are recorded in one file on this machine. Nothing
    is sent anywhere. `grade` and `collect` are for teachers.

    \b
    Examples:
      minifp teach lessons
      minifp teach lessons 01-sixteen-bits --out lessons
      minifp teach status
      minifp teach solution round_f16
      minifp teach grade submitted --out grades.csv
    """
