"""Panels put together: figures as files, and the same panels one by one for a page."""

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace

from markupsafe import Markup

from minifp.errors import ArgumentError, MinifpError
from minifp.lab.page import by_precision, captions, over_steps, power_figure, verdicts
from minifp.lab.page.precision_styles import KIND_COLORS, styles_of
from minifp.report import drawing, words
from minifp.report import look as looks
from minifp.report.look import SCREEN
from minifp.saving import files

WIDTH = 4.6  # inches of a panel in a file
LEAST = 2.6  # of a panel that stands beside another
EDGE = 0.16  # at the left of headings and legends
NARROW = 4.2  # and in a page, where letters grow with the panel; readable on a phone


@dataclass(frozen=True)
class Panel:
    """One picture of a comparison: its name, title, how to draw and how to describe it."""

    name: str
    title: Callable
    draw: Callable
    describe: Callable
    labels: Callable | None = None  # of its rows, if it has one for each arm
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
            labels=by_precision.final_labels,
        ),
        Panel(
            "difference",
            lambda c: f"Difference from {c.baseline}, paired by seed",
            by_precision.draw_difference,
            captions.describe_difference,
            labels=by_precision.difference_labels,
            is_wanted=lambda c: len(c.precisions) > 1,
        ),
        Panel(
            "power",
            lambda c: "Power, by the number of seeds",
            power_figure.draw_power,
            power_figure.describe,
            is_wanted=power_figure.is_wanted,
        ),
        Panel(
            "memory",
            lambda c: "Memory of one training step",
            by_precision.draw_memory,
            captions.describe_memory,
            labels=by_precision.memory_labels,
            is_wanted=lambda c: any(run.bytes for run in c.runs),
        ),
        Panel(
            "time",
            lambda c: "Time of one training step",
            by_precision.draw_time,
            captions.describe_time,
            labels=by_precision.time_labels,
        ),
    )
}
CAPTIONS = "captions.txt"
# What is put side by side in one file, and in one row of a page.
FIGURES = {
    "loss": ("loss", "metric"),
    "difference": ("final", "difference"),
    "power": ("power",),
    "scale": ("scale", "gradients"),
    "memory": ("memory", "time"),
}


def wanted(comparison, name) -> list:
    """The panels of a figure that have something to show."""
    return [PANELS[p] for p in FIGURES[name] if PANELS[p].is_wanted(comparison)]


def places(folder, formats=drawing.FORMATS) -> list:
    """Where the pictures of a comparison that is kept in a folder may be, and their captions."""
    pictures = [folder / f"{name}.{format}" for name in FIGURES for format in formats]
    return [*pictures, folder / CAPTIONS]


def check(format):
    """Raise ArgumentError for a format that is none, MinifpError where there is no matplotlib."""
    if format not in drawing.FORMATS:
        raise ArgumentError(f"figures={format!r}: expected one of {', '.join(drawing.FORMATS)}")
    if not drawing.is_available():
        raise MinifpError(drawing.HOW_TO_GET)


def save_figures(comparison, folder, format="png", look=SCREEN) -> list:
    """Write every figure of a comparison into a folder and return the paths.

    format: "png", "svg" or "pdf". look: how they look; for paper, captions.txt has what stands
    below each picture on a screen. Raises ArgumentError for another format, and MinifpError where
    there is no matplotlib, with the line that installs it.
    """
    check(format)
    folder = files.as_path(folder)
    drawn = [name for name in FIGURES if wanted(comparison, name)]
    contents: dict = {
        folder / f"{name}.{format}": drawing.bytes_of(
            figure(comparison, name, look), format, **look.settings()
        )
        for name in drawn
    }
    paths = list(contents)
    if look.is_for_paper:
        contents[folder / CAPTIONS] = "".join(
            f"{name}.{format}\n{caption(comparison, name)}\n\n" for name in drawn
        )
    files.write_into(folder, contents)
    return paths


def caption(comparison, name) -> str:
    """What must be said with a figure for paper."""
    titles = "; ".join(panel.title(comparison) for panel in wanted(comparison, name))
    said = [captions.note(comparison, name), comparison.dial_note()]
    return " ".join([f"{heading(comparison)}. {titles}.", *filter(None, said)])


def figure(comparison, name, look=SCREEN):
    """One of FIGURES as a matplotlib Figure, with a legend; and but for paper with a heading and
    what must be said. Panels stand one above the other where they would be too narrow."""
    from matplotlib.figure import Figure

    chosen = wanted(comparison, name)
    styles = {
        arm: replace(style, width=style.width * look.shrunk)
        for arm, style in styles_of(comparison.precisions, comparison.baseline).items()
    }
    wide = look.width or WIDTH * len(chosen)
    columns = len(chosen) if wide / len(chosen) >= LEAST else 1
    explained = power_figure.shown(comparison, styles) if name == "power" else styles
    handles = legend_handles(name, explained, wide - 2 * EDGE - 0.5, 8.5 * look.shrunk)
    said = [captions.note(comparison, name), comparison.dial_note()]
    said = "\n".join(textwrap.fill(words.raised(text), round(17 * wide)) for text in said if text)
    lines, head = len(said.splitlines()), 0.36
    if look.is_for_paper:
        said, lines, head = "", 0, 0.04
    in_legend = columns_of(handles, wide - EDGE, 8.5 * look.shrunk)
    rows = [handles[i : i + in_legend] for i in range(0, len(handles), in_legend)]
    taken = sum(max(h.get_label().count("\n") + 1 for h in row) for row in rows)
    above = head + 0.26 * look.shrunk * (taken if taken == len(rows) else 0.75 * taken + 0.25)
    below = 0.16 * bool(lines) + 0.145 * lines
    heights = [height(comparison, panel, wide / columns, look) for panel in chosen]
    high = (max(heights) if columns > 1 else sum(heights)) + above + below
    with drawing.settings(**look.settings()):
        drawn = Figure(figsize=(wide, high))
        rect = (0.06 / wide, below / high, 1 - 0.12 / wide, 1 - (above + below) / high)
        drawn.set_layout_engine("constrained", w_pad=0.1, h_pad=0.04, rect=rect)
        ratios = heights if columns == 1 else None
        down = -(-len(chosen) // columns)
        grid = drawn.subplots(down, columns, squeeze=False, height_ratios=ratios)
        for axes, panel in zip(grid.ravel(), chosen):
            draw_panel(axes, panel, comparison, styles)
        left = EDGE / wide
        if not look.is_for_paper:
            drawn.text(left, 1 - 0.12 / high, heading(comparison), va="top", fontsize=11)
            drawn.text(left, 0.1 / high, said, va="bottom", fontsize=7.5, color=drawing.MUTED)
        if handles:
            at = {"loc": "upper left", "bbox_to_anchor": (left, 1 - head / high)}
            size = {"fontsize": drawing.points(8.5), "handlelength": 2.8, "columnspacing": 1.6}
            edges = {"borderpad": 0, "borderaxespad": 0}
            drawn.legend(handles=handles, ncols=in_legend, **at, **size, **edges)
        drawing.settle(drawn)
    return drawn


def draw_panel(axes, panel, comparison, styles):
    """A panel, whose texts and ticks are as many as there is room for."""
    room = drawing.width_of(axes) - (0.7 if panel.labels is None else by_precision.SPACE)
    title = looks.wrapped(panel.title(comparison), room, 1.1 * drawing.points(10))
    axes.set_title(title)
    panel.draw(axes, comparison, styles)
    axes.set_xlabel(looks.wrapped(axes.get_xlabel(), room, drawing.points(9)))
    axes.locator_params(axis="x", nbins=max(3, min(9, round(room / (0.65 * drawing.points(1))))))


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


def panel_svg(comparison, name, prefix, titled=True) -> Markup:
    """One of PANELS as an inline <svg> whose ids begin with `prefix`."""
    from matplotlib.figure import Figure

    panel = PANELS[name]
    styles = styles_of(comparison.precisions, comparison.baseline)
    with drawing.settings():
        drawn = Figure(figsize=(NARROW, height(comparison, panel)))
        drawn.set_layout_engine("constrained", w_pad=0.03, h_pad=0.03)
        axes = drawn.subplots()
        if titled:
            axes.set_title(panel.title(comparison))
        panel.draw(axes, comparison, styles)
        drawing.settle(drawn)
    description = panel.describe(comparison)
    title = f"{panel.title(comparison)}, {heading(comparison)}"
    return drawing.inline_svg(drawn, f"{prefix}-{name}", title, description)


def height(comparison, panel, wide=NARROW, look=SCREEN) -> float:
    """Inches of a panel of this width: rows need room for each precision."""
    if panel.labels is None:
        return max(1.9, min(2.9, 0.63 * wide))
    labels, size = panel.labels(comparison), by_precision.NAME * look.shrunk
    lines = by_precision.lines_of(labels, wide, size)
    return (0.19 if lines == 2 else 0) + (0.75 + (0.38 + 0.18 * lines) * len(labels)) * look.shrunk


def heading(comparison) -> str:
    """What was trained, and how often."""
    return f"{comparison.task.name}, {words.plural(len(comparison.seeds), 'seed')}"


def legend_handles(name, styles, room=math.inf, size=8.5) -> list:
    """What the legend of a figure explains, in lines for so many inches and points; nothing where
    rows carry their names."""
    from matplotlib.patches import Patch

    if name == "memory":
        kinds = KIND_COLORS.items()
        return [Patch(color=color, label=words.spaced(kind)) for kind, color in kinds]
    if name == "difference":
        return []
    samples = line_samples(styles)
    for sample in samples if room < math.inf else ():
        sample.set_label(looks.wrapped(sample.get_label(), room, size))
    return samples


def columns_of(handles, wide, size) -> int:
    """How many columns of a legend fit into so many inches, in letters of so many points."""
    lines = [line for handle in handles for line in handle.get_label().split("\n")]
    longest = max(map(len, lines), default=0)
    return max(1, min(len(handles), int(wide * 8.5 / size / (0.65 + 0.075 * longest))))


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
