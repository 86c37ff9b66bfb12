"""The numbers behind the figures of a microscope's page, as its script reads them: JSON.

Each layer of a step is [layer, lowest, counts, reaching, zeros, infs, nans, largest]: counts of
each power of two from 2^lowest on; of these, for each place in it where a format begins to lose,
those that reach it (0 where there are none); largest is log2 of the largest number. All as they
were stored. Of each format there are its borders, [exponent, number of the place]: what reaches
`kept` is not rounded to 0, what reaches `over` is too large.
"""

import math
from bisect import bisect_left, bisect_right
from itertools import count

from markupsafe import Markup

from minifp.numerics.number_format import Format
from minifp.report.markup import as_json
from minifp.scope.borders import are_counted, kept_from, normal_from, too_large_from
from minifp.scope.histogram import Histogram
from minifp.scope.observed import GRADIENTS, KINDS
from minifp.scope.page.figures import TITLES, highest_bar, key_of, span
from minifp.scope.record import Record

MOST_BYTES = 6_000_000  # of the data in a page


def data_of(findings: Record) -> tuple[Markup, int]:
    """The JSON, and of how many observed steps: every second, third, ... where all are too much."""
    for every in count(1):
        steps = findings.steps[::-1][::every][::-1]
        text = json_of(findings, steps)
        if len(text) <= MOST_BYTES or len(steps) == 1:
            break
    return text, len(steps)


def json_of(findings: Record, steps: list) -> Markup:
    """The JSON of some of the steps."""
    exponents = span(findings)
    formats = {format.name: limits_of(format, findings.borders) for format in findings.formats}
    ends = [f[end] for f in formats.values() for end in ("kept", "over")]
    places = sorted({place for _, place in ends})
    for end in ends:
        end[1] = places.index(end[1])
    kinds = {
        key_of(kind): {
            "layers": findings.layers(kind),
            "gradient": kind in GRADIENTS,
            "top": highest_bar(findings, kind, exponents),
            "title": TITLES[kind],
            "format": findings.format_of(kind).name,
        }
        for kind in KINDS
    }
    numbers = {kind: {n: i for i, n in enumerate(findings.layers(kind))} for kind in KINDS}
    rows = []
    for step in steps:
        by_kind = {
            key_of(kind): [
                [numbers[kind][name], *row_of(h, places)]
                for name, h in step.histograms[kind].items()
            ]
            for kind in KINDS
        }
        rows.append({"step": step.step, "shift": step.shift, "held": by_kind})
    whole = {"first": exponents[0], "bins": len(exponents), "formats": formats}
    return as_json({**whole, "kinds": kinds, "steps": rows})


def limits_of(format: Format, borders: tuple) -> dict:
    """What a format loses, by exponents and by the parts of histograms that end at these borders;
    see the module."""
    low, over = kept_from(format), too_large_from(format)
    return {
        "kept": [low.exponent, bisect_right(borders, low.place) - 1],
        "over": [over.exponent, bisect_left(borders, over.place)],
        "normal": normal_from(format).exponent,
        "max": math.log2(format.max),
        "said": in_format(format, borders),
    }


def in_format(format: Format, borders: tuple) -> str:
    """Where numbers are stored, and whether histograms whose parts end at these borders count all
    that is lost there."""
    at_least = "" if are_counted(format, borders) else " (lost: at least)"
    return f"in {format.name}{at_least}"


def row_of(h: Histogram, places: list[int]) -> list:
    """The numbers of one layer."""
    reaching = [h.counts[:, place:].sum(axis=1).tolist() for place in places]
    largest = round(math.log2(h.largest), 3) if h.largest else None
    return [
        *(h.lowest, h.counts.sum(axis=1).tolist(), [r if any(r) else 0 for r in reaching]),
        *(h.zeros, h.infs, h.nans, largest),
    ]
