"""The tape of one step as a graph: its text for Graphviz, and positions to draw it without.

Boxes are weights, operations, and what they were given (a batch, a mask); edges are values, with
format and shape, from what makes them to what reads them.
"""

from collections import defaultdict
from dataclasses import dataclass, replace
from statistics import fmean

from minifp.numerics.formats import FORMATS
from minifp.scope.tracing.redone import WEIGHT
from minifp.scope.tracing.tape_boxes import GIVEN, Box, Edge, graph
from minifp.training.diagnosis import Recorded

# Fills on which black is read: of the formats that halve memory, of single, of double, of others.
COLOURS = dict(zip(FORMATS, ("#f0b13c", "#8fd0f7", "#de94bd")))
OTHERS = "#d8dee4"
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
    boxes, edges = graph(recorded)
    layers = layers_of(len(boxes), edges)
    rows: list[list[int]] = [[] for _ in range(max(layers) + 1)]
    for number, layer in enumerate(layers):
        rows[layer].append(number)
    places = ordered(rows, edges)
    placed = [replace(b, x=places[b.number], y=layers[b.number]) for b in boxes]
    return Layout(placed, edges, max(map(len, rows)), len(rows))


def graph_text(recorded: Recorded) -> str:
    """The tape in Graphviz's language: pipe it through `dot -Tsvg`. Raises as `layout`."""
    boxes, edges = graph(recorded)
    modules = defaultdict(list)
    for box in boxes:
        modules[box.module].append(box)
    lines = ["digraph tape {", "  node [shape=box, style=filled]"]
    for i, (module, those) in enumerate(modules.items()):
        inside = [f"    {node_text(box)}" for box in those]
        if module:
            inside = [f"  subgraph cluster_{i} {{", f"    label={quoted(module)}", *inside, "  }"]
        lines += inside
    for e in edges:
        colour = COLOURS.get(e.format, OTHERS)
        settings = f"label={quoted(e.label)}, color={quoted(colour)}"
        lines.append(f"  v{e.source} -> v{e.target} [{settings}]")
    return "\n".join([*lines, "}"]) + "\n"


def node_text(box: Box) -> str:
    """A box in Graphviz's language."""
    colour = COLOURS.get(box.format, OTHERS)
    shape = ", shape=ellipse" if box.operation in (WEIGHT, GIVEN) else ""
    return f"v{box.number} [label={quoted(box.label)}, fillcolor={quoted(colour)}{shape}]"


def quoted(text: str) -> str:
    """A text as Graphviz takes it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'


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
