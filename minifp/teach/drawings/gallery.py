"""Lesson 12: a panel for each task, with the spread of float32's own runs."""

from collections.abc import Mapping
from typing import Any

from minifp.report.drawing import GRID, INK, MUTED, STYLES
from minifp.teach.drawings import FRACTION_ACROSS

NAMES = {"float32": "float32", "mixed,loss_scale=1": "mixed, S = 1"}
NAMES["mixed,loss_scale=128"] = "mixed, S = 128"


def panels(comparisons: Mapping[str, Any]) -> Any:
    """A figure with a panel for each comparison by its title, one above the other."""
    import matplotlib.pyplot as plt

    n = len(comparisons)
    figure, all_axes = plt.subplots(n, 1, figsize=(4.8, 2.1 * n), layout="constrained")
    for axes, (title, comparison) in zip(all_axes, comparisons.items()):
        draw_panel(axes, comparison)
        axes.set_title(title)
    return figure


def draw_panel(axes: Any, comparison: Any) -> None:
    """A row for each arm, a mark for each seed, and the range of float32's runs as a grey band."""
    task, arms = comparison.task, comparison.precisions
    ends = [run.metric for run in comparison.runs_of(comparison.baseline)]
    axes.axvspan(min(ends), max(ends), color=GRID, alpha=0.7, lw=0)
    for y, (arm, style) in enumerate(zip(arms, STYLES)):
        runs = comparison.runs_of(arm)
        metrics = [run.metric for run in runs if run.metric is not None]
        axes.plot(metrics, [y] * len(metrics), style.marker, color=style.color, ms=6, alpha=0.85)
        failed = sum(not run.finished for run in runs)
        if failed:
            look = {"color": INK, "fontsize": 8, "ha": "right", "va": "center"}
            text, at = f"{failed} of {len(runs)} diverged", (0.98, y - 0.28)
            axes.annotate(text, at, xycoords=FRACTION_ACROSS, **look)
    axes.set_yticks(range(len(arms)), [NAMES.get(arm, arm) for arm in arms])
    axes.set_ylim(len(arms) - 0.4, -0.6)
    axes.margins(x=0.08)
    axes.grid(False, axis="y")
    better = "more" if task.goal == "max" else "less"
    unit = f", {task.metric_unit}" if task.metric_unit else ""
    axes.set_xlabel(f"{task.metric_name}{unit} ({better} is better)", color=MUTED)
