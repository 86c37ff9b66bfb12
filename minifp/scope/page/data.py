"""The numbers behind the figures of a microscope's page, as its script reads them: JSON.

Each layer of a step is [layer, lowest, counts, powers, tops, zeros, infs, nans, largest]: counts of
each power of two from 2^lowest on; of these, those that are 2^e itself and those that round to
2^(e+1) (0 where there is none); largest is log2 of the largest number. All as they were stored.
"""

import json
import math

from minifp.scope.histogram import POWER, ROUNDS_UP, Histogram
from minifp.scope.observed import GRADIENTS, KINDS
from minifp.scope.page.figures import TITLES, highest_bar, key_of, span
from minifp.scope.record import Record

MOST_BYTES = 6_000_000  # of the data in a page


def data_of(findings: Record) -> tuple[str, int]:
    """The JSON, and of how many observed steps: every second, third, ... where all are too much."""
    thinned = 1
    while True:
        steps = findings.steps[::-1][::thinned][::-1]
        text = json_of(findings, steps)
        if len(text) <= MOST_BYTES or len(steps) == 1:
            return text, len(steps)
        thinned += 1


def json_of(findings: Record, steps: list) -> str:
    """The JSON of some of the steps; it cannot end the script element that holds it."""
    kinds, exponents = {}, span(findings)
    for kind in KINDS:
        kinds[key_of(kind)] = {
            "layers": findings.layers(kind), "gradient": kind in GRADIENTS,
            "top": highest_bar(findings, kind, exponents), "title": TITLES[kind],
        }  # fmt: skip
    told = []
    for step in steps:
        held = {}
        for kind in KINDS:
            number = {name: i for i, name in enumerate(findings.layers(kind))}
            layers = step.histograms[kind].items()
            held[key_of(kind)] = [[number[name], *row_of(h)] for name, h in layers]
        told.append({"step": step.step, "shift": step.shift, "held": held})
    whole = {"first": exponents[0], "bins": len(exponents), "kinds": kinds, "steps": told}
    return json.dumps(whole, separators=(",", ":")).replace("<", "\\u003c")


def row_of(h: Histogram) -> list:
    """The numbers of one layer."""
    powers, tops = (h.counts[:, part].tolist() for part in (POWER, ROUNDS_UP))
    largest = round(math.log2(h.largest), 3) if h.largest else None
    return [
        *(h.lowest, h.counts.sum(axis=1).tolist(), powers, tops if any(tops) else 0),
        *(h.zeros, h.infs, h.nans, largest),
    ]
