"""The picture of what `evaluate` found: what formats change and cost."""

from minifp.lab.page.captions import metric_label
from minifp.lab.page.precision_styles import styles_of
from minifp.report import drawing, words
from minifp.report.content import Picture

NAME = "evaluation"  # of the files in a folder
TITLE = "Trained networks in other number formats"
BAR = 0.8  # of the room between two checkpoints, for all precisions


def picture(inference) -> Picture:
    """That of the numbers."""
    said = "Change of the metric, time and memory, against the baseline: see the table."
    return Picture(NAME, TITLE, said, lambda look: overview(inference))


def measures(inference) -> list[tuple]:
    """(title, value of a checkpoint in a precision, where nothing differs) of each panel."""
    metrics = {metric_label(j.trained.task) for j in inference.judged}
    name = metrics.pop() if len(metrics) == 1 else "metric"
    base = inference.precisions[0]

    def times(field):
        def value(judged, precision):
            mine, theirs = (getattr(r, field) for r in (judged.results[precision], judged.base))
            return None if mine is None or not theirs else mine / theirs

        return value

    return [
        (f"Change of {name}", lambda judged, p: judged.difference(p), 0.0),
        (f"Time, times {base}'s", times("seconds"), 1.0),
        (f"Memory, times {base}'s", times("held"), 1.0),
    ]


def overview(inference):
    """A panel of bars for each of the measures, a row for each checkpoint; None for no others."""
    if not inference.others:
        return None
    styles = styles_of(inference.precisions, inference.precisions[0])
    names = [judged.trained.name for judged in inference.judged]
    high = 1.15 + 0.24 * len(names) * (1 + len(inference.others))
    with drawing.canvas(9.6, high, 1, 3, sharey=True) as (drawn, panels):
        for axes, (title, value, level) in zip(panels, measures(inference)):
            draw_bars(axes, inference, value, level, styles)
            axes.set_title(title, fontsize=9)
        show_margin(panels[0], inference)
        panels[0].set_yticks(range(len(names)), names)
        panels[0].set_ylim(len(names) - 0.5, -0.5)
        handles, _ = panels[0].get_legend_handles_labels()
        drawn.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=8.5)
    return drawn


def draw_bars(axes, inference, value, level, styles):
    """A bar for each checkpoint and precision, and a line where nothing differs."""
    high = BAR / len(inference.others)
    for i, precision in enumerate(inference.others):
        known = [(row, value(j, precision)) for row, j in enumerate(inference.judged)]
        known = [(row, v) for row, v in known if words.is_number(v)]
        at = [row + (i - (len(inference.others) - 1) / 2) * high for row, _ in known]
        look = {"color": styles[precision].color, "label": precision}
        axes.barh(at, [v for _, v in known], 0.86 * high, **look)
    axes.axvline(level, color=drawing.MUTED, linewidth=0.8)
    axes.grid(False, axis="y")
    axes.margins(x=0.08)


def show_margin(axes, inference):
    """Shade the smallest margin of the tasks, for a measure of how far is far."""
    margin = min(judged.trained.task.margin for judged in inference.judged)
    axes.axvspan(-margin, margin, color=drawing.GRID, alpha=0.45, linewidth=0, zorder=0)
    axes.set_xlabel("shaded: the margin", fontsize=8)
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, -1.1 * margin), max(high, 1.1 * margin))
