"""Lesson 13: how far sampler and trainer are apart by bits of mantissa, and what is learned."""

from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from typing import Any

import numpy as np

from minifp.report.drawing import GRID, MUTED, STYLES
from minifp.teach.drawings import note

COLUMNS = "format", "bits of mantissa", "mismatch of a letter", "trained as", "reward at the end"
NAMED = {10: "float16", 7: "bfloat16", 23: "float32"}


def mismatch_and_reward(
    mismatch: Mapping[int, float], rewards: Mapping[str, Sequence[Sequence[float]]]
) -> Any:
    """A figure of two panels, one above the other.

    mismatch: of formats by their bits of mantissa, the mean |log p_sampler - log p_trainer| of a
    letter. rewards: of each precision, the reward of each step, for each seed.
    """
    import matplotlib.pyplot as plt

    figure, (above, below) = plt.subplots(2, 1, figsize=(4.6, 5.4), layout="constrained")
    draw_mismatch(above, mismatch)
    draw_rewards(below, rewards)
    return figure


def table(
    formats: Mapping[int, str], mismatch: Mapping[int, float], final: Mapping[str, float]
) -> list[tuple]:
    """What the figure shows, by COLUMNS. formats, mismatch: by bits of mantissa. final: rewards at
    the end, by precision."""
    trained = chain(final.items(), repeat(("", "")))
    return [(formats[b], b, float(mismatch[b]), *reward) for b, reward in zip(mismatch, trained)]


def draw_mismatch(axes: Any, mismatch: Mapping[int, float]) -> None:
    """A point for each format, and a line that halves with each bit, through float16's."""
    bits = np.array(sorted(mismatch))
    line = mismatch[10] * 2.0 ** (10 - bits)
    axes.plot(bits, line, color=MUTED, lw=1, ls=(0, (4, 3)), label="half with each bit")
    for b in bits:
        style = STYLES[{10: 1, 7: 2}.get(b, 0)]
        axes.plot(b, mismatch[b], style.marker, color=style.color, ms=6)
        if b in NAMED:
            note(axes, NAMED[b], (b, mismatch[b]), (5, 5), color=style.color, fontsize=None)
    axes.set_yscale("log")
    axes.set_xticks([int(b) for b in bits])
    axes.margins(x=0.14)
    axes.set(xlabel="bits of mantissa", ylabel="|log p, sampler - trainer|")
    axes.set_title("Mismatch of a letter")
    axes.legend(loc="lower left")


def draw_rewards(axes: Any, rewards: Mapping[str, Sequence[Sequence[float]]]) -> None:
    """A broad line for the mean over seeds, thin ones for single seeds."""
    for style, (name, seeds) in zip(STYLES, rewards.items()):
        curves = np.array(seeds)
        axes.plot(curves.T, color=style.color, lw=0.5, alpha=0.4)
        marks = {"marker": style.marker, "ms": 4, "markevery": max(1, curves.shape[1] // 6)}
        axes.plot(curves.mean(0), label=name, **marks, **style.look)
    axes.axhline(1, color=GRID, lw=1)
    axes.set(xlabel="step", ylabel="reward of a letter", title="Reward")
    axes.legend(loc="lower right")
