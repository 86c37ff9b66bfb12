"""`minifp demo`."""

from pathlib import Path

import click

from minifp.lab import demo as demonstration
from minifp.lab.environment import command_word
from minifp.lab.page import demo_document
from minifp.report import drawing, rendering
from minifp.saving import files
from minifp.shell import options
from minifp.shell.results import picture_format, where

NEXT = ("compare lenet --out runs/lenet", "inspect charlstm --steps 100 --out runs/scope")
NEXT += ("teach lessons --out lessons",)


@click.command()
@options.out(
    "Write the report, the pictures and all numbers into this folder.", default="runs/demo"
)
@options.quiet
def demo(out, progress):
    """See each technique of mixed precision at work, on bundled data.

    \b
    (a) a convolutional network on digits: mixed ends where float32 ends
    (b) without float32 master weights, a small learning rate is lost
    (c) without loss scaling, a character LSTM diverges
    (d) with sums in float16, batch normalisation fails

    It takes about a minute on two cores. After an interruption, run it again to resume.

    \b
    Examples:
      minifp demo
      minifp demo --out runs/demo
    """
    done, page, overview = [], Path(out) / "report.html", Path(out) / "demo.png"
    files.check_writable(page, overview)
    try:
        for part in demonstration.PARTS:
            click.echo(f"\n({part.key}) {part.title}. {part.claim}")
            done.append((part, part.run(out, progress, picture_format("png"))))
    except KeyboardInterrupt:
        how_to_go_on = f"Finished runs are saved in {out}. Run the same command again to resume."
        raise KeyboardInterrupt(how_to_go_on) from None
    whole = demo_document.document(done)
    files.write(page, rendering.page(whole))
    if picture_format("png"):
        drawing.save(demo_document.overview(done), overview, "png")
    results = "\n".join(["Results, with five seeds each:", "", *map(str, whole.findings)])
    click.echo(f"\n{results}\n\n{where(page, 'png')}\n\nNext:")
    for words in NEXT:
        click.echo(f"  {command_word()} {words}")
