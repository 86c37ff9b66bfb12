"""Panels put together: figures as files, and the same panels one by one for a page."""

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

from minifp.errors import ArgumentError, MinifpError
from minifp.lab.page import by_precision, captions, over_steps, verdicts
from minifp.lab.page.precision_styles import KIND_COLORS, styles_of
from minifp.report import drawing, words
from minifp.saving import files

WIDTH = 4.6  # inches of a panel in a file
NARROW = 4.2  # and in a page, where letters grow with the panel; readable on a phone


@dataclass(frozen=True)
class Panel:
    """One picture of a comparison: its name, title, how to draw and how to describe it."""

    name: str
    title: Callable
    draw: Callable
    describe: Callable
    by_row: bool = False
    is_wanted: Callable = lambda comparison: True


PANELS = {
    panel.name: panel
    for panel in (
        Panel("loss", lambda c: "Training loss", over_steps.draw_loss, captions.describe_loss),
        Panel(
            "metric",
            lambda c: captions.metric_title(c.task),
            over_steps.draw_metric,
            lambda c: captions.describe_final(c, "Over the steps of training, ending at: "),
            is_wanted=over_steps.has_course,
        ),
        Panel(
            "scale",
            lambda c: "Loss scale",
            over_steps.draw_scale,
            captions.describe_scale,
            is_wanted=lambda c: any(map(over_steps.is_scaled, c.runs)),
        ),
        Panel(
            "gradients",
            lambda c: "Norm of all gradients, unscaled",
            over_steps.draw_gradients,
            lambda c: "A line for each seed, and the mean over seeds, on a logarithmic axis.",
        ),
        Panel(
            "final",
            lambda c: f"{captions.metric_title(c.task)} at the end",
            by_precision.draw_final,
            lambda c: captions.describe_final(c, ""),
            by_row=True,
        ),
        Panel(
            "difference",
            lambda c: f"Difference from {c.baseline}, paired by seed",
            by_precision.draw_difference,
            captions.describe_difference,
            by_row=True,
            is_wanted=lambda c: len(c.precisions) > 1,
        ),
        Panel(
            "memory",
            lambda c: "Memory of one training step",
            by_precision.draw_memory,
            captions.describe_memory,
            by_row=True,
            is_wanted=lambda c: any(run.bytes for run in c.runs),
        ),
        Panel(
            "time",
            lambda c: "Time of one training step",
            by_precision.draw_time,
            captions.describe_time,
            by_row=True,
        ),
    )
}
# What is put side by side in one file, and in one row of a page.
FIGURES = {
    "loss": ("loss", "metric"),
    "difference": ("final", "difference"),
    "scale": ("scale", "gradients"),
    "memory": ("memory", "time"),
}


def wanted(comparison, name) -> list:
    """The panels of a figure that have something to show."""
    return [PANELS[p] for p in FIGURES[name] if PANELS[p].is_wanted(comparison)]


def places(folder, formats=drawing.FORMATS) -> list:
    """Where the pictures of a comparison that is kept in a folder may be."""
    return [folder / f"{name}.{format}" for name in FIGURES for format in formats]


def check(format):
    """Raise ArgumentError for a format that is none, MinifpError where there is no matplotlib."""
    if format not in drawing.FORMATS:
        raise ArgumentError(f"figures={format!r}: expected one of {', '.join(drawing.FORMATS)}")
    if not drawing.is_available():
        raise MinifpError(drawing.HOW_TO_GET)


def save_figures(comparison, folder, format="png") -> list:
    """Write every figure of a comparison into a folder and return the paths.

    format: "png", "svg" or "pdf". Raises ArgumentError for another one, and MinifpError where there
    is no matplotlib, with the line that installs it.
    """
    check(format)
    contents = {
        files.as_path(folder) / f"{name}.{format}": drawing.bytes_of(
            figure(comparison, name), format
        )
        for name in FIGURES
        if wanted(comparison, name)
    }
    files.write_all(contents)
    return list(contents)


def figure(comparison, name):
    """One of FIGURES as a matplotlib Figure, with a heading, a legend and what must be said."""
    from matplotlib.figure import Figure

    chosen = wanted(comparison, name)
    styles = styles_of(comparison.precisions, comparison.baseline)
    wide = WIDTH * len(chosen)
    handles = legend_handles(name, styles)
    columns = columns_of(handles, wide)
    said = [captions.note(comparison, name), comparison.dial_note()]
    said = "\n".join(textwrap.fill(words.raised(text), round(17 * wide)) for text in said if text)
    above = 0.36 + 0.26 * -(-len(handles) // columns)
    below = 0.16 + 0.145 * len(said.splitlines())
    high = height(comparison, chosen[0]) + above + below
    with drawing.settings():
        drawn = Figure(figsize=(wide, high))
        rect = (0.06 / wide, below / high, 1 - 0.12 / wide, 1 - (above + below) / high)
        drawn.set_layout_engine("constrained", w_pad=0.1, h_pad=0.04, rect=rect)
        for axes, panel in zip(drawn.subplots(1, len(chosen), squeeze=False)[0], chosen):
            axes.set_title(panel.title(comparison))
            panel.draw(axes, comparison, styles)
        left = 0.16 / wide
        drawn.text(left, 1 - 0.12 / high, heading(comparison), va="top", fontsize=11)
        drawn.text(left, 0.1 / high, said, va="bottom", fontsize=7.5, color=drawing.MUTED)
        if handles:
            at = {"loc": "upper left", "bbox_to_anchor": (left, 1 - 0.36 / high)}
            look = {"fontsize": 8.5, "handlelength": 2.8, "columnspacing": 1.6}
            drawn.legend(handles=handles, ncols=columns, borderpad=0, borderaxespad=0, **at, **look)
        drawing.settle(drawn)
    return drawn


def overview(parts):
    """One Figure of the whole demonstration: each part's metric over the steps, and its result.

    parts: pairs of a part (with key and title) and its comparison.
    """
    from matplotlib.figure import Figure

    rows = -(-len(parts) // 2)
    with drawing.settings():
        drawn = Figure(figsize=(2 * WIDTH, 3.3 * rows))
        drawn.set_layout_engine("constrained", w_pad=0.14, h_pad=0.12)
        grid = drawn.subplots(rows, 2, squeeze=False).ravel()
        for axes, (part, comparison) in zip(grid, parts):
            draw_part(axes, part, comparison)
        for axes in grid[len(parts) :]:
            axes.set_axis_off()
        drawing.settle(drawn)
    return drawn


def draw_part(axes, part, comparison):
    """One part: a title, its result, the metric or loss, and a legend."""
    styles = styles_of(comparison.precisions, comparison.baseline)
    panel = PANELS["metric" if over_steps.has_course(comparison) else "loss"]
    panel.draw(axes, comparison, styles)
    result = textwrap.fill(verdicts.headline(comparison), 62)
    axes.set_title(f"({part.key}) {part.title}", pad=34, fontsize=9.5)
    small = {"fontsize": 8, "color": drawing.MUTED, "va": "top", "linespacing": 1.25}
    axes.annotate(result, (0, 1), (0, 29), "axes fraction", "offset points", **small)
    axes.set_ylabel(panel.title(comparison), fontsize=8)
    if comparison.dial:
        axes.set_xlabel(f"step; exponent dial {comparison.dial}")
    below = {"loc": "upper left", "bbox_to_anchor": (-0.03, -0.2), "ncols": 2}
    axes.legend(handles=line_samples(styles), fontsize=8, handlelength=2.6, **below)


def panel_svg(comparison, name, prefix) -> str:
    """One of PANELS as an inline <svg> whose ids begin with `prefix`."""
    from matplotlib.figure import Figure

    panel = PANELS[name]
    styles = styles_of(comparison.precisions, comparison.baseline)
    with drawing.settings():
        drawn = Figure(figsize=(NARROW, height(comparison, panel)))
        drawn.set_layout_engine("constrained", w_pad=0.03, h_pad=0.03)
        axes = drawn.subplots()
        axes.set_title(panel.title(comparison))
        panel.draw(axes, comparison, styles)
        drawing.settle(drawn)
    description = panel.describe(comparison)
    title = f"{panel.title(comparison)}, {heading(comparison)}"
    return drawing.inline_svg(drawn, f"{prefix}-{name}", escape(title), escape(description))


def height(comparison, panel) -> float:
    """Inches: rows need room for each precision."""
    return 0.75 + 0.56 * len(comparison.precisions) if panel.by_row else 2.9


def heading(comparison) -> str:
    """What was trained, and how often."""
    return f"{comparison.task.name}, {words.plural(len(comparison.seeds), 'seed')}"


def legend_handles(name, styles) -> list:
    """What the legend of a figure explains; nothing where rows carry their names."""
    from matplotlib.patches import Patch

    if name == "memory":
        kinds = KIND_COLORS.items()
        return [Patch(color=color, label=words.spaced(kind)) for kind, color in kinds]
    return [] if name == "difference" else line_samples(styles)


def columns_of(handles, wide) -> int:
    """How many columns of a legend fit into so many inches."""
    longest = max((len(handle.get_label()) for handle in handles), default=0)
    return max(1, min(len(handles), int(wide / (0.65 + 0.075 * longest))))


def line_samples(styles) -> list:
    """A piece of line with its marker and name for each precision."""
    from matplotlib.lines import Line2D

    return [
        Line2D(
            [],
            [],
            color=style.color,
            linestyle=style.line,
            linewidth=style.width,
            marker=style.marker,
            markersize=4.5,
            label=precision,
        )
        for precision, style in styles.items()
    ]
