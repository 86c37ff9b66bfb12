"""Small pieces of HTML: sections, tables that narrow screens and keyboards can scroll, code."""

from html import escape


def code(text) -> str:
    """A name as it is typed."""
    return f"<code>{escape(str(text))}</code>"


def paragraph(text, kind="") -> str:
    """A paragraph of plain text; nothing for no text."""
    attribute = f' class="{kind}"' if kind else ""
    return f"<p{attribute}>{escape(text)}</p>" if text else ""


def section(title, *parts) -> str:
    """A heading and what belongs to it; nothing if there is nothing."""
    content = "\n".join(part for part in parts if part)
    return f"<section>\n<h2>{escape(title)}</h2>\n{content}\n</section>" if content else ""


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
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption)}">\n'
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
