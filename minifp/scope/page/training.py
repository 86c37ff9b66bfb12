"""The sections of a microscope's page that are of the whole run."""

import math
from collections.abc import Callable
from itertools import groupby

from markupsafe import Markup

from minifp.report import drawing, words
from minifp.report.chart_markup import group_html
from minifp.report.charts import Arm, Group, Line, Panel
from minifp.report.markup import details, facts, paragraph, section, table
from minifp.scope.page.figures import alone_in, lost_anywhere, updates_figure
from minifp.scope.page.lens import percent
from minifp.scope.page.parts import figure, folded
from minifp.scope.record import Record
from minifp.scope.updates import LOST
from minifp.training.diagnosis import UNKNOWN


def headlines(findings: Record) -> list[str]:
    """The answers: on the loss scale, on skipped steps, on updates, on misuse."""
    said = [str(findings.advice())]
    skipped = sum(findings.skipped)
    if skipped:
        first = findings.diagnoses[0]["text"] if findings.diagnoses else ""
        said.append(f"{words.plural(skipped, 'step')} of {findings.count} skipped. {first}".strip())
    last = next((s for s in reversed(findings.steps) if s.updates), None)
    if last is not None and last.rates and not any(last.rates):
        said.append(
            f"The learning rate of step {last.step} is 0, perhaps because a schedule has ended: no "
            "weight changes, so there are no updates to show."
        )
    elif last is not None:
        updates = last.updates.values()
        wanted, lost = sum(u.wanted for u in updates), sum(u.lost for u in updates)
        share = percent(lost, wanted) if lost else "none"
        text = f"In step {last.step}, {share} of the updates that the optimizer computed were lost"
        alone = {name: sum(u.number(name) for u in updates) for name in alone_in(findings)}
        others = [
            f"{percent(n, wanted) if n else 'none'} with {name} weights alone"
            for name, n in alone.items()
            if n != lost
        ]
        if others:
            text += f"; it would have been {words.listed(others)}"
        said.append(f"{text}.")
    return said + findings.warnings


def advice_section(findings: Record, prefix: str) -> Markup:
    """The curve, and the table under it."""
    advice = findings.advice()
    if not findings.steps or not advice.largest:
        return Markup()
    ks = [k for k in advice.errors if -2 <= k <= max(advice.high + 4, 24)]
    rows = [
        (
            words.superscript(k),
            *(f"{x[k]:.2%}" for x in (advice.flushed, advice.overflowing, advice.errors)),
            "advised" if advice.low <= k <= advice.high else "",
        )
        for k in ks
    ]
    said = (
        "Flushed and overflowing: shares of all nonzero gradients. Error: of the worst layer's "
        "gradient, relative to its norm."
    )
    heads, caption = (
        ("scale", "flushed", "overflow", "error", "advice"),
        "What each scale would have done",
    )
    drawn = group_html(advice_group(advice, ks, said), f"{prefix}-advice")
    return section(
        "Which loss scale",
        paragraph(
            "What each constant loss scale would have done in the observed steps. A scale is "
            f"advised if no layer's gradient, stored in {advice.format}, is off by more than 5%, "
            "and nothing overflows."
        ),
        drawn,
        details(caption, table(caption, heads, rows, text_columns=(4,))),
    )


def advice_group(advice, ks: list, said: str) -> Group:
    """What each constant scale does, as a chart over scales."""
    curves = {
        "share flushed to 0": (advice.flushed, drawing.STYLES[1]),
        "error of the worst layer's gradient": (advice.errors, drawing.STYLES[2]),
        "share that overflows": (advice.overflowing, drawing.STYLES[3]),
    }
    lines = [Line(name, 0, ks, [values[k] for k in ks]) for name, (values, _) in curves.items()]
    advised, shaded = "", None
    if advice.low <= advice.high:
        ends = words.superscript(advice.low), words.superscript(advice.high)
        advised, shaded = f"Advised: from {ends[0]} to {ends[1]}.", (advice.low, advice.high)
    panel = Panel(
        "advice", "Constant loss scales", lines, said, note=f"{said} {advised}".strip(),
        percent=True, minus=False, shaded=shaded,
    )  # fmt: skip
    arms = [Arm(name, style) for name, (_, style) in curves.items()]
    return Group([panel], arms, [0], x="S =", x_powers=True, is_wide=True)


def why_of(diagnosis: dict) -> str:
    """What is to blame for a skipped step, in a few words."""
    if diagnosis["phase"] == UNKNOWN:
        return "not known"
    return "a fault" if diagnosis["persists"] else "the scale was too large"


def check_section(findings: Record, prefix: str) -> Markup:
    """Training with constant scales: whether the advice was right."""
    rows = check_rows(findings, words.superscript)
    if not rows:
        return Markup()
    caption = "The same training with constant loss scales, from the same weights and batches"
    return section("The advice, checked", table(caption, CHECK_HEADS, rows, text_columns=(1, 2)))


CHECK_HEADS = ("loss scale", "advised", "training", "loss at the end", "skipped")


def check_rows(findings: Record, power: Callable[[int], str]) -> list[tuple]:
    """How training ended with each constant scale. power: how 2^k is written."""
    rows = []
    for c in findings.details.get("check", ()):
        scale = power(c["scale"]) if isinstance(c["scale"], int) else c["scale"] or "none"
        loss = "-" if c["loss"] is None else f"{c['loss']:.4g}"
        advised, skipped = "yes" if c["advised"] else "no", f"{c['skipped']} of {c['steps']}"
        rows.append((scale, advised, c["status"], loss, skipped))
    return rows


def skip_section(findings: Record, prefix: str) -> Markup:
    """The loss scale over the steps, and why steps were skipped."""
    if not findings.count:
        return Markup()
    said = "The loss scale before each step; a cross marks a step that was skipped."
    rows = [
        (
            d["step"], d["phase"], d["operation"], d["module"],
            d["line"], why_of(d),
        )
        for d in findings.diagnoses
    ]  # fmt: skip
    heads = ("step", "phase", "operation", "module", "line", "why")
    caption = "Skipped steps: the first operation that made Inf or NaN"
    listed = table(caption, heads, rows, text_columns=(1, 2, 3, 4, 5)) if rows else Markup()
    title = "The loss scale, and skipped steps"
    if not any(findings.skipped) and {*findings.scales} == {1}:
        return section(title, paragraph("There was no loss scale, and no step was skipped."))
    drawn = group_html(scale_group(findings, said), f"{prefix}-scale")
    return section(title, drawn, listed, scales_table(findings))


def scale_group(findings: Record, said: str) -> Group:
    """The loss scale as a chart."""
    steps, logs = range(1, findings.count + 1), [math.log2(s) for s in findings.scales]
    jumps = [i for i in range(len(logs)) if i in (0, len(logs) - 1) or logs[i] != logs[i - 1]]
    name = "loss scale"
    line = Line(name, 0, [steps[i] for i in jumps], [logs[i] for i in jumps])
    skipped = [step for step, was in zip(steps, findings.skipped) if was]
    panel = Panel(
        "scale", "Loss scale", [line], said, note="Ticks at the bottom: skipped steps.",
        powers=True, stepped=True, minus=False, marks=[(name, 0, skipped)] if skipped else [],
    )  # fmt: skip
    return Group([panel], [Arm(name, drawing.STYLES[1])], [0], is_wide=True)


def scales_table(findings: Record) -> Markup:
    """From which step to which the loss scale was what."""
    rows, first = [], 0
    for scale, steps in groupby(findings.scales):
        end = first + len(list(steps))
        skipped = str(sum(findings.skipped[first:end]))
        rows.append((f"{first + 1} to {end}", words.raised(words.scale_text(scale)), skipped))
        first = end
    return folded("The loss scale as a table", ("steps", "loss scale", "skipped"), rows)


def updates_section(findings: Record, prefix: str) -> Markup:
    """What became of updates."""
    steps = [step for step in findings.steps if step.updates]
    if not steps:
        return Markup()
    said = (
        "An update is lost if it is not 0, but the weight (the float32 master weight, if there is "
        'one) did not change. "With weights alone" asks whether the rounded weight would have '
        'changed. A stronger colour is a larger share. "In master only": the master weight '
        "changed, but not its rounded copy."
    )
    formats = alone_in(findings)
    rows = [
        (
            name, f"{u.count:,}", percent(u.zero_gradients, u.count),
            percent(u.lost, u.wanted), percent(u.waiting, u.wanted),
            *(percent(u.number(f), u.wanted) for f in formats), f"{u.ratio:.1e}",
        )
        for name, u in steps[-1].updates.items()
    ]  # fmt: skip
    heads = (
        *("parameter", "elements", "zero gradient", "lost", "in master only"),
        *(*(f"lost in {name}" for name in formats), "update / weight"),
    )
    shown = [what for what, _ in lost_anywhere(findings)]
    none = {  # a sentence, where the picture would be blank
        LOST: "No update was lost in the observed steps.",
        **{n: f"With {n} weights alone, none would have been lost either." for n in formats},
    }
    drawn = paragraph(" ".join(text for what, text in none.items() if what not in shown))
    if shown:
        drawn += figure(findings, updates_figure, f"{prefix}-updates", "Lost updates", said)
    listed = table(f"Step {steps[-1].step}", heads, rows)
    return section("Updates that were lost", drawn, listed, lost_table(steps, formats))


def lost_table(steps: list, formats: list[str]) -> Markup:
    """The pictures' shares, step by step."""
    rows = [
        (*(step.step, name), *(percent(u.number(what), u.wanted) for what in (LOST, *formats)))
        for step in steps
        for name, u in step.updates.items()
    ]
    alone = (f"lost if {name} weights were all" for name in formats)
    heads = ("step", "parameter", "lost in this run", *alone)
    return folded("Lost updates of every step that was looked at", heads, rows, (1,))


def about_section(findings: Record, prefix: str) -> Markup:
    """The run."""
    return section("What was looked at", facts(findings.about.items()))
