"""`minifp merge`."""

from pathlib import Path

import click

from minifp import lab
from minifp.lab.results.store import REPORT
from minifp.report import words
from minifp.shell import options
from minifp.shell.results import pictured, where


@click.command()
@click.argument("folders", nargs=-1, required=True, type=options.Place(file_okay=False))
@options.out(
    "Write the joined comparison into this new folder. Without it, only check whether the folders "
    "fit."
)
@options.products
def merge(folders, **how):
    """Join the runs of two or more FOLDERS that `minifp compare` wrote.

    This lets you divide seeds or precisions among machines. Folders whose settings, data, task or
    margin differ are not joined; the error names the difference. A run that is in several folders
    must have the same results in each, to the last bit. Only its times may differ.

    \b
    Examples:
      minifp compare mlp --seeds 0,1,2 --out runs/here
      minifp compare mlp --seeds 2,3,4 --out runs/there
      minifp merge runs/here runs/there
      minifp merge runs/here runs/there --out runs/whole
    """
    whole = lab.merge(*folders, **pictured(**how))
    count = sum(len(lab.Comparison.load(folder).runs) for folder in folders)
    runs = words.plural(len(whole.runs), "run")
    twice = f", {count - len(whole.runs)} of them twice, with the same bits"
    click.echo(whole.table() + "\n")
    click.echo(f"{runs} in all{twice if count > len(whole.runs) else ''}.")
    if how["out"]:
        click.echo(where(Path(how["out"]) / REPORT, how["figures"]))
