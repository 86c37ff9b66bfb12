"""Which words of a sentence a translation was made from: attention, drawn."""

from collections.abc import Sequence

import numpy as np

from minifp.errors import ShapeError
from minifp.lab.attachments import Picture
from minifp.report import drawing

OF_A_PIECE = 0.32  # inches


def draw_alignment(
    weights: np.ndarray, source: Sequence[str], target: Sequence[str]
) -> Picture | str:
    """Return a Picture of attention weights (T, S), a row for each piece of the translation, from
    white (0) to black (1): figure 3 of Bahdanau et al. 2015 (arXiv:1409.0473), there on black.

    source, target: S and T texts. Where matplotlib is missing it is a table, as text. Raises
    ShapeError for weights of another shape.
    """
    weights = np.asarray(weights)
    if weights.shape != (len(target), len(source)):
        raise ShapeError(
            f"draw_alignment: weights of shape {weights.shape}, expected ({len(target)}, "
            f"{len(source)}) for the pieces of the translation and of the sentence"
        )
    if not drawing.is_available():
        return as_text(weights, source, target)
    return Picture(pixels(figure(weights, source, target)))


def as_text(weights, source, target) -> str:
    """A line for each piece of the translation: its weights in percent, most first."""
    lines = []
    for piece, row in zip(target, weights):
        most = [s for s in np.argsort(-row, kind="stable") if row[s] >= 0.05]
        lines.append(f"{piece}: " + ", ".join(f"{source[s]} {100 * row[s]:.0f}%" for s in most))
    return "\n".join(lines) + "\n"


def figure(weights, source, target):
    """The weights as a field, from white (0) to black (1)."""
    from matplotlib.figure import Figure

    with drawing.settings(**{"axes.grid": False}):
        wide, tall = (1.3 + OF_A_PIECE * len(pieces) for pieces in (source, target))
        drawn = Figure(figsize=(wide, tall), dpi=100)
        drawn.set_layout_engine("constrained")
        axes = drawn.subplots()
        axes.imshow(weights, cmap="gray_r", vmin=0, vmax=1, aspect="equal")
        axes.set_xticks(range(len(source)), source, rotation=90)
        axes.set_yticks(range(len(target)), target)
        axes.xaxis.tick_top()
        drawing.settle(drawn)
    return drawn


def pixels(drawn) -> np.ndarray:
    """(H, W, 3) numbers from 0 to 255 of a figure."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with drawing.settings(**{"axes.grid": False}):
        canvas = FigureCanvasAgg(drawn)
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[:, :, :3].copy()
