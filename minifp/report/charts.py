"""Line charts: what is in them, and that as JSON, which the page's script reads.

A group of panels shares arms, seeds, smoothing and zoom. chart_markup.py makes the HTML, in which
they are explored; line_drawing.py draws them by matplotlib.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from markupsafe import Markup

from minifp.report import drawing, words
from minifp.report.markup import as_json

MOST_NUMBERS = 60_000  # of a panel; longer lines become the means of so many steps
DIGITS = 8  # of a number: what float32 has, so that differences can be seen


@dataclass(frozen=True)
class Arm:
    """What is drawn in one look: a name, whether it is a control (`same`: one that must not differ
    at all), and whether one of its runs did not finish."""

    name: str
    style: drawing.Style
    control: bool = False
    same: bool = False
    astray: bool = False


@dataclass(frozen=True)
class Line:
    """One seed of one arm: values y at steps x; what is not finite is a gap."""

    arm: str
    seed: int
    x: Sequence | np.ndarray
    y: Sequence | np.ndarray


@dataclass(frozen=True)
class Panel:
    """One chart.

    said: the same in words, if not where each arm ends. note: how to read it. log: a logarithmic
    axis; powers: values are exponents of two; percent: values are shares; stepped: a line stays
    until it jumps; points: marks at its values; smooth, minus: whether smoothing and differences
    apply; interval: bands are intervals of means, else ranges; envelope: controls are one band;
    marks: (arm, seed, steps).
    ends: of the axis, if its values do not decide; arms with runs that did not finish have no say,
    if others have. Drawn only: is_drawn, whether it is for print; shaded, from which place to
    which.
    """

    name: str
    title: str
    lines: list[Line]
    said: str = ""
    note: str = ""
    log: bool = False
    powers: bool = False
    stepped: bool = False
    points: bool = False
    percent: bool = False
    smooth: bool = False
    minus: bool = True
    interval: bool = True
    envelope: bool = False
    marks: list = field(default_factory=list)
    ends: tuple[float, float] | None = None
    is_drawn: bool = True
    shaded: tuple[float, float] | None = None


@dataclass(frozen=True)
class Group:
    """Panels that are explored together.

    quantiles: Student's t by the number of seeds, for intervals of means from `fewest` seeds on.
    baseline: the arm that is subtracted in the difference view. tau: the time constant of smoothing
    at first, in steps. x: the word before a place; x_powers: places are exponents of two; places:
    the names of 0, 1, ..., where those are the places. title: of what they are. is_wide: whether
    they have the whole width of a wide page. name: what ids begin with.
    """

    panels: list[Panel]
    arms: list[Arm]
    seeds: list[int]
    baseline: str = ""
    quantiles: dict[int, float] = field(default_factory=dict)
    fewest: int = 2
    tau: float = 0
    x: str = "step"
    x_powers: bool = False
    places: Sequence[str] = ()
    title: str = ""
    is_wide: bool = False
    name: str = "charts"


def description(panel: Panel, group: Group) -> str:
    """A panel in words, for those who cannot see it: its own, or where each arm ends."""
    if panel.said:
        return words.raised(panel.said)
    show = words.power_text if panel.powers else words.percent if panel.percent else words.short
    texts = []
    for arm in group.arms:
        lines = [line for line in panel.lines if line.arm == arm.name]
        values = sorted(float(line.y[-1]) for line in lines if math.isfinite(line.y[-1]))
        ends = [show(value) for value in dict.fromkeys(values[:1] + values[-1:])]
        text = f" ends {'between' if len(ends) > 1 else 'at'} {' and '.join(ends)}" if ends else ""
        lost = f"{len(lines) - len(values)} of {len(lines)} runs are lost"
        text += f", {lost}" if len(values) < len(lines) else ""
        texts += [arm.name + text] if lines else []
    return f"{panel.title}: {'; '.join(texts)}."


# ---- data ----------------------------------------------------------------------------------------


def json_of(group: Group) -> Markup:
    """What the script reads."""
    number = {arm.name: i for i, arm in enumerate(group.arms)}
    data = {
        "arms": [told_of(arm) for arm in group.arms],
        "seeds": group.seeds,
        "baseline": number.get(group.baseline, 0),
        "t": [group.quantiles.get(n, 0) for n in range(len(group.seeds) + 1)],
        "fewest": group.fewest,
        "tau": group.tau,
        "x": group.x,
        "xPowers": group.x_powers,
        "places": list(group.places) or None,
        "panels": [panel_data(panel, number) for panel in group.panels],
    }
    return as_json(data)


def told_of(arm: Arm) -> dict:
    """The look of an arm; its colour is a variable of the style sheet."""
    return {
        "name": arm.name,
        "color": drawing.VARIABLES[arm.style.color].removeprefix("--"),
        "dash": list(arm.style.dashes),
        "width": min(arm.style.width, 3.2),
        "control": arm.control,
        "same": arm.same,
        "astray": arm.astray,
    }


def panel_data(panel: Panel, number: dict) -> dict:
    """One panel: its switches, and lines as [arm, seed, which x, y]; equal x are told once."""
    width, lines = window_of(panel), []
    places: dict[tuple, int] = {}
    for line in panel.lines:
        x, y = means(line.x, line.y, width)
        key = tuple(int(v) for v in x)
        which = places.setdefault(key, len(places))
        lines.append([number[line.arm], line.seed, which, [rounded(v) for v in y]])
    switches = ("log", "powers", "percent", "stepped", "points", "smooth", "minus", "interval")
    return {
        **{name: getattr(panel, name) for name in (*switches, "envelope", "ends")},
        "xs": [list(key) for key in places],
        "lines": lines,
        "marks": [[number[arm], seed, [int(s) for s in steps]] for arm, seed, steps in panel.marks],
    }


def window_of(panel: Panel) -> int:
    """How many steps one point stands for; 1 unless there are too many."""
    count = sum(len(line.x) for line in panel.lines)
    return 1 if panel.stepped else max(1, math.ceil(count / MOST_NUMBERS))


def means(x, y, width: int) -> tuple:
    """Means of `width` values in a row, at the last of their steps."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if width == 1:
        return x, y
    cuts = np.arange(0, len(y), width)
    if not len(cuts):
        return x, y
    ends = np.minimum(cuts + width, len(y))
    return x[ends - 1], np.add.reduceat(y, cuts) / (ends - cuts)


def rounded(value) -> float | None:
    """A number for JSON; None for what is not finite."""
    value = float(value)
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
