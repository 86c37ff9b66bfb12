"""Panels put together: figures as files, and the same panels one by one for a page."""

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from minifp.report import curves, drawing, panels, words
from minifp.report.panels import is_scaled

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


def metric_title(task) -> str:
    """The metric, said to be the test set's, with its unit."""
    name = panels.metric_label(task)
    known = any(word in task.metric_name for word in ("test", "valid"))
    return name[:1].upper() + name[1:] if known else f"Test {name}"


def has_baseline(comparison) -> bool:
    """Whether there is anything to compare with."""
    return len(comparison.precisions) > 1


PANELS = {
    panel.name: panel
    for panel in (
        Panel("loss", lambda c: "Training loss", panels.draw_loss, lambda c: describe_loss(c)),
        Panel(
            "metric",
            lambda c: metric_title(c.task),
            panels.draw_metric,
            lambda c: describe_final(c, "Over the steps of training, ending at: "),
        ),
        Panel(
            "scale",
            lambda c: "Loss scale",
            panels.draw_scale,
            lambda c: describe_scale(c),
            is_wanted=lambda c: any(map(is_scaled, c.runs)),
        ),
        Panel(
            "gradients",
            lambda c: "Norm of all gradients, unscaled",
            panels.draw_gradients,
            lambda c: "A line for each seed, and the mean over seeds, on a logarithmic axis.",
        ),
        Panel(
            "final",
            lambda c: f"{metric_title(c.task)} at the end",
            panels.draw_final,
            lambda c: describe_final(c, ""),
            by_row=True,
        ),
        Panel(
            "difference",
            lambda c: f"Difference from {c.baseline}, paired by seed",
            panels.draw_difference,
            lambda c: describe_difference(c),
            by_row=True,
            is_wanted=has_baseline,
        ),
        Panel(
            "memory",
            lambda c: "Memory of one training step",
            panels.draw_memory,
            lambda c: describe_memory(c),
            by_row=True,
            is_wanted=lambda c: any(run.bytes for run in c.runs),
        ),
        Panel(
            "time",
            lambda c: "Time of one training step",
            panels.draw_time,
            lambda c: describe_time(c),
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


def save_figures(comparison, folder, format="png") -> list:
    """Write every figure of a comparison into a folder and return the paths.

    format: "png", "svg" or "pdf". Raises ArgumentError for another one; ModuleNotFoundError where
    there is no matplotlib (see `drawing.is_available`).
    """
    drawing.checked_format(format)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    names = [name for name in FIGURES if wanted(comparison, name)]
    return [
        drawing.save(figure(comparison, name), folder / f"{name}.{format}", format)
        for name in names
    ]


def figure(comparison, name):
    """One of FIGURES as a matplotlib Figure, with a heading, a legend and what must be said."""
    from matplotlib.figure import Figure

    chosen = wanted(comparison, name)
    styles = drawing.styles(comparison.precisions, comparison.baseline)
    wide = WIDTH * len(chosen)
    said = [note(comparison, name), comparison.dial_note()]
    said = "\n".join(textwrap.fill(text, round(17 * wide)) for text in said if text)
    above, below = (0.62 if name != "difference" else 0.36), 0.16 + 0.145 * len(said.splitlines())
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
        add_legend(drawn, name, styles, (left, 1 - 0.36 / high))
    return drawn


def panel_svg(comparison, name, prefix) -> str:
    """One of PANELS as an inline <svg> whose ids begin with `prefix`."""
    from html import escape

    from matplotlib.figure import Figure

    panel = PANELS[name]
    styles = drawing.styles(comparison.precisions, comparison.baseline)
    with drawing.settings():
        drawn = Figure(figsize=(NARROW, height(comparison, panel)))
        drawn.set_layout_engine("constrained", w_pad=0.03, h_pad=0.03)
        axes = drawn.subplots()
        axes.set_title(panel.title(comparison))
        panel.draw(axes, comparison, styles)
    description = panel.describe(comparison)
    title = f"{panel.title(comparison)}, {heading(comparison)}"
    return drawing.inline_svg(drawn, f"{prefix}-{name}", escape(title), escape(description))


def height(comparison, panel) -> float:
    """Inches: rows need room for each precision."""
    return 0.75 + 0.56 * len(comparison.precisions) if panel.by_row else 2.9


def heading(comparison) -> str:
    """What was trained, and how often."""
    return f"{comparison.task.name}, {words.plural(len(comparison.seeds), 'seed')}"


def note(comparison, name) -> str:
    """How to read a figure: what its marks, lines and bands are."""
    if name == "loss":
        return f"{lines_text(comparison)} {astray_text(comparison)}".strip()
    texts = {
        "scale": "Ticks: steps that were skipped because a gradient was Inf or NaN; where there was "
        "no norm, the one before is drawn.",
        "difference": "At the end: a mark for each seed and a bar at their mean. Difference: the mean "
        f"with its {curves.CONFIDENCE:.0%} interval, and the seeds below it; an arrow is far outside.",
        "memory": "Counted from the arrays that are alive at the peak of one training step. Times "
        "were measured in these runs, on the machine named in the report.",
    }
    return texts[name]


def lines_text(comparison) -> str:
    """What the lines are, and the band."""
    width = curves.window_of(comparison)
    of_steps = f" of {width} steps" if width > 1 else ""
    if len(comparison.seeds) < curves.FEWEST_SEEDS:
        return (
            f"Thin: every step of every seed. Thick: the mean{of_steps}; too few seeds for a band."
        )
    return (
        f"Thin: every step of every seed. Thick: the mean{of_steps} over seeds; band: its "
        f"{curves.CONFIDENCE:.0%} interval (Student's t)."
    )


def astray_text(comparison) -> str:
    """How runs are drawn that did not finish, if there are any."""
    if all(run.finished for run in comparison.runs):
        return ""
    return (
        "A precision of which a run went astray is drawn seed by seed; cross: NaN from here on, "
        "triangle: beyond the picture."
    )


def add_legend(drawn, name, styles, at):
    """One legend for the whole figure, above its panels."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if name == "difference":
        return  # its rows carry their names
    if name == "memory":
        handles = [
            Patch(color=drawing.KIND_COLORS[k], label=words.KIND_NAMES[k]) for k in words.KINDS
        ]
    else:
        handles = [
            Line2D(
                [],
                [],
                color=s.color,
                linestyle=s.line,
                linewidth=s.width,
                marker=s.marker,
                markersize=4.5,
                label=precision,
            )
            for precision, s in styles.items()
        ]
    drawn.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=at,
        ncols=min(5, len(handles)),
        fontsize=8.5,
        handlelength=2.8,
        columnspacing=1.6,
        borderpad=0,
        borderaxespad=0,
    )


# ---- the same in words, for those who cannot see it ---------------------------------------------


def describe_loss(comparison) -> str:
    """How the losses end, and which were lost."""
    return "; ".join(describe_losses(comparison, p) for p in comparison.precisions) + "."


def describe_losses(comparison, precision) -> str:
    """The same of one precision."""
    runs = comparison.runs_of(precision)
    lost = [step for step in map(curves.lost_at, runs) if step is not None]
    ends = [loss[-1] for _, loss in (curves.series(run, "loss") for run in runs) if loss.size]
    ends = [f"{end:.3g}" for end in sorted(ends) if words.is_number(end)]
    text = f"{precision} ends between {ends[0]} and {ends[-1]}" if ends else precision
    if lost:
        text += f", NaN in {len(lost)} of {len(runs)} runs, first at step {min(lost):.0f}"
    return text


def describe_final(comparison, start) -> str:
    """Mean and deviation of each precision."""
    places = words.decimals(comparison.task.margin)
    rows = (f"{r.precision} {panels.mean_text(r, places)}" for r in comparison.rows())
    return start + "; ".join(rows) + "."


def describe_difference(comparison) -> str:
    """The differences and their intervals."""
    places = words.decimals(comparison.task.margin)
    rows = [r for r in comparison.rows() if r.precision != comparison.baseline]
    return "; ".join(f"{r.precision} {panels.difference_text(r, places)}" for r in rows) + "."


def describe_scale(comparison) -> str:
    """Where the scale ends and what was skipped."""
    rows = (
        f"{r.precision} ends at {words.scale_text(r.final_scale)}, "
        f"{words.count_text(r.skipped)} steps skipped a run"
        for r in comparison.rows()
    )
    return "; ".join(rows) + "."


def describe_memory(comparison) -> str:
    """The totals."""
    rows = comparison.rows()
    return "; ".join(f"{r.precision} {words.bytes_text(sum(r.bytes.values()))}" for r in rows) + "."


def describe_time(comparison) -> str:
    """The medians."""
    rows = comparison.rows()
    return "; ".join(f"{r.precision} {words.seconds_text(r.seconds_per_step)}" for r in rows) + "."
