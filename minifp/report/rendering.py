"""A Document for each who reads it: terminals, pages, notebooks, Markdown, LaTeX, JSON and CSV."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from markupsafe import Markup

from minifp.report import document as frame
from minifp.report import drawing, in_notebook, markup, words
from minifp.report.content import Document, Facts, Links, Part, Picture, Section, Table
from minifp.report.csv_text import csv_text
from minifp.report.json_text import json_text
from minifp.report.look import SCREEN, Look
from minifp.report.plain_text import columns, fill

NUMBERS = re.compile(r"[-+±<\[\]\d.,e ]*\d[-+±<\[\]\d.,e ]*")  # a cell that LaTeX sets as a formula
SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: "\\" + character for character in "&%$#_{}"},
}


def contents(document: Document, figures: str | None = None, look: Look = SCREEN) -> dict:
    """The files of a document by their names: numbers, tables, the page, and with figures="png",
    "svg" or "pdf" the pictures."""
    texts: dict = {f"{document.name}.md": markdown(document)}
    texts |= {f"{document.name}.html": page(document)}
    texts |= {f"{name}.csv": csv_text(rows) for name, rows in document.records.items()}
    if document.data is not None:
        texts[f"{document.name}.json"] = json_text(document.data, indent=1)
    for picture in document.pictures if figures is not None else ():
        if (figure := picture.draw(look)) is not None:
            content = drawing.bytes_of(figure, figures, **look.settings())
            texts[f"{picture.name}.{figures}"] = content
    return texts


# ---- for people at a terminal, and for other documents -------------------------------------------


def terminal(document: Document) -> str:
    """Texts, tables, then findings and notes, at most 100 columns wide where that can be."""
    said = (fill(text, hang="  ") for text in (*document.findings, *document.notes))
    parts = [fill(document.about), *_read(document, _plain), "\n".join(said)]
    return "\n\n".join(filter(None, parts))


def markdown(document: Document) -> str:
    """The same with tables that other documents can hold."""
    said = "\n".join(f"- {words.printed(t)}" for t in (*document.findings, *document.notes))
    parts = [words.printed(document.about), *_read(document, _marked, "### "), said]
    return "\n\n".join(filter(None, parts)) + "\n"


def _read(document: Document, render: Callable, mark: str = "") -> Iterator[str]:
    """The texts of its sections, below their titles, without details and what only pages have."""
    for section in document.sections:
        parts = [render(p) for p in section.parts if isinstance(p, Table) or type(p) is str]
        if parts and not section.is_folded:
            yield from (mark + section.title, *parts)


def _plain(part: str | Table) -> str:
    if isinstance(part, str):
        return fill(part)
    if not part.is_grouped:
        return columns([*part.rows], text_columns=(0, *part.text_columns))
    texts = columns([row[1:] for row in part.rows], (0, *(i - 1 for i in part.text_columns)))
    head, line, *rest = texts.split("\n")
    groups = [row[0] for row in part.rows[1:]]
    news = [[group] * (i == 0 or group != groups[i - 1]) for i, group in enumerate(groups)]
    return "\n".join([head, line, *chain(*([*new, text] for new, text in zip(news, rest)))])


def _marked(part: str | Table) -> str:
    if isinstance(part, str):
        return words.printed(part)
    head, *rows = [[cell.replace("|", r"\|") for cell in row] for row in _printed(part)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def _printed(table: Table) -> list[list[str]]:
    """Its rows, with real minus signs behind the first column."""
    return [[first, *map(words.printed, rest)] for first, *rest in table.rows]


def latex(table: Table, groups: Iterable[int] = (), notes: Iterable[str] = ()) -> str:
    """A tabular of the package booktabs. groups: how many rows stand together, in their order; all
    of them, without. notes: what its caption must say, above it as comments."""
    head, *rows = table.rows
    sides = ["l" if i in (0, *table.text_columns) else "r" for i in range(len(head))]
    lines = ["% \\usepackage{booktabs}", *(f"% {' '.join(text.split())}" for text in notes)]
    lines += [rf"\begin{{tabular}}{{{''.join(sides)}}}", r"\toprule", latex_row(head)]
    for count in groups or (len(rows),):
        named = [[rf"\texttt{{{escaped(row[0])}}}" if table.code else row[0], *row[1:]]
                 for row in rows[:count]]  # fmt: skip
        lines += [r"\midrule"] + [latex_row(row, table.code) for row in named]
        rows = rows[count:]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def latex_row(cells: Sequence[str], is_set: bool = False) -> str:
    """A line of it. is_set: whether the first cell is LaTeX already."""
    texts = [cell if is_set and i == 0 else latex_cell(cell) for i, cell in enumerate(cells)]
    return " & ".join(texts) + r" \\"


def latex_cell(text: str) -> str:
    """A cell: numbers as a formula, other texts escaped."""
    if NUMBERS.fullmatch(text):
        return f"${text}$".replace("±", r"\pm")
    return escaped(text)


def escaped(text: str) -> str:
    """A text as LaTeX prints it."""
    return "".join(SPECIAL.get(character, character) for character in " ".join(text.split()))


# ---- as pages ------------------------------------------------------------------------------------


def page(document: Document, is_alone: bool = False) -> Markup:
    """A page that needs no network. is_alone: whether no other page lies beside it."""
    notes = Section("Notes", [markup.bullets(map(words.printed, document.notes))])
    sections = [*document.sections, *([notes] if document.notes else [])]
    content = [
        markup.header(document.title, words.printed(document.about)),
        markup.bullets(map(words.printed, document.findings)) if document.findings else "",
        "" if drawing.is_available() else markup.paragraph(f"{drawing.HOW_TO_GET}."),
        *(_section(section, is_alone) for section in sections),
    ]
    body = Markup("\n").join(filter(None, content))
    return frame.document(document.title, body, document.style)


def card(document: Document) -> Markup:
    """What a notebook shows: the findings, the first table, and the page to open."""
    parts = chain(*(section.parts for section in document.sections))
    tables = [part for part in parts if isinstance(part, Table)][:1]
    content = [markup.bullets(map(words.printed, document.findings))] if document.findings else []
    content += [in_notebook.plain_table(rows[0], rows[1:]) for rows in map(_printed, tables)]
    whole = page(document, is_alone=True)
    return in_notebook.card(document.title, Markup("\n").join(content), whole)


def _section(section: Section, is_alone: bool) -> Markup:
    parts = (part for part in section.parts if not (is_alone and isinstance(part, Links)))
    return markup.section(section.title, *map(_html, parts), folded=section.is_folded)


def _html(part: Part) -> Markup:
    if isinstance(part, Markup):
        return part
    if isinstance(part, str):
        return markup.paragraph(words.printed(part))
    if isinstance(part, Facts):
        return markup.facts(part.rows)
    if isinstance(part, Links):
        links = ([markup.link(*link) for link in line] for line in part.lines)
        return markup.bullets(map(Markup(", ").join, links))
    if isinstance(part, list):
        drawn = Markup("\n").join(filter(None, map(_html, part)))
        return Markup('<div class="pair">\n{}\n</div>').format(drawn) if drawn else drawn
    return _picture(part) if isinstance(part, Picture) else _table(part)


def _table(table: Table) -> Markup:
    head, *rows = _printed(table)
    name = markup.code if table.code else str
    place = int(table.is_grouped)
    cells = [[*row[:place], name(row[place]), *row[place + 1 :]] for row in rows]
    return markup.table(table.caption, head, cells, table.text_columns)


def _picture(picture: Picture) -> Markup:
    figure = picture.draw(SCREEN) if drawing.is_available() else None
    if figure is None:
        return Markup()
    said = words.printed(picture.said)
    svg = drawing.inline_svg(figure, picture.name, picture.title, said)
    if picture.is_map:  # it scrolls, by keys too
        frame = Markup('<figure class="map" role="group" tabindex="0" aria-label="{}">{}</figure>')
        return frame.format(picture.title, svg)
    return markup.wide(svg, picture.caption and words.printed(picture.caption))
