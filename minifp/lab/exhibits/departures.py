"""Where a training parts from float32's: its loss leaves the range of float32's runs for good; and
where it could have been known before."""

from dataclasses import replace
from functools import partial

import numpy as np

from minifp.lab.exhibits.finding import called
from minifp.lab.page import curves, line_charts
from minifp.report import words
from minifp.report.charts import Group, Panel
from minifp.report.line_drawing import windowed

LASTING = 0.1  # of the windows, at the end: what leaves the range later may come back
MOST = 0.5  # a rule fixed before any run was judged by it: it warns where most of a window is lost


def parts_at(comparison, run) -> float | None:
    """The step from which on a run's loss is above those of all of the baseline's runs, or not
    finite, to its end; None for one that trained to its end and parts in the last tenth, or never.

    Losses are means of windows of steps, as many as `curves.window_of` says.
    """
    width = curves.window_of(comparison)
    base = [windowed(*curves.series(r, "loss"), width)[1] for r in baseline(comparison)]
    steps, loss = windowed(*curves.series(run, "loss"), width)
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


def warned_at(comparison, run, column: str) -> float | None:
    """The step at which it is known that more than half of a column's share is lost: the end of the
    first window whose mean is above; None without one. Of nothing but this run."""
    width = curves.window_of(comparison)
    steps, share = windowed(*curves.series(run, column), width)
    above = np.flatnonzero(share > MOST)
    return float(steps[above[0]] + (width - 1) / 2) if above.size else None


def baseline(comparison) -> list:
    """The baseline's runs that trained to their end."""
    return [run for run in comparison.runs_of(comparison.baseline) if run.finished]


def partings(comparison, arms) -> dict[str, list[float]]:
    """For each arm that has some, the steps at which its runs part, in order."""
    steps = {}
    for arm in arms:
        each = [parts_at(comparison, run) for run in comparison.runs_of(arm)]
        steps[arm] = sorted(step for step in each if step is not None)
    return {arm: known for arm, known in steps.items() if known}


def note(exhibit, comparison) -> str:
    """Which arms part, and when, in words; empty where none does."""
    parted = partings(comparison, exhibit.tested)
    told = [at_steps(comparison, arm, steps) for arm, steps in parted.items()]
    if not told:
        return ""
    said = f"the loss leaves the range of float32's runs for good {words.listed(told)}."
    return f"{exhibit.title}: {said}{warning(exhibit, comparison)}"


def at_steps(comparison, arm, steps) -> str:
    """In how many of an arm's runs something is found, and at which steps."""
    which = words.listed([f"{step:,.0f}" for step in dict.fromkeys(steps)])
    runs = words.plural(len(comparison.runs_of(arm)), "run")
    return f"with {called(arm)} in {len(steps)} of {runs}, at step {which}"


def warning(exhibit, comparison) -> str:
    """Which runs the exhibit's column would have warned of, float32's among them, and whether in
    time; empty where there is no such column."""
    if not exhibit.warns:
        return ""
    told, early, parted = [], 0, 0
    for arm in (comparison.baseline, *exhibit.tested):
        warned = []
        for run in comparison.runs_of(arm):
            step, parts = warned_at(comparison, run, exhibit.warns), parts_at(comparison, run)
            warned += [] if step is None else [step]
            if arm != comparison.baseline and parts is not None:
                parted += 1
                early += step is not None and step <= parts
        told += [at_steps(comparison, arm, sorted(warned))] if warned else []
    where = words.listed(told) if told else "in none"
    return (
        f" The share of {exhibit.warns} is above one half {where}: known before the loss parts in "
        f"{early} of the {parted} runs that part."
    )


def chart(exhibit, comparison) -> Group:
    """The losses of all arms over the steps, with ticks where they part; and the share that warns,
    where there is one."""
    arms = {comparison.baseline, *exhibit.tested}
    losses = line_charts.loss(comparison)
    marks = [
        (run.precision, run.seed, [round(step)])
        for arm in exhibit.tested
        for run in comparison.runs_of(arm)
        if (step := parts_at(comparison, run)) is not None
    ]
    how = f"{losses.note} Ticks at the bottom: where a run parts from float32's.".strip()
    name, said = f"{exhibit.name}-losses", note(exhibit, comparison) or losses.said
    panels = [replace(losses, name=name, said=said, note=how, marks=marks)]
    if exhibit.warns:
        lines = line_charts.lines_of(comparison, partial(curves.series, key=exhibit.warns))
        title, said = exhibit.warns.capitalize(), "Over the steps of training."
        warns = f"{exhibit.name}-warns"
        panels.append(Panel(warns, title, lines, said, smooth=True, percent=True))
    panels = [replace(p, lines=[one for one in p.lines if one.arm in arms]) for p in panels]
    group = line_charts.group_of(comparison, panels=panels, prefix=name)
    return replace(group, arms=[arm for arm in group.arms if arm.name in arms])
