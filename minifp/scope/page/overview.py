"""The four histograms in one picture, for where pages cannot be shown."""

import textwrap

from minifp.report import drawing, words
from minifp.scope.observed import GRADIENTS, KINDS
from minifp.scope.page.figures import (
    TITLES,
    color_of,
    highest_bar,
    percents,
    shares,
    span,
    window,
    zeros,
)
from minifp.scope.page.training import headlines
from minifp.scope.record import Record


def overview(findings: Record):
    """The last observed step: all layers of each kind, as they were stored, unscaled."""
    from matplotlib.figure import Figure

    step, exponents = findings.steps[-1], span(findings)
    drawn = Figure(figsize=(9.6, 5.6))
    drawn.set_layout_engine("constrained", h_pad=0.08)
    for axes, kind in zip(drawn.subplots(2, 2).flat, KINDS):
        shift, format = step.shift if kind in GRADIENTS else 0, findings.format_of(kind)
        (found,) = shares(step, kind, [], exponents)
        window(axes, shift, format)
        colors = [color_of(e, shift, format) for e in exponents]
        axes.bar(exponents, found, width=0.86, color=colors)
        axes.set_ylim(0, max(0.02, 1.08 * highest_bar(findings, kind, exponents)))
        axes.yaxis.set_major_formatter(percents)
        ticks = [e for e in exponents if e % 16 == 0]
        axes.set_xticks(ticks, [words.superscript(e) for e in ticks])
        axes.set_xlim(exponents[0] - 0.7, exponents[-1] + 0.7)
        look = {"fontsize": 8, "color": drawing.MUTED, "va": "top"}
        axes.text(0.01, 0.97, zeros(step, kind), transform=axes.transAxes, **look)
        axes.grid(False)
        title = f"{TITLES[kind]}, {format.name}"
        axes.set_title(title + (f", S = {words.superscript(shift)}" if shift else ""))
    said = words.raised(headlines(findings)[0].split(". Seen")[0])
    drawn.suptitle(textwrap.fill(said, 100), fontsize=9, ha="left", x=0.01, color=drawing.INK)
    drawn.supxlabel(
        f"step {step.step}; shaded: what the format holds; orange: lost; of numbers that are not 0",
        fontsize=8,
        color=drawing.MUTED,
    )
    return drawn


def png_of(findings: Record) -> bytes | None:
    """The picture as PNG; None without matplotlib or without an observed step."""
    if not findings.steps or not drawing.is_available():
        return None
    with drawing.settings():
        return drawing.bytes_of(overview(findings), "png")
