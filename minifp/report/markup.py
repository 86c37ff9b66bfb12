"""Small pieces of HTML: sections, tables that narrow screens and keyboards can scroll, code."""

import re
from html import escape


def code(text) -> str:
    """A name as it is typed."""
    return f"<code>{escape(str(text))}</code>"


def command(text) -> str:
    """What is typed in a shell; its lines are not broken within options, as "--out" would be."""
    words = (
        f"<span>{escape(w)}</span>" if w.startswith("-") else escape(w) for w in text.split(" ")
    )
    return f'<pre class="command">{" ".join(words)}</pre>'


def paragraph(text, kind="") -> str:
    """A paragraph of plain text; nothing for no text."""
    attribute = f' class="{kind}"' if kind else ""
    return f"<p{attribute}>{escape(text)}</p>" if text else ""


def wide(picture) -> str:
    """A picture as wide as the page, in its frame; nothing for nothing."""
    return f'<figure class="wide">\n{picture}\n</figure>' if picture else ""


def section(title, *parts, folded=False) -> str:
    """A heading and what belongs to it, which can be folded, or is at first; nothing for nothing.

    Links go to what is inside, so that a browser unfolds it.
    """
    content = "\n".join(part for part in parts if part)
    name, is_open = name_of(title), "" if folded else " open"
    return (
        f"<section>\n<details{is_open}>\n<summary><h2>{escape(title)}</h2></summary>\n"
        f'<div id="{name}">\n{content}\n</div>\n</details>\n</section>'
        if content
        else ""
    )


def name_of(title) -> str:
    """A title as an id."""
    return re.sub(r"\W+", "-", title.lower()).strip("-")


def contents(sections: str) -> str:
    """A table of contents: a link to each section in a text."""
    titles = re.findall(r"<summary><h2>(.*?)</h2></summary>\n<div id=\"(.*?)\">", sections)
    links = "\n".join(f'<li><a href="#{name}">{title}</a></li>' for title, name in titles)
    return f'<nav class="contents" aria-label="Contents">\n<ul>\n{links}\n</ul>\n</nav>'


def table(caption, head, rows, text_columns=()) -> str:
    """A table with its first column as row heads. Cells are HTML; `text_columns` stand left."""

    def mark(i):
        return ' class="text"' if i in text_columns else ""

    cells = "".join(f'<th scope="col"{mark(i)}>{escape(h)}</th>' for i, h in enumerate(head))
    lines = [
        f'<tr><th scope="row">{first}</th>'
        + "".join(f"<td{mark(i)}>{cell}</td>" for i, cell in enumerate(rest, 1))
        + "</tr>"
        for first, *rest in rows
    ]
    return (
        f'<p class="caption">{escape(caption)}</p>\n'
        f'<div class="scroll" role="group" tabindex="0" aria-label="{escape(caption)}">\n'
        f"<table>\n<thead><tr>{cells}</tr></thead>\n"
        f"<tbody>\n{chr(10).join(lines)}\n</tbody>\n</table>\n</div>"
    )


def facts(rows) -> str:
    """A table of names and plain texts."""
    lines = "\n".join(
        f'<tr><th scope="row">{escape(str(name))}</th><td>{escape(str(value))}</td></tr>'
        for name, value in rows
    )
    return f'<table class="facts">\n<tbody>\n{lines}\n</tbody>\n</table>'


def details(summary, content) -> str:
    """Something to open."""
    return f"<details>\n<summary>{escape(summary)}</summary>\n{content}\n</details>"
