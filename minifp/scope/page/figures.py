"""Pictures of what a microscope has found, drawn by matplotlib: as inline SVG and as PNG.

The four histograms of a step are drawn by the page's script (lens.js); here they are for print,
and for where no script runs: those of the last observed step.
"""

from collections.abc import Callable

import numpy as np
from markupsafe import Markup

from minifp.numerics.number_format import Format
from minifp.report import drawing, words
from minifp.report.content import Picture
from minifp.scope import updates
from minifp.scope.borders import kept_from, normal_from, too_large_from
from minifp.scope.histogram import HALF, total_of
from minifp.scope.observed import ACTIVATIONS, GRADIENTS, ObservedStep
from minifp.scope.record import Record, unscaled
from minifp.scope.tracing.repeating import WEIGHT

KEPT, LOST, SHADE = drawing.STYLES[1].color, drawing.STYLES[2].color, drawing.STYLES[0].color
GOOD, WARN = drawing.STYLES[3].color, drawing.STYLES[5].color
WIDTH = 7.4  # inches
NAMES = 0.24  # of it, for the names of layers: the same in all four, which share their axis
ROW = 0.17  # inches of a layer
MANY_LAYERS = 12  # from here on the axis below them is far from the bars
MOST_LAYERS = 60  # that have a row; the others are in the table
SMALLEST, LARGEST = kept_from(HALF).exponent + 1, too_large_from(HALF).exponent
TITLES = {
    "weights": "Weights",
    ACTIVATIONS: "Activations",
    "activation gradients": "Gradients of activations",
    "weight gradients": "Gradients of weights",
}


def key_of(kind: str) -> str:
    """A kind as part of an id."""
    return kind.replace(" ", "-")


# ---- exponents ----------------------------------------------------------------------------------


def span(findings: Record) -> range:
    """The exponents that all four pictures have room for: of all numbers, unscaled, and of the
    window of float16, in which those of 8 bits lie."""
    ends = [SMALLEST - 2, LARGEST + 1]
    for step in findings.steps:
        for kind, histograms in step.histograms.items():
            for h in histograms.values():
                if h.nonzero:
                    shift = unscaled(step, kind)
                    ends += [h.lowest - shift, h.highest - shift - 1]
    return range(max(min(ends), -80), min(max(ends), 40) + 1)


def shares(step: ObservedStep, kind: str, layers: list[str], exponents: range) -> np.ndarray:
    """(layers + 1, exponents): of each layer's numbers that are not 0; first of all layers."""
    histograms = step.histograms[kind]
    rows = [total_of(histograms.values()), *(histograms.get(name) for name in layers)]
    heights = np.zeros((len(rows), len(exponents)))
    for row, h in zip(heights, rows):
        if h is not None and h.nonzero:
            for e, n in h.exponents.items():
                place = e - unscaled(step, kind) - exponents[0]
                row[min(max(place, 0), len(exponents) - 1)] += n
            row /= h.nonzero
    return heights


def zeros(step: ObservedStep, kind: str) -> str:
    """The share of zeros in words: they have no place on an axis of exponents."""
    total = step.total(kind)
    if not total.total:
        return "no numbers"
    return f"zeros: {percents(total.zeros / total.total)} of all" if total.zeros else "no zeros"


def color_of(exponent: int, shift: int, format: Format = HALF) -> str:
    """Of a number stored in a format after it was multiplied by 2^shift: kept, or lost."""
    low, high = kept_from(format).exponent, too_large_from(format).exponent
    return KEPT if low <= exponent + shift <= high else LOST


def kind_figure(findings: Record, kind: str, step: ObservedStep):
    """All layers together as bars, and each layer as a row of cells, with the window of the format
    in which they were stored."""
    from matplotlib.colors import to_rgba
    from matplotlib.figure import Figure

    layers, exponents = findings.layers(kind)[:MOST_LAYERS], span(findings)
    format = findings.format_of(kind)
    heights = shares(step, kind, layers, exponents)
    shift = step.shift if kind in GRADIENTS else 0
    high, rows = 1.2, ROW * max(len(layers), 1)
    tall = 0.12 + high + 0.08 + rows + 0.45
    figure = Figure(figsize=(WIDTH, tall))
    below = figure.add_axes((NAMES, 0.45 / tall, 0.985 - NAMES, rows / tall))
    above = figure.add_axes((NAMES, (0.53 + rows) / tall, 0.985 - NAMES, high / tall), sharex=below)
    colors = [color_of(e, shift, format) for e in exponents]
    window(below, shift, format)
    below.grid(False)
    draw_bars(above, exponents, heights[0], shift, format)
    above.set_ylim(0, max(0.02, 1.08 * highest_bar(findings, kind, exponents)))
    note = above.text(0.008, 0.97, zeros(step, kind), transform=above.transAxes, va="top")
    note.set(fontsize=7, color=drawing.MUTED)
    strongest = heights[1:].max(axis=1, keepdims=True, initial=1e-9)
    strength = np.sqrt(heights[1:] / np.maximum(strongest, 1e-9))
    grid = [to_rgba(c, s) for row in strength for c, s in zip(colors, row)]
    ys = np.arange(len(layers) + 1)
    if layers:
        put(below, [e - 0.5 for e in exponents] + [exponents[-1] + 0.5], ys, grid)
    below.set_ylim(max(len(layers), 1), 0)
    below.set_yticks(ys[:-1] + 0.5, [short(name, 26) for name in layers], fontsize=7)
    above.tick_params(labelbottom=len(layers) > MANY_LAYERS)
    gradient = ", before the loss scale" if kind in GRADIENTS else ""
    below.set_xlabel(f"magnitude{gradient}; shaded: what {format.name} holds")
    return figure


def draw_bars(axes, exponents, heights, shift: int, format: Format, every: int = 8):
    """A bar for each exponent, and the window of a format; a tick for every so many of them."""
    window(axes, shift, format)
    colors = [color_of(e, shift, format) for e in exponents]
    axes.bar(exponents, heights, width=0.86, color=colors)
    axes.yaxis.set_major_formatter(percents)
    ticks = [e for e in exponents if e % every == 0]
    axes.set_xticks(ticks, [words.superscript(e) for e in ticks])
    axes.set_xlim(exponents[0] - 0.7, exponents[-1] + 0.7)
    axes.grid(False)


def percents(share, _=None) -> str:
    """The label of a tick: 10%, and 2.5% where ticks are that close."""
    return f"{100 * share:.3g}%"


def put(axes, xs, ys, colors):
    """Cells with these colours, row by row."""
    cells = axes.pcolormesh(xs, ys, np.zeros((len(ys) - 1, len(xs) - 1)), edgecolors="none")
    cells.set_array(None)
    cells.set_facecolor(colors)


def window(axes, shift, format: Format = HALF):
    """What a format holds of numbers that are multiplied by 2^shift: normal ones, subnormal ones,
    as far as the axis goes."""
    normal, smallest = normal_from(format).exponent, kept_from(format).exponent + 1
    largest = too_large_from(format).exponent
    for low, high, alpha in ((normal, largest + 1, 0.22), (smallest, normal, 0.1)):
        band = axes.axvspan(low - shift - 0.5, high - shift - 0.5, color=GOOD, alpha=alpha, lw=0)
        band.set_zorder(0)


def highest_bar(findings: Record, kind: str, exponents: range) -> float:
    """The largest share of one exponent in any step."""
    return max(shares(step, kind, [], exponents)[0].max() for step in findings.steps)


def short(name: str, most: int = 30) -> str:
    """A name that fits beside a row."""
    return name if len(name) <= most else "…" + name[1 - most :]


def kind_svg(findings: Record, kind: str) -> Markup:
    """The figure of a kind as inline SVG, of the last observed step."""
    step = findings.steps[-1]
    with drawing.settings():
        figure = kind_figure(findings, kind, step)
    text = (
        f"{TITLES[kind]}: the share of numbers in each power of two, of all layers as bars and of "
        f"each layer as a row of cells. {step.total(kind).total:,} numbers in step {step.step}; "
        "the table below has them."
    )
    return drawing.inline_svg(figure, key_of(kind), TITLES[kind], text)


def layer_of(row: dict) -> str:
    """The module without the model's name, and the operation; of a weight its name."""
    if row["operation"] == WEIGHT:
        return row["module"]
    module = row["module"].partition(".")[2] or row["module"]
    return " ".join(filter(None, (module, row["operation"])))


def picture(findings: Record, name: str, title: str, text: str, draw: Callable) -> Picture:
    """A figure of findings, as wide as it must be. text: how to read it."""
    return Picture(name, title, text, lambda look: draw(findings), text, is_map=True)


# ---- over steps ----------------------------------------------------------------------


def lost_anywhere(findings: Record) -> list:
    """Of the pictures of lost updates, (what, title) of those that are not blank."""
    all_updates = [u for step in findings.steps for u in step.updates.values()]
    pairs = [(updates.LOST, "lost in this run")]
    pairs += [(name, f"if {name} weights were all") for name in findings.alone]
    return [(what, title) for what, title in pairs if any(u.number(what) for u in all_updates)]


def updates_figure(findings: Record):
    """Of each parameter: the share of wanted updates that were lost, step by step."""
    steps = [step for step in findings.steps if step.updates]
    names = list(dict.fromkeys(name for step in steps for name in step.updates))[:MOST_LAYERS]
    pairs = lost_anywhere(findings)
    shape = {"columns": len(pairs), "sharey": True, "squeeze": False}
    with drawing.canvas(WIDTH, 0.95 + ROW * len(names), **shape) as (figure, grid):
        for axes, pair in zip(grid[0], pairs):
            draw_updates(axes, steps, names, *pair)
    return figure


def draw_updates(axes, steps, names, what, title):
    """One of them: a row of cells for each parameter."""
    lost = [[s.updates[n].share(what) if n in s.updates else np.nan for s in steps] for n in names]
    edges = np.arange(len(steps) + 1)
    colors = rgba(np.array(lost).reshape(len(names), len(steps)))
    put(axes, edges, np.arange(len(names) + 1), colors)
    axes.set_title(title, fontsize=9)
    axes.set_ylim(len(names), 0)
    axes.grid(False)
    axes.set_yticks(np.arange(len(names)) + 0.5, [short(n) for n in names], fontsize=7)
    few = sorted({0, len(steps) // 2, len(steps) - 1})
    axes.set_xticks([i + 0.5 for i in few], [str(steps[i].step) for i in few])
    axes.set_xlabel("step")


def rgba(lost):
    """Colours of shares: the more, the stronger."""
    from matplotlib.colors import to_rgba

    return [to_rgba(LOST, float(np.nan_to_num(share))) for row in lost for share in row]
