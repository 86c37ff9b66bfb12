"""What a comparison's page lets people explore: everything over the steps of training."""

import math
import re
from functools import partial

import numpy as np
from markupsafe import Markup

from minifp.lab import divergence
from minifp.lab.arms import split
from minifp.lab.conclusions.scores import scores_of
from minifp.lab.conclusions.sentences import sentence_case
from minifp.lab.page import captions, curves
from minifp.lab.page.precision_styles import styles_of
from minifp.lab.statistics.distributions import t_quantile
from minifp.lab.statistics.paired import CONFIDENCE
from minifp.report.chart_markup import group_html
from minifp.report.charts import Arm, Group, Line, Panel

DISTANCES = {  # fields of divergence.Distances: title, and what it is
    "weights": ("Weights: distance from {}", "|w − b| / |b| of the weights"),
    "outputs": ("Outputs: distance from {}", "|y − b| / |b| of the outputs for the first test "
                "examples"),
    "predictions": ("Predictions that differ from {}", "the share of the first test examples for "
                    "which another class is largest"),
}  # fmt: skip


def line_charts(comparison, prefix: str, names=None) -> Markup:
    """All panels as one group, or those of some names; nothing without a run."""
    group = group_of(comparison, [*histories(comparison, names), *distances(comparison)], names)
    return group_html(group, prefix) if group.panels else Markup()


def group_of(comparison, panels, names=None, styles=None) -> Group:
    """Those of some names that have lines. styles: of the arms, if not the usual ones."""
    seeds = comparison.seeds
    styles = styles or styles_of(comparison.precisions, comparison.baseline)
    return Group(
        panels=[p for p in panels if p.lines and (names is None or p.name in names)],
        arms=[arm_of(comparison, name, style) for name, style in styles.items()],
        seeds=seeds,
        baseline=comparison.baseline,
        quantiles={n: t_quantile((1 + CONFIDENCE) / 2, n - 1) for n in range(2, len(seeds) + 1)},
        fewest=curves.FEWEST_SEEDS,
        tau=curves.window_of(comparison) - 1,
        title=captions.heading(comparison),
    )


def arm_of(comparison, name, style) -> Arm:
    """How an arm is drawn."""
    _, control = split(name)
    astray = any(not run.finished for run in comparison.runs_of(name))
    return Arm(name, style, bool(control), control == "repeat", astray)


# ---- histories -----------------------------------------------------------------------------------


def histories(comparison, names=None) -> list[Panel]:
    """Loss, metric, test loss, gradients and the loss scale, or some of them; without lines where
    there is nothing to show."""
    wanted = [make for name, make in HISTORIES.items() if names is None or name in names]
    found = [make(comparison) for make in wanted]
    return [*found[:3], *others(comparison), *found[3:]] if names is None else found


def loss(comparison) -> Panel:
    """The training loss, step by step."""
    low, _, top = curves.limits(comparison)
    lines = lines_of(comparison, partial(curves.series, key="loss"))
    look: dict = {"log": low > 0 and top / low > 25, "smooth": True, "top": top}
    said = captions.describe_loss(comparison)
    return Panel("loss", "Training loss", lines, said, band_text(comparison), **look)


def metric(comparison) -> Panel:
    """The metric at each evaluation."""
    title, said = captions.metric_title(comparison.task), captions.describe_metric(comparison)
    lines = lines_of(comparison, curves.evaluations) if curves.has_course(comparison) else []
    look: dict = {"points": True, "top": curves.top_of_metric(comparison)}
    return Panel("metric", title, lines, said, band_text(comparison), **look)


def test_loss(comparison) -> Panel:
    """The loss at each evaluation, if it is not the metric."""
    lines, said = [], "The mean over the test set, at each evaluation."
    if curves.has_course(comparison) and "loss" not in comparison.task.metric_name:
        lines = lines_of(comparison, partial(curves.evaluations, column=2))
    return Panel("test-loss", "Test loss", lines, said, band_text(comparison), points=True)


def others(comparison) -> list[Panel]:
    """Each further metric, and what averaged weights reach, at each evaluation."""
    said, found = "At each evaluation, of the whole test set.", []
    for score in scores_of(comparison)[1:] if curves.has_course(comparison) else ():
        lines = lines_of(comparison, partial(curves.measured, name=score.name))
        unit = f" ({score.unit})" if score.unit else ""
        slug = re.sub(r"\W+", "-", f"further {score.name}")
        title = sentence_case(score.name) + unit
        found.append(Panel(slug, title, lines, said, band_text(comparison), points=True))
    return found


def gradients(comparison) -> Panel:
    """The norm of all gradients; where it was not finite, the one before it."""
    lines = lines_of(comparison, lambda run: curves.without_gaps(*curves.series(run, "grad_norm")))
    said = "A line for each seed, and the mean over seeds, on a logarithmic axis."
    note = f"{band_text(comparison)} A skipped step has no norm: the previous step's norm is drawn."
    look: dict = {"log": True, "smooth": True, "top": curves.limits(comparison, "grad_norm")[2]}
    return Panel("gradients", "Norm of all gradients, unscaled", lines, said, note.strip(), **look)


def scale(comparison) -> Panel:
    """The loss scale, on an axis of powers of two, of the runs that have one."""
    note = (
        "Line: the mean exponent over seeds; band: from the lowest to the highest. Ticks at the "
        "bottom: skipped steps, a row for each arm."
    )
    look: dict = {"powers": True, "stepped": True, "interval": False, "minus": False}
    lines, said = lines_of(comparison, exponents), captions.describe_scale(comparison)
    return Panel("scale", "Loss scale", lines, said, note, marks=skips(comparison), **look)


HISTORIES = {
    "loss": loss,
    "metric": metric,
    "test-loss": test_loss,
    "gradients": gradients,
    "scale": scale,
}


def lines_of(comparison, series) -> list[Line]:
    """A line for each run that has values, arm by arm."""
    found = []
    for arm in comparison.precisions:
        for run in comparison.runs_of(arm):
            x, y = series(run)
            if len(x) and np.isfinite(y).any():
                found.append(Line(arm, run.seed, x, y))
    return found


def exponents(run) -> tuple:
    """The logarithm of the scale to the base of 2, where it jumps and at the end, if it has one."""
    if not curves.is_scaled(run):
        return (), np.zeros(0)
    x, scale = curves.series(run, "scale")
    jumps = np.flatnonzero(np.diff(scale) != 0) + 1
    kept = np.unique(np.array([0, *jumps, len(x) - 1] if len(x) else [], int))
    return x[kept], np.log2(scale[kept])


def skips(comparison) -> list:
    """(arm, seed, steps) of the runs that skipped any."""
    found = []
    for arm in comparison.precisions:
        for run in comparison.runs_of(arm):
            steps, skipped = curves.series(run, "skipped")
            if (skipped > 0).any():
                found.append((arm, run.seed, steps[skipped > 0]))
    return found


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
    found = divergence.of(comparison)
    controls = sorted({d.precision for d in found if split(d.precision)[1] not in ("", "repeat")})
    panels = []
    for name, (title, what) in DISTANCES.items():
        lines = [
            Line(d.precision, d.seed, d.steps, getattr(d, name))
            for d in found
            if getattr(d, name) is not None
        ]
        if not lines:
            continue
        shown = {*(line.arm for line in lines)}
        log = name != "predictions" and any((np.asarray(li.y) > 0).any() for li in lines)
        envelope = bool(controls) and any(not split(arm)[1] for arm in shown)
        band = (
            "Grey band: from the lowest to the highest control, each relative to the run that it "
            "disturbs. It shows what any small disturbance does."
        )
        note = f"{what[:1].upper()}{what[1:]}. {band if envelope else ''}".strip()
        said = f"{what}. {ends(lines)}"
        panels.append(
            Panel(
                name, title.format(comparison.baseline), lines, said, note=note, log=log,
                points=True, minus=False, interval=False, envelope=envelope, is_drawn=False,
            )
        )  # fmt: skip
    return panels


def ends(lines) -> str:
    """Where each arm is at the end."""
    last: dict[str, list] = {}
    for line in lines:
        last.setdefault(line.arm, []).append(float(line.y[-1]))
    texts = (
        f"{arm} ends between {min(v):.2g} and {max(v):.2g}"
        for arm, v in last.items()
        if all(map(math.isfinite, v))
    )
    return "; ".join(texts) + "."
