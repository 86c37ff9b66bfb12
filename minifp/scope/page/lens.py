"""The four histograms of a microscope's page, with sliders for step and loss scale, for any format.

Without the page's script (as on a site that shows notebooks) the sliders rest, and the figures and
tables are those of the last observed step.
"""

import math

from markupsafe import Markup

from minifp.numerics.number_format import Format
from minifp.report import drawing
from minifp.report.markup import data_script, paragraph, scrolled, section
from minifp.report.words import raised, superscript
from minifp.scope.histogram import Histogram
from minifp.scope.observed import GRADIENTS, KINDS, ObservedStep
from minifp.scope.page.data import data_of
from minifp.scope.page.figures import TITLES, key_of, kind_svg
from minifp.scope.page.windows import in_format, in_words
from minifp.scope.record import Record

LEAST, MOST = -4, 32  # log2 of the scales that the slider has
HEADS = ("layer", "numbers", "0", "flushed", "subnormal", "overflow", "headroom", "Inf, NaN")
INTRODUCTION = (
    "Exact counts, by power of two, of everything that a step stored. Shaded: the range of a "
    "format. It is the format that stored most of these numbers (float16 if that was float32), or "
    "one that you choose; it is paler where digits are missing (subnormal). Blue numbers are "
    "kept, orange ones are lost. The first slider moves gradients as another loss scale would; it "
    "shows counts, not guesses."
)
HOW_TO_READ = (
    "All four pictures share one axis. Bars: all layers together, as shares of the nonzero "
    "numbers. Cells: each layer separately; a stronger colour is a larger share. Grey, beside its "
    "name: the share of zeros. Flushed, subnormal, overflow: shares of the nonzero numbers, if "
    "the format stored them. A number that overflows becomes Inf, NaN or the largest number, "
    "depending on the format. Headroom: bits between the largest number and the format's."
)
AS_STORED = "as in the run"


def lens(findings: Record, prefix: str) -> Markup:
    """The section; nothing where no step was observed."""
    if not findings.steps:
        return Markup()
    data, shown = data_of(findings)
    parts = [sliders(findings, shown), paragraph(raised(INTRODUCTION))]
    parts += [panel(findings, kind, prefix) for kind in KINDS]
    parts.append(paragraph(HOW_TO_READ, "small"))
    if shown < len(findings.steps):
        said = f"{shown} of the {len(findings.steps)} observed steps are in this page."
        parts.append(paragraph(said, "small"))
    parts.append(data_script(data))
    content = Markup('<div class="scope-lens">\n{}\n</div>').format(Markup("\n").join(parts))
    return section("Where the numbers lie", content)


def sliders(findings: Record, shown: int) -> Markup:
    """One for the loss scale, large, with what is lost; one for the step; and the choice of a
    format. The script wakes them."""
    last = findings.steps[-1]
    option = Markup('<option value="{}">{}</option>').format
    choices = {"": AS_STORED, **{format.name: in_words(format) for format in findings.formats}}
    return Markup(
        '<div class="scope-controls">\n<div class="scope-large">\n'
        '<label>Loss scale <input type="range" class="scope-scale" min="{least}" max="{most}" '
        'value="{scale}" disabled autocomplete="off"></label>\n'
        '<button type="button" class="scope-play" disabled>Play</button>\n'
        '<output class="scope-scale-said" aria-live="off">S = {said}</output>'
        '\n<strong class="scope-lost"></strong> <span class="scope-lost-how"></span>\n</div>\n'
        '<label>Observed step <input type="range" class="scope-step" min="0" max="{end}" '
        'value="{end}" disabled autocomplete="off"> '
        '<output class="scope-step-said" aria-live="off">step {step}</output></label>\n'
        '<label>Stored in <select class="scope-format" disabled autocomplete="off">{options}'
        "</select></label>\n"
        '<p class="scope-status" role="status"></p>\n</div>'
    ).format(
        least=LEAST, most=MOST, scale=min(max(last.shift, LEAST), MOST),
        said=superscript(last.shift), end=shown - 1, step=last.step,
        options=Markup().join(option(*choice) for choice in choices.items()),
    )  # fmt: skip


def panel(findings: Record, kind: str, prefix: str) -> Markup:
    """One kind: where it is drawn, its picture for print, what it says, and the table."""
    step, layers = findings.steps[-1], findings.layers(kind)
    format = findings.format_of(kind)
    frame = Markup('<figure data-kind="{}">\n<h3>{}</h3>\n{}\n</figure>')
    if not layers:
        said = paragraph(f"The observed steps stored no {kind}.")
        nothing = said + Markup('\n<p class="scope-said" hidden></p>')
        return frame.format(key_of(kind), TITLES[kind], nothing)
    drawn = kind_svg(findings, kind, prefix) if drawing.is_available() else ""
    all_of = [("all", "all layers", step.total(kind))]
    rows = [
        (str(i), name, step.histograms[kind].get(name, Histogram()))
        for i, name in enumerate(layers)
    ]
    content = Markup(
        '<div class="scope-live">\n<canvas role="img" aria-label="{}"></canvas>\n'
        '<p class="scope-pointed" aria-hidden="true"></p>\n</div>\n'
        '<div class="scope-static">{}</div>\n<p class="scope-said"></p>\n{}'
    ).format(TITLES[kind], drawn, table(kind, all_of + rows, step, format))
    return frame.format(key_of(kind), TITLES[kind], content)


def table(kind: str, rows: list, step: ObservedStep, format: Format) -> Markup:
    """The numbers of each layer; those of all layers first."""
    heads = Markup().join(map(Markup('<th scope="col">{}</th>').format, HEADS))
    line = Markup('<tr data-layer="{}"><th scope="row">{}</th>{}</tr>').format
    numbers = Markup("<td>{}</td>").format
    lines = Markup("\n").join(
        line(key, name, Markup().join(map(numbers, cells(h, format)))) for key, name, h in rows
    )
    label = f"{TITLES[kind]}, layer by layer"
    stored = ", as they were multiplied" if kind in GRADIENTS else ""
    said = in_format(format, rows[0][2].borders)
    return Markup(
        "<details><summary>{}: the numbers of each layer</summary>\n"
        '<p class="caption">Step {}{}, <span class="scope-in">{}</span></p>\n{}</details>'
    ).format(TITLES[kind], step.step, stored, said, scrolled(label, heads, lines))


def cells(h: Histogram, format: Format) -> list[str]:
    """Counts, and the shares that a format would lose, as the script writes them."""
    headroom = h.headroom(format)
    return [
        f"{h.total:,}",
        percent(h.zeros, h.total),
        percent(h.flushed(0, format), h.nonzero),
        percent(h.subnormal(0, format), h.nonzero),
        percent(h.overflowing(0, format), h.nonzero),
        "–" if math.isinf(headroom) else f"{headroom:.1f}".replace("-", "−"),
        f"{h.infs + h.nans:,}",
    ]


def percent(n: float, of: float) -> str:
    """A share: 0, 0.012%, 1.23%, 45.6%."""
    if not n or not of:
        return "0"
    share = 100 * n / of
    if share < 0.001:
        return f"{share:.1e}%".replace("e-0", "e-")
    return f"{share:.3f}%" if share < 0.1 else f"{share:.2f}%" if share < 10 else f"{share:.1f}%"
