"""The pictures of a run on a GPU, by matplotlib."""

from . import gpu_conv, gpu_steps
from .gpu_compiled import COMPILED
from .gpu_gemm import KINDS
from .picture import FONT, GRID, INK, MUTED

# Of Okabe and Ito (2008): ours dark and light, PyTorch's beside them.
COLORS = {
    gpu_conv.TENSOR: "#0072b2",
    gpu_conv.PLAIN: "#009e73",
    gpu_conv.FLOAT32: "#56b4e9",
    gpu_conv.THEIR16: "#d55e00",
    gpu_conv.THEIR32: "#7d8590",
}
KIND_COLORS = dict(zip(KINDS, ("#0072b2", "#cc79a7", "#009e73", "#56b4e9", "#e69f00")))
STEP_COLORS = {
    "minifp mixed, captured": "#0072b2",
    "minifp mixed": "#56b4e9",
    "minifp float32, captured": "#009e73",
    "minifp float32": "#8fd3bd",
    "PyTorch float32": "#7d8590",
    COMPILED: "#d55e00",
}
MOST = 3.0  # times PyTorch's AMP: longer bars are cut


def draw(rows, folder):
    """Every picture that there are rows for. Returns the errors of those that failed."""
    import matplotlib

    pictures = {
        "gemm": (_products, rows.get("gemm")),
        "conv-layers": (_layers, rows.get("conv")),
        "conv-networks": (_networks, rows.get("conv")),
        "steps": (_steps, (rows.get("steps") or []) + (rows.get("compiled") or [])),
    }
    errors = []
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **FONT, "backend": "agg"}):
        for name, (paint, given) in pictures.items():
            try:
                if given:
                    figure = paint(given)
                    figure.savefig(folder / f"{name}.png", dpi=130, metadata={"Software": None})
            except Exception as error:
                errors.append(f"{name}.png: {type(error).__name__}: {error}")
    return errors


def _figure(width, height, rows=1, columns=1):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _dressed(axes, title, along="y"):
    axes.set_title(title, loc="left", fontweight="bold", color=INK)
    axes.grid(axis=along, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(colors=MUTED, length=0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _products(rows):
    figure, ((axes,),) = _figure(7, 4)
    for kind, color in KIND_COLORS.items():
        for side, line in (("minifp", "-"), ("PyTorch", "--")):
            here = sorted((r for r in rows if r["kind"] == kind), key=lambda r: r["size"])
            points = [(r["size"], r["sides"].get(side, {}).get("tflops")) for r in here]
            points = [p for p in points if p[1]]
            if points:
                style = {"color": color, "linestyle": line, "marker": "o", "markersize": 3}
                axes.plot(*zip(*points), label=f"{side} {kind}", **style)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    sizes = sorted({r["size"] for r in rows})
    axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
    axes.set_xlabel("rows and columns (dashed: PyTorch)", color=MUTED)
    axes.set_ylabel("TFLOP/s", color=MUTED)
    _dressed(axes, "Square matrix products")
    return _with_legend(figure, 4)


def _with_legend(figure, columns):
    """One for all, above."""
    labels = {}
    for axes in figure.axes:
        labels |= dict(zip(*reversed(axes.get_legend_handles_labels())))
    where = {"loc": "outside upper center", "ncols": columns, "frameon": False, "fontsize": 7.5}
    figure.legend(labels.values(), labels, **where)
    return figure


def _grouped(axes, groups, shown):
    """Bars beside each other. groups: (label, {side: value})."""
    width = 0.85 / max(len(shown), 1)
    for k, name in enumerate(shown):
        points = [(i, values[name]) for i, (_, values) in enumerate(groups) if name in values]
        places = [i + (k - (len(shown) - 1) / 2) * width for i, _ in points]
        axes.bar(places, [v for _, v in points], 0.92 * width, color=COLORS[name], label=name)
    axes.set_xticks(range(len(groups)), [label for label, _ in groups])
    axes.set_ylabel("TFLOP/s", color=MUTED)


def _layers(rows):
    found = gpu_conv.by_layer(rows)
    most = max(map(len, found.values()))
    figure, grid = _figure(max(8, 0.3 * most + 2), 3.2 * len(found), len(found))
    for (axes,), (network, layers) in zip(grid, found.items()):
        shown = [n for n in gpu_conv.SIDES if any(n in rates for _, _, rates in layers)]
        _grouped(axes, [(title.partition(":")[0], rates) for title, _, rates in layers], shown)
        axes.tick_params(axis="x", rotation=90)
        _dressed(axes, f"{network}: convolution layers, forward and backward")
    return _with_legend(figure, 5)


def _networks(rows):
    found = gpu_conv.means(rows)
    figure, ((axes,),) = _figure(8, 4)
    shown = [n for n in gpu_conv.SIDES if any(n in m for m in found.values())]
    _grouped(axes, list(found.items()), shown)
    _dressed(axes, "Convolution layers, geometric mean of each network")
    return _with_legend(figure, 3)


def _steps(rows):
    values = {}
    for row in rows:
        here = values.setdefault(row["title"], {})
        if row.get("over_compiled") is not None:
            mine = here.get(gpu_steps.CAPTURED)
            if mine:
                here[COMPILED] = mine / row["over_compiled"]
        here.update(row.get("over_amp", {}))
    values = {title: here for title, here in values.items() if here}
    if not values:
        values = _over_float32(rows)
    figure, ((axes,),) = _figure(9, 0.9 * len(values) + 1.2)
    shown = [n for n in STEP_COLORS if any(n in here for here in values.values())]
    high = 0.85 / max(len(shown), 1)
    for k, name in enumerate(shown):
        points = [(i, here[name]) for i, here in enumerate(values.values()) if name in here]
        places = [i + (k - (len(shown) - 1) / 2) * high for i, _ in points]
        lengths = [min(v, MOST) for _, v in points]
        axes.barh(places, lengths, 0.92 * high, color=STEP_COLORS[name], label=name)
        for y, (_, v) in zip(places, points):
            text = {"textcoords": "offset points", "va": "center", "fontsize": 6.5}
            axes.annotate(f"{v:.2f}", (min(v, MOST), y), (3, 0), **text)
    axes.set_yticks(range(len(values)), list(values))
    axes.axvline(1, color=MUTED, linewidth=0.8)
    has_amp = any(row.get("over_amp") for row in rows)
    base = "PyTorch's eager AMP = 1" if has_amp else "minifp float32 = 1"
    axes.set_xlabel(f"seconds of a training step, {base}", color=MUTED)
    _dressed(axes, "Training steps", "x")
    axes.set_ylim(len(values) - 0.4, -0.6)
    return _with_legend(figure, 3)


def _over_float32(rows):
    found = {}
    for row in rows:
        seconds = {n: s["seconds"] for n, s in row["sides"].items() if s.get("seconds")}
        base = seconds.get("minifp float32")
        if base:
            found[row["title"]] = {n: s / base for n, s in seconds.items()}
    return found
