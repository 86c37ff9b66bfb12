"""Lesson 5: how well a detector is trained with each loss scale, between two walls."""

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

from minifp.report.drawing import INK, MUTED, STYLES

COLUMNS = ("log2 S", "F1, each seed", "F1, mean", "steps skipped")
SKIPPED = "all steps skipped"
LETTERS = 8  # points


def table(scores: Mapping[int, Sequence[float]], dead: Sequence[int]) -> list[tuple]:
    """What the figure shows, by COLUMNS."""
    return [
        (k, ", ".join(f"{f1:.2f}" for f1 in of), mean(of), "all" if k in dead else "few or none")
        for k, of in sorted(scores.items())
    ]


def bathtub(
    scores: Mapping[int, Sequence[float]],
    dead: Sequence[int],
    float32: Sequence[float],
    walls: Mapping[str, float],
) -> Any:
    """The figure. scores: F1 of each seed, by log2 S. dead: of those at which every step was
    skipped. float32: its F1 of each seed. walls: where, as log2 S, they were predicted, by what."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 3.6), layout="constrained")
    axes = figure.subplots()
    grey, blue, red = STYLES[0], STYLES[1], STYLES[2]
    axes.axhspan(min(float32) - 0.005, max(float32) + 0.005, color=grey.color, alpha=0.45, lw=0)
    ks = sorted(scores)
    middle, under = (ks[0] + ks[-1]) / 2, 0.9 * min(float32)
    axes.text(middle, under, "float32, all seeds", ha="center", fontsize=LETTERS, color=INK)
    axes.plot(ks, [mean(scores[k]) for k in ks], color=blue.color, lw=blue.width)
    for alive, style in ((True, blue), (False, red)):
        some = [(k, f1) for k in ks if (k not in dead) == alive for f1 in scores[k]]
        look: Any = {"ms": 4.5, "color": style.color, "mec": "white", "mew": 0.4, "zorder": 3}
        axes.plot([k for k, _ in some], [f1 for _, f1 in some], "s" if alive else "X", **look)
    if dead:
        axes.text(min(dead) - 1, 0, SKIPPED, color=red.color, ha="right", fontsize=LETTERS)
    top = 1.12 * max([*float32, *(f1 for of in scores.values() for f1 in of)])
    for says, x in walls.items():
        axes.axvline(x, color=MUTED, lw=1.1, ls=(0, (4, 2)))
        side = "left" if x < middle else "right"
        axes.text(x, top * 1.02, says, ha=side, fontsize=LETTERS, color=INK)
    axes.set(xlabel="log2 of the loss scale S", ylabel="F1 on new scenes", ylim=(-0.03, top))
    return figure
