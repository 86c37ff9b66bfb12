"""The page of a microscope: one file, no network, light and dark, usable by keyboard."""

import base64
import hashlib
from collections.abc import Callable
from html import escape
from importlib import resources

from minifp.lab.page.comparison_page import document
from minifp.report import words
from minifp.scope.page.costs import hardware_section, memory_section
from minifp.scope.page.errors import reference_section, trace_section
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

UNNAMED = "scope-not-named-yet"  # stands for the name that is made of all that is shown
SCRIPT = resources.files("minifp.scope.page").joinpath("scope.js").read_text(encoding="utf-8")


def page(findings: Record, progress: bool = True) -> str:
    """The whole page."""
    title = f"microscope: {findings.about.get('model', 'a run')}"
    return document(title, body(findings, "s", progress), script_hash(), SCRIPT)


def script_hash() -> str:
    """What the page's policy allows to run: this script, and no other."""
    return base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()


def fragment(findings: Record) -> str:
    """The same inside a notebook; its ids cannot meet those of other findings."""
    from minifp.report.styles import CSS

    content = body(findings, UNNAMED)
    content = content.replace(UNNAMED, "s" + hashlib.sha256(content.encode()).hexdigest()[:8])
    return (
        f'<style>\n{CSS}</style>\n<div class="minifp"><main>\n{content}\n</main></div>\n'
        f"<script>{{\n{SCRIPT}}}</script>\n"
    )


def body(findings: Record, prefix: str, progress: bool = False) -> str:
    """What page and notebook share: the answers first, then what they rest on."""
    parts = [lens, *SECTIONS]
    shown = with_bar(parts) if progress else parts
    found = [heading(findings), *(part(findings, prefix) for part in shown)]
    return "\n".join(part for part in found if part)


def with_bar(parts: list):
    """The sections as they are made, beside a progress bar; not for notebooks, whose outputs are
    kept, and where tqdm complains if there are no widgets."""
    from tqdm.auto import tqdm

    options = {"delay": 2, "desc": "the microscope's page", "unit": "section", "leave": False}
    return tqdm(parts, **options)


def heading(findings: Record) -> str:
    """What was looked at, and what came of it in a few sentences."""
    about = findings.about
    seen = f"{len(findings.steps)} of {words.plural(findings.count, 'step')} looked at"
    kicker = f"minifp microscope: {about.get('model', '')}, {about.get('precision', '')}, {seen}"
    first, *others = headlines(findings)
    title, _, rest = first.partition(". ")
    texts = [text for text in (rest, *others) if text]
    said = [f"<li><span>{escape(words.raised(text))}</span></li>" for text in texts]
    return (
        f'<header>\n<p class="kicker">{escape(kicker)}</p>\n'
        f"<h1>{escape(words.raised(title.rstrip('.')))}.</h1>\n"
        f'<ul class="verdicts">\n{chr(10).join(said)}\n</ul>\n</header>'
    )


SECTIONS: list[Callable[[Record, str], str]] = [
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
