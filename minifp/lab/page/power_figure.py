"""The power curve: how likely EQUIVALENT is with so many seeds, if there is truly no difference."""

from functools import partial

from minifp.lab.conclusions.planning import counts, curve, needs_of
from minifp.lab.page.panel import Panel
from minifp.lab.statistics.power import POWER
from minifp.report.drawing import MUTED


def power(comparison, styles) -> Panel | None:
    """What pairs that there are say of others; None without."""
    needs = needs_of(comparison)
    if not needs:
        return None
    said = "; ".join(f"{n.arm} needs {n.seeds:,} seeds" for n in needs) + "."
    draw = partial(draw_power, needs=needs, styles=styles)
    return Panel("power", "Power, by the number of seeds", draw, said)


def shown(comparison, styles) -> dict:
    """The styles of the arms that have a curve."""
    return {need.arm: styles[need.arm] for need in needs_of(comparison)}


def draw_power(axes, needs, styles):
    """A line for each arm, a dot where it is now, and the power that is aimed at."""
    seeds = counts(needs)
    axes.axhline(POWER, color=MUTED, linewidth=0.8)
    for need in needs:
        style = styles[need.arm]
        look = {"color": style.color, "linestyle": style.line, "linewidth": style.width}
        axes.plot(seeds, curve(need, seeds), **look)
        if need.pairs >= seeds[0]:
            axes.plot(need.pairs, need.now, marker=style.marker, markersize=6, color=style.color)
    axes.set_ylim(0, 1.03)
    axes.set_xlim(seeds[0], seeds[-1])
    axes.set_xlabel(f"seeds; line: a power of {POWER:.0%}")
