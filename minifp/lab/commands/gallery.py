"""`minifp gallery`."""

import click

from minifp import lab
from minifp.lab.exhibits.gallery_document import NAME
from minifp.lab.exhibits.showing import estimate
from minifp.scope.beforehand import look
from minifp.shell import options
from minifp.shell.results import pictured, show


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--quick", "scale", flag_value="quick", help="A few minutes, to see how it works.")
@click.option("--full", "scale", flag_value="full", help="All pictures and more seeds.")
@options.seeds_beside("the scale's")
@click.option("--bathtub", is_flag=True, help="Add SSD at constant loss scales from 1 to 2^40.")
@options.budget
@options.dry_run
@options.where("Keep everything in this folder, and resume from what is there.")
def gallery(names, scale, seeds, bathtub, budget, dry_run, **how):
    """Test claims of the literature, or your own, with small networks and data.

    NAME is a part of the paper that introduced mixed-precision training, or a single network, such
    as vgg-d. "classification": AlexNet, VGG-D, GoogLeNet, Inception v2 and v3 and a pre-activation
    ResNet-50, at a fraction of their width, on CIFAR-10. "speech": Deep Speech 2 on strings of
    spoken digits. "translation": LSTMs with attention on short sentences of Multi30k. "language": a
    projected LSTM on the words of Shakespeare. "gan": a DCGAN of digits. Each is trained in
    float32, in mixed precision without loss scaling, and in mixed precision with a dynamic scale.
    The ResNet also has controls and every combination of the three techniques. All this takes
    hours; --dry-run says how many.

    "detection" is table 2 of the paper, where loss scaling is needed. It trains SSD on scenes of
    digits, with gradients made smaller by the exponent dial. Longer runs add SSD and Faster R-CNN
    on blood cells, with and without the dial. Before that, the microscope looks at SSD in float32.
    --bathtub, or the name bathtub, adds SSD at constant loss scales from 1 to 2^40.

    "resnet-20" is nothing smaller: He's network of 20 layers on all of CIFAR-10, for a night. With
    --full it is trained for as long as in the paper, which is for a GPU.

    "skips": how often a dynamic loss scale skips a step at growth intervals from 20 to 2,000, and
    whether that changes how well a small network ends.

    FILE.py has claims of your own, in a list EXHIBITS of minifp.lab.Exhibit; FILE.py:NAME is one of
    them: docs/gallery.md shows how to write one.

    \b
    Examples:
      minifp gallery classification --dry-run --jobs 2
      minifp gallery classification --quick --jobs 2 --out runs/gallery
      minifp gallery vgg-d alexnet --seeds 3 --out runs/two
      minifp gallery classification --budget 2h --out runs/gallery
      minifp gallery detection --quick --bathtub --jobs 2 --out runs/detection
      minifp gallery skips --quick --out runs/skips
      minifp gallery language --out runs/language
      minifp gallery mine.py --quick --out runs/mine
    """
    chosen, scale = names or ("classification",), scale or "evening"
    if bathtub and "bathtub" not in chosen:
        chosen = (*chosen, "bathtub")
    at = pictured(**how)
    if dry_run:
        click.echo(estimate(chosen, scale, seeds, lab.Where(**at), budget).text())
        return
    results = lab.gallery(chosen, scale, seeds=seeds, look=look, budget=budget, **at)
    show(results, f"{NAME}.html", **how)
