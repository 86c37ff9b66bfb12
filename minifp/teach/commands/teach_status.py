"""`minifp teach status`."""

import json

import click

from minifp.saving import files
from minifp.shell import options
from minifp.teach import progress, standing_shown
from minifp.teach.standing import standings


@click.command(name="status")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@options.checkpoint("--out", "Write it there as a page of HTML too, which needs no network.")
def teach_status(as_json, out):
    """Show how far you have come: your predictions, and the exercises solved and tried.

    It is read from one file on this machine, whose place is told; nothing is sent anywhere. The
    environment variable MINIFP_TEACH_FILE names another.

    \b
    Examples:
      minifp teach status
      minifp teach status --out progress.html
      minifp teach status --json
    """
    found = standings()
    if out is not None:
        files.write(out, standing_shown.page(found))
    if as_json:
        told = {"file": str(progress.place()), "lessons": [one.to_dict() for one in found]}
        click.echo(json.dumps(told, indent=1, ensure_ascii=False))
        return
    click.echo(standing_shown.text_of(found))
    if out is not None:
        click.echo(f"Page: {out}")
