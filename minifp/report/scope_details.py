"""The sections of a microscope's page that are of one step in detail (see scope/details.py)."""

from collections.abc import Callable
from html import escape

from minifp.report import drawing, words
from minifp.report.markup import details, paragraph, section, table
from minifp.report.scope_detail_figures import (
    kinds_in_words,
    memory_figure,
    roofline_figure,
    tape_figure,
    twin_figure,
)
from minifp.report.scope_figures import svg_of
from minifp.scope.record import Record
from minifp.scope.tracing.redone import WEIGHT

MOST_ROWS = 40  # of a long table
MOST_BOXES = 60  # of a tape that is drawn; a longer one is given as text


def figure(findings: Record, draw: Callable, name: str, title: str, said: str) -> str:
    """A figure, nothing without matplotlib."""
    if not drawing.is_available():
        return ""
    drawn = svg_of(draw, findings, name, title, said)
    drawn = f'<div class="drawn">\n{drawn}\n</div>'
    return f'<figure class="wide">\n{drawn}\n<figcaption>{escape(said)}</figcaption>\n</figure>'


def folded(caption: str, heads: tuple, rows: list, text_columns: tuple = ()) -> str:
    """A table to open."""
    return details(caption, table(caption, heads, rows, text_columns=text_columns))


def layer_of(row: dict) -> str:
    """The module without the model's name, and the operation; of a weight its name."""
    if row["operation"] == WEIGHT:
        return escape(row["module"])
    module = row["module"].partition(".")[2] or row["module"]
    return escape(" ".join(filter(None, (module, row["operation"]))))


# ---- the twin run -------------------------------------------------------------------------------


def twin_section(findings: Record, prefix: str) -> str:
    """Where the errors come from."""
    runs = findings.details.get("twin")
    if not runs:
        return ""
    step = findings.details["step"]
    parts = [paragraph(f"Step {step}. {said_of_twin(run)}") for run in runs]
    said = (
        "The operations that add most: what each adds to its value by itself, and what it inherits "
        f"from those before it, beside {runs[0]['reference']}."
    )
    parts.append(figure(findings, twin_figure, f"{prefix}-twin", "Errors by operation", said))
    for run in runs:
        parts += [contributions(run), twin_table(run)]
    return section("Where the errors come from", *parts)


def said_of_twin(run: dict) -> str:
    """The result of a twin run in a sentence."""
    said = (
        f"Beside {run['reference']}, from the same weights and batch: the loss is "
        f"{run['loss']:.6g}, off by {abs(run['loss'] - run['loss_reference']):.1e}, and the "
        f"gradients of the weights are off by {run['gradients']:.2g} (relative)."
    )
    most = next(iter(run["contributions"]), None)
    if most and most["on gradients"]:
        is_weight = most["operation"] == WEIGHT
        what = "rounding" if is_weight else f"{most['operation']} in"
        said += (
            f" What does most by itself is {what} {most['module'] or 'the loss'}: "
            f"{most['on gradients']:.2g}."
        )
    return said


def contributions(run: dict) -> str:
    """What comes of the errors of single operations."""
    rows = [
        (
            layer_of(c), f"{c['added']:.2e}", f"{c['on gradients']:.2e}", f"{c['on loss']:+.2e}",
            escape(c["line"]),
        )
        for c in run["contributions"]
    ]  # fmt: skip
    heads = ("operation", "error it adds", "of weight gradients", "of the loss", "line")
    caption = f"What the error of one operation alone does, beside {run['reference']}"
    return folded(caption, heads, rows, (4,)) if rows else ""


def twin_table(run: dict) -> str:
    """Each value, forward and backward."""
    rows = [
        (
            str(r["number"]), escape(r["phase"]), layer_of(r), escape(r["value"]),
            escape(r["format"]), f"{r['added']:.2e}", f"{r['added_ulp'][0]:.3g}",
            f"{r['inherited']:.2e}", f"{r['inherited_ulp'][0]:.3g}",
        )
        for r in run["rows"]
    ]  # fmt: skip
    heads = (
        *("", "phase", "operation", "value", "format", "added", "at most, ulp"),
        *("inherited", "at most, ulp"),
    )
    caption = f"Every value of the step beside {run['reference']}: errors added and inherited"
    return folded(caption, heads, rows, (1, 2, 3, 4))


# ---- the precision trace ------------------------------------------------------------------------


def trace_section(findings: Record, prefix: str) -> str:
    """Every kernel, and the tape."""
    trace = findings.details.get("trace")
    if not trace:
        return ""
    said = (
        f"Step {findings.details['step']}, kernel by kernel: {trace['flops'] / 1e6:,.1f} Mflop, "
        f"{words.bytes_text(trace['bytes'])} read and written, "
        f"{words.seconds_text(trace['seconds'])} in kernels."
    )
    rows = [
        (
            str(r["number"]), escape(r["phase"]), layer_of(r), escape(r["kernel"]),
            escape(", ".join(r["inputs"])), escape(", ".join(r["outputs"])),
            escape(r["dot_in"] or r["sums_in"] or r["computes_in"]), escape(r["why"]),
            words.bytes_text(r["bytes_read"] + r["bytes_written"]), f"{r['flops']:.3g}",
            f"{r['intensity']:.2f}", words.seconds_text(r["seconds"]),
        )
        for r in trace["rows"]
    ]  # fmt: skip
    heads = (
        *("", "phase", "operation", "kernel", "given", "makes", "sums or computes in", "why"),
        *("bytes", "flop", "flop/byte", "time"),
    )
    listed = folded("Every kernel of the step, and why it works in its format", heads, rows, TEXTS)
    return section("The precision trace", paragraph(said), tape_of(findings, prefix), listed)


TEXTS = (1, 2, 3, 4, 5, 6, 7)


def tape_of(findings: Record, prefix: str) -> str:
    """The tape as a picture, and as Graphviz's text."""
    tape = findings.details["tape"]
    said = (
        "The tape: what is given at the top, the loss at the bottom. Blue: float16; yellow and "
        "thicker: float32; grey and dashed: integers."
    )
    few = len(tape["boxes"]) <= MOST_BOXES
    drawn = figure(findings, tape_figure, f"{prefix}-tape", "The tape", said) if few else ""
    text = f"<pre>{escape(tape['text'])}</pre>"
    return "\n".join(
        (drawn, tape_table(tape), details("The tape as a text for Graphviz (dot -Tsvg)", text))
    )


def tape_table(tape: dict) -> str:
    """The boxes of the tape, and what goes into each."""
    rows = [
        (
            str(box["number"]), escape(box["label"]), escape(box["module"]), escape(box["format"]),
            escape(", ".join(f"{e['label']} of {e['source']}" for e in entering(tape, box))),
        )
        for box in tape["boxes"]
    ]  # fmt: skip
    heads = ("", "operation", "module", "makes", "from")
    return folded("The tape as a table", heads, rows, (1, 2, 3, 4))


def entering(tape: dict, box: dict) -> list:
    """The edges that end at a box."""
    return [edge for edge in tape["edges"] if edge["target"] == box["number"]]


# ---- memory -------------------------------------------------------------------------------------


def memory_section(findings: Record, prefix: str) -> str:
    """Who holds how many bytes."""
    memory = findings.details.get("memory")
    if not memory:
        return ""
    here, single = memory["here"], memory.get("float32")
    said = f"{words.bytes_text(here['peak'])} at the peak of a step, in {here['at']}"
    if single:
        said += (
            f"; the same step in float32: {words.bytes_text(single['peak'])}. Over what is held "
            f"all the time a step grows by {words.bytes_text(here['growth'])}, in float32 by "
            f"{words.bytes_text(single['growth'])}"
        )
    caption = "Bytes by kind: at the peak (left), and over the operations of this run's step."
    runs = [here] + ([single] if single else [])
    rows = [
        (escape(kinds_in_words(k)), *(words.bytes_text(r["now"].get(k, 0)) for r in runs))
        for k in memory["kinds"]
    ]
    rows.append(("together", *(words.bytes_text(r["peak"]) for r in runs)))
    heads = ("kind", "this run", "float32")[: 1 + len(runs)]
    held = [
        (escape(name), escape(kinds_in_words(kind)), words.bytes_text(size))
        for kind, name, size in here["holders"][:MOST_ROWS]
    ]
    return section(
        "Memory",
        paragraph(f"{said}."),
        figure(findings, memory_figure, f"{prefix}-memory", "Memory", caption),
        table("Bytes at the peak", heads, rows),
        folded("Who holds them at the peak", ("holder", "kind", "bytes"), held, (1,)),
        timeline_table(memory["kinds"], here["timeline"]),
        batches(memory.get("batches", ())),
    )


def timeline_table(kinds: list, events: list) -> str:
    """What is held after each operation of the step."""
    rows = [
        (
            str(i), escape(e["phase"]), escape(f"{e['module']} {e['operation']}".strip()),
            *(words.bytes_text(e["bytes"].get(kind, 0)) for kind in kinds),
        )
        for i, e in enumerate(events)
    ]  # fmt: skip
    heads = ("", "phase", "operation", *map(kinds_in_words, kinds))
    return folded("Bytes over the operations of the step", heads, rows, (1, 2))


def batches(found) -> str:
    """The largest batches that fit."""
    rows = [
        (f"{b['capacity'] / 1e9:.0f} GB", f"{b['mixed']:,}", f"{b['float32']:,}") for b in found
    ]
    heads = ("memory", "this precision", "float32")
    return table("The largest batch whose step fits", heads, rows) if rows else ""


# ---- hardware -----------------------------------------------------------------------------------


def hardware_section(findings: Record, prefix: str) -> str:
    """What decides the time, here and on GPUs."""
    hardware = findings.details.get("hardware")
    if not hardware:
        return ""
    law = words.listed([f"{b:.2f}" for b in hardware["amdahl"].values()])
    times = words.listed([f"{float(s):g}" for s in hardware["amdahl"]])
    said = (
        f"{hardware['products']:.0%} of the time in kernels, here, went into products, which "
        f"tensor cores could speed up. Products that are {times} times faster make all kernels "
        f"together at most {law} times faster (Amdahl's law)."
    )
    caption = "Each kernel: its arithmetic intensity, and the rate it reached under the roof."
    return section(
        "Hardware",
        paragraph(said),
        figure(findings, roofline_figure, f"{prefix}-roof", "Roofline", caption),
        machines_table(hardware["machines"]),
        shapes_table(hardware["shapes"]),
        bounds_table(findings),
    )


def machines_table(machines: dict) -> str:
    """Floors of the step on each machine."""
    rows = [
        (
            escape(name), f"{m['rate'] / 1e12:.3g}", f"{m['bandwidth'] / 1e9:.4g}",
            f"{m['ridge']:.0f}", f"{1e6 * m['float16']:.4g}", f"{1e6 * m['float32']:.4g}",
            *(f"{m['shares'].get(by, 0):.0%}" for by in ("memory", "arithmetic", "latency")),
        )
        for name, m in machines.items()
    ]  # fmt: skip
    heads = (
        *("machine", "Tflop/s", "GB/s", "ridge, flop/byte", "least µs, float16", "float32"),
        *("by memory", "by arithmetic", "by latency"),
    )
    return table("What the step's kernels take at least, and what decides it", heads, rows)


def shapes_table(shapes: list) -> str:
    """Dimensions to pad."""
    rows = [
        (
            escape(s["module"] or s["operation"]), escape(s["dimension"]), str(s["size"]),
            padded(s["size"], 8), padded(s["size"], 16), f"{s['share']:.1%}",
        )
        for s in shapes
    ]  # fmt: skip
    heads = ("layer", "dimension", "size", "for float16 (8)", "for INT8 (16)", "of the flop")
    caption = "Dimensions that tensor cores would pad"
    if not rows:
        return paragraph("Every dimension of every product is a multiple of 16: nothing to pad.")
    return table(caption, heads, rows, text_columns=(1,))


def padded(size: int, multiple: int) -> str:
    """The next size that is a multiple, and the extra work."""
    to = -(-size // multiple) * multiple
    return "fits" if to == size else f"{to} (+{to / size - 1:.0%})"


def bounds_table(findings: Record) -> str:
    """What decides each kernel's time on each machine."""
    machines = findings.details["hardware"]["machines"]
    rows = [
        (
            str(r["number"]), escape(r["phase"]), layer_of(r), escape(r["kernel"]),
            f"{r['intensity']:.2f}", rate_of(r),
            *(escape(m["bound"][i]) for m in machines.values()),
        )
        for i, r in enumerate(findings.details["trace"]["rows"])
        if r["flops"] or r["bytes_read"]
    ]  # fmt: skip
    heads = ("", "phase", "operation", "kernel", "flop/byte", "flop/s reached", *machines)
    columns = (1, 2, 3, *range(6, 6 + len(machines)))
    caption = "Each kernel: its rate here, and what decides its time in float16 on each machine"
    return folded(caption, heads, rows, columns)


def rate_of(row: dict) -> str:
    """The flop/s that a kernel reached."""
    return f"{row['flops'] / row['seconds']:.2e}" if row["flops"] and row["seconds"] else "-"
