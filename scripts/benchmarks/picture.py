"""The pictures of a run and of a profile, by matplotlib."""

from .profile_report import PYTHON
from .profile_report import bars as profile_bars
from .report import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    MINE,
    MIXED,
    measured,
    of_process,
    of_tape,
    ratio,
    threads_text,
    time_text,
)

INK, MUTED, GRID = "#1f2328", "#59636e", "#d8dee4"
# Of Okabe and Ito (2008).
SERIES = {
    "minifp float32": ([MINE], "#56b4e9"),
    "minifp mixed": ([MIXED], "#0072b2"),
    "PyTorch float32": (FLOAT32, "#7d8590"),
    "PyTorch bfloat16": (BFLOAT16, "#e69f00"),
    "PyTorch float16": (FLOAT16, "#d55e00"),
}
PHASE_COLORS = {
    "zero_grad": "#cc79a7",
    "forward": "#56b4e9",
    "backward": "#e69f00",
    "update": "#009e73",
}
MOST = 3.0  # times PyTorch's float32: longer bars are cut, with their length beside them
FONT = {"font.family": "DejaVu Sans", "font.size": 8.5, "axes.edgecolor": MUTED}


def is_available():
    """Whether matplotlib can be imported."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def draw(found, path):
    """Times of models and operations over PyTorch's float32 (or over minifp's own), and memory."""
    import matplotlib
    from matplotlib.figure import Figure

    models = [r for r in found["results"] if r["kind"] == "model"]
    operations = [r for r in found["results"] if r["kind"] == "operation"]
    counts = sorted({r["threads"] for r in found["results"]})
    panels = []  # rows of the picture: lists of (title, results, what is drawn of each)
    for what, those in (("Training steps", models), ("Operations", operations)):
        columns = [(n, [r for r in those if r["threads"] == n]) for n in counts]
        panels.append([(f"{what}, {threads_text(n)}", rs, _times) for n, rs in columns if rs])
    if with_memory := [r for r in models if r.get("memory")]:
        panels.append(
            [("Peak memory of the process, but for what is loaded", with_memory, _memory)]
        )
        panels[-1].append(("Activations and gradients on the tape", with_memory, _tape))
    panels = [row for row in panels if row]
    heights = [len(row[0][1]) * 0.5 + 0.8 for row in panels]
    wide = max(map(len, panels))
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **FONT, "backend": "agg"}):
        size = (2.2 + 5 * wide, sum(heights) + 0.4)
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(len(panels), wide, squeeze=False, height_ratios=heights)
        for places, row in zip(grid, panels):
            for axes in places[len(row) :]:
                axes.remove()
            for axes, (title, rows, values) in zip(places, row):
                _panel(axes, title, rows, values)
                if axes is not places[0] and len(rows) == len(row[0][1]):
                    axes.set_yticklabels([])
        labels = {}
        for axes in figure.axes:
            labels |= dict(zip(*reversed(axes.get_legend_handles_labels())))
        where = {"loc": "outside upper center", "ncols": len(labels), "frameon": False}
        figure.legend(labels.values(), labels, **where)
        figure.savefig(path, dpi=130, metadata={"Software": None})


def _times(result, names):
    """(over PyTorch's float32, text, floor) of a bar."""
    found = measured(result, *names)
    if found is None:
        return None
    base = FLOAT32 if measured(result, *FLOAT32) else [MINE]
    under = result["floor"].get(found[0])
    seconds = found[1]["seconds"]
    value = ratio(result, names, base) or 1.0
    return value, time_text(seconds), under and value * under["seconds"] / seconds


def _memory(result, names):
    bases = FLOAT32 if any(of_process(result, n) for n in FLOAT32) else [MINE]
    least = [
        min(filter(None, (of_process(result, n, "loaded") for n in those)), default=None)
        for those in (names, bases)
    ]
    return _of_sizes(*least)


def _tape(result, names):
    return _of_sizes(of_tape(result, names[0]), of_tape(result, MINE))


def _of_sizes(size, base):
    return (size / base, f"{size / 1e6:,.0f} MB", None) if size and base else None


def _panel(axes, title, rows, values):
    shown = {s: SERIES[s] for s in SERIES if any(values(r, SERIES[s][0]) for r in rows)}
    high = 0.8 / max(len(shown), 1)
    for k, (label, (names, color)) in enumerate(shown.items()):
        found = [(i, values(r, names)) for i, r in enumerate(rows)]
        found = [(i + (k - (len(shown) - 1) / 2) * high, v) for i, v in found if v is not None]
        lengths = [min(v[0], MOST) for _, v in found]
        axes.barh([y for y, _ in found], lengths, 0.9 * high, color=color, label=label)
        for y, (value, text, under) in found:
            far = f"  x {value:,.3g}" if value > MOST else ""
            at = (min(value, MOST), y)
            axes.annotate(
                text + far, at, (3, 0), textcoords="offset points", va="center", fontsize=6.5
            )
            if under is not None:
                line = [y - 0.45 * high, y + 0.45 * high]
                axes.plot([under, under], line, color=INK, linewidth=1.2, solid_capstyle="butt")
    axes.set_title(title, loc="left", fontweight="bold", color=INK)
    axes.set_yticks(range(len(rows)), [r["title"] for r in rows])
    axes.invert_yaxis()
    axes.set_xlim(0, MOST * 1.18)
    axes.axvline(1, color=MUTED, linewidth=0.8)
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(colors=MUTED, length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    theirs = any(measured(r, *FLOAT32) for r in rows) and values is not _tape
    base = "PyTorch float32 = 1" if theirs else "minifp float32 = 1"
    lines = "; black lines: the floor" if values is _times else ""
    axes.set_xlabel(base + lines, color=MUTED)


def draw_profile(title, parts, path):
    """The step, below it its phases, their operations, and the kernels of these."""
    import matplotlib
    from matplotlib.figure import Figure

    shades = {1: 0.0, 2: 0.25, 3: 0.5}
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **FONT, "backend": "agg"}):
        figure = Figure(figsize=(13, 3.4), layout="constrained")
        axes = figure.subplots()
        found = list(profile_bars(parts))
        whole = found[0][2]
        for level, left, seconds, name, phase in found:
            color = _lighter(PHASE_COLORS.get(phase, "#afb8c1"), shades.get(level, 0.0))
            if name == PYTHON:
                color = "#eaeef2"
            edge = {"edgecolor": "white", "linewidth": 0.4}
            axes.barh(level, 1e3 * seconds, 0.94, 1e3 * left, color=color, **edge)
            text, characters = name.rpartition(".")[2], int(150 * seconds / whole)
            if level < 2:
                text = f"{name} {time_text(seconds)}"
            if characters >= 4:
                text = text if len(text) <= characters else text[: characters - 1] + "…"
                middle = 1e3 * (left + seconds / 2)
                axes.text(middle, level, text, ha="center", va="center", fontsize=7, color=INK)
        axes.set_title(title, loc="left", fontweight="bold", color=INK)
        axes.set_yticks(range(4), ["step", "phase", "operation", "kernel"])
        axes.set_ylim(3.55, -0.55)
        axes.set_xlim(0, 1e3 * whole)
        axes.set_xlabel("milliseconds; grey: Python", color=MUTED)
        axes.tick_params(colors=MUTED, length=0)
        for side in axes.spines.values():
            side.set_visible(False)
        figure.savefig(path, dpi=130, metadata={"Software": None})


def _lighter(color, share):
    """A colour mixed with so much white."""
    parts = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(p + (255 - p) * share):02x}" for p in parts)
