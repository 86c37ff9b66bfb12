"""What a notebook shows: a card in the notebook's own style, and the whole page in a frame.

The card has no colours of its own, so it is readable in every theme, after nbconvert, and where
scripts and frames are taken out. The frame keeps the page's style and the notebook's apart, and
takes the notebook's theme (theme.js).
"""

from collections.abc import Iterable

from markupsafe import Markup

from minifp.report.markup import check

CARD = "border: 1px solid rgba(128, 128, 128, 0.5); border-radius: 8px; padding: 0.6em 1em; "
CARD += "margin: 0.4em 0; max-width: 62em; overflow-x: auto"
FRAME = "width: 100%; height: 85vh; min-height: 30em; border: 1px solid rgba(128, 128, 128, 0.5); "
FRAME += "border-radius: 8px; margin-top: 0.6em"


def card(title: str, content: Markup, page: Markup) -> Markup:
    """A title, a little plain HTML, and a page to open below it. Raises TypeError for content or a
    page that is not Markup."""
    check(content, page)
    return Markup(
        '<div style="{}">\n<p><strong>{}</strong></p>\n{}\n'
        '<details><summary style="cursor: pointer">Open the full page</summary>\n'
        '<iframe title="Full page: {}" loading="lazy" style="{}" '
        "srcdoc='{}'></iframe>\n</details>\n</div>\n"
    ).format(CARD, title, content, title, FRAME, quoted(page))


def quoted(page: Markup) -> Markup:
    """A page as an attribute in single quotes; it has many double ones, which stay."""
    return Markup(str(page).replace("&", "&amp;").replace("'", "&#39;"))


def picture(png: str, said: str, style: str = "") -> Markup:
    """A PNG, in base 64, with what it shows."""
    attribute = Markup(' style="{}"').format(style) if style else ""
    return Markup('<img alt="{}"{} src="data:image/png;base64,{}">').format(said, attribute, png)


def plain_table(head: Iterable, rows: Iterable[Iterable]) -> Markup:
    """A table of texts that is all the notebook's."""
    first = Markup().join(map(Markup("<th>{}</th>").format, head))
    cells = (Markup().join(map(Markup("<td>{}</td>").format, row)) for row in rows)
    lines = Markup("\n").join(map(Markup("<tr>{}</tr>").format, cells))
    whole = Markup("<table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}\n</tbody>\n</table>")
    return whole.format(first, lines)
