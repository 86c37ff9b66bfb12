"""The tables of a run on a GPU, as Markdown."""

from . import gpu_bandwidth, gpu_conv, gpu_optimizer, gpu_steps
from .gpu_bars import bars
from .gpu_compiled import COMPILED
from .gpu_gemm import KINDS
from .report import NOTHING, layout, three_digits, time_text, times

ABOUT = """\
Medians over rounds in which all sides take turns; `python scripts/bench_gpu.py --help` says how
they are measured. Kernels are repeated in a CUDA graph and timed by events, steps by the clock of
the host over many steps. TF32 is off unless it is named."""


def cell(side, unit=None):
    """The time of a side, or a figure of it, or that it failed."""
    if side is None:
        return NOTHING
    if "error" in side:
        return "failed"
    if unit is not None:
        return three_digits(side[unit]) if unit in side else NOTHING
    return time_text(side["seconds"])


def sides_table(what, rows, names, title, unit=None, more=()):
    """A line for each row, a column for each side that is there. more: (head, what of a row)."""
    there = [n for n in names if any(n in row["sides"] for row in rows)]
    head = (what, *there, *(name for name, _ in more))
    lines = [
        [title(row), *(cell(row["sides"].get(n), unit) for n in there), *(f(row) for _, f in more)]
        for row in rows
    ]
    return layout(head, lines)


def markdown(found):
    """The whole report. found: as Found.as_json gives it, with settings."""
    rows = found["rows"]
    parts = ["# Benchmarks on a GPU", ABOUT]
    if found["fatal"]:
        parts.append(f"Nothing (more) could be measured: {found['fatal']}")
    if found["absent"]:
        parts.append(f"Without PyTorch: {found['absent']}.")
    for name, write in SECTIONS.items():
        if rows.get(name):
            title, text = write(rows[name])
            parts += [f"## {title}", text]
    if any(rows.get(name) for name in rows if name != "device"):
        parts += ["## Bars", bars_table(rows)]
    if notes := list(notes_of(found)):
        parts += ["## Notes", "\n".join(f"- {note}" for note in notes)]
    return "\n\n".join(parts) + "\n"


def bars_table(rows):
    """Each bar, and what came of it."""
    lines = [
        (
            *(bar.what, bar.where, f"{'>=' if bar.least else '<='} {bar.limit:g}"),
            *(times(bar.value), bar.state),
        )
        for bar in bars(rows)
    ]
    return layout(("bar", "where", "limit", "is", ""), lines)


# ---- sections -----------------------------------------------------------------------------------


def _device(rows):
    return "Device", "\n".join(f"- {row['name']}: {row['value']}" for row in rows)


def _products(rows):
    rows = sorted(rows, key=lambda r: ([*KINDS].index(r["kind"]), r["size"]))
    more = [("minifp / PyTorch", lambda row: times(row["times"]))]
    title = lambda row: f"{row['kind']}, {row['size']:,}"  # noqa: E731
    names = ("minifp", "PyTorch")
    text = sides_table("square products", rows, names, title, "tflops", more)
    return "Matrix products, TFLOP/s", text


def _conv(rows):
    parts, means = [], gpu_conv.means(rows)
    names = [n for n in gpu_conv.SIDES if any(n in m for m in means.values())]
    lines = [
        [network, m["layers"], *(three_digits(m[n]) if n in m else NOTHING for n in names)]
        for network, m in means.items()
    ]
    parts += [layout(("geometric mean", "layers", *names), lines)]
    for network, layers in gpu_conv.by_layer(rows).items():
        names = [n for n in gpu_conv.SIDES if any(n in rates for _, _, rates in layers)]
        lines = [
            [title, count, *(three_digits(r[n]) if n in r else NOTHING for n in names)]
            for title, count, r in layers
        ]
        parts += [f"### {network}", layout(("layer", "times", *names), lines)]
    here = "Convolutions, forward and backward together, TFLOP/s"
    return here, "\n\n".join(parts)


def _bandwidth(rows):
    kinds = list(dict.fromkeys(r["kind"] for r in rows))
    rows = sorted(rows, key=lambda r: (kinds.index(r["kind"]), r["format"]))
    more = [
        ("share of a copy", lambda row: times(row["share"])),
        ("MB", lambda row: three_digits(row["bytes"] / 1e6)),
    ]
    names = (gpu_bandwidth.KERNEL, gpu_bandwidth.COPY)
    title = lambda row: f"{row['kind']}, {row['format']}: {row['name']}"  # noqa: E731
    return "Bandwidth, GB/s", sides_table("kernel", rows, names, title, "gb_s", more)


def _loading(rows):
    names = list(dict.fromkeys(n for row in rows for n in row["sides"]))
    more = [("MB", lambda row: f"{row['bytes'] / 1e6:.3g}")]
    title = lambda row: row["name"]  # noqa: E731
    parts = [sides_table("seconds of a batch", rows, names, title, None, more)]
    parts += [sides_table("GB/s", rows, names, title, "gb_s")]
    return "Loading", "\n\n".join(parts)


def _steps(rows):
    names = [*gpu_steps.MINE, *gpu_steps.OTHER]
    title = lambda row: row["title"]  # noqa: E731
    over = [
        (f"{n} / AMP", lambda row, n=n: times(row["over_amp"].get(n)))
        for n in (gpu_steps.CAPTURED, "minifp mixed")
    ]
    parts = [sides_table("seconds of a step", rows, names, title, None, over)]
    parts += ["Peak memory, MB:"]
    rows = [{**row, "sides": {n: _in_mb(s) for n, s in row["sides"].items()}} for row in rows]
    parts += [sides_table("model", rows, names, title, "peak")]
    return "Training steps", "\n\n".join(parts)


def _in_mb(side):
    return {**side, "peak": side["peak"] / 1e6} if "peak" in side else side


def _compiled(rows):
    more = [("minifp / PyTorch", lambda row: times(row["over_compiled"]))]
    title = lambda row: row["title"]  # noqa: E731
    names = (gpu_steps.CAPTURED, COMPILED)
    text = sides_table("seconds of a step", rows, names, title, None, more)
    return 'Training steps beside torch.compile(mode="reduce-overhead")', text


def _optimizer(rows):
    names = (gpu_optimizer.EAGER, gpu_optimizer.CAPTURED, gpu_optimizer.THEIRS)
    more = [(f"{n} / PyTorch", lambda row, n=n: times(row[f"{n} / PyTorch"])) for n in names[:2]]
    title = lambda row: f"{row['parameters']:,} parameters"  # noqa: E731
    return "Optimizer steps, Adam", sides_table("seconds", rows, names, title, None, more)


SECTIONS = {
    "device": _device,
    "gemm": _products,
    "conv": _conv,
    "bandwidth": _bandwidth,
    "loading": _loading,
    "steps": _steps,
    "compiled": _compiled,
    "optimizer": _optimizer,
}


# ---- notes --------------------------------------------------------------------------------------


def _name_of(row):
    keys = ("workload", "network", "layer", "pass", "format", "name", "kind", "size", "parameters")
    return ", ".join(str(row[key]) for key in keys if key in row)


def notes_of(found):
    """What failed, what was left out, and what is to be known."""
    for where, error in found["errors"].items():
        yield f"{where}: {error}"
    left = {}
    for section, unit in found["left_out"]:
        left.setdefault(section, []).append(unit)
    for section, units in left.items():
        some = ", ".join(units[:3]) + (" ..." if len(units) > 3 else "")
        why = "" if found["fatal"] else ", as the time was over"
        yield f"{section}: {len(units)} left out{why}: {some}"
    said = {}
    for section, rows in found["rows"].items():
        for row in rows:
            where = f"{section} ({_name_of(row)})"
            for note in row.get("notes", []):
                said.setdefault(note, []).append(where)
            for name, side in row.get("sides", {}).items():
                if "error" in side:
                    said.setdefault(f"{name}: {side['error']}", []).append(where)
                if side.get("layout", "NCHW") != "NCHW":
                    text = f"{name}: channels_last was faster, and is what is compared with"
                    said.setdefault(text, []).append(where)
                if "without_a_graph" in side:
                    text = f"{name}: not in a graph ({side['without_a_graph']})"
                    said.setdefault(text, []).append(where)
    for text, places in said.items():
        more = f" and {len(places) - 3} more" if len(places) > 3 else ""
        yield f"{'; '.join(places[:3])}{more}: {text}"
