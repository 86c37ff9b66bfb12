"""What `explain` finds: a number, or an operation, in every format, and how it is told.

Everything is computed with integers and fractions; a printed number is exact, or correctly rounded
after a "~". Texts are read exactly and rounded once, directly to each format: "0.1" in float16 is
not 0.1 in float64 rounded again.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from minifp.numerics.formats import DESCRIBED
from minifp.scope.explaining import describe, explained_text
from minifp.scope.explaining.arithmetic import Operation, operation
from minifp.scope.explaining.operands import Operand
from minifp.scope.explaining.rounding import Rounded, rounded

ONCE = "Rounded once, directly to each format, to nearest, ties to even."
STEPWISE = (
    "In each format a and b are rounded once, to nearest, ties to even; the exact result of what "
    "is then stored is rounded once more."
)


class Explained(Mapping):
    """What `explain` found, by the name of the format. Shows itself in terminals and notebooks."""

    title: str
    notes: list[str]

    def __getitem__(self, name: str) -> Any:
        raise NotImplementedError

    def __iter__(self) -> Iterator[str]:
        return iter(DESCRIBED)

    def __len__(self) -> int:
        return len(DESCRIBED)

    def rows(self, name: str) -> describe.Rows:
        """What is told of one format."""
        raise NotImplementedError

    def text(self, style: explained_text.Style = explained_text.plain) -> str:
        """For a terminal, in at most 100 columns. style: (text, role) with the role's colour."""
        lines = explained_text.heading(self.title, self.notes, style)
        for name in self:
            lines += explained_text.block(name, self.rows(name), style)
        return "\n".join(lines)

    def __repr__(self):
        return self.text()

    def _repr_html_(self) -> str:
        from minifp.scope.page.explained import fragment

        return fragment(self.title, self.notes, {name: self.rows(name) for name in self})


class ExplainedNumber(Explained):
    """One number in each format, as a Rounded: `explain(0.1)["float16"].value`."""

    def __init__(self, x: Operand) -> None:
        self.x, self.title = x, x.text
        self.notes = [f"{x.origin[0].upper()}{x.origin[1:]}.", ONCE]
        self.found = {name: rounded(x.exact, format) for name, format in DESCRIBED.items()}

    def __getitem__(self, name: str) -> Rounded:
        return self.found[name]

    def rows(self, name: str) -> describe.Rows:
        """What is told of one format."""
        return describe.number(self.found[name])


class ExplainedOperation(Explained):
    """An operation in each format: `explain("1 + 0.0005")["float16"].result.value`."""

    def __init__(self, a: Operand, symbol: str, b: Operand) -> None:
        self.a, self.symbol, self.b = a, symbol, b
        self.title = f"{a.text} {symbol} {b.text}"
        self.notes = [f"a: {a.origin}; b: {b.origin}.", STEPWISE]
        self.found = {
            name: operation(a.exact, symbol, b.exact, format) for name, format in DESCRIBED.items()
        }

    def __getitem__(self, name: str) -> Operation:
        return self.found[name]

    def rows(self, name: str) -> describe.Rows:
        """What is told of one format."""
        return describe.steps(self.found[name])
