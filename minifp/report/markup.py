"""Small pieces of HTML: sections, tables that narrow screens and keyboards can scroll, code.

HTML is MarkupSafe's Markup, and nothing else is: what is put into it by `format`, `join` or + is
escaped, unless it is Markup itself. So only literals and files of the package become Markup, never
a text that comes from elsewhere (tests/project/test_security.py).
"""

import json
import re
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import quote

from markupsafe import Markup


def check(*parts: Any) -> None:
    """Raise TypeError for what is not Markup: it may hold texts that nobody has escaped."""
    for one in parts:
        if not isinstance(one, Markup):
            raise TypeError(
                f"HTML is {type(one).__name__} {str(one)[:40]!r}: expected Markup, into which "
                "`format` puts texts that it escapes"
            )


@cache
def part(name: str, package: str = "minifp.report") -> Markup:
    """A file of the kit, or of another package of minifp, as it stands in a page."""
    return Markup(resources.files(package).joinpath(name).read_text(encoding="utf-8"))


def as_json(value: Any) -> Markup:
    """A value as the JSON that scripts of a page read; it cannot end the element that holds it."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))


def data_script(data: Markup) -> Markup:
    """The element that holds JSON. Raises TypeError for what `as_json` has not written."""
    check(data)
    return Markup('<script type="application/json">{}</script>').format(data)


def code(text) -> Markup:
    """A name as it is typed."""
    return Markup("<code>{}</code>").format(text)


def command(text) -> Markup:
    """What is typed in a shell; its lines are not broken within options, as "--out" would be."""
    option = Markup("<span>{}</span>")
    words = (option.format(w) if w.startswith("-") else w for w in text.split(" "))
    return Markup('<pre class="command">{}</pre>').format(Markup(" ").join(words))


def paragraph(text, kind="") -> Markup:
    """A paragraph; nothing for no text."""
    attribute = Markup(' class="{}"').format(kind) if kind else ""
    return Markup("<p{}>{}</p>").format(attribute, text) if text else Markup()


def bullets(texts) -> Markup:
    """A list."""
    return Markup("<ul>{}</ul>").format(Markup().join(map(Markup("<li>{}</li>").format, texts)))


def link(place, text) -> Markup:
    """A link to a file beside the page: its path, as a file has it."""
    return Markup('<a href="{}">{}</a>').format(quote(place), text)


def header(title, said) -> Markup:
    """What a page begins with: its title, and a paragraph."""
    return Markup("<header>\n<h1>{}</h1>\n{}\n</header>").format(title, paragraph(said))


def figure(picture, caption=None, kind="") -> Markup:
    """A picture in its frame, with its caption; nothing for nothing."""
    said = "" if caption is None else Markup("<figcaption>{}</figcaption>\n").format(caption)
    attribute = Markup(' class="{}"').format(kind) if kind else ""
    frame = Markup("<figure{}>\n{}\n{}</figure>")
    return frame.format(attribute, picture, said) if picture else Markup()


def wide(picture, caption=None) -> Markup:
    """The same as wide as the page."""
    return figure(picture, caption, "wide")


def note(content) -> Markup:
    """What stands out."""
    return Markup('<div class="note">\n{}\n</div>').format(Markup("\n").join(content))


def card(title, content) -> Markup:
    """Content in a frame, below its title."""
    frame = Markup('<section class="card">\n<h2>{}</h2>\n{}\n</section>')
    return frame.format(title, content)


def listed(kind, items) -> Markup:
    """A list, an item a line."""
    return Markup('<ul class="{}">\n{}\n</ul>').format(kind, Markup("\n").join(items))


def verdict(name, judged, reasons) -> Markup:
    """An item of such a list: a verdict on something, as a badge, and why."""
    badge = judged.lower().removesuffix(" (weak)").replace(" ", "-")
    item = Markup('<li><span>{}<b class="badge {}">{}</b></span><span>{}</span></li>')
    return item.format(code(name), badge, judged, reasons)


def section(title, *parts, folded=False) -> Markup:
    """A heading and what belongs to it, which can be folded, or is at first; nothing for nothing.

    Links go to what is inside, so that a browser unfolds it.
    """
    content = Markup("\n").join(part for part in parts if part)
    if not content:
        return content
    return Markup(
        "<section>\n<details{}>\n<summary><h2>{}</h2></summary>\n"
        '<div id="{}">\n{}\n</div>\n</details>\n</section>'
    ).format("" if folded else " open", title, name_of(title), content)


def name_of(title) -> str:
    """A title as an id."""
    return re.sub(r"\W+", "-", title.lower()).strip("-")


def contents(sections: Markup) -> Markup:
    """A table of contents: a link to each section in a page."""
    titles = re.findall(r"<summary><h2>(.*?)</h2></summary>\n<div id=\"(.*?)\">", sections)
    item = Markup('<li><a href="#{}">{}</a></li>')
    links = Markup("\n").join(item.format(name, Markup(title)) for title, name in titles)
    frame = Markup('<nav class="contents" aria-label="Contents">\n<ul>\n{}\n</ul>\n</nav>')
    return frame.format(links)


def table(caption, head, rows, text_columns=()) -> Markup:
    """A table with its first column as row heads; `text_columns` stand left."""

    def mark(i):
        return Markup(' class="text"') if i in text_columns else ""

    top, cell = Markup('<th scope="col"{}>{}</th>'), Markup("<td{}>{}</td>")
    heads = Markup().join(top.format(mark(i), h) for i, h in enumerate(head))
    lines = Markup("\n").join(
        Markup('<tr><th scope="row">{}</th>{}</tr>').format(
            first, Markup().join(cell.format(mark(i), c) for i, c in enumerate(rest, 1))
        )
        for first, *rest in rows
    )
    return Markup('<p class="caption">{}</p>\n{}').format(caption, scrolled(caption, heads, lines))


def scrolled(label, heads: Markup, lines: Markup, kind="") -> Markup:
    """A table, of which a narrow screen shows a part."""
    return Markup(
        '<div class="scroll" role="group" tabindex="0" aria-label="{}">\n'
        "<table{}>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}\n</tbody>\n</table>\n</div>"
    ).format(label, Markup(' class="{}"').format(kind) if kind else "", heads, lines)


def facts(rows, kind="facts") -> Markup:
    """A table of names and texts."""
    line = Markup('<tr><th scope="row">{}</th><td>{}</td></tr>')
    lines = Markup("\n").join(line.format(name, value) for name, value in rows)
    attribute = Markup(' class="{}"').format(kind) if kind else ""
    return Markup("<table{}>\n<tbody>\n{}\n</tbody>\n</table>").format(attribute, lines)


def details(summary, content) -> Markup:
    """Something to open."""
    frame = Markup("<details>\n<summary>{}</summary>\n{}\n</details>")
    return frame.format(summary, content)
