"""All that is shown of a microscope's findings: the answers, then what they rest on."""

from minifp.report import words
from minifp.report.content import Document, Facts, Section
from minifp.report.markup import part
from minifp.scope.page.costs import hardware_section, memory_section
from minifp.scope.page.errors import reference_section, trace_section
from minifp.scope.page.headlines import headlines
from minifp.scope.page.in_formats import formats_section
from minifp.scope.page.lens import lens_section
from minifp.scope.page.scales import advice_section, check_section, skip_section
from minifp.scope.page.updates import updates_section
from minifp.scope.record import Record

SECTIONS = (
    lens_section,
    formats_section,
    advice_section,
    check_section,
    skip_section,
    updates_section,
    reference_section,
    trace_section,
    memory_section,
    hardware_section,
)


def document(findings: Record) -> Document:
    """All of it."""
    about = findings.about
    name = f"{about.get('model', 'a model')} in {about.get('precision', '?')}"
    looks = f"{len(findings.steps)} of {words.plural(findings.count, 'step')} looked at"
    return Document(
        name="microscope",
        title=words.raised(findings.advice().in_short),
        about=f"{name}: {looks}.",
        findings=headlines(findings),
        sections=[
            *(section(findings) for section in SECTIONS),
            Section("What was looked at", [Facts([*about.items()])]),
        ],
        style=part("microscope.css", __package__),
        script=part("lens.js", __package__),
    )
