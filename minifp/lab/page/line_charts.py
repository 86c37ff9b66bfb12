"""What a comparison shows over the steps of training, as charts."""

import re
from functools import partial

import numpy as np

from minifp.lab import divergence
from minifp.lab.arms import split
from minifp.lab.conclusions.scores import scores_of
from minifp.lab.conclusions.sentences import sentence_case
from minifp.lab.page import captions, curves
from minifp.lab.page.precision_styles import styles_of
from minifp.lab.statistics.distributions import t_quantile
from minifp.lab.statistics.paired import CONFIDENCE
from minifp.report.charts import Arm, Group, Line, Panel

MOST_LINEAR = 25  # how many times it may fall for a linear axis
DISTANCES = {  # fields of divergence.Distances: title, and what it is
    "weights": ("Weights: distance from {}", "|w − b| / |b| of the weights"),
    "outputs": (
        "Outputs: distance from {}",
        "|y − b| / |b| of the outputs for the first test examples",
    ),
    "predictions": (
        "Predictions that differ from {}",
        "the share of the first test examples for which another class is largest",
    ),
}


def group_of(comparison, names=None, panels=None, prefix: str = "charts") -> Group:
    """All panels that have lines, or those of some names, or others, as one group. prefix: what
    their ids begin with."""
    if panels is None:
        panels = [*histories(comparison, names), *(distances(comparison) if names is None else ())]
    styles = styles_of(comparison.precisions, comparison.baseline)
    return Group(
        panels=[panel for panel in panels if panel.lines],
        arms=[arm_of(comparison, name, style) for name, style in styles.items()],
        baseline=comparison.baseline,
        tau=curves.window_of(comparison) - 1,
        title=captions.heading(comparison),
        name=prefix,
        **seeds_of(comparison),
    )


def seeds_of(comparison) -> dict:
    """What a Group has of seeds: from how many on a band is an interval, and of which kind."""
    counts = range(2, len(comparison.seeds) + 1)
    quantiles = {n: t_quantile((1 + CONFIDENCE) / 2, n - 1) for n in counts}
    return {"seeds": comparison.seeds, "quantiles": quantiles, "fewest": curves.FEWEST_SEEDS}


def arm_of(comparison, name, style) -> Arm:
    """How an arm is drawn."""
    _, control = split(name)
    astray = any(not run.finished for run in comparison.runs_of(name))
    return Arm(name, style, bool(control), control == "repeat", astray)


# ---- histories -----------------------------------------------------------------------------------


def histories(comparison, names=None) -> list[Panel]:
    """Loss, metric, test loss, gradients and the loss scale, or some of them; without lines where
    there is nothing to show."""
    of = HISTORIES if names is None else names
    panels = [make(comparison) for name, make in HISTORIES.items() if name in of]
    return [*panels[:3], *others(comparison), *panels[3:]] if names is None else panels


def loss(comparison) -> Panel:
    """The training loss, step by step."""
    lines = lines_of(comparison, partial(curves.series, key="loss"))
    look: dict = {"log": curves.fall(comparison) > MOST_LINEAR, "smooth": True}
    return Panel("loss", "Training loss", lines, note=band_text(comparison), **look)


def metric(comparison) -> Panel:
    """The metric at each evaluation."""
    title = captions.metric_title(comparison.task)
    lines = lines_of(comparison, curves.evaluations) if curves.has_course(comparison) else []
    return Panel("metric", title, lines, note=band_text(comparison), points=True)


def test_loss(comparison) -> Panel:
    """The loss at each evaluation, if it is not the metric."""
    lines: list[Line] = []
    if curves.has_course(comparison) and "loss" not in comparison.task.metric_name:
        lines = lines_of(comparison, partial(curves.evaluations, column=2))
    return Panel("test-loss", "Test loss", lines, note=band_text(comparison), points=True)


def others(comparison) -> list[Panel]:
    """Each further metric, and what averaged weights reach, at each evaluation."""
    said, panels = "At each evaluation, of the whole test set.", []
    for score in scores_of(comparison)[1:] if curves.has_course(comparison) else ():
        lines = lines_of(comparison, partial(curves.measured, name=score.name))
        unit = f" ({score.unit})" if score.unit else ""
        slug = re.sub(r"\W+", "-", f"further {score.name}")
        title = sentence_case(score.name) + unit
        panels.append(Panel(slug, title, lines, said, band_text(comparison), points=True))
    return panels


def gradients(comparison) -> Panel:
    """The norm of all gradients; where it was not finite, the one before it."""
    lines = lines_of(comparison, lambda run: curves.without_gaps(*curves.series(run, "grad_norm")))
    note = f"{band_text(comparison)} A skipped step has no norm: the previous step's norm is drawn."
    title = "Norm of all gradients, unscaled"
    return Panel("gradients", title, lines, note=note.strip(), log=True, smooth=True)


def scale(comparison) -> Panel:
    """The loss scale, on an axis of powers of two, of the runs that have one."""
    note = (
        "Gradients are multiplied by the scale while they are stored in few bits, and divided by "
        "it before the update, in float32. An overflow skips the step and halves the scale; many "
        "steps without one double it. Line: the mean exponent over seeds; band: from the lowest to "
        "the highest. Ticks at the bottom: skipped steps, a row for each arm."
    )
    look: dict = {"powers": True, "stepped": True, "interval": False, "minus": False}
    lines, marks = lines_of(comparison, exponents), skips(comparison)
    return Panel("scale", "Loss scale", lines, note=note, marks=marks, **look)


HISTORIES = {"loss": loss, "metric": metric, "test-loss": test_loss, "gradients": gradients}
HISTORIES["scale"] = scale


def lines_of(comparison, series) -> list[Line]:
    """A line for each run that has values, arm by arm."""
    lines = []
    for arm in comparison.precisions:
        for run in comparison.runs_of(arm):
            x, y = series(run)
            if len(x) and np.isfinite(y).any():
                lines.append(Line(arm, run.seed, x, y))
    return lines


def exponents(run) -> tuple:
    """The logarithm of the scale to the base of 2, where it jumps and at the end, if it has one."""
    if not curves.is_scaled(run):
        return (), np.zeros(0)
    x, scale = curves.series(run, "scale")
    jumps = np.flatnonzero(np.diff(scale) != 0) + 1
    places = np.unique(np.array([0, *jumps, len(x) - 1] if len(x) else [], int))
    return x[places], np.log2(scale[places])


def skips(comparison) -> list:
    """(arm, seed, steps) of the runs that skipped any."""
    marks = []
    for arm in comparison.precisions:
        for run in comparison.runs_of(arm):
            steps, skipped = curves.series(run, "skipped")
            if (skipped > 0).any():
                marks.append((arm, run.seed, steps[skipped > 0]))
    return marks


def band_text(comparison) -> str:
    """What lines and bands are."""
    n = len(comparison.seeds)
    if n == 1:
        return ""
    if n < curves.FEWEST_SEEDS:
        return "Line: the mean over seeds; band: from the lowest to the highest seed."
    return f"Line: the mean over seeds; band: its {CONFIDENCE:.0%} interval (Student's t)."


# ---- distances -----------------------------------------------------------------------------------


def distances(comparison) -> list[Panel]:
    """How far each arm is from its partner, step by step, with the controls as one band."""
    each = divergence.of(comparison)
    controls = sorted({d.precision for d in each if split(d.precision)[1] not in ("", "repeat")})
    panels = []
    for name, (title, what) in DISTANCES.items():
        lines = [
            Line(d.precision, d.seed, d.steps, getattr(d, name))
            for d in each
            if getattr(d, name) is not None
        ]
        if not lines:
            continue
        log = name != "predictions" and any((np.asarray(li.y) > 0).any() for li in lines)
        envelope = bool(controls) and any(not split(line.arm)[1] for line in lines)
        band = (
            "Grey band: from the lowest to the highest control, each relative to the run that it "
            "disturbs. It shows what any small disturbance does."
        )
        note = f"{what[:1].upper()}{what[1:]}. {band if envelope else ''}".strip()
        look: dict = {"log": log, "points": True, "minus": False, "interval": False}
        look |= {"envelope": envelope, "is_drawn": False}
        panels.append(Panel(name, title.format(comparison.baseline), lines, note=note, **look))
    return panels
