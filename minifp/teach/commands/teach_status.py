"""`minifp teach status`."""

import json

import click

from minifp.saving import files
from minifp.shell import options
from minifp.teach import progress, standing_views
from minifp.teach.standing import standings


@click.command(name="status")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@options.checkpoint("--out", "Also write it to this file, as an HTML page that needs no network.")
def teach_status(as_json, out):
    """Show your progress: your predictions, and the exercises you solved or tried.

    It is read from one file on this machine, whose path is printed. Nothing is sent anywhere. To
    use another file, set the environment variable MINIFP_TEACH_FILE.

    \b
    Examples:
      minifp teach status
      minifp teach status --out progress.html
      minifp teach status --json
    """
    lessons = standings()
    if out is not None:
        files.write(out, standing_views.page(lessons))
    if as_json:
        data = {"file": str(progress.place()), "lessons": [one.to_dict() for one in lessons]}
        click.echo(json.dumps(data, indent=1, ensure_ascii=False))
        return
    click.echo(standing_views.text_of(lessons))
    if out is not None:
        click.echo(f"Page: {out}")
