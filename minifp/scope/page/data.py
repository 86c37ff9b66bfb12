"""The numbers behind the figures of a microscope's page, as its script reads them: JSON.

Each layer of a step is [layer, lowest, counts, reaching, zeros, infs, nans, largest]: counts of
each power of two from 2^lowest on; of these, for each place in it where a format begins to lose,
those that reach it (0 where there are none); largest is log2 of the largest number. All as they
were stored. Of each format there are its borders, [exponent, number of the place]: what reaches
`kept` is not rounded to 0, what reaches `over` is too large.
"""

import math

from markupsafe import Markup

from minifp.report.markup import as_json
from minifp.scope.histogram import Histogram
from minifp.scope.observed import GRADIENTS, KINDS
from minifp.scope.page.figures import TITLES, highest_bar, key_of, span
from minifp.scope.page.windows import as_data
from minifp.scope.record import Record

MOST_BYTES = 6_000_000  # of the data in a page


def data_of(findings: Record) -> tuple[Markup, int]:
    """The JSON, and of how many observed steps: every second, third, ... where all are too much."""
    thinned = 1
    while True:
        steps = findings.steps[::-1][::thinned][::-1]
        text = json_of(findings, steps)
        if len(text) <= MOST_BYTES or len(steps) == 1:
            return text, len(steps)
        thinned += 1


def json_of(findings: Record, steps: list) -> Markup:
    """The JSON of some of the steps."""
    kinds, exponents = {}, span(findings)
    formats = {format.name: as_data(format, findings.borders) for format in findings.formats}
    ends = [f[end] for f in formats.values() for end in ("kept", "over")]
    places = sorted({place for _, place in ends})
    for end in ends:
        end[1] = places.index(end[1])
    for kind in KINDS:
        kinds[key_of(kind)] = {
            "layers": findings.layers(kind), "gradient": kind in GRADIENTS,
            "top": highest_bar(findings, kind, exponents), "title": TITLES[kind],
            "format": findings.format_of(kind).name,
        }  # fmt: skip
    rows = []
    for step in steps:
        by_kind = {}
        for kind in KINDS:
            number = {name: i for i, name in enumerate(findings.layers(kind))}
            layers = step.histograms[kind].items()
            by_kind[key_of(kind)] = [[number[name], *row_of(h, places)] for name, h in layers]
        rows.append({"step": step.step, "shift": step.shift, "held": by_kind})
    whole = {"first": exponents[0], "bins": len(exponents), "formats": formats}
    whole |= {"kinds": kinds, "steps": rows}
    return as_json(whole)


def row_of(h: Histogram, places: list[int]) -> list:
    """The numbers of one layer."""
    reaching = [h.counts[:, place:].sum(axis=1).tolist() for place in places]
    largest = round(math.log2(h.largest), 3) if h.largest else None
    return [
        *(h.lowest, h.counts.sum(axis=1).tolist(), [r if any(r) else 0 for r in reaching]),
        *(h.zeros, h.infs, h.nans, largest),
    ]
