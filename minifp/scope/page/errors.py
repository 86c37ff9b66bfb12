"""Of one step in detail: where its errors come from, and in which formats its kernels work."""

from markupsafe import Markup

from minifp.report import words
from minifp.report.markup import paragraph, section
from minifp.scope.page.detail_figures import reference_figure, tape_figure
from minifp.scope.page.parts import figure, folded, layer_of
from minifp.scope.record import Record
from minifp.scope.tracing.repeating import WEIGHT

MOST_BOXES = 60  # of a tape that is drawn; a longer one has its table alone


# ---- the reference run --------------------------------------------------------------------------


def reference_section(findings: Record, prefix: str) -> Markup:
    """Where the errors come from."""
    runs = findings.details.get("reference")
    if not runs:
        return Markup()
    step = findings.details["step"]
    parts = [paragraph(f"Step {step}: {result_of(run)}") for run in runs]
    caption = (
        f"Compared with a reference run in {runs[0]['reference']}: the operations that add the "
        "largest errors. Each has the error that it adds itself, and the error that it inherits "
        "from earlier operations."
    )
    name = f"{prefix}-reference"
    parts.append(figure(findings, reference_figure, name, "Errors by operation", caption))
    for run in runs:
        parts += [contributions(run), reference_table(run)]
    return section("Where the errors come from", *parts)


def result_of(run: dict) -> str:
    """The result of a reference run in a sentence or two."""
    text = (
        f"the reference run repeats it in {run['reference']}, from the same weights and batch. "
        f"Compared with it, the loss of {run['loss']:.6g} is off by "
        f"{abs(run['loss'] - run['loss_reference']):.1e}, and the gradients of the weights are off "
        f"by {run['gradients']:.2g} of their norm."
    )
    most = next(iter(run["contributions"]), None)
    if not most or not most["on gradients"]:
        return text
    operation = "rounding" if most["operation"] == WEIGHT else f"{most['operation']} in"
    return (
        f"{text} The largest single cause is {operation} {most['module'] or 'the loss'}, whose "
        f"error alone puts the gradients off by {most['on gradients']:.2g}."
    )


def contributions(run: dict) -> Markup:
    """What the errors of single operations do to the gradients and to the loss."""
    rows = [
        (
            layer_of(c), f"{c['added']:.2e}", f"{c['on gradients']:.2e}", f"{c['on loss']:+.2e}",
            c["line"],
        )
        for c in run["contributions"]
    ]  # fmt: skip
    heads = ("operation", "error it adds", "error of gradients", "error of the loss", "line")
    caption = f"The effect of each operation's error alone, compared with {run['reference']}"
    return folded(caption, heads, rows, (4,)) if rows else Markup()


def reference_table(run: dict) -> Markup:
    """Each value, forward and backward."""
    rows = [
        (
            r["number"], r["phase"], layer_of(r), r["value"],
            r["format"], f"{r['added']:.2e}", f"{r['added_ulp'][0]:.3g}",
            f"{r['inherited']:.2e}", f"{r['inherited_ulp'][0]:.3g}",
        )
        for r in run["rows"]
    ]  # fmt: skip
    heads = (
        *("number", "phase", "operation", "value", "format", "error added", "at most, ulp"),
        *("error inherited", "at most, ulp"),
    )
    caption = f"Every value of the step, with its errors compared with {run['reference']}"
    return folded(caption, heads, rows, (1, 2, 3, 4))


# ---- the precision trace ------------------------------------------------------------------------


def trace_section(findings: Record, prefix: str) -> Markup:
    """Every kernel, and the tape."""
    trace = findings.details.get("trace")
    if not trace:
        return Markup()
    totals = (
        f"Step {findings.details['step']}, kernel by kernel: {trace['flops'] / 1e6:,.1f} million "
        f"arithmetic operations, {words.bytes_text(trace['bytes'])} read and written, "
        f"{words.seconds_text(trace['seconds'])} in kernels."
    )
    rows = [
        (
            r["number"], r["phase"], layer_of(r), r["kernel"],
            ", ".join(r["inputs"]), ", ".join(r["outputs"]),
            r["dot_in"] or r["sums_in"] or r["computes_in"], r["why"],
            words.bytes_text(r["bytes_read"] + r["bytes_written"]), f"{r['flops']:.3g}",
            f"{r['intensity']:.2f}", words.seconds_text(r["seconds"]),
        )
        for r in trace["rows"]
    ]  # fmt: skip
    heads = (
        *("number", "phase", "operation", "kernel", "reads", "writes", "sums or computes in"),
        *("why", "bytes", "flop", "flop/byte", "time"),
    )
    listed = folded("Every kernel of the step, and why it works in its format", heads, rows, TEXTS)
    return section("The precision trace", paragraph(totals), tape_of(findings, prefix), listed)


TEXTS = (1, 2, 3, 4, 5, 6, 7)


def tape_of(findings: Record, prefix: str) -> Markup:
    """The tape as a picture, and as a table."""
    tape = findings.details.get("tape")
    if not tape:
        return Markup()
    caption = (
        "The tape, which records the path of the backward pass: inputs and weights at the top, "
        "the loss at the bottom. Blue: float16 and other formats with fewer bits than float32. "
        "Yellow and thicker: float32. Grey and dashed: integers."
    )
    drawn = Markup()
    if len(tape["boxes"]) <= MOST_BOXES:
        drawn = figure(findings, tape_figure, f"{prefix}-tape", "The tape", caption)
    return drawn + Markup("\n") + tape_table(tape)


def tape_table(tape: dict) -> Markup:
    """The boxes of the tape, and what goes into each."""
    rows = [
        (
            box["number"], box["label"], box["module"],
            box["format"],
            ", ".join(f"{e['label']} of {e['source']}" for e in entering(tape, box)),
        )
        for box in tape["boxes"]
    ]  # fmt: skip
    heads = ("number", "operation", "module", "writes", "from")
    return folded("The tape as a table", heads, rows, (1, 2, 3, 4))


def entering(tape: dict, box: dict) -> list:
    """The edges that end at a box."""
    return [edge for edge in tape["edges"] if edge["target"] == box["number"]]
