"""Pictures of one step in detail: errors, the tape, memory, the roofline. Drawn by matplotlib."""

from typing import Any

import numpy as np

from minifp.numerics.number_format import format_named
from minifp.report import drawing
from minifp.scope.memory.summary import KINDS
from minifp.scope.page.figures import GOOD, KEPT, LOST, SHADE, WARN, WIDTH, layer_of, short
from minifp.scope.record import Record

MOST_BARS = 16
PALETTE = {kind: drawing.STYLES[i].color for kind, i in zip(KINDS, (1, 6, 3, 5, 4, 2, 0))}
NARROW, OTHER = ("-", 0.9, KEPT), ("--", 0.9, SHADE)  # style, width and colour
LINES = {"float32": ("-", 1.9, WARN), "float64": ("-", 2.6, drawing.STYLES[4].color)}


def line_of(format: str) -> tuple[str, float, str]:
    """How the tape shows a format: style, width and colour."""
    return LINES.get(format) or (NARROW if format_named(format) else OTHER)


# ---- errors -------------------------------------------------------------------------------------


def reference_figure(findings: Record):
    """The values whose operations add most: what is added, and what is inherited."""
    rows = findings.details["reference"][0]["rows"]
    worst = sorted(rows, key=lambda row: -row["added"])[:MOST_BARS]
    with drawing.canvas(WIDTH, 0.7 + 0.24 * len(worst)) as (figure, axes):
        places = np.arange(len(worst))
        axes.barh(places - 0.19, [r["added"] for r in worst], 0.36, color=LOST, label="added")
        axes.barh(
            places + 0.19, [r["inherited"] for r in worst], 0.36, color=SHADE, label="inherited"
        )
        labels = [short(f"{layer_of(r)} {r['value']}", 34) for r in worst]
        names = [f"{label}, {r['phase']}" for label, r in zip(labels, worst)]
        axes.set_yticks(places, names, fontsize=7)
        axes.set_ylim(len(worst) - 0.4, -0.6)
        axes.set_xscale("symlog", linthresh=1e-8)
        axes.set_xlim(left=0)
        axes.set_xlabel("error, relative to the value's norm")
        figure.legend(fontsize=8, loc="outside upper left", ncols=2)
    return figure


# ---- the tape -----------------------------------------------------------------------------------


def tape_figure(findings: Record):
    """The tape from what is given (top) to the loss, coloured by format."""
    from matplotlib.patches import FancyBboxPatch

    tape = findings.details["tape"]
    boxes = {box["number"]: box for box in tape["boxes"]}
    across = max((abs(box["x"]) for box in boxes.values()), default=0) + 0.6
    with drawing.canvas(WIDTH, 0.4 + 0.5 * tape["height"]) as (figure, axes):
        for edge in tape["edges"]:
            a, b = boxes[edge["source"]], boxes[edge["target"]]
            style, width, color = line_of(edge["format"])
            ends = [a["x"], b["x"]], [-a["y"] - 0.3, -b["y"] + 0.3]
            axes.plot(*ends, ls=style, lw=width, color=color, zorder=1)
        for box in boxes.values():
            style, width, color = line_of(box["format"])
            look: dict[str, Any] = {
                "ls": style,
                "lw": width,
                "facecolor": drawing.PAPER,
                "edgecolor": color,
            }
            corner, shape = (box["x"] - 0.42, -box["y"] - 0.3), "round,pad=0.02"
            axes.add_patch(FancyBboxPatch(corner, 0.84, 0.6, shape, zorder=2, **look))
            text = short(box["label"], 22)
            axes.text(box["x"], -box["y"], text, ha="center", va="center", fontsize=6.2, zorder=3)
        axes.set_xlim(-across, across)
        axes.set_ylim(-tape["height"] + 0.4, 0.6)
        axes.set_axis_off()
    return figure


# ---- memory -------------------------------------------------------------------------------------


def memory_figure(findings: Record):
    """By kind at the peak, beside float32; and over the step."""
    memory = findings.details["memory"]
    runs = [("this run", memory["here"])]
    runs += [("float32", memory["float32"])] if "float32" in memory else []
    with drawing.canvas(WIDTH, 2.9, 1, 2) as (figure, (at_peak, over_step)):
        for i, (_, run) in enumerate(runs):
            bottom = 0.0
            for kind in memory["kinds"]:
                size = run["now"].get(kind, 0) / 2**20
                name = kind.replace("_", " ") if i == 0 else None
                at_peak.bar([i], [size], 0.62, bottom=bottom, color=PALETTE[kind], label=name)
                bottom += size
        at_peak.set_xticks(range(len(runs)), [name for name, _ in runs])
        at_peak.set_ylabel("MiB at the peak")
        events = memory["here"]["timeline"]
        steps = np.arange(len(events))
        heights = [[e["bytes"].get(kind, 0) / 2**20 for e in events] for kind in memory["kinds"]]
        over_step.stackplot(
            steps, heights, colors=[PALETTE[k] for k in memory["kinds"]], step="mid", lw=0
        )
        over_step.set_ylabel("MiB")
        over_step.set_xlabel("operations of the step, forward and backward")
        over_step.set_xlim(0, max(len(events) - 1, 1))
        figure.legend(loc="outside upper center", ncols=4, fontsize=7)
    return figure


# ---- the roofline -------------------------------------------------------------------------------


def roofline_figure(findings: Record):
    """Each kernel by its arithmetic intensity and the rate it reached, under the roof here."""
    machines = findings.details["hardware"]["machines"]
    machine = next(iter(machines.values()))
    rows = [
        row
        for row in findings.details["trace"]["rows"]
        if row["flops"] and row["seconds"] and row["intensity"]
    ]
    with drawing.canvas(WIDTH, 3.0) as (figure, axes):
        x = np.array([row["intensity"] for row in rows])
        y = np.array([row["flops"] / row["seconds"] for row in rows])
        is_product = np.array([row["role"] == "dot" for row in rows], bool)
        line = np.geomspace(
            min(x.min(initial=0.1) / 2, 0.05), max(x.max(initial=0) * 2, machine["ridge"] * 4), 100
        )
        axes.plot(
            line, np.minimum(line * machine["bandwidth"], machine["rate"]), color=drawing.INK, lw=1
        )
        for of, color, marker, name in (
            (is_product, KEPT, "o", "products"),
            (~is_product, LOST, "s", "other kernels"),
        ):
            axes.scatter(x[of], y[of], s=16, color=color, marker=marker, label=name, zorder=3)
        axes.axvline(machine["ridge"], color=GOOD, lw=0.8)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(
            f"flop for each byte; the ridge of this machine is at {machine['ridge']:.3g}"
        )
        axes.set_ylabel("flop/s")
        figure.legend(fontsize=8, loc="outside upper left", ncols=2)
    return figure
