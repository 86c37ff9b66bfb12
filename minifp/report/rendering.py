"""A Document for each who reads it: terminals, pages, notebooks, Markdown, LaTeX, JSON and CSV."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from markupsafe import Markup

from minifp.errors import ArgumentError, MinifpError
from minifp.report import chart_markup, drawing, figures, in_notebook, markup, words
from minifp.report import document as frame
from minifp.report.charts import Group
from minifp.report.content import Document, Facts, Finding, Links, Part, Picture, Section, Table
from minifp.report.csv_text import csv_text
from minifp.report.json_text import json_text
from minifp.report.look import SCREEN, Look
from minifp.report.pieces import Pieces, Style, html, plain
from minifp.report.plain_text import columns, entries, fill
from minifp.report.rows import Rows

NUMBERS = re.compile(r"[-+±<\[\]\d.,e ]*\d[-+±<\[\]\d.,e ]*")  # a cell that LaTeX sets as a formula
SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: "\\" + character for character in "&%$#_{}"},
}
CAPTIONS = "captions.txt"
LONGEST_NAME = 20  # characters of a code on a line of a terminal; longer ones break at their commas
LONGEST = 26  # characters of a name in a table with its caption there
IN_PAGE = Look(width=4.2)  # inches, where letters grow with the picture
MOST_SECTIONS = 4  # of a page without a table of contents


def contents(document: Document, pictures: str | None = None, look: Look = SCREEN) -> dict:
    """The files of a document by their names: numbers, tables, the page, and with pictures="png",
    "svg" or "pdf" these too."""
    texts: dict = {f"{document.name}.md": markdown(document)}
    texts |= {f"{document.name}.html": page(document)}
    texts |= {f"{name}.csv": csv_text(rows) for name, rows in document.records.items()}
    if document.data is not None:
        texts[f"{document.name}.json"] = json_text(document.data, indent=1)
    return texts | (drawn(document, pictures, look) if pictures is not None else {})


# ---- as pictures ---------------------------------------------------------------------------------


def check_format(format: str) -> None:
    """Raise ArgumentError for a format that is none, MinifpError where there is no matplotlib."""
    if format not in drawing.FORMATS:
        raise ArgumentError(f"figures={format!r}: expected one of {', '.join(drawing.FORMATS)}")
    if not drawing.is_available():
        raise MinifpError(drawing.HOW_TO_GET)


def drawn(document: Document, format: str, look: Look = SCREEN) -> dict:
    """The pictures by the names of their files; for paper with captions.txt, which has what stands
    below each on a screen. Raises as `check_format` does."""
    check_format(format)
    contents: dict = {}
    captions = []
    for name, title, caption, draw in _drawings(document):
        if (figure := draw(look)) is not None:
            contents[f"{name}.{format}"] = drawing.bytes_of(figure, format, **look.settings())
            captions.append(f"{name}.{format}\n{title}. {caption}".rstrip() + "\n\n")
    if look.is_for_paper and captions:
        contents[CAPTIONS] = "".join(captions)
    return contents


def _drawings(document: Document) -> Iterator[tuple[str, str, str, Callable[[Look], Any]]]:
    """The name, the title and the caption of each picture, and what draws it."""
    for one in document.drawn:
        if isinstance(one, Picture):
            yield one.name, one.title, one.caption or "", one.draw
        elif isinstance(one, Rows):
            caption = _joined(one.note, document.caption)
            yield one.name, one.title, caption, partial(figures.of_rows, one, caption=caption)
        else:
            for panel in (panel for panel in one.panels if panel.is_drawn):
                arms = {line.arm for line in panel.lines}
                astray = any(arm.astray for arm in one.arms if arm.name in arms)
                caption = _joined(panel.note, figures.ASTRAY * astray, document.caption)
                draw = partial(figures.of_panel, panel, one, caption=caption)
                yield panel.name, panel.title, caption, draw


def _joined(*texts: str) -> str:
    return " ".join(filter(None, texts))


# ---- for people at a terminal, and for other documents -------------------------------------------


def terminal(document: Document, style: Style = plain) -> str:
    """Texts, tables, then findings and notes, at most 100 columns wide where that can be. style:
    the colours of Pieces, and of what is "muted" or a "title"."""
    said = (fill(str(text), hang="  ") for text in (*document.findings, *document.notes))
    render = partial(_plain, style=style)
    parts = [fill(document.about), *_read(document, render), "\n".join(said)]
    return "\n\n".join(filter(None, parts))


def markdown(document: Document) -> str:
    """The same with tables that other documents can hold."""
    said = (str(text) for text in (*document.findings, *document.notes))
    listed = "\n".join(f"- {words.printed(text)}" for text in said)
    parts = [words.printed(document.about), *_read(document, _marked, "### "), listed]
    return "\n\n".join(filter(None, parts)) + "\n"


def _read(document: Document, render: Callable, mark: str = "") -> Iterator[str]:
    """The texts of its sections, below their titles, without details and what only pages have."""
    for section in document.sections:
        parts = [_in_brief(part, section.is_folded) for part in section.parts]
        texts = [render(part) for part in parts if part is not None]
        if texts:
            yield from filter(None, (section.title and mark + section.title, *texts))


def _in_brief(part: Part, is_folded: bool) -> str | Table | Facts | None:
    """What terminals and Markdown have of a part."""
    if not is_folded and (type(part) is str or (isinstance(part, Facts) and part.title)):
        return part
    is_folded = is_folded or (isinstance(part, Table) and part.is_folded)
    if not isinstance(part, Table) or (part.brief is None and is_folded) or part.brief == ():
        return None
    if part.brief is None:
        return part
    places = {old: new for new, old in enumerate(part.brief)}
    texts = tuple(places[i] for i in part.text_columns if i in places)
    return replace(part, rows=[[row[i] for i in places] for row in part.rows], text_columns=texts)


def _plain(part: str | Table | Facts, style: Style = plain) -> str:
    if isinstance(part, str):
        return fill(part)
    if isinstance(part, Facts):
        return "\n".join([style(part.title, "title"), *entries(part.rows, style)])
    if part.is_named:
        rows = [[_end_of(row[0]), *row[1:]] for row in part.rows[: part.most]]
        more = len(part.rows) - len(rows)
        texts = [fill(part.caption), columns(rows, (0, *part.text_columns), style)]
        return "\n".join(texts + [f"(and {more} more)"] * (more > 0))
    if not part.is_grouped:
        rows = [[_broken(row[0]), *row[1:]] for row in part.rows] if part.code else part.rows
        return columns(rows, (0, *part.text_columns), style)
    texts = columns([row[1:] for row in part.rows], (0, *(i - 1 for i in part.text_columns)))
    head, line, *rest = texts.split("\n")
    groups = [row[0] for row in part.rows[1:]]
    news = [[group] * (i == 0 or group != groups[i - 1]) for i, group in enumerate(groups)]
    return "\n".join([head, line, *chain(*([*new, text] for new, text in zip(news, rest)))])


def _broken(name: str) -> str:
    """A name in lines of at most LONGEST_NAME characters, broken after its commas."""
    return name if len(name) <= LONGEST_NAME else name.replace(",", ",\n  ")


def _end_of(name: str) -> str:
    """A name of at most LONGEST characters: its end, by which names of layers differ."""
    return name if len(name) <= LONGEST else f"...{name[3 - LONGEST :]}"


def _marked(part: str | Table | Facts) -> str:
    if isinstance(part, str):
        return words.printed(part)
    if isinstance(part, Facts):
        part = Table(part.title, [[part.title, ""], *part.rows])
    head, *rows = [[cell.replace("|", r"\|") for cell in row] for row in _printed(part)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def _printed(table: Table) -> list[list[str]]:
    """Its rows, with real minus signs in Pieces and behind the first column."""

    def name(text):
        return html(text) if isinstance(text, Pieces) else text

    return [[name(first), *map(_signs, rest)] for first, *rest in table.rows]


def _signs(text: str) -> str:
    if isinstance(text, Pieces | Markup):
        return html(text) if isinstance(text, Pieces) else text
    return words.printed(text)


def latex(table: Table, groups: Iterable[int] = (), notes: Iterable[str] = ()) -> str:
    """A tabular of the package booktabs. groups: how many rows stand together, in their order; all
    of them, without. notes: what its caption must say, above it as comments."""
    head, *rows = table.rows
    sides = ["l" if i in (0, *table.text_columns) else "r" for i in range(len(head))]
    lines = ["% \\usepackage{booktabs}", *(f"% {' '.join(text.split())}" for text in notes)]
    lines += [rf"\begin{{tabular}}{{{''.join(sides)}}}", r"\toprule", latex_row(head)]
    for count in groups or (len(rows),):
        lines += [r"\midrule"] + [latex_row(row, table.code) for row in rows[:count]]
        rows = rows[count:]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def latex_row(cells: Sequence[str], is_code: bool = False) -> str:
    """A line of it. is_code: whether the first cell is set as code."""
    first, *rest = cells
    name = rf"\texttt{{{escaped(first)}}}" if is_code else latex_cell(first)
    return " & ".join([name, *map(latex_cell, rest)]) + r" \\"


def latex_cell(text: str) -> str:
    """A cell: numbers as a formula, other texts escaped."""
    if NUMBERS.fullmatch(text):
        return f"${text}$".replace("±", r"\pm")
    return "--" if text == "-" else escaped(text)


def escaped(text: str) -> str:
    """A text as LaTeX prints it."""
    return "".join(SPECIAL.get(character, character) for character in " ".join(text.split()))


# ---- as pages ------------------------------------------------------------------------------------


def page(document: Document, is_alone: bool = False, progress: bool = False) -> Markup:
    """A page that needs no network. is_alone: whether no other page lies beside it. progress:
    whether a bar is shown where its sections take long."""
    notes = [words.printed(text) for text in document.notes]
    notes += [] if drawing.is_available() else [f"{drawing.HOW_TO_GET}."]
    titled = [section for section in document.sections if section.title]
    titled = _in_progress(titled, f"{document.name}'s page") if progress else titled
    sections = [*filter(None, (_section(section, is_alone) for section in titled))]
    lead = chain(*(section.parts for section in document.sections if not section.title))
    below = Markup("\n").join(sections)
    content = [
        markup.header(document.title, words.printed(document.about)),
        _findings(document),
        *map(_html, lead),
        markup.note(map(markup.paragraph, notes)) if notes else "",
        markup.contents(below) if len(sections) > MOST_SECTIONS else "",
        below,
    ]
    body = Markup("\n").join(filter(None, content))
    has_charts = any(isinstance(one, Group) for one in document.drawn)
    charts = (chart_markup.style(), chart_markup.script()) if has_charts else (Markup(), Markup())
    style, script = charts[0] + document.style, charts[1] + document.script
    return frame.document(document.title, body, style, script)


def _in_progress(sections: list[Section], name: str) -> Iterable[Section]:
    from minifp.runtime.bars import tqdm

    return tqdm(sections, delay=2, desc=f"the {name}", unit="section", leave=False)


def inline(document: Document, kind: str) -> Markup:
    """All of its sections as they stand in a notebook, in a <div> of a class that its style knows,
    without scripts, findings and notes."""
    title = Markup("<h1>{}</h1>").format(document.title) if document.title else Markup()
    parts = map(_html, chain(*(section.parts for section in document.sections)))
    content = [title, markup.paragraph(document.about, "small"), *parts]
    return frame.embedded(Markup("\n").join(filter(None, content)), document.style, kind)


def card(document: Document) -> Markup:
    """What a notebook shows: findings, the first table, notes, and the page to open."""
    parts = chain(*(section.parts for section in document.sections))
    tables = [part for part in parts if isinstance(part, Table)][:1]
    said = [words.printed(str(text)) for text in document.findings]
    content = [markup.bullets(said)] if said else []
    content += [in_notebook.plain_table(rows[0], rows[1:]) for rows in map(_printed, tables)]
    content += [markup.paragraph(words.printed(note)) for note in document.notes]
    whole = page(document, is_alone=True)
    return in_notebook.card(document.title, Markup("\n").join(content), whole)


def _findings(document: Document) -> Markup:
    """Verdicts with their badges, then what is said without one."""
    judged = [f for f in document.findings if isinstance(f, Finding)]
    said = [words.printed(f) for f in document.findings if isinstance(f, str)]
    lists = [_verdicts(judged)] if judged else []
    lists += [markup.bullets(said)] if said else []
    return Markup("\n").join(lists)


def _verdicts(findings: Sequence[Finding]) -> Markup:
    items = [markup.verdict(f.name, f.verdict, words.printed(f.text)) for f in findings]
    return markup.listed("verdicts", items)


def _section(section: Section, is_alone: bool) -> Markup:
    parts = (part for part in section.parts if not (is_alone and isinstance(part, Links)))
    return markup.section(section.title, *map(_html, parts), folded=section.is_folded)


def _html(part: Part) -> Markup:
    if isinstance(part, Markup):
        return part
    if callable(part):
        return part()
    if isinstance(part, list):
        if any(isinstance(one, Finding) for one in part):
            return _verdicts(part)
        charts = Markup("\n").join(filter(None, map(_html, part)))
        return Markup('<div class="pair">\n{}\n</div>').format(charts) if charts else charts
    return RENDERERS[type(part)](part)


def _text(text: str) -> Markup:
    return markup.paragraph(words.printed(text))


def _facts(facts: Facts) -> Markup:
    rows = [(name, html(text) if isinstance(text, Pieces) else text) for name, text in facts.rows]
    table = markup.facts(rows)
    return markup.card(facts.title, table) if facts.title else table


def _links(links: Links) -> Markup:
    lines = ([markup.link(*link) for link in line] for line in links.lines)
    return markup.bullets(map(Markup(", ").join, lines))


def _table(table: Table) -> Markup:
    head, *rows = _printed(table)
    if table.code:
        place = int(table.is_grouped)
        rows = [[*row[:place], markup.code(row[place]), *row[place + 1 :]] for row in rows]
    content = markup.table(table.caption, head, rows, table.text_columns)
    return markup.details(table.caption, content) if table.is_folded else content


def _picture(picture: Picture) -> Markup:
    figure = picture.draw(SCREEN) if drawing.is_available() else None
    if figure is None:
        return Markup()
    said = words.printed(picture.said)
    svg = drawing.inline_svg(figure, picture.name, picture.title, said)
    if picture.is_map:
        region = Markup('<div class="map" role="group" tabindex="0" aria-label="{}">\n{}\n</div>')
        svg = region.format(picture.title, svg)
    return markup.wide(svg, picture.caption and words.printed(picture.caption))


def _rows(chart: Rows) -> Markup:
    if not drawing.is_available():
        return Markup()
    said = words.printed(chart.description)
    svg = drawing.inline_svg(figures.of_rows(chart, IN_PAGE), chart.name, chart.title, said)
    return markup.figure(svg, words.printed(chart.note) or None)


def _group(group: Group) -> Markup:
    return chart_markup.group_html(group) if group.panels else Markup()


RENDERERS: Mapping[type, Callable[[Any], Markup]] = {
    str: _text,
    Table: _table,
    Picture: _picture,
    Rows: _rows,
    Group: _group,
    Facts: _facts,
    Links: _links,
}
