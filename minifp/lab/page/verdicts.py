"""What a comparison says in sentences: a headline, and a statement for each precision."""

from dataclasses import dataclass

from minifp.lab.statistics.paired import (
    CONFIDENCE,
    DIFFERENT,
    DIVERGED,
    EQUIVALENT,
    INCONCLUSIVE,
    LEAST_PAIRS,
)
from minifp.report import words

NO_VERDICT = "NO VERDICT"


@dataclass(frozen=True)
class Statement:
    """One precision against the baseline: its verdict and the reasons."""

    precision: str
    verdict: str
    text: str


def headline(comparison) -> str:
    """The whole result in one sentence."""
    rows = [row for row in comparison.rows() if row.precision != comparison.baseline]
    if not rows:
        return f"{comparison.baseline} alone: {metric_text(comparison, comparison.rows()[0])}"
    verdicts: dict[str, list] = {}
    for row in rows:
        verdicts.setdefault(row.verdict or NO_VERDICT, []).append(row)
    order = (EQUIVALENT, DIFFERENT, DIVERGED, INCONCLUSIVE, NO_VERDICT)
    clauses = [clause(v, verdicts[v], comparison) for v in order if v in verdicts]
    return "; ".join(clauses)


def clause(verdict, rows, comparison) -> str:
    """What all rows of one verdict have in common."""
    names, several = words.listed([row.precision for row in rows]), len(rows) > 1
    if verdict == EQUIVALENT:
        return f"{names} end{'' if several else 's'} where {comparison.baseline} ends"
    if verdict == DIFFERENT:
        ways = {direction(row, comparison) for row in rows}
        return (
            f"{names} end{'' if several else 's'} {ways.pop() if len(ways) == 1 else 'elsewhere'}"
        )
    if verdict == DIVERGED:
        return f"{names} diverge{'' if several else 's'}"
    seeds = max(row.pairs for row in rows)
    least = f": at least {LEAST_PAIRS} are needed" if verdict == NO_VERDICT and seeds else ""
    return f"no verdict on {names} from {words.plural(seeds, 'seed')}{least}"


def direction(row, comparison) -> str:
    """Whether a difference is for the better or the worse."""
    return "better" if (row.difference > 0) == (comparison.task.goal == "max") else "worse"


def statements(comparison) -> list[Statement]:
    """One for each precision but the baseline."""
    rows = comparison.rows()
    base = next(row for row in rows if row.precision == comparison.baseline)
    return [
        Statement(row.precision, row.verdict or NO_VERDICT, reasons(row, base, comparison))
        for row in rows
        if row is not base
    ]


def reasons(row, base, comparison) -> str:
    """The numbers behind a verdict."""
    if row.verdict == DIVERGED:
        return lost_text(row, base, comparison)
    if not words.is_number(row.difference):
        return "no pair of runs to compare yet."
    task, places = comparison.task, words.decimals(comparison.task.margin)
    unit = task.difference_unit
    text = (
        f"{metric_text(comparison, row)} against {metric_text(comparison, base)}: a difference of "
        f"{words.signed(row.difference, places)} {unit}"
    )
    if not words.is_number(row.low):
        return f"{words.typeset(text)} from a single pair of runs, which is no evidence."
    ends = f"{words.signed(row.low, places)} to {words.signed(row.high, places)}"
    text += f" ({CONFIDENCE:.0%} interval {ends}, {row.pairs} pairs), "
    if row.verdict is None:
        return f"{words.typeset(text)}too few for a verdict: at least {row.needed} are needed."
    margin = f"the task's margin of ±{task.margin:g}"
    closing = {
        EQUIVALENT: f"inside {margin}.",
        DIFFERENT: f"outside {margin}.",
        INCONCLUSIVE: f"partly inside {margin}; about {row.needed} seeds would decide.",
    }
    return words.typeset(text) + closing[row.verdict]


def lost_text(row, base, comparison) -> str:
    """How many runs were lost, and why the first of them was."""
    notes = [run.note for run in comparison.runs_of(row.precision) if not run.finished]
    of_base = f"{base.n - base.diverged} of {base.n}"
    why = f" The first: {notes[0]}." if notes and notes[0] else ""
    ended = f"{row.diverged} of {row.n} runs did not finish"
    return f"{ended}, where {of_base} of {base.precision} did.{why}"


def metric_text(comparison, row) -> str:
    """The mean metric with its unit."""
    places, unit = words.decimals(comparison.task.margin), comparison.task.metric_unit
    return f"{words.fixed(row.mean, places)} {unit}".strip()
