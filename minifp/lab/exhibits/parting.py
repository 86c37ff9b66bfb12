"""Where a training parts from float32's: its loss leaves the range of float32's runs for good."""

from html import escape

import numpy as np

from minifp.lab.exhibits.finding import called
from minifp.lab.page import curves, over_steps
from minifp.lab.page.precision_styles import styles_of
from minifp.report import drawing, words

LASTING = 0.1  # of the windows, at the end: what leaves the range later may come back


def failing(gallery) -> list[tuple]:
    """The exhibits that are to fail without loss scaling, with their comparisons."""
    both = zip(gallery.exhibits, gallery.comparisons)
    return [(e, c) for e, c in both if e.expects == "fails" and c.runs]


def parts_at(comparison, run) -> float | None:
    """The step from which on a run's loss is above those of all of the baseline's runs, or not
    finite, to its end; None for one that trained to its end and parts in the last tenth, or never.

    Losses are means of windows of steps, as many as `curves.window_of` says.
    """
    width = curves.window_of(comparison)
    base = [curves.windowed(*curves.series(r, "loss"), width)[1] for r in baseline(comparison)]
    steps, loss = curves.windowed(*curves.series(run, "loss"), width)
    n = min([len(loss), *map(len, base)])
    if not base or n == 0:
        return None
    highest = np.max([values[:n] for values in base], axis=0)
    within = np.flatnonzero(loss[:n] <= highest)
    first = within[-1] + 1 if within.size else 0
    if not run.finished and first == n:  # it is lost in a window that is not full
        return curves.lost_at(run)
    if first == n or (run.finished and n - first < LASTING * n):
        return None
    return float(steps[first] - (width - 1) / 2)


def baseline(comparison) -> list:
    """The baseline's runs that trained to their end."""
    return [run for run in comparison.runs_of(comparison.baseline) if run.finished]


def partings(comparison, arms) -> dict[str, list[float]]:
    """For each arm that has some, the steps at which its runs part, in order."""
    found = {}
    for arm in arms:
        steps = [parts_at(comparison, run) for run in comparison.runs_of(arm)]
        found[arm] = sorted(step for step in steps if step is not None)
    return {arm: steps for arm, steps in found.items() if steps}


def note(exhibit, comparison) -> str:
    """Which arms part, and when, in words; empty where none does."""
    told = []
    for arm, steps in partings(comparison, exhibit.tested).items():
        which = words.listed([f"{step:.0f}" for step in dict.fromkeys(steps)])
        count = f"{len(steps)} of {len(comparison.runs_of(arm))} runs"
        told.append(f"with {called(arm)} {count} at step {which}")
    if not told:
        return ""
    return (
        f"{exhibit.title}: the loss leaves the range of float32's runs for good "
        f"{words.listed(told)}."
    )


def figure(exhibit, comparison):
    """A matplotlib Figure: the losses of all arms over the steps, and where they part."""
    from matplotlib.figure import Figure

    arms = [comparison.baseline, *exhibit.tested]
    styles = styles_of(arms, comparison.baseline)
    with drawing.settings():
        drawn = Figure(figsize=(7.6, 3.6))
        drawn.set_layout_engine("constrained")
        axes = drawn.subplots()
        over_steps.draw_loss(axes, comparison, styles)
        for arm, steps in partings(comparison, exhibit.tested).items():
            look = {"color": styles[arm].color, "linestyle": ":", "linewidth": 1.1}
            for step in steps:
                axes.axvline(step, **look)
        for arm, style in styles.items():
            axes.plot([], [], label=called(arm), color=style.color, linestyle=style.line)
        axes.set_ylabel("training loss")
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(arms), fontsize=8)
        drawing.settle(drawn)
    return drawn


def html(exhibit, comparison) -> str:
    """The picture inside of a page; nothing without matplotlib."""
    if not drawing.is_available():
        return ""
    title = f"{exhibit.title}: training losses; dotted: where a run parts from float32's"
    svg = drawing.inline_svg(
        figure(exhibit, comparison), f"p-{exhibit.name}", escape(title), note(exhibit, comparison)
    )
    return f'<figure class="wide">\n{svg}\n<figcaption>{escape(title)}.</figcaption>\n</figure>'
