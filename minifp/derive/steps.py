"""One step of a sequence: a formula of many results, of numbers in rows of blocks of columns.

Its arrays are matrices of `blocks` times as many columns as the step has units. Which row of an
array belongs to sequence s of the step, is said by a word:

    row        row `start` + s of it, which has all rows of all steps
    sequence   row s, of a state that goes from step to step
    sums       the same, of products that wait in a workspace
    all        the only row, as of a bias
"""

from typing import Any, NamedTuple

from minifp.derive.symbol import Symbol
from minifp.derive.trace import Formula, Trace

ROUNDED = "as_stored"  # the function that rounds to the step's format, and widens again


class Operand(NamedTuple):
    """An array of a step: its dtype, which of its rows (see the module), how many blocks."""

    dtype: str
    rows: str
    blocks: int


class Step:
    """A formula that is being written down. dtype: in which numbers are stored.

    operands: its arrays, by name. reads: (name, block) of each number that is read. loops: of each
    loop over units what it writes, (node, (name, block)): see `begin_loop`.
    """

    def __init__(self, name: str, dtype: str) -> None:
        self.name, self.dtype, self.trace = name, dtype, Trace()
        self.operands: dict[str, Operand] = {}
        self.reads: list[tuple[str, int]] = []
        self.loops: list[list] = [[]]

    def read(self, name: str, rows: str, blocks: int = 1, dtype: str | None = None) -> list:
        """The symbols of the blocks of an array that is read."""
        operand = self.operands[name] = Operand(dtype or self.dtype, rows, blocks)
        found = []
        for block in range(blocks):
            found.append(self.trace.argument(len(self.reads), operand.dtype))
            self.reads.append((name, block))
        return found

    def write(self, name: str, rows: str, *values: Any, dtype: str | None = None) -> None:
        """Write values into the blocks of an array."""
        self.operands[name] = Operand(dtype or self.dtype, rows, len(values))
        for block, value in enumerate(values):
            self.loops[-1].append((self.trace.graph.enter(value.node), (name, block)))

    def begin_loop(self) -> None:
        """Write what follows in another loop over units, which reads what was stored before: in a
        short loop the processor has several units under way."""
        self.loops.append([])

    def store(self, x: Symbol) -> Symbol:
        """x as it is stored."""
        return x.call(ROUNDED)

    @property
    def results(self) -> list:
        """(node, (name, block)) of all that is written."""
        return [result for loop in self.loops for result in loop]

    def formula(self) -> Formula:
        """All that is computed."""
        return Formula(self.name, [node for node, _ in self.results], True, {}, [])
