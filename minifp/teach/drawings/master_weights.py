"""Lesson 3: accuracy by learning rate, a line for each way to keep the weights."""

from collections.abc import Mapping, Sequence
from typing import Any

from minifp.report.drawing import INK, STYLES


def table(
    rates: Sequence[float], accuracies: Mapping[str, Sequence[float]]
) -> tuple[list[str], list[list]]:
    """The columns and rows of the figure's numbers: a row for each rate."""
    columns = zip(*accuracies.values())
    rows = [[f"{lr:g}", *(f"{a:.1f}" for a in row)] for lr, row in zip(rates, columns)]
    return ["learning rate", *accuracies], rows


def accuracy_by_rate(
    rates: Sequence[float], accuracies: Mapping[str, Sequence[float]], limits: Mapping[str, float]
) -> Any:
    """The figure. accuracies: percent, by the name of the line, for each rate. limits: by a name,
    the rate at which a step of that size is half the gap at the median weight."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 4.6), layout="constrained")
    axes = figure.add_subplot()
    for (name, of), style in zip(accuracies.items(), STYLES):
        axes.plot(rates, of, label=name, marker=style.marker, ms=5.5, **style.look)
    for name, lr in limits.items():
        axes.axvline(lr, color=INK, lw=0.8, ls=(0, (1, 2)))
        look: Any = {"fontsize": 7.5, "color": INK, "ha": "center", "va": "bottom"}
        axes.text(lr, 101, f"half a gap,\n{name}", **look)
    axes.set(xscale="log", ylim=(0, 101), xlabel="learning rate of Adam", ylabel="accuracy, %")
    figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    return figure
