"""Of one step in detail: what it holds, and what decides its time."""

from markupsafe import Markup

from minifp.report import words
from minifp.report.markup import paragraph, section, table
from minifp.scope.page.detail_figures import kinds_in_words, memory_figure, roofline_figure
from minifp.scope.page.parts import figure, folded, layer_of
from minifp.scope.record import Record

MOST_ROWS = 40  # of a long table


# ---- memory -------------------------------------------------------------------------------------


def memory_section(findings: Record, prefix: str) -> Markup:
    """Who holds how many bytes."""
    memory = findings.details.get("memory")
    if not memory:
        return Markup()
    here, single = memory["here"], memory.get("float32")
    said = f"{words.bytes_text(here['peak'])} at the peak of a step, in {here['at']}"
    if single:
        said += (
            f"; the same step in float32: {words.bytes_text(single['peak'])}. On top of the "
            f"constant part, the step takes {words.bytes_text(here['growth'])}, in float32 "
            f"{words.bytes_text(single['growth'])}"
        )
    caption = "Bytes by kind: at the peak (left), and over the operations of this run's step."
    runs = [here] + ([single] if single else [])
    rows = [
        (kinds_in_words(k), *(words.bytes_text(r["now"].get(k, 0)) for r in runs))
        for k in memory["kinds"]
    ]
    rows.append(("together", *(words.bytes_text(r["peak"]) for r in runs)))
    heads = ("kind", "this run", "float32")[: 1 + len(runs)]
    held = [
        (name, kinds_in_words(kind), words.bytes_text(size))
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


def timeline_table(kinds: list, events: list) -> Markup:
    """What is held after each operation of the step."""
    rows = [
        (
            str(i), e["phase"], f"{e['module']} {e['operation']}".strip(),
            *(words.bytes_text(e["bytes"].get(kind, 0)) for kind in kinds),
        )
        for i, e in enumerate(events)
    ]  # fmt: skip
    heads = ("number", "phase", "operation", *map(kinds_in_words, kinds))
    return folded("Bytes over the operations of the step", heads, rows, (1, 2))


def batches(sizes) -> Markup:
    """The largest batches that fit."""
    rows = [
        (f"{b['capacity'] / 1e9:.0f} GB", f"{b['mixed']:,}", f"{b['float32']:,}") for b in sizes
    ]
    heads = ("memory", "this precision", "float32")
    return table("The largest batch whose step fits", heads, rows) if rows else Markup()


# ---- hardware -----------------------------------------------------------------------------------


def hardware_section(findings: Record, prefix: str) -> Markup:
    """What decides the time, here and on GPUs."""
    hardware = findings.details.get("hardware")
    if not hardware:
        return Markup()
    law = words.listed([f"{b:.2f}" for b in hardware["amdahl"].values()])
    times = words.listed([f"{float(s):g}" for s in hardware["amdahl"]])
    said = (
        f"On this machine {hardware['products']:.0%} of the time in kernels went into matrix "
        f"products, which tensor cores could speed up. Products that are {times} times as fast "
        f"make all kernels together at most {law} times as fast (Amdahl's law)."
    )
    caption = (
        "Each kernel: its operations per byte moved, and per second. The line is the limit of "
        "this machine's memory and arithmetic."
    )
    return section(
        "Hardware",
        paragraph(said),
        figure(findings, roofline_figure, f"{prefix}-roof", "Roofline", caption),
        machines_table(hardware["machines"]),
        shapes_table(hardware["shapes"]),
        bounds_table(findings),
    )


def machines_table(machines: dict) -> Markup:
    """Floors of the step on each machine."""
    rows = [
        (
            name, f"{m['rate'] / 1e12:.3g}", f"{m['bandwidth'] / 1e9:.4g}",
            f"{m['ridge']:.0f}", f"{1e6 * m['float16']:.4g}", f"{1e6 * m['float32']:.4g}",
            *(f"{m['shares'].get(by, 0):.0%}" for by in ("memory", "arithmetic", "latency")),
        )
        for name, m in machines.items()
    ]  # fmt: skip
    heads = (
        *("machine", "Tflop/s", "GB/s", "ridge, flop/byte", "least µs, float16", "float32"),
        *("by memory", "by arithmetic", "by latency"),
    )
    caption = "The least time that the step's kernels could take, and the share of each limit"
    return table(caption, heads, rows)


def shapes_table(shapes: list) -> Markup:
    """Dimensions to pad."""
    rows = [
        (
            s["module"] or s["operation"], s["dimension"], str(s["size"]),
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


def bounds_table(findings: Record) -> Markup:
    """What decides each kernel's time on each machine."""
    machines = findings.details["hardware"]["machines"]
    rows = [
        (
            r["number"], r["phase"], layer_of(r), r["kernel"],
            f"{r['intensity']:.2f}", rate_of(r),
            *(m["bound"][i] for m in machines.values()),
        )
        for i, r in enumerate(findings.details["trace"]["rows"])
        if r["flops"] or r["bytes_read"]
    ]  # fmt: skip
    heads = ("number", "phase", "operation", "kernel", "flop/byte", "flop/s reached", *machines)
    columns = (1, 2, 3, *range(6, 6 + len(machines)))
    caption = "Each kernel: its rate here, and what limits its speed in float16 on each machine"
    return folded(caption, heads, rows, columns)


def rate_of(row: dict) -> str:
    """The flop/s that a kernel reached."""
    return f"{row['flops'] / row['seconds']:.2e}" if row["flops"] and row["seconds"] else "-"
