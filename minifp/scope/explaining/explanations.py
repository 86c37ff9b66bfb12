"""What `explain` finds: a number, or an operation, in every format, and how it is told.

Everything is computed with integers and fractions; a printed number is exact, or correctly rounded
after a "~". Texts are read exactly and rounded once, directly to each format: "0.1" in float16 is
not 0.1 in float64 rounded again.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from markupsafe import Markup

from minifp.errors import ArgumentError
from minifp.numerics.formats import DESCRIBED, Format, format_named, names
from minifp.report import rendering
from minifp.report.content import Document, Facts, Section, Table
from minifp.report.documented import Shown
from minifp.report.markup import paragraph, part
from minifp.report.pieces import Pieces, Style, plain
from minifp.scope.explaining import describe
from minifp.scope.explaining.arithmetic import Operation, operation
from minifp.scope.explaining.operands import Operand
from minifp.scope.explaining.rounding import Rounded, rounded

ONCE = "Rounded once, directly to each format, to nearest, ties to even."
STEPWISE = (
    "In each format, a and b are rounded once, to nearest, ties to even. Then the exact result of "
    "the stored numbers is rounded once more."
)
BITS = Markup(
    'In the bits: <span class="sign">sign</span>, <span class="exponent">exponent</span>, '
    '<span class="mantissa">mantissa</span>. A number after ≈ is rounded correctly; all others are '
    "exact."
)


class Explained(Shown, Mapping):
    """What `explain` found, by the name of the format. Shows itself in terminals and notebooks."""

    title: str
    notes: list[str]
    by_format: Mapping[str, Any]
    rows_of: Any  # what is told of one result,
    line_of: Any  # and the same in a line: describe.HEADS

    def __getitem__(self, name: str) -> Any:
        return self.by_format[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_format)

    def __len__(self) -> int:
        return len(self.by_format)

    def rows(self, name: str) -> describe.Rows:
        """What is told of one format."""
        return self.rows_of(self[name])

    def lines(self) -> list[describe.Line]:
        """What is told in a line of each."""
        return [*map(self.line_of, self.values())]

    def document(self) -> Document:
        """How the numbers were read, a table of all formats, and a card for each."""
        lines = [[*map(Pieces, line)] for line in self.lines()]
        table = Table("In each format", [describe.HEADS, *lines], text_columns=(1, 2, 3))
        cards = (
            Facts([(label, Pieces(*pieces)) for label, pieces in self.rows(name)], name)
            for name in self
        )
        return Document(
            title=self.title,
            about=" ".join(self.notes),
            sections=[Section("", [table, paragraph(BITS, "small"), *cards])],
            style=part("explanation.css", __package__),
        )

    def text(self, style: Style = plain) -> str:
        """For a terminal, in at most 100 columns. style: (text, role) with the role's colour."""
        return f"{style(self.title, 'title')}\n{rendering.terminal(self.document(), style)}"

    def table(self) -> str:
        """The same without colours."""
        return self.text()

    def _repr_html_(self) -> str:
        return rendering.inline(self.document(), "explained")


class ExplainedNumber(Explained):
    """One number in each format, as a Rounded: `explain(0.1)["float16"].value`."""

    by_format: dict[str, Rounded]
    rows_of, line_of = staticmethod(describe.number), staticmethod(describe.number_line)

    def __init__(self, x: Operand, formats: Iterable[Format]) -> None:
        self.x, self.title = x, x.text
        self.notes = [f"{x.origin[0].upper()}{x.origin[1:]}.", ONCE]
        self.by_format = {format.name: rounded(x.exact, format) for format in formats}


class ExplainedOperation(Explained):
    """An operation in each format: `explain("1 + 0.0005")["float16"].result.value`."""

    by_format: dict[str, Operation]
    rows_of, line_of = staticmethod(describe.steps), staticmethod(describe.operation_line)

    def __init__(self, a: Operand, symbol: str, b: Operand, formats: Iterable[Format]) -> None:
        self.a, self.symbol, self.b = a, symbol, b
        self.title = f"{a.text} {symbol} {b.text}"
        self.notes = [f"a: {a.origin}; b: {b.origin}.", STEPWISE]
        self.by_format = {f.name: operation(a.exact, symbol, b.exact, f) for f in formats}


def formats_of(choice: Any) -> list[Format]:
    """The formats of names, or Formats, one or several. Raises ArgumentError for what is none."""
    if choice is None:
        return [*DESCRIBED.values()]
    several = [choice] if isinstance(choice, (str, Format)) else choice
    if not isinstance(several, Iterable) or not (several := list(several)):
        raise ArgumentError(f"explain: formats={choice!r:.60}: expected names: {names()}")
    formats = []
    for name in several:
        format = name if isinstance(name, Format) else format_named(str(name))
        if format is None:
            raise ArgumentError(f"explain: no number format {name!r:.60}: expected {names()}")
        formats.append(format)
    return formats
