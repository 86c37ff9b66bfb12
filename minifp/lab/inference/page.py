"""What `evaluate` found, as a page that needs no network, with the pictures themselves."""

import base64

from markupsafe import Markup

from minifp.lab.inference import pictures
from minifp.lab.inference.examples import picture_of
from minifp.lab.inference.shown import HEAD, about, changes, each_change, heading, notes, row
from minifp.lab.kept import of_picture
from minifp.report import document, drawing, in_notebook, words
from minifp.report.markup import code, header, paragraph, section, table, wide

MOST = 60  # pictures of a checkpoint in a precision
TITLE = "Trained networks in other number formats"
NO_PILLOW = "Pictures need Pillow: python -m pip install pillow"
STYLE = Markup("""\
.minifp .changed { display: grid; gap: 0.75rem; padding: 0; margin: 0.75rem 0; list-style: none;
  grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); }
.minifp .changed li { background: var(--paper); border: 1px solid var(--edge); max-width: none;
  border-radius: 10px; padding: 0.6rem; font-size: 0.8rem; line-height: 1.4; margin: 0; }
.minifp .changed img { width: 100%; image-rendering: pixelated; border-radius: 6px;
  display: block; margin-bottom: 0.4rem; }
.minifp .changed span { display: block; overflow-wrap: anywhere; }
.minifp .changed .right { color: var(--good); font-weight: 600; }
""")


def page(found) -> Markup:
    """The whole page."""
    return document.document(TITLE, body(found), STYLE)


def fragment(found) -> Markup:
    """The same inside a notebook."""
    rows = [row(judged, precision) for judged in found.judged for precision in found.precisions]
    return in_notebook.card(TITLE, in_notebook.plain_table(HEAD, rows), page(found))


def body(found) -> Markup:
    """The table, the picture of it, and what changed in each checkpoint."""
    parts = [header(TITLE, about(found)), section("The numbers", drawn(found), numbers(found))]
    parts += [section(heading(judged), told(judged, found)) for judged in found.judged]
    return Markup("\n").join(parts)


def drawn(found) -> Markup:
    """The picture of differences, where matplotlib is and something differs."""
    if not drawing.is_available():
        return paragraph(drawing.HOW_TO_GET)
    figure = pictures.overview(found)
    said = "Change of the metric, time and memory, against the baseline: see the table."
    if figure is None:
        return Markup()
    return wide(drawing.inline_svg(figure, "e-overview", TITLE, said))


def numbers(found) -> Markup:
    """The table."""
    rows = []
    for judged in found.judged:
        for precision in found.precisions:
            name, *cells = row(judged, precision)
            rows.append([judged.trained.name, code(name), *map(words.typeset, cells)])
    return table("All checkpoints", ["checkpoint", *HEAD], rows, text_columns=(1,))


def told(judged, found) -> Markup:
    """What changed in one checkpoint, with pictures."""
    parts = [paragraph(text) for text in notes(judged)]
    for precision in found.others:
        parts += [paragraph(changes(judged, precision) or f"{precision}: see the table")]
        parts += [cards(judged, precision, found.precisions[0])]
    return Markup("\n").join(parts)


def cards(judged, precision, base) -> Markup:
    """A card for each picture whose prediction changed; nothing where examples are no pictures."""
    changed = [*each_change(judged, precision)]
    shown, missing = [], Markup()
    for example, _, true, before, share, now, share_now in changed[:MOST]:
        picture = picture_of(judged.trained.test_set, example)
        if picture is None:
            return Markup()
        content = of_picture(picture)
        if content is None:
            missing = paragraph(NO_PILLOW)
        names = [(base, before, share), (precision, now, share_now)]
        lines = Markup().join(line(*named, true) for named in names)
        drawn = image(content, f"example {example}, {true}")
        item = Markup("<li>{}<span>{} (example {})</span>{}</li>")
        shown.append(item.format(drawn, true, example, lines))
    left = len(changed) - len(shown)
    more = paragraph(f"{left:,} more in changed.csv.") if left > 0 else Markup()
    listed = Markup('<ul class="changed">{}</ul>').format(Markup().join(shown))
    return missing + listed + more if shown else Markup()


def line(precision, named, share, true) -> Markup:
    """What a precision names, and how surely."""
    kind = Markup(' class="right"') if named == true else ""
    return Markup("<span{}>{}: {}, {:.0%}</span>").format(kind, precision, named, share)


def image(content, said) -> Markup:
    """A picture inside of the page."""
    if content is None:
        return Markup()
    return in_notebook.picture(base64.b64encode(content).decode(), said)
