"""`minifp gallery`."""

from pathlib import Path

import click

from minifp import lab
from minifp.lab.exhibits.showing import estimate
from minifp.lab.exhibits.shown import NAME
from minifp.lab.workers.cluster import connected
from minifp.shell import options
from minifp.shell.results import picture_format, where


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--quick", "scale", flag_value="quick", help="Some minutes: how it is done.")
@click.option("--full", "scale", flag_value="full", help="All pictures, ten seeds.")
@click.option(
    "--seeds", callback=options.seeds_of, metavar="N", help="How many, or which.  [default: 5]"
)
@options.out("Keep everything in this folder, and go on from what is there.")
@options.figures
@click.option("--dry-run", is_flag=True, help="Say how many runs there are, and about how long.")
@options.device
@options.jobs
@options.scheduler
@options.quiet
def gallery(names, scale, seeds, out, figures, dry_run, device, jobs, scheduler, quiet):
    """Test claims of the literature on small networks and data.

    NAME is a part of the paper that introduced mixed-precision training, or one exhibit of it, such
    as vgg-d. "classification": AlexNet, VGG-D, GoogLeNet, Inception v2 and v3 and a pre-activation
    ResNet-50, here on CIFAR-10 at a fraction of their width. "translation": LSTMs with attention on
    short sentences of Multi30k. "language": a projected LSTM on the words of Shakespeare. "gan": a
    DCGAN of digits. Each is trained in float32, and in mixed precision without loss scaling and
    with a dynamic scale; the ResNet with controls too, and with every combination of the three
    techniques. That takes hours: --dry-run says how many.

    \b
    Examples:
      minifp gallery classification --dry-run --jobs 2
      minifp gallery classification --quick --jobs 2 --out runs/gallery
      minifp gallery vgg-d alexnet --seeds 3 --out runs/two
      minifp gallery language --out runs/language
    """
    chosen, scale = names or ("classification",), scale or "evening"
    if dry_run:
        click.echo(estimate(chosen, scale, seeds, out, device, jobs).text())
        return
    with connected(scheduler) as client:
        shown = lab.gallery(
            chosen,
            scale,
            seeds=seeds,
            out=out,
            figures=picture_format(figures) if out else None,
            progress=not quiet,
            device=device,
            jobs=jobs,
            client=client,
        )
    click.echo(shown.table())
    click.echo("\n" + where(Path(out) / f"{NAME}.html" if out else None, figures))
