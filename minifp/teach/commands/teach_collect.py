"""`minifp teach collect`."""

from pathlib import Path

import click

from minifp.saving import files
from minifp.shell import options
from minifp.shell.group import Refusal
from minifp.teach import collecting


@click.command(name="collect")
@click.argument(
    "paths", nargs=-1, required=True, metavar="FILES...", type=options.Place(exists=True)
)
@options.checkpoint("--out", "Write the page here.", default="guesses.html")
def teach_collect(paths, out):
    """Show a class what it guessed: a histogram for each question, on one page for the projector.

    FILES are the students' progress.json, or folders with them; `minifp teach status` prints where
    a student's lies. Of several guesses the first counts. The page needs no network and has no
    names. Nothing is sent anywhere. Files that cannot be read are named here and left out.

    \b
    Examples:
      minifp teach collect handed-in
      minifp teach collect anna.json bert.json --out guesses.html
    """
    guesses = collecting.collected(collecting.files_in([Path(path) for path in paths]))
    for reason in guesses.broken:
        click.echo(f"Left out: {reason}", err=True)
    if not guesses.questions:
        raise Refusal("no guesses in these files: expected the progress.json of students")
    files.write(out, collecting.page(guesses))
    click.echo(collecting.text_of(guesses))
    click.echo(f"\n{collecting.summary(guesses)}\nPage: {out}")
