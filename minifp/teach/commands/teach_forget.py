"""`minifp teach forget`."""

import click

from minifp.teach import progress, standing_shown
from minifp.teach.standing import standings


@click.command(name="forget")
@click.option("--yes", is_flag=True, help="Do not ask.")
def teach_forget(yes):
    """Delete the file of your predictions and solved exercises, after asking.

    Notebooks stay as they are. A file that is none of minifp's is refused, and stays.

    \b
    Examples:
      minifp teach forget --yes
    """
    place = progress.place()
    found = standings()
    if not place.exists():
        click.echo(f"Nothing is kept: there is no file {place}.")
        return
    click.echo(f"{place}: {standing_shown.summary(found)}")
    if yes or click.confirm("Delete it?"):
        progress.forget()
        click.echo("It is deleted.")
    else:
        click.echo("It stays.")
