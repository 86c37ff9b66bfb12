"""Of a whole run: which loss scales would do, and what became of those that it had."""

import math
from itertools import groupby

from minifp.report import drawing, words
from minifp.report.charts import Arm, Group, Line, Panel
from minifp.report.content import Columns, Part, Section, Table
from minifp.report.markup import code, paragraph
from minifp.report.pieces import Pieces
from minifp.scope.advice import Advice
from minifp.scope.record import Record
from minifp.training.diagnosis import UNKNOWN

LARGEST = 24  # log2 of the scales that are shown beside those that are advised
HOW_TO_READ = (
    "Flushed and overflowing: shares of all nonzero gradients. Error: of the worst layer's "
    "gradient, relative to its norm."
)


# ---- what each would have done ------------------------------------------------------------------


def advice_section(findings: Record) -> Section:
    """The curves."""
    advice = findings.advice()
    if not findings.steps or not advice.largest:
        return Section("Which loss scale", ())
    ks = [k for k in advice.errors if -2 <= k <= max(advice.high + 4, LARGEST)]
    about = (
        "What each constant loss scale would have done in the observed steps. A scale is advised "
        f"if no layer's gradient, stored in {advice.format}, is off by more than 5%, and nothing "
        "overflows."
    )
    return Section("Which loss scale", [paragraph(about), advice_group(advice, ks)])


def advice_group(advice: Advice, ks: list[int]) -> Group:
    """What each constant scale does, as a chart over scales."""
    curves = {
        "share flushed to 0": (advice.flushed, drawing.STYLES[1]),
        "error of the worst layer's gradient": (advice.errors, drawing.STYLES[2]),
        "share that overflows": (advice.overflowing, drawing.STYLES[3]),
    }
    ends, remark = None, ""
    if advice.low <= advice.high:
        ends = advice.low, advice.high
        remark = f" Advised: from 2^{advice.low} to 2^{advice.high}."
    panel = Panel(
        name="advice",
        title="Constant loss scales",
        lines=[Line(name, 0, ks, [values[k] for k in ks]) for name, (values, _) in curves.items()],
        said=HOW_TO_READ,
        note=HOW_TO_READ + remark,
        percent=True,
        minus=False,
        shaded=ends,
    )
    arms = [Arm(name, style) for name, (_, style) in curves.items()]
    return Group([panel], arms, [0], x="S =", x_powers=True, is_wide=True, name="scales")


# ---- how training ended with some ---------------------------------------------------------------


def check_section(findings: Record) -> Section:
    """Training with constant scales: whether the advice was right."""
    columns: Columns = {
        "loss scale": scale_of,
        "advised": lambda c: "yes" if c["advised"] else "no",
        "training": "{status}",
        "loss at the end": lambda c: "-" if c["loss"] is None else f"{c['loss']:.4g}",
        "skipped": "{skipped} of {steps}",
    }
    checks = findings.details.get("check", ())
    caption = "The same training with constant loss scales, from the same weights and batches"
    table = Table.of(caption, checks, columns, text_columns=(1, 2))
    return Section("The advice, checked", [table] if checks else ())


def scale_of(check: dict) -> str:
    """The scale of a run of the check: log2 of it, none, or what stands in its place."""
    k = check["scale"]
    return Pieces(("", f"2^{k}")) if isinstance(k, int) else k or "none"


# ---- what became of those of the run ------------------------------------------------------------


def skip_section(findings: Record) -> Section:
    """The loss scale over the steps, and why steps were skipped."""
    title = "The loss scale, and skipped steps"
    if not findings.count:
        return Section(title, ())
    if not any(findings.skipped) and {*findings.scales} == {1}:
        return Section(title, [paragraph("There was no loss scale, and no step was skipped.")])
    columns: Columns = {
        "step": "{step}",
        "phase": "{phase}",
        "operation": "{operation}",
        "module": "{module}",
        "line": lambda d: code(d["line"]),
        "why": cause,
    }
    caption = "Skipped steps: the first operation that made Inf or NaN"
    skips = Table.of(caption, findings.diagnoses, columns, text_columns=(1, 2, 3, 4, 5), brief=())
    parts: list[Part] = [
        scale_group(findings),
        *([skips] if findings.diagnoses else []),
        spans(findings),
    ]
    return Section(title, parts)


def cause(diagnosis: dict) -> str:
    """What is to blame for a skipped step, in a few words."""
    if diagnosis["phase"] == UNKNOWN:
        return "not known"
    return "a fault" if diagnosis["persists"] else "the scale was too large"


def scale_group(findings: Record) -> Group:
    """The loss scale as a chart."""
    steps, logs = range(1, findings.count + 1), [math.log2(s) for s in findings.scales]
    jumps = [i for i in range(len(logs)) if i in (0, len(logs) - 1) or logs[i] != logs[i - 1]]
    name = "loss scale"
    skips = [step for step, is_skipped in zip(steps, findings.skipped) if is_skipped]
    panel = Panel(
        name="scale",
        title="Loss scale",
        lines=[Line(name, 0, [steps[i] for i in jumps], [logs[i] for i in jumps])],
        said="The loss scale before each step; a cross marks a step that was skipped.",
        note="Ticks at the bottom: skipped steps.",
        powers=True,
        stepped=True,
        minus=False,
        marks=[(name, 0, skips)] if skips else [],
    )
    return Group([panel], [Arm(name, drawing.STYLES[1])], [0], is_wide=True, name="scale")


def spans(findings: Record) -> Table:
    """From which step to which the loss scale was what."""
    rows, first = [("steps", "loss scale", "skipped")], 0
    for scale, steps in groupby(findings.scales):
        end = first + len(list(steps))
        skips = str(sum(findings.skipped[first:end]))
        rows.append((f"{first + 1} to {end}", words.scale_text(scale), skips))
        first = end
    return Table("The loss scale as a table", rows, is_folded=True)
