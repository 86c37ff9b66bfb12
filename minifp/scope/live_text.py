"""A training that goes on, in text: its last numbers, and in which powers of two they lie.

All as it is stored, so that the windows of formats stand still: gradients are multiplied by the
loss scale.
"""

from collections.abc import Sequence

from minifp.numerics.formats import float16, format_of
from minifp.numerics.number_format import Format
from minifp.report.words import scale_text
from minifp.scope.borders import kept_from, normal_from, too_large_from
from minifp.scope.histogram import Histogram
from minifp.scope.observed import KINDS, ObservedStep
from minifp.scope.record import Record

BLOCKS = " ▁▂▃▄▅▆▇█"
ASCII = " .:-=+*#%"  # where a terminal has no blocks
ROWS = 2  # of a histogram
LABEL = 22  # columns in front of it
NOTE = 12  # and behind it
MARGIN = 2  # powers of two that are shown beyond float16's


# ---- numbers ------------------------------------------------------------------------------------


def numbers(scope: Record, losses: Sequence[float]) -> dict[str, str]:
    """What the last steps did: loss, loss scale, skipped steps, and lost updates."""
    skips = [step for step, was in enumerate(scope.skipped, 1) if was]
    skipped = f"{len(skips)} of {scope.count}" + (f", last step {skips[-1]}" if skips else "")
    return {
        "loss": f"{losses[-1]:.4f}" if losses else "-",
        "loss scale": scale_text(scope.scales[-1]) if scope.scales else "-",
        "skipped": skipped,
        "lost updates": lost_updates(scope),
    }


def lost_updates(scope: Record) -> str:
    """Of the last step that was looked at and made some: the share that changed no weight."""
    step = next((s for s in reversed(scope.steps) if s.updates), None)
    if step is None:
        return "-"
    updates = step.updates.values()
    total = sum(u.wanted for u in updates)
    lost, alone = (sum(u.number(what) for u in updates) for what in ("lost", float16.name))
    if not total:
        return "none were wanted"
    share = f"{lost / total:.1%}" if lost else "none"
    return share if alone == lost else f"{share} ({alone / total:.1%} with float16 weights alone)"


def zeros(h: Histogram) -> str:
    """The share of zeros, and Inf and NaN if there are some: they are in no power of two."""
    if not h.total:
        return "no numbers"
    broken = h.infs + h.nans
    return f"zeros {h.zeros / h.total:.0%}" + (f", {broken} Inf/NaN" if broken else "")


def in_a_line(scope: Record, losses: Sequence[float]) -> str:
    """The same where nothing can be drawn, and the zeros of the last step that was looked at."""
    values = ", ".join(f"{name} {value}" for name, value in numbers(scope, losses).items())
    shares = ", ".join(f"{kind} {zeros(scope.steps[-1].total(kind))}" for kind in KINDS)
    return f"step {scope.count}: {values}; {shares}"


# ---- histograms ---------------------------------------------------------------------------------


def exponents_of(step: ObservedStep, before: range = range(0)) -> range:
    """Those to show: of float16, of the step, and those that were shown before."""
    half = format_of(float16)
    ends = [kept_from(half).exponent + 1 - MARGIN, too_large_from(half).exponent + MARGIN]
    for kind in KINDS:
        if (h := step.total(kind)).nonzero:
            ends += [h.lowest, h.highest - 1]
    ends += [before[0], before[-1]] if before else []
    return range(max(min(ends), -80), min(max(ends), 40) + 1)


def columns_of(exponents: range, room: int) -> list[range]:
    """The exponents of each column, as few in each as `room` allows."""
    per = max(1, -(-len(exponents) // max(room, 1)))
    return [exponents[i : i + per] for i in range(0, len(exponents), per)]


def heights(h: Histogram, columns: list[range], levels: int) -> list[int]:
    """Of each column from 0 to `levels`, the fullest; what is not empty has at least 1."""
    exponents = h.exponents
    counts = [sum(exponents.get(e, 0) for e in column) for column in columns]
    most = max(counts, default=0)
    return [-(-count * levels // most) if most else 0 for count in counts]


def bars(h: Histogram, columns: list[range], marks: str) -> list[str]:
    """A histogram in ROWS lines, from above."""
    each = len(marks) - 1
    tops = heights(h, columns, ROWS * each)
    return [
        "".join(marks[min(max(height - row * each, 0), each)] for height in tops)
        for row in reversed(range(ROWS))
    ]


def window(format: Format, columns: list[range]) -> str:
    """What a format holds: "=" with all of its digits, "-" with fewer."""
    least, normal = kept_from(format).exponent + 1, normal_from(format).exponent
    most = too_large_from(format).exponent
    kinds = [(" -"[c[-1] >= least], "=")[c[0] >= normal] for c in columns]
    return "".join(kind if c[0] <= most else " " for kind, c in zip(kinds, columns))


def ticks(columns: list[range], every: int = 8) -> str:
    """The exponents that are multiples of `every`, each where its column begins."""
    line = ""
    for i, column in enumerate(columns):
        for e in column:
            if e % every == 0 and len(line) <= i:
                line = f"{line:<{i}}{e} "
    return line[: len(columns)].rstrip()


def windows(step: ObservedStep) -> list[Format]:
    """The formats in which numbers of a step are stored, but those that hold all; or float16."""
    counts = step.narrow(KINDS)
    return [format_of(name) for name in sorted(counts)] or [format_of(float16)]


def histograms(step: ObservedStep, exponents: range, width: int, marks: str) -> list[str]:
    """Those of all kinds in so many columns of a terminal, and what formats hold below them."""
    columns = columns_of(exponents, width - LABEL - NOTE)
    lines = []
    for kind in KINDS:
        h = step.total(kind)
        *above, last = bars(h, columns, marks)
        lines += [f"{'':{LABEL}}{line}" for line in above]
        lines.append(f"{kind:{LABEL}}{last}  {zeros(h)}")
    for format in windows(step):
        lines.append(f"{format.name + ' holds':{LABEL}}{window(format, columns)}")
    lines.append(f"{'2 to the power of':{LABEL}}{ticks(columns)}")
    return [line.rstrip() for line in lines]
