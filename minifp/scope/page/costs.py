"""Of one step in detail: what it holds, and what decides its time."""

from dataclasses import replace
from functools import partial

from minifp.report import words
from minifp.report.content import Columns, Part, Section, Table
from minifp.report.markup import paragraph
from minifp.report.words import bytes_text, spaced
from minifp.scope.hardware.bounds import ARITHMETIC, LATENCY, MEMORY
from minifp.scope.hardware.tensor_shapes import Padding, paddings_part
from minifp.scope.page.detail_figures import memory_figure, roofline_figure
from minifp.scope.page.figures import layer_of, picture
from minifp.scope.record import Record

MOST_ROWS = 40  # of a long table
AT_PEAK = "Bytes by kind: at the peak (left), and over the operations of this run's step."
ROOFLINE = (
    "Each kernel: its operations per byte moved, and per second. The line is the limit of this "
    "machine's memory and arithmetic."
)
FLOORS = "The least time that the step's kernels could take, and the share of each limit"
BOUNDS = "Each kernel: its rate here, and what limits its speed in float16 on each machine"


# ---- memory -------------------------------------------------------------------------------------


def memory_section(findings: Record) -> Section:
    """Who holds how many bytes."""
    memory = findings.details.get("memory")
    if not memory:
        return Section("Memory", ())
    runs = {"this run": memory["here"]}
    runs |= {"float32": memory["float32"]} if memory.get("float32") else {}
    at_peak = [
        [spaced(kind), *(bytes_text(run["now"].get(kind, 0)) for run in runs.values())]
        for kind in memory["kinds"]
    ]
    together = ["together", *(bytes_text(run["peak"]) for run in runs.values())]
    parts: list[Part] = [
        paragraph(memory_text(runs)),
        picture(findings, "memory", "Memory", AT_PEAK, memory_figure),
        Table("Bytes at the peak", [["kind", *runs], *at_peak, together], brief=()),
        holders(memory["here"]),
        timeline(memory["kinds"], memory["here"]["timeline"]),
    ]
    return Section("Memory", [*parts, *batches(memory.get("batches", ()))])


def memory_text(runs: dict) -> str:
    """The peak, beside that of the step in float32."""
    run, single = runs["this run"], runs.get("float32")
    text = f"{bytes_text(run['peak'])} at the peak of a step, in {run['at']}"
    if single:
        text += (
            f"; the same step in float32: {bytes_text(single['peak'])}. On top of the constant "
            f"part, the step takes {bytes_text(run['growth'])}, in float32 "
            f"{bytes_text(single['growth'])}"
        )
    return f"{text}."


def holders(run: dict) -> Table:
    """The largest first."""
    columns: Columns = {
        "holder": lambda h: h[1],
        "kind": lambda h: spaced(h[0]),
        "bytes": lambda h: bytes_text(h[2]),
    }
    caption = "Who holds them at the peak"
    return Table.of(caption, run["holders"][:MOST_ROWS], columns, text_columns=(1,), is_folded=True)


def timeline(kinds: list, events: list) -> Table:
    """What is held after each operation of the step."""
    heads = ["number", "phase", "operation", *map(spaced, kinds)]
    rows = [
        [str(i), e["phase"], f"{e['module']} {e['operation']}".strip()]
        + [bytes_text(e["bytes"].get(kind, 0)) for kind in kinds]
        for i, e in enumerate(events)
    ]
    caption = "Bytes over the operations of the step"
    return Table(caption, [heads, *rows], text_columns=(1, 2), is_folded=True)


def batches(sizes: list) -> list[Table]:
    """The largest batches that fit."""
    columns: Columns = {
        "memory": lambda b: f"{b['capacity'] / 1e9:.0f} GB",
        "this precision": "{mixed:,}",
        "float32": "{float32:,}",
    }
    table = Table.of("The largest batch whose step fits", sizes, columns, brief=())
    return [table] if sizes else []


# ---- hardware -----------------------------------------------------------------------------------


def hardware_section(findings: Record) -> Section:
    """What decides the time, here and on GPUs."""
    hardware = findings.details.get("hardware")
    if not hardware:
        return Section("Hardware", ())
    law = words.listed([f"{b:.2f}" for b in hardware["amdahl"].values()])
    times = words.listed([f"{float(s):g}" for s in hardware["amdahl"]])
    about = (
        f"On this machine {hardware['products']:.0%} of the time in kernels went into matrix "
        f"products, which tensor cores could speed up. Products that are {times} times as fast "
        f"make all kernels together at most {law} times as fast (Amdahl's law)."
    )
    parts: list[Part] = [
        paragraph(about),
        picture(findings, "roofline", "Roofline", ROOFLINE, roofline_figure),
        machines_table(hardware["machines"]),
        *shapes_parts(hardware["shapes"]),
        bounds_table(findings.details["trace"]["rows"], hardware["machines"]),
    ]
    return Section("Hardware", parts)


def machines_table(machines: dict) -> Table:
    """Floors of the step on each machine."""
    columns: Columns = {
        "machine": "{name}",
        "Tflop/s": lambda m: f"{m['rate'] / 1e12:.3g}",
        "GB/s": lambda m: f"{m['bandwidth'] / 1e9:.4g}",
        "ridge, flop/byte": "{ridge:.0f}",
        "least µs, float16": lambda m: f"{1e6 * m['float16']:.4g}",
        "float32": lambda m: f"{1e6 * m['float32']:.4g}",
        **{f"by {by}": partial(share_by, by) for by in (MEMORY, ARITHMETIC, LATENCY)},
    }
    records = [{"name": name, **machine} for name, machine in machines.items()]
    return Table.of(FLOORS, records, columns, brief=())


def shapes_parts(shapes: list) -> list[Part]:
    """Dimensions to pad; for pages alone."""
    paddings = [
        Padding(s["module"], s["operation"], s["dimension"], s["size"], 0, s["share"])
        for s in shapes
    ]
    part = paddings_part(paddings)
    return [paragraph(part) if isinstance(part, str) else replace(part, brief=())]


def bounds_table(rows: list, machines: dict) -> Table:
    """What decides each kernel's time on each machine."""
    columns: Columns = {
        "number": "{number}",
        "phase": "{phase}",
        "operation": layer_of,
        "kernel": "{kernel}",
        "flop/byte": "{intensity:.2f}",
        "flop/s reached": rate,
        **{name: partial(bound_on, i) for i, name in enumerate(machines)},
    }
    bounds = zip(*(machine["bound"] for machine in machines.values()))
    records = [
        {**row, "bounds": by} for row, by in zip(rows, bounds) if row["flops"] or row["bytes_read"]
    ]
    lefts = (1, 2, 3, *range(6, 6 + len(machines)))
    return Table.of(BOUNDS, records, columns, text_columns=lefts, is_folded=True)


def share_by(limit: str, machine: dict) -> str:
    """The share of a machine's floor that a limit decides."""
    return f"{machine['shares'].get(limit, 0):.0%}"


def bound_on(i: int, row: dict) -> str:
    """What decides a kernel's time on one of the machines."""
    return row["bounds"][i]


def rate(row: dict) -> str:
    """The flop/s that a kernel reached."""
    return f"{row['flops'] / row['seconds']:.2e}" if row["flops"] and row["seconds"] else "-"
