"""Lesson 10: bytes by kind beside each other, and the roofline of this machine and of a V100."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from minifp.report.drawing import INK, MUTED, PAPER, STYLES
from minifp.teach.drawings import note

KINDS = ("weights", "masters", "optimizer_state", "gradients", "activations")
HATCHES = ("", "///", "...", "\\\\\\", "xx")
LEAST = 1.0  # flop a byte: the left edge of the roofline


def bytes_and_roofline(
    bytes_of: Mapping[str, Mapping[str, int]], machines: Iterable[Any], products: Iterable[tuple]
) -> Any:
    """A figure of two panels, one above the other.

    bytes_of: of each bar by its name, bytes by kind; the first of each pair of bars is float32's.
    machines: of hardware/machines.py. products: (name, flop for each byte) of matrix products.
    """
    import matplotlib.pyplot as plt

    figure, (above, below) = plt.subplots(2, 1, figsize=(4.8, 6.4), layout="constrained")
    draw_bytes(above, bytes_of)
    draw_roofline(below, list(machines), list(products))
    return figure


def draw_bytes(axes: Any, bytes_of: Mapping[str, Mapping[str, int]]) -> None:
    """A bar of stacked kinds for each, as shares of float32's bar of the same network."""
    names, whole = list(bytes_of), 1
    for y, name in enumerate(names):
        whole = sum(bytes_of[name].values()) if y % 2 == 0 else whole
        left = 0.0
        for kind, style, hatch in zip(KINDS, STYLES, HATCHES):
            width = 100 * bytes_of[name][kind] / whole
            look = {"color": style.color, "hatch": hatch, "edgecolor": PAPER, "lw": 0.6}
            label = kind.replace("_", " ") if y == 0 else None
            axes.barh(y, width, left=left, label=label, **look)
            left += width
        axes.text(left + 1.5, y, f"{left:.0f}%", va="center", color=INK)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.grid(False, axis="y")
    axes.set(xlim=(0, 116), xlabel="% of the bytes in float32", title="What a step holds")
    below = {"loc": "upper center", "bbox_to_anchor": (0.4, -0.24)}
    axes.legend(ncols=2, fontsize=8, handlelength=1.4, **below)


def draw_roofline(axes: Any, machines: list, products: list) -> None:
    """A roof for each machine, and where on it the products are."""
    most = 4 * max([m.ridge() for m in machines] + [intensity for _, intensity in products])
    x = np.geomspace(LEAST, most, 200)
    for machine, style in zip(machines, STYLES[1:]):
        roof = np.minimum(machine.half_rate, x * machine.bandwidth) / 1e9
        axes.plot(x, roof, **style.look)
        top = machine.half_rate / 1e9
        label = f"{machine.name}, ridge at {machine.ridge():.3g}"
        look = {"color": style.color, "va": "top", "ha": "right", "fontsize": 8}
        note(axes, label, (most, top), (-2, -5), **look)
        at = [(f, min(machine.half_rate, f * machine.bandwidth) / 1e9) for _, f in products]
        axes.plot(*zip(*at), style.marker, color=style.color, ms=5)
    for name, intensity in products:
        axes.axvline(intensity, color=MUTED, lw=0.7, ls=":")
        upright = {"rotation": 90, "ha": "right", "va": "bottom"}
        note(axes, name, (intensity, 0.03), (-2, 0), xycoords=("data", "axes fraction"), **upright)
    axes.set(xscale="log", yscale="log", xlim=(LEAST, most), title="How fast it can be")
    axes.set_ylim(bottom=machines[0].bandwidth * LEAST / 1e10)
    axes.set(xlabel="flop for each byte, in float16", ylabel="Gflop/s at most")
