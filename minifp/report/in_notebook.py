"""What a notebook shows: a card in the notebook's own style, and the whole page in a frame.

The card has no colours of its own, so it is readable in every theme, after nbconvert, and where
scripts and frames are taken out. The frame keeps the page's style and the notebook's apart, and
takes the notebook's theme (theme.js).
"""

from html import escape

CARD = "border: 1px solid rgba(128, 128, 128, 0.5); border-radius: 8px; padding: 0.6em 1em; "
CARD += "margin: 0.4em 0; max-width: 62em; overflow-x: auto"
FRAME = "width: 100%; height: 85vh; min-height: 30em; border: 1px solid rgba(128, 128, 128, 0.5); "
FRAME += "border-radius: 8px; margin-top: 0.6em"


def card(title: str, content: str, page: str) -> str:
    """A title, a little plain HTML, and a page to open below it."""
    name = f"Full page: {title}"
    return (
        f'<div style="{CARD}">\n<p><strong>{escape(title)}</strong></p>\n{content}\n'
        '<details><summary style="cursor: pointer">Open the full page</summary>\n'
        f'<iframe title="{escape(name)}" loading="lazy" style="{FRAME}" '
        f"srcdoc='{quoted(page)}'></iframe>\n</details>\n</div>\n"
    )


def quoted(page: str) -> str:
    """A page as an attribute in single quotes; it has many double ones."""
    return page.replace("&", "&amp;").replace("'", "&#39;")


def plain_table(head: list[str], rows: list[list[str]]) -> str:
    """A table of texts that is all the notebook's."""
    first = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = "\n".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table>\n<thead><tr>{first}</tr></thead>\n<tbody>\n{lines}\n</tbody>\n</table>"
