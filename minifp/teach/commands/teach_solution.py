"""`minifp teach solution`."""

import click

from minifp.shell.group import Refusal
from minifp.teach import progress
from minifp.teach.exercise import exercise_named
from minifp.teach.solutions import TRIES, is_open, solution


@click.command(name="solution")
@click.argument("name")
@click.option("--now", is_flag=True, help="Show it before you have tried.")
def teach_solution(name, now):
    """Show the solution of an exercise that you have solved, or tried three times.

    NAME is the function or variable of the exercise, such as round_f16. Only wrong answers that
    differ from the last one count as tries; `minifp teach status` shows how many there were.

    \b
    Examples:
      minifp teach solution round_f16
      minifp teach solution round_f16 --now
    """
    exercise = exercise_named(name)
    done = progress.read()["exercises"].get(name, {})
    if not now and not is_open(done):
        tries = done.get("failed", 0)
        raise Refusal(f"{name}: {tries} of {TRIES} tries so far. Try again, or say --now")
    click.echo(f"# {exercise.words.title}\n{solution(exercise)}")
