"""`minifp teach forget`."""

import click

from minifp.teach import progress, standing_views
from minifp.teach.standing import standings


@click.command(name="forget")
@click.option("--yes", is_flag=True, help="Do not ask.")
def teach_forget(yes):
    """Delete the record of your predictions and solved exercises, after asking.

    Notebooks are not changed. A file that minifp did not write is an error, and is kept.

    \b
    Examples:
      minifp teach forget --yes
    """
    place = progress.place()
    lessons = standings()
    if not place.exists():
        click.echo(f"Nothing to delete: there is no file {place}.")
        return
    click.echo(f"{place}: {standing_views.summary(lessons)}")
    if yes or click.confirm("Delete it?"):
        progress.forget()
        click.echo("Deleted.")
    else:
        click.echo("Not deleted.")
