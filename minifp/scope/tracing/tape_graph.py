"""The tape of one step as a graph, with a place for each box.

Boxes are weights, operations, and what they were given (a batch, a mask); edges are values, with
format and shape, from what makes them to what reads them.
"""

from collections import defaultdict
from dataclasses import dataclass, replace
from statistics import fmean

from minifp.scope.tracing.tape_boxes import Box, Edge, graph_of
from minifp.training.diagnosis import Recorded

SWEEPS = 4  # over all layers, down and up, in which boxes move toward their neighbours


@dataclass(frozen=True)
class Layout:
    """The boxes with their places, and the edges. width, height: of all layers, in places."""

    boxes: list[Box]
    edges: list[Edge]
    width: int
    height: int


def layout(recorded: Recorded) -> Layout:
    """A place for each node of a step, by the longest path from it to the loss.

    recorded: as for `reference_run`. The boxes of a layer are ordered by the mean place of their
    neighbours,
    which keeps most edges from crossing (Sugiyama et al. 1981). Raises TapeError for a step that is
    forgotten, DeviceError for one on a GPU.
    """
    boxes, edges = graph_of(recorded)
    layers = layers_of(len(boxes), edges)
    rows: list[list[int]] = [[] for _ in range(max(layers) + 1)]
    for number, layer in enumerate(layers):
        rows[layer].append(number)
    places = ordered(rows, edges)
    boxes = [replace(b, x=places[b.number], y=layers[b.number]) for b in boxes]
    return Layout(boxes, edges, max(map(len, rows)), len(rows))


# ---- where it is drawn --------------------------------------------------------------------------


def layers_of(count: int, edges: list[Edge]) -> list[int]:
    """The layer of each box: as far above the loss as the longest path to it is long, so that
    weights and their casts stand just above what reads them. Boxes come after what they read from.
    """
    above = [0] * count
    for e in sorted(edges, key=lambda e: -e.target):
        above[e.source] = max(above[e.source], above[e.target] + 1)
    return [max(above) - n for n in above]


def ordered(rows: list[list[int]], edges: list[Edge]) -> list[float]:
    """Where each box stands in its layer, after sweeps that take each toward its neighbours."""
    beside = defaultdict(list)
    for e in edges:
        beside[e.source].append(e.target)
        beside[e.target].append(e.source)
    places = [0.0] * sum(map(len, rows))
    for row in rows:
        spread(row, places)
    for sweep in range(SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            means = {n: fmean([places[b] for b in beside[n]] or [places[n]]) for n in row}
            row.sort(key=means.__getitem__)
            spread(row, places)
    return places


def spread(row: list[int], places: list[float]) -> None:
    """Put a layer's boxes one beside the other, about the middle."""
    for i, number in enumerate(row):
        places[number] = i - (len(row) - 1) / 2
