"""The four histograms of a microscope's page, with sliders for step and loss scale, for any format.

Without the page's script (as on a site that shows notebooks) the sliders rest, and the figures and
tables are those of the last observed step.
"""

import math
from functools import cache, partial

from markupsafe import Markup

from minifp.numerics.number_format import Format
from minifp.report import drawing, words
from minifp.report.content import Columns, Part, Section, Table
from minifp.report.markup import data_script, paragraph
from minifp.report.words import share_text, superscript
from minifp.scope.histogram import Histogram
from minifp.scope.observed import GRADIENTS, KINDS
from minifp.scope.page.data import data_of, in_format
from minifp.scope.page.figures import TITLES, key_of, kind_svg
from minifp.scope.record import Record

LEAST, MOST = -4, 32  # log2 of the scales that the slider has
MOST_LAYERS = 40  # of a kind that have a line on a terminal
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


def lens_section(findings: Record) -> Section:
    """Sliders, and of each kind its figure and its table, which the script finds behind it."""
    title = "Where the numbers lie"
    if not findings.steps:
        return Section(title, ())
    data = cache(partial(data_of, findings))
    kinds: list[Part] = []
    for kind in KINDS:
        kinds += [partial(figure, findings, kind), *numbers(findings, kind)]
    return Section(
        title,
        [
            lambda: sliders(findings, data()[1]),
            paragraph(INTRODUCTION),
            *kinds,
            paragraph(HOW_TO_READ, "small"),
            lambda: thinned(data()[1], len(findings.steps)) + data_script(data()[0]),
        ],
    )


def thinned(count: int, steps: int) -> Markup:
    """What is said where the data of some steps were too much."""
    text = f"{count} of the {steps} observed steps are in this page."
    return paragraph(text, "small") if count < steps else Markup()


def sliders(findings: Record, count: int) -> Markup:
    """One for the loss scale, large, with what is lost; one for the step; and the choice of a
    format. The script wakes them."""
    last = findings.steps[-1]
    option = Markup('<option value="{}">{}</option>').format
    choices = {"": AS_STORED, **{format.name: range_of(format) for format in findings.formats}}
    return Markup(
        '<div class="scope-controls">\n<div class="scope-large">\n'
        '<label>Loss scale <input type="range" class="scope-scale" min="{least}" max="{most}" '
        'value="{scale}" disabled autocomplete="off"></label>\n'
        '<button type="button" class="scope-play" disabled>Play</button>\n'
        '<output class="scope-scale-said" aria-live="off">S = {power}</output>'
        '\n<strong class="scope-lost"></strong> <span class="scope-lost-how"></span>\n</div>\n'
        '<label>Observed step <input type="range" class="scope-step" min="0" max="{end}" '
        'value="{end}" disabled autocomplete="off"> '
        '<output class="scope-step-said" aria-live="off">step {step}</output></label>\n'
        '<label>Stored in <select class="scope-format" disabled autocomplete="off">{options}'
        "</select></label>\n"
        '<p class="scope-status" role="status"></p>\n</div>'
    ).format(
        least=LEAST,
        most=MOST,
        scale=min(max(last.shift, LEAST), MOST),
        power=superscript(last.shift),
        end=count - 1,
        step=last.step,
        options=Markup().join(option(*choice) for choice in choices.items()),
    )


def range_of(format: Format) -> str:
    """A format and what it holds: float16: 2⁻²⁴ to 65504."""
    smallest = superscript(round(math.log2(format.smallest_subnormal)))
    return f"{format.name}: {smallest} to {format.max:.6g}"


def figure(findings: Record, kind: str) -> Markup:
    """One kind: where it is drawn, its picture for print, and what it says."""
    content = paragraph(f"The observed steps stored no {kind}.")
    content += Markup('\n<p class="scope-said" hidden></p>')
    if findings.layers(kind):
        content = Markup(
            '<div class="scope-live">\n<canvas role="img" aria-label="{}"></canvas>\n'
            '<p class="scope-pointed" aria-hidden="true"></p>\n</div>\n'
            '<div class="scope-static">{}</div>\n<p class="scope-said"></p>'
        ).format(TITLES[kind], kind_svg(findings, kind) if drawing.is_available() else "")
    frame = Markup('<figure data-kind="{}">\n<h3>{}</h3>\n{}\n</figure>')
    return frame.format(key_of(kind), TITLES[kind], content)


def numbers(findings: Record, kind: str) -> list[Table]:
    """The table of a kind: the numbers of each layer in the last observed step, and the shares that
    its format loses, as the script writes them; those of all layers first."""
    step, format, layers = findings.steps[-1], findings.format_of(kind), findings.layers(kind)
    columns: Columns = {
        "layer": lambda row: row[0],
        "numbers": lambda row: f"{row[1].total:,}",
        "0": lambda row: share_text(row[1].zeros, row[1].total),
        "flushed": lambda row: share_text(row[1].flushed(0, format), row[1].nonzero),
        "subnormal": lambda row: share_text(row[1].subnormal(0, format), row[1].nonzero),
        "overflow": lambda row: share_text(row[1].overflowing(0, format), row[1].nonzero),
        "headroom": lambda row: f"{h:.1f}" if (h := row[1].headroom(format)) < math.inf else "-",
        "Inf, NaN": lambda row: f"{row[1].infs + row[1].nans:,}",
    }
    rows = [(name, step.histograms[kind].get(name, Histogram())) for name in layers]
    scale = f", times S = {words.scale_text(step.scale)}" if kind in GRADIENTS else ""
    caption = f"{TITLES[kind]} of step {step.step}{scale}, {in_format(format, findings.borders)}"
    whole = "all layers", step.total(kind)
    how = {"brief": tuple(range(len(columns))), "is_named": True, "most": MOST_LAYERS + 2}
    table = Table.of(caption, [whole, *rows], columns, is_folded=True, **how)
    return [table] if layers else []
