"""What is shown of a result, whichever way: texts, tables, pictures and facts, without any markup.

rendering.py has one renderer for each way; a result that has a Document needs none of its own.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from minifp.report.charts import Group
from minifp.report.look import Look
from minifp.report.rows import Rows

# Of a table: for each head what a record's cell is.
Columns = Mapping[str, str | Callable[[Any], str]]


@dataclass(frozen=True)
class Table:
    """rows: texts, the head first. text_columns: which stand left, beside the first column.
    is_grouped: whether the first column names a group of rows, which a terminal writes above them.
    code: whether the first column, or that behind the group's, is set as code. brief: the columns
    that terminals and Markdown have, all without; none where it is empty. is_folded: whether a page
    folds it at first; others then go without, unless it is in brief. is_named: whether terminals
    have the caption above it. most: how many rows they have, the head included."""

    caption: str
    rows: Sequence[Sequence[str]]
    text_columns: tuple[int, ...] = ()
    code: bool = False
    is_grouped: bool = False
    brief: tuple[int, ...] | None = None
    is_folded: bool = False
    is_named: bool = False
    most: int | None = None

    @classmethod
    def of(cls, caption: str, records: Iterable[Any], columns: Columns, **how: Any) -> "Table":
        """A row for each record. columns: for each head what a record's cell is: a format, such as
        "{loss:.3g}" of a record that is a dict, or a function of the record."""
        cells = [c.format_map if isinstance(c, str) else c for c in columns.values()]
        return cls(caption, [[*columns], *([cell(r) for cell in cells] for r in records)], **how)


@dataclass(frozen=True)
class Picture:
    """name: of its file. said: what it shows, in words. draw: makes the matplotlib Figure, or None
    where there is nothing to draw; it may heed the Look, as what is for print does, or not. is_map:
    as wide as it must be, so that a narrow screen scrolls it, by keys too. Charts that are data are
    a Group of lines, or Rows."""

    name: str
    title: str
    said: str
    draw: Callable[[Look], Any]
    caption: str | None = None
    is_map: bool = False


@dataclass(frozen=True)
class Facts:
    """Names and their texts, which may be Pieces. title: what stands above them, on a card."""

    rows: Sequence[tuple[str, Any]]
    title: str = ""


@dataclass(frozen=True)
class Links:
    """Pages beside this one: for each line, (path, text) of its links."""

    lines: Sequence[Sequence[tuple[str, str]]]


@dataclass(frozen=True)
class Finding:
    """A verdict on something, and its reasons."""

    name: str
    verdict: str
    text: str

    def __str__(self):
        return f"{self.name}: {self.verdict}. {self.text}"


# A text is a paragraph; pictures in a list stand side by side. Markup, what makes some, and lists
# of findings, are for pages alone.
Drawn = Picture | Rows | Group
Several = Sequence[Picture | Rows] | Sequence[Finding]
Part = str | Table | Drawn | Facts | Links | Markup | Callable[[], Markup] | Several


@dataclass(frozen=True)
class Section:
    """A title and what belongs to it, which a page can fold; without a title it stands on top.
    is_folded: details, which a page folds at first, and of which terminals and Markdown have only
    tables that are in brief."""

    title: str
    parts: Sequence[Part]
    is_folded: bool = False


@dataclass(frozen=True)
class Document:
    """All that is shown of a result.

    name: of its files. about: what was done, and how to read it. findings: what follows, the first
    the most important. notes: what must be known beside. data: what JSON has, None for no file;
    records: for each file of CSV its rows, the head first. style, script: of its page alone.
    caption: what must be said with each picture.
    """

    name: str = ""
    title: str = ""
    about: str = ""
    findings: Sequence[str | Finding] = ()
    sections: Sequence[Section] = ()
    notes: Sequence[str] = ()
    data: Any = None
    records: Mapping[str, Sequence[Sequence[Any]]] = field(default_factory=dict)
    style: Markup = Markup()
    script: Markup = Markup()
    caption: str = ""

    @property
    def drawn(self) -> Iterator[Drawn]:
        """Its pictures and charts, also those side by side."""
        for section in self.sections:
            for part in section.parts:
                parts = part if isinstance(part, list) else [part]
                yield from (one for one in parts if isinstance(one, Drawn))
