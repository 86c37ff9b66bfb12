"""What there is to draw of a tape: boxes of nodes and of what they were given, and edges."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minifp.autograd.replay import Outputs, unobserved
from minifp.autograd.tape import Tensor
from minifp.derive.dtypes import name_of
from minifp.runtime.device import is_array
from minifp.scope.tracing.repeating import (
    WEIGHT,
    arguments_named,
    check_recorded,
    module_of,
    operation_of,
)
from minifp.scope.tracing.visits import forward
from minifp.training.diagnosis import Recorded

GIVEN = "given"  # the operation of a box that none made


@dataclass(frozen=True)
class Box:
    """A node. operation: its name, "weight", or "given". label: what is written in it: the
    operation, or the weight's name. module: of the module that it belongs to. format: of what it
    makes. x, y: its place: layers are 0, 1, ... in y, and in each x is 0, 1, ... about a middle
    that all layers have in common.
    """

    number: int
    operation: str
    label: str
    module: str
    format: str
    x: float = 0.0
    y: int = 0


@dataclass(frozen=True)
class Edge:
    """A value that box `source` makes and `target` reads. label: "float16 (32, 128)"."""

    source: int
    target: int
    label: str
    format: str


def graph_of(recorded: Recorded) -> tuple[list[Box], list[Edge]]:
    """The boxes, each after those that it reads from, and the edges. The step is done again, as the
    tape does not keep what is between.
    """
    check_recorded("the graph of the tape", recorded)
    outputs: Outputs = {}
    order = recorded.order[::-1]
    with unobserved(), np.errstate(all="ignore"):
        for _ in forward(order, outputs, []):
            pass
    graph = Graph(outputs)
    for node in order:
        graph.add(node)
    return graph.boxes, graph.edges


class Graph:
    """Boxes and edges as they are found."""

    def __init__(self, outputs: Outputs) -> None:
        self.outputs = outputs
        self.boxes: list[Box] = []
        self.edges: list[Edge] = []
        self.numbers: dict[Any, int] = {}

    def add(self, node: Any) -> None:
        """One of the step."""
        if isinstance(node, Tensor):
            name = module_of(node) or WEIGHT
            self.numbers[node] = self.box(WEIGHT, name, "", node.array)
            return
        reads = [self.read(node, i) for i in range(len(node.parents))]
        result = self.outputs[node][0].array
        number = self.box(operation_of(node), node.op, module_of(node), result)
        self.numbers[node] = number
        for source, array in filter(None, reads):
            text = f"{name_of(array.dtype)} {array.shape}"
            self.edges.append(Edge(source, number, text, name_of(array.dtype)))
            if self.boxes[source].operation == WEIGHT and not self.boxes[source].module:
                self.boxes[source] = replace(self.boxes[source], module=node.module)

    def read(self, node: Any, i: int) -> tuple[int, Any] | None:
        """(the box, the array) of an argument; None for one that is no array with dimensions."""
        parent, index = node.parents[i]
        if parent is not None:
            return self.numbers[parent], self.outputs[parent][index].array
        array = node.call[1][i]
        if not is_array(array) or not array.ndim:
            return None
        name = arguments_named(node)[i]
        return self.box(GIVEN, f"{name} of {node.op}", node.module, array), array

    def box(self, operation: str, label: str, module: str, array: Any) -> int:
        """A further box; its number."""
        number = len(self.boxes)
        self.boxes.append(Box(number, operation, label, module, name_of(array.dtype)))
        return number
