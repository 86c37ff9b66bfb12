"""What `explain` finds: a number, or an operation, in every format, and how it is told.

Everything is computed with integers and fractions; a printed number is exact, or correctly rounded
after a "~". Texts are read exactly and rounded once, directly to each format: "0.1" in float16 is
not 0.1 in float64 rounded again.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from minifp.errors import ArgumentError
from minifp.numerics.formats import DESCRIBED, Format, format_named, names
from minifp.scope.explaining import describe, explained_text
from minifp.scope.explaining.arithmetic import Operation, operation
from minifp.scope.explaining.operands import Operand
from minifp.scope.explaining.rounding import Rounded, rounded

ONCE = "Rounded once, directly to each format, to nearest, ties to even."
STEPWISE = (
    "In each format, a and b are rounded once, to nearest, ties to even. Then the exact result of "
    "the stored numbers is rounded once more."
)


class Explained(Mapping):
    """What `explain` found, by the name of the format. Shows itself in terminals and notebooks."""

    title: str
    notes: list[str]
    found: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    def rows(self, name: str) -> describe.Rows:
        """What is told of one format."""
        raise NotImplementedError

    def lines(self) -> list[describe.Line]:
        """What is told in a line of each: describe.HEADS."""
        raise NotImplementedError

    def text(self, style: explained_text.Style = explained_text.plain) -> str:
        """For a terminal, in at most 100 columns. style: (text, role) with the role's colour."""
        lines = explained_text.heading(self.title, self.notes, style)
        lines += explained_text.table(describe.HEADS, self.lines(), style)
        for name in self:
            lines += explained_text.block(name, self.rows(name), style)
        return "\n".join(lines)

    def __repr__(self):
        return self.text()

    def _repr_html_(self) -> str:
        from minifp.scope.page.explained import fragment

        return fragment(
            self.title, self.notes, self.lines(), {name: self.rows(name) for name in self}
        )


class ExplainedNumber(Explained):
    """One number in each format, as a Rounded: `explain(0.1)["float16"].value`."""

    found: dict[str, Rounded]

    def __init__(self, x: Operand, formats: Iterable[Format] = tuple(DESCRIBED.values())) -> None:
        self.x, self.title = x, x.text
        self.notes = [f"{x.origin[0].upper()}{x.origin[1:]}.", ONCE]
        self.found = {format.name: rounded(x.exact, format) for format in formats}

    def rows(self, name: str) -> describe.Rows:
        """What is told of one format."""
        return describe.number(self.found[name])

    def lines(self) -> list[describe.Line]:
        """What is told in a line of each."""
        return [*map(describe.number_line, self.found.values())]


class ExplainedOperation(Explained):
    """An operation in each format: `explain("1 + 0.0005")["float16"].result.value`."""

    found: dict[str, Operation]

    def __init__(
        self, a: Operand, symbol: str, b: Operand,
        formats: Iterable[Format] = tuple(DESCRIBED.values()),
    ) -> None:  # fmt: skip
        self.a, self.symbol, self.b = a, symbol, b
        self.title = f"{a.text} {symbol} {b.text}"
        self.notes = [f"a: {a.origin}; b: {b.origin}.", STEPWISE]
        self.found = {
            format.name: operation(a.exact, symbol, b.exact, format) for format in formats
        }

    def rows(self, name: str) -> describe.Rows:
        """What is told of one format."""
        return describe.steps(self.found[name])

    def lines(self) -> list[describe.Line]:
        """What is told in a line of each."""
        return [*map(describe.operation_line, self.found.values())]


def formats_of(chosen: Any) -> list[Format]:
    """The formats of names, or Formats, one or several. Raises ArgumentError for what is none."""
    if chosen is None:
        return [*DESCRIBED.values()]
    several = [chosen] if isinstance(chosen, (str, Format)) else chosen
    if not isinstance(several, Iterable) or not (several := list(several)):
        raise ArgumentError(f"explain: formats={chosen!r:.60}: expected names: {names()}")
    formats = []
    for name in several:
        format = name if isinstance(name, Format) else format_named(str(name))
        if format is None:
            raise ArgumentError(f"explain: no number format {name!r:.60}: expected {names()}")
        formats.append(format)
    return formats
