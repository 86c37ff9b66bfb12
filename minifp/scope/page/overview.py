"""The four histograms in one picture, for where pages cannot be shown."""

import textwrap

from minifp.report import drawing, words
from minifp.scope.observed import GRADIENTS, KINDS
from minifp.scope.page.figures import TITLES, draw_bars, highest_bar, shares, span, zeros
from minifp.scope.page.headlines import headlines
from minifp.scope.record import Record


def overview(findings: Record):
    """The last observed step: all layers of each kind, as they were stored, unscaled."""
    step, exponents = findings.steps[-1], span(findings)
    with drawing.canvas(9.6, 5.6, 2, 2) as (whole, grid):
        for axes, kind in zip(grid.flat, KINDS):
            shift, format = step.shift if kind in GRADIENTS else 0, findings.format_of(kind)
            (heights,) = shares(step, kind, [], exponents)
            draw_bars(axes, exponents, heights, shift, format, every=16)
            axes.set_ylim(0, max(0.02, 1.08 * highest_bar(findings, kind, exponents)))
            look = {"fontsize": 8, "color": drawing.MUTED, "va": "top"}
            axes.text(0.01, 0.97, zeros(step, kind), transform=axes.transAxes, **look)
            title = f"{TITLES[kind]}, {format.name}"
            axes.set_title(title + (f", S = {words.superscript(shift)}" if shift else ""))
        answer = textwrap.fill(words.raised(headlines(findings)[0].split(". Seen")[0]), 100)
        whole.suptitle(answer, fontsize=9, ha="left", x=0.01, color=drawing.INK)
        legend = "shaded: what the format holds; orange: lost; of numbers that are not 0"
        whole.supxlabel(f"step {step.step}; {legend}", fontsize=8, color=drawing.MUTED)
    return whole


def png_of(findings: Record) -> bytes | None:
    """The picture as PNG; None without matplotlib or without an observed step."""
    if not findings.steps or not drawing.is_available():
        return None
    return drawing.bytes_of(overview(findings), "png")
