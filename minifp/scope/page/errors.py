"""Of one step in detail: where its errors come from, and in which formats its kernels work."""

from minifp.report import words
from minifp.report.content import Columns, Picture, Section, Table
from minifp.report.markup import code, paragraph
from minifp.scope.page.detail_figures import reference_figure, tape_figure
from minifp.scope.page.figures import layer_of, picture
from minifp.scope.record import Record
from minifp.scope.tracing.repeating import WEIGHT

MOST_BOXES = 60  # of a tape that is drawn; a longer one has its table alone
TAPE = (
    "The tape, which records the path of the backward pass: inputs and weights at the top, the "
    "loss at the bottom. Blue: float16 and other formats with fewer bits than float32. Yellow and "
    "thicker: float32. Grey and dashed: integers."
)


# ---- the reference run --------------------------------------------------------------------------


def reference_section(findings: Record) -> Section:
    """Where the errors come from."""
    runs, title = findings.details.get("reference"), "Where the errors come from"
    if not runs:
        return Section(title, ())
    caption = (
        f"Compared with a reference run in {runs[0]['reference']}: the operations that add the "
        "largest errors. Each has the error that it adds itself, and the error that it inherits "
        "from earlier operations."
    )
    step = findings.details["step"]
    return Section(
        title,
        [
            *(paragraph(f"Step {step}: {result_of(run)}") for run in runs),
            picture(findings, "errors", "Errors by operation", caption, reference_figure),
            *(table for run in runs for table in (*contributions(run), values(run))),
        ],
    )


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


def contributions(run: dict) -> list[Table]:
    """What the errors of single operations do to the gradients and to the loss."""
    columns: Columns = {
        "operation": layer_of,
        "error it adds": "{added:.2e}",
        "error of gradients": "{on gradients:.2e}",
        "error of the loss": "{on loss:+.2e}",
        "line": lambda c: code(c["line"]),
    }
    caption = f"The effect of each operation's error alone, compared with {run['reference']}"
    causes = run["contributions"]
    table = Table.of(caption, causes, columns, text_columns=(4,), is_folded=True)
    return [table] if causes else []


def values(run: dict) -> Table:
    """Each value, forward and backward."""
    columns: Columns = {
        "number": "{number}",
        "phase": "{phase}",
        "operation": layer_of,
        "value": "{value}",
        "format": "{format}",
        "error added": "{added:.2e}",
        "at most, ulp": "{added_ulp[0]:.3g}",
        "error inherited": "{inherited:.2e}",
        "at most, in ulp": "{inherited_ulp[0]:.3g}",
    }
    caption = f"Every value of the step, with its errors compared with {run['reference']}"
    return Table.of(caption, run["rows"], columns, text_columns=(1, 2, 3, 4), is_folded=True)


# ---- the precision trace ------------------------------------------------------------------------


def trace_section(findings: Record) -> Section:
    """Every kernel, and the tape."""
    trace = findings.details.get("trace")
    if not trace:
        return Section("The precision trace", ())
    totals = (
        f"Step {findings.details['step']}, kernel by kernel: {trace['flops'] / 1e6:,.1f} million "
        f"arithmetic operations, {words.bytes_text(trace['bytes'])} read and written, "
        f"{words.seconds_text(trace['seconds'])} in kernels."
    )
    columns: Columns = {
        "number": "{number}",
        "phase": "{phase}",
        "operation": layer_of,
        "kernel": "{kernel}",
        "reads": lambda r: ", ".join(r["inputs"]),
        "writes": lambda r: ", ".join(r["outputs"]),
        "sums or computes in": lambda r: r["dot_in"] or r["sums_in"] or r["computes_in"],
        "why": "{why}",
        "bytes": lambda r: words.bytes_text(r["bytes_read"] + r["bytes_written"]),
        "flop": "{flops:.3g}",
        "flop/byte": "{intensity:.2f}",
        "time": lambda r: words.seconds_text(r["seconds"]),
    }
    caption = "Every kernel of the step, and why it works in its format"
    lefts = tuple(range(1, 8))
    kernels = Table.of(caption, trace["rows"], columns, text_columns=lefts, is_folded=True)
    return Section("The precision trace", [paragraph(totals), *tape_parts(findings), kernels])


def tape_parts(findings: Record) -> list[Picture | Table]:
    """The tape as a picture, and its boxes and what goes into each as a table."""
    tape = findings.details.get("tape")
    if not tape:
        return []
    columns: Columns = {
        "number": "{number}",
        "operation": "{label}",
        "module": "{module}",
        "writes": "{format}",
        "from": lambda box: ", ".join(
            f"{e['label']} of {e['source']}" for e in tape["edges"] if e["target"] == box["number"]
        ),
    }
    caption, lefts = "The tape as a table", (1, 2, 3, 4)
    table = Table.of(caption, tape["boxes"], columns, text_columns=lefts, is_folded=True)
    drawing = picture(findings, "tape", "The tape", TAPE, tape_figure)
    return [drawing, table] if len(tape["boxes"]) <= MOST_BOXES else [table]
