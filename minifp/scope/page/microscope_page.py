"""The page of a microscope: one file, no network, light and dark, usable by keyboard."""

from collections.abc import Callable

from markupsafe import Markup

from minifp.report import chart_markup, document, in_notebook, words
from minifp.report.markup import contents, paragraph, part
from minifp.scope.page.costs import hardware_section, memory_section
from minifp.scope.page.errors import reference_section, trace_section
from minifp.scope.page.in_formats import formats_section
from minifp.scope.page.lens import lens
from minifp.scope.page.training import (
    about_section,
    advice_section,
    check_section,
    headlines,
    skip_section,
    updates_section,
)
from minifp.scope.record import Record

SCRIPT = part("lens.js", __package__)
STYLE = part("microscope.css", __package__)


def page(findings: Record, progress: bool = True) -> Markup:
    """The whole page."""
    title = f"microscope: {findings.about.get('model', 'a run')}"
    content = body(findings, "s", progress)
    return document.document(
        title, content, chart_markup.style() + STYLE, chart_markup.script() + SCRIPT
    )


def fragment(findings: Record) -> Markup:
    """What a notebook shows: the answers, and the page to open."""
    first, *others = headlines(findings)
    said = Markup().join(paragraph(words.raised(text)) for text in others)
    return in_notebook.card(words.raised(first), said, page(findings, progress=False))


def body(findings: Record, prefix: str, progress: bool = False) -> Markup:
    """What page and notebook share: the answers first, then what they rest on."""
    parts = [lens, *SECTIONS]
    shown = with_bar(parts) if progress else parts
    sections = Markup("\n").join(filter(None, [part(findings, prefix) for part in shown]))
    return Markup("\n").join((heading(findings), contents(sections), sections))


def with_bar(parts: list):
    """The sections as they are made, beside a progress bar; not for notebooks, whose outputs are
    kept, and where tqdm complains if there are no widgets."""
    from minifp.runtime.bars import tqdm

    options = {"delay": 2, "desc": "the microscope's page", "unit": "section", "leave": False}
    return tqdm(parts, **options)


def heading(findings: Record) -> Markup:
    """What was looked at, and what came of it in a few sentences."""
    about = findings.about
    seen = f"{len(findings.steps)} of {words.plural(findings.count, 'step')} looked at"
    kicker = f"minifp microscope: {about.get('model', '')}, {about.get('precision', '')}, {seen}"
    first, *others = headlines(findings)
    title, _, rest = first.partition(". ")
    texts = [text for text in (rest, *others) if text]
    item = Markup("<li><span>{}</span></li>")
    said = Markup("\n").join(item.format(words.raised(text)) for text in texts)
    return Markup(
        '<header>\n<p class="kicker">{}</p>\n<h1>{}.</h1>\n'
        '<ul class="verdicts">\n{}\n</ul>\n</header>'
    ).format(kicker, words.raised(title.rstrip(".")), said)


SECTIONS: list[Callable[[Record, str], Markup]] = [
    formats_section,
    advice_section,
    check_section,
    skip_section,
    updates_section,
    reference_section,
    trace_section,
    memory_section,
    hardware_section,
    about_section,
]
