"""Panels put together: figures as files, and the same panels one by one for a page."""

import math
import textwrap
from dataclasses import replace
from functools import partial

from markupsafe import Markup

from minifp.errors import ArgumentError, MinifpError
from minifp.lab.conclusions.planning import needs_of
from minifp.lab.page import by_precision, captions, line_charts, power_figure, verdicts
from minifp.lab.page.panel import Panel
from minifp.lab.page.precision_styles import KIND_COLORS, styles_of
from minifp.report import drawing, line_drawing, words
from minifp.report import look as looks
from minifp.report.look import SCREEN
from minifp.saving import files

WIDTH = 4.6  # inches of a panel in a file
LEAST = 2.6  # of a panel that stands beside another
EDGE = 0.16  # at the left of headings and legends
NARROW = line_drawing.WIDTH  # and in a page
OTHERS = {
    "final": by_precision.final,
    "difference": by_precision.difference,
    "memory": by_precision.memory,
    "time": by_precision.time,
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


def wanted(comparison, name, styles=None) -> list[Panel]:
    """The panels of a figure that have something to show. styles: if not the usual ones."""
    panels = [panel_of(comparison, panel, styles) for panel in FIGURES[name]]
    return [panel for panel in panels if panel is not None]


def panel_of(comparison, name, styles=None) -> Panel | None:
    """A panel by its name; None if it has nothing to show."""
    styles = styles or styles_of(comparison.precisions, comparison.baseline)
    if name in OTHERS:
        return OTHERS[name](comparison, styles)
    if name == "power":
        group = power_figure.power_group(comparison, styles)
    else:
        panels = line_charts.histories(comparison, (name,))
        group = line_charts.group_of(comparison, panels, styles=styles)
    for p in group.panels:
        return Panel(name, p.title, partial(line_drawing.draw, panel=p, group=group), p.said)
    return None


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
    titles = "; ".join(panel.title for panel in wanted(comparison, name))
    said = [captions.note(comparison, name), comparison.dial_note()]
    return " ".join([f"{captions.heading(comparison)}. {titles}.", *filter(None, said)])


def figure(comparison, name, look=SCREEN):
    """One of FIGURES as a matplotlib Figure, with a legend; and but for paper with a heading and
    what must be said. Panels stand one above the other where they would be too narrow."""
    styles = {
        arm: replace(style, width=style.width * look.shrunk)
        for arm, style in styles_of(comparison.precisions, comparison.baseline).items()
    }
    chosen = wanted(comparison, name, styles)
    wide = look.width or WIDTH * len(chosen)
    columns = len(chosen) if wide / len(chosen) >= LEAST else 1
    if name == "power":  # of the arms that have a line
        styles = {need.arm: styles[need.arm] for need in needs_of(comparison)}
    handles = legend_handles(name, styles, wide - 2 * EDGE - 0.5, 8.5 * look.shrunk)
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
    heights = [height(panel, wide / columns, look) for panel in chosen]
    high = (max(heights) if columns > 1 else sum(heights)) + above + below
    shape = {"squeeze": False, "height_ratios": heights if columns == 1 else None}
    down = -(-len(chosen) // columns)
    with drawing.canvas(wide, high, down, columns, look.settings(), **shape) as (drawn, grid):
        rect = (0.06 / wide, below / high, 1 - 0.12 / wide, 1 - (above + below) / high)
        drawn.get_layout_engine().set(w_pad=0.1, h_pad=0.04, rect=rect)
        for axes, panel in zip(grid.ravel(), chosen):
            draw_panel(axes, panel)
        left = EDGE / wide
        if not look.is_for_paper:
            at = {"x": left, "y": 1 - 0.12 / high, "va": "top", "fontsize": 11}
            drawn.text(s=captions.heading(comparison), **at)
            drawn.text(left, 0.1 / high, said, va="bottom", fontsize=7.5, color=drawing.MUTED)
        if handles:
            at = {"loc": "upper left", "bbox_to_anchor": (left, 1 - head / high)}
            size = {"fontsize": drawing.points(8.5), "handlelength": 2.8, "columnspacing": 1.6}
            edges = {"borderpad": 0, "borderaxespad": 0}
            drawn.legend(handles=handles, ncols=in_legend, **at, **size, **edges)
    return drawn


def draw_panel(axes, panel: Panel):
    """A panel, whose texts and ticks are as many as there is room for."""
    room = drawing.width_of(axes) - (0.7 if panel.labels is None else by_precision.SPACE)
    axes.set_title(looks.wrapped(panel.title, room, 1.1 * drawing.points(10)))
    panel.draw(axes)
    axes.set_xlabel(looks.wrapped(axes.get_xlabel(), room, drawing.points(9)))
    axes.locator_params(axis="x", nbins=max(3, min(9, round(room / (0.65 * drawing.points(1))))))


def overview(parts):
    """One Figure of the whole demonstration: each part's metric over the steps, and its result.

    parts: pairs of a part (with key and title) and its comparison.
    """
    rows = -(-len(parts) // 2)
    with drawing.canvas(2 * WIDTH, 3.3 * rows, rows, 2, squeeze=False) as (drawn, grid):
        drawn.get_layout_engine().set(w_pad=0.14, h_pad=0.12)
        for axes, (part, comparison) in zip(grid.ravel(), parts):
            draw_part(axes, part, comparison)
        for axes in grid.ravel()[len(parts) :]:
            axes.set_axis_off()
    return drawn


def draw_part(axes, part, comparison):
    """One part: a title, its result, the metric or loss, and a legend."""
    styles = styles_of(comparison.precisions, comparison.baseline)
    panel = panel_of(comparison, "metric") or panel_of(comparison, "loss")
    if panel is not None:
        panel.draw(axes)
        axes.set_ylabel(panel.title, fontsize=8)
    result = textwrap.fill(verdicts.headline(comparison), 62)
    axes.set_title(f"({part.key}) {part.title}", pad=34, fontsize=9.5)
    small = {"fontsize": 8, "color": drawing.MUTED, "va": "top", "linespacing": 1.25}
    axes.annotate(result, (0, 1), (0, 29), "axes fraction", "offset points", **small)
    if comparison.dial:
        axes.set_xlabel(f"step; exponent dial {comparison.dial}")
    below = {"loc": "upper left", "bbox_to_anchor": (-0.03, -0.2), "ncols": 2}
    axes.legend(handles=line_samples(styles), fontsize=8, handlelength=2.6, **below)


def panel_svg(comparison, panel: Panel, prefix) -> Markup:
    """A panel as an inline <svg> whose ids begin with `prefix`."""
    with drawing.canvas(NARROW, height(panel)) as (drawn, axes):
        axes.set_title(panel.title)
        panel.draw(axes)
    title = f"{panel.title}, {captions.heading(comparison)}"
    return drawing.inline_svg(drawn, f"{prefix}-{panel.name}", title, panel.description)


def height(panel: Panel, wide=NARROW, look=SCREEN) -> float:
    """Inches of a panel of this width: rows need room for each precision."""
    if panel.labels is None:
        return line_drawing.height(wide)
    lines = by_precision.lines_of(panel.labels, wide, by_precision.NAME * look.shrunk)
    rows = (0.38 + 0.18 * lines) * len(panel.labels)
    return (0.19 if lines == 2 else 0) + (0.75 + rows) * look.shrunk


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

    def sample(name, style):
        look = {"color": style.color, "linestyle": style.line, "linewidth": style.width}
        return Line2D([], [], marker=style.marker, markersize=4.5, label=name, **look)

    return [sample(*pair) for pair in styles.items()]
