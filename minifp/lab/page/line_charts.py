"""What a comparison's page lets people explore: everything over the steps of training."""

import math

import numpy as np
from markupsafe import Markup

from minifp.lab import divergence
from minifp.lab.arms import split
from minifp.lab.page import curves, figures, over_steps
from minifp.lab.page.precision_styles import styles_of
from minifp.lab.statistics.distributions import t_quantile
from minifp.lab.statistics.paired import CONFIDENCE
from minifp.report import drawing
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
    panels = [*histories(comparison, prefix, names), *distances(comparison)]
    panels = [p for p in panels if p.lines and (names is None or p.name in names)]
    if not panels:
        return Markup()
    styles = styles_of(comparison.precisions, comparison.baseline)
    group = Group(
        panels=panels,
        arms=[arm_of(comparison, name, style) for name, style in styles.items()],
        seeds=comparison.seeds,
        baseline=comparison.baseline,
        quantiles={
            n: t_quantile((1 + CONFIDENCE) / 2, n - 1) for n in range(2, len(comparison.seeds) + 1)
        },
        fewest=curves.FEWEST_SEEDS,
        tau=curves.window_of(comparison) - 1,
    )
    return group_html(group, prefix)


def arm_of(comparison, name, style) -> Arm:
    """How an arm is drawn."""
    _, control = split(name)
    astray = any(not run.finished for run in comparison.runs_of(name))
    return Arm(name, style, bool(control), control == "repeat", astray)


# ---- histories -----------------------------------------------------------------------------------


def histories(comparison, prefix, names=None) -> list[Panel]:
    """Loss, metric, test loss, gradients and the loss scale."""
    c, task = comparison, comparison.task
    low, _, top = curves.limits(c)
    band = band_text(c)
    lines = {
        "loss": lines_of(c, lambda run: curves.series(run, "loss")),
        "metric": lines_of(c, curves.evaluations),
        "gradients": lines_of(c, lambda run: curves.without_gaps(*curves.series(run, "grad_norm"))),
        "scale": lines_of(c, exponents) if any(map(over_steps.is_scaled, c.runs)) else [],
    }
    look = {
        "loss": {"log": low > 0 and top / low > 25, "smooth": True},
        "metric": {"points": True},
        "gradients": {
            "log": True, "smooth": True,
            "note": "A skipped step has no norm: the previous step's norm is drawn.",
        },
        "scale": {
            "powers": True, "stepped": True, "interval": False, "minus": False,
            "note": "Line: the mean exponent over seeds; band: from the lowest to the highest. "
            "Ticks at the bottom: skipped steps, a row for each arm.",
            "marks": skips(c),
        },
    }  # fmt: skip
    panels = []
    for name, more in look.items():
        of_figure = figures.PANELS[name]
        note = f"{band} {more.pop('note', '')}".strip() if name != "scale" else more.pop("note")
        wanted = of_figure.is_wanted(c) and (names is None or name in names)
        if not wanted or not lines[name]:
            continue
        static = Markup()
        if drawing.is_available():
            static = figures.panel_svg(c, name, prefix, titled=False)
        said = of_figure.describe(c)
        title = of_figure.title(c)
        panels.append(Panel(name, title, lines[name], said, static, note, **more))
    losses = lines_of(c, lambda run: curves.evaluations(run, 2))
    if "loss" not in task.metric_name and over_steps.has_course(c):
        panels.insert(2, Panel("test-loss", "Test loss", losses, "Over the steps of training.",
                               note=band, points=True))  # fmt: skip
    return panels


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
    """The logarithm of the scale to the base of 2, where it jumps and at the end."""
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
                points=True, minus=False, interval=False, envelope=envelope,
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
