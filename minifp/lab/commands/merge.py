"""`minifp merge`."""

from pathlib import Path

import click

from minifp import lab
from minifp.lab.results.store import REPORT
from minifp.report import words
from minifp.shell import options
from minifp.shell.results import products, where


@click.command()
@click.argument("folders", nargs=-1, required=True, type=options.Place(file_okay=False))
@options.out("A new folder for the whole; without it, merge only says whether they fit.")
@options.products
def merge(folders, out, **made):
    """Put the runs of FOLDERS together, two or more that `minifp compare` wrote.

    So seeds or precisions can be divided among machines. It is refused where settings, data, task
    or margin differ, which are named. A run that is in several folders must have the same results
    there, to the last bit; only its times may differ.

    \b
    Examples:
      minifp compare mlp --seeds 0,1,2 --out runs/here
      minifp compare mlp --seeds 2,3,4 --out runs/there
      minifp merge runs/here runs/there
      minifp merge runs/here runs/there --out runs/whole
    """
    whole = lab.merge(*folders, out=out, **products(out, **made))
    found = sum(len(lab.Comparison.load(folder).runs) for folder in folders)
    runs = words.plural(len(whole.runs), "run")
    twice = f", {found - len(whole.runs)} of them twice and the same to the last bit"
    click.echo(whole.table() + "\n")
    click.echo(f"{runs} in all{twice if found > len(whole.runs) else ''}.")
    if out:
        click.echo(where(Path(out) / REPORT, made["figures"]))
