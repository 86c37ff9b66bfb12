"""Draw the pictures of the slides: two of their own, and what lessons draw when they are run.

    python scripts/draw_slides.py                       # all, ten minutes
    python scripts/draw_slides.py formats staircase     # these

formats.svg and window.svg are drawn here, of a run of seconds. The others are pictures of lessons,
by the names that the lessons' texts have for them: a lesson is run in full, with its answers.
"""

import contextlib
import io
import os
import runpy
import sys
from pathlib import Path
from unittest import mock

import click
import numpy as np
from matplotlib.figure import Figure

import minifp as fp
import minifp.nn.functional as F
from minifp import optim, teach
from minifp.models import CharLSTM
from minifp.numerics.number_format import FORMATS
from minifp.report import drawing

ROOT = Path(__file__).resolve().parents[1]
OF_LESSONS = {  # by the lesson that draws them
    "01-sixteen-bits": ("staircase",),
    "02-the-update-that-wasnt": ("phase_diagram",),
    "03-master-weights": ("accuracy_by_rate",),
    "04-four-histograms": ("ridges",),
    "05-the-bathtub": ("bathtub",),
    "06-a-late-death": ("losses_and_zeros",),
    "07-let-the-machine-choose": ("timeline",),
    "08-summing-in-half": ("errors_and_losses",),
    "09-the-op-list": ("heat_map",),
    "11-does-it-match": ("differences_and_distances",),
}
WIDTH, LOWER = 7.2, 0.85  # inches, and times as high as in a lesson: a slide is wide
SHOWN = ("float32", "bfloat16", "float16", "float8_e5m2", "float8_e4m3fn")
STEPS, BATCH, DIAL = 40, 32, 11
INSIDE, LOST = drawing.STYLES[1].color, drawing.STYLES[2].color


def formats() -> Figure:
    """A bar for each format, from its smallest number to its largest, with its bits of mantissa."""
    figure = Figure(figsize=(7, 2.6), layout="constrained")
    axes = figure.subplots()
    for row, name in enumerate(reversed(SHOWN)):
        format = FORMATS[name]
        low, normal, high = np.log2([format.smallest_subnormal, format.smallest_normal, format.max])
        axes.barh(row, high - normal, left=normal, color=INSIDE, height=0.55)
        axes.barh(row, normal - low, left=low, color=INSIDE, height=0.55, alpha=0.35, hatch="///")
        axes.text(high + 2, row, f"{format.mantissa_bits} bits", va="center")
    axes.set_yticks(range(len(SHOWN)), reversed(SHOWN))
    axes.set_xlabel("log2 of the magnitudes that are covered (hatched: subnormal, with fewer bits)")
    axes.set_xlim(-155, 160)
    axes.grid(axis="y", visible=False)
    return figure


def exponents() -> np.ndarray:
    """log2 of all gradients of weights but zero, of some steps of a character LSTM in float32."""
    fp.manual_seed(0)
    train, _ = fp.data.shakespeare()
    with fp.precision("float32"):
        model = CharLSTM(65, 128)
        optimizer = optim.Adam(model.parameters(), lr=2e-3)
        found = []
        for step, (x, t) in enumerate(fp.data.DataLoader(train, batch_size=BATCH, shuffle=True)):
            if step == STEPS:
                break
            F.cross_entropy(model(x), t).backward()
            if step % 10 == 9:
                found += [p.grad.numpy().ravel() for p in model.parameters()]
            optimizer.step()
            optimizer.zero_grad()
    numbers = np.abs(np.concatenate(found))
    return np.log2(numbers[numbers > 0])


def window() -> Figure:
    """Their histogram, where float16 stores them, and what is smaller than all of it."""
    numbers = exponents() - DIAL
    figure = Figure(figsize=(7, 2.8), layout="constrained")
    axes = figure.subplots()
    edges = np.arange(-45, 17)
    lost = numbers < -25
    axes.hist(numbers[~lost], edges, color=INSIDE, label="stored")
    axes.hist(numbers[lost], edges, color=LOST, hatch="///", label="becomes zero")
    axes.axvspan(-25, 16, color=INSIDE, alpha=0.12)
    axes.text(15.5, axes.get_ylim()[1] * 0.92, "the window of float16", ha="right", va="top")
    axes.set_xlabel(f"log2 of a weight's gradient, each 2^{DIAL} times smaller (the exponent dial)")
    axes.set_yticks([])
    axes.legend(loc="upper left", title=f"{lost.mean():.0%} lost")
    return figure


def of_lesson(lesson: str) -> dict[str, Figure]:
    """What a lesson draws, by the names of the captions."""
    figures: dict[str, Figure] = {}
    os.environ["MINIFP_TEACH"] = "show"
    with (
        mock.patch.object(teach, "show", lambda figure, name, *_: figures.update({name: figure})),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        runpy.run_path(str(ROOT / "notebooks" / "source" / f"{lesson}.py"))
    return figures


OWN = {"formats": formats, "window": window}
ALL = (*OWN, *(name for names in OF_LESSONS.values() for name in names))


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", metavar="[PICTURE]...", nargs=-1, type=click.Choice(ALL))
@click.option("--out", type=click.Path(path_type=Path), default="docs/teaching/slides",
              show_default=True)  # fmt: skip
def main(names, out):
    """Draw the pictures of the slides, or those that are named.

    \b
    Example:
      python scripts/draw_slides.py formats staircase
    """
    wanted = names or ALL
    for name in {*OWN} & {*wanted}:
        with drawing.settings():
            click.echo(drawing.save(OWN[name](), out / f"{name}.svg", "svg"))
    for lesson, drawn in OF_LESSONS.items():
        if mine := {*drawn} & {*wanted}:
            figures = of_lesson(lesson)
            for name in sorted(mine):
                figures[name].set_size_inches(WIDTH, LOWER * figures[name].get_figheight())
                with drawing.settings():
                    click.echo(drawing.save(figures[name], out / f"{name}.svg", "svg"))


if __name__ == "__main__":
    sys.exit(main())
