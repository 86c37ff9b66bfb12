"""What a comparison says in sentences: a headline, and a statement for each precision."""

from minifp.lab.conclusions.claims import claims_of
from minifp.lab.conclusions.sentences import WEAK, beside, share_text
from minifp.lab.page.captions import metric_places
from minifp.lab.statistics.paired import (
    CONFIDENCE,
    DIFFERENT,
    DIVERGED,
    EQUIVALENT,
    INCONCLUSIVE,
    LEAST_PAIRS,
)
from minifp.report import words
from minifp.report.content import Finding

NO_VERDICT = "NO VERDICT"


def headline(comparison) -> str:
    """The whole result in one sentence."""
    rows = comparison.rows()
    base = next(row for row in rows if row.precision == comparison.baseline)
    rows = [row for row in rows if row is not base and not row.is_control]
    if not rows:
        return f"{comparison.baseline} alone: {metric_text(comparison, base)}"
    verdicts: dict[str, list] = {}
    for row in rows:
        verdicts.setdefault(row.verdict or NO_VERDICT, []).append(row)
    order = (EQUIVALENT, DIFFERENT, DIVERGED, INCONCLUSIVE, NO_VERDICT)
    clauses = [clause(v, verdicts[v], comparison) for v in order if v in verdicts]
    return "; ".join([*["not repeatable"] * bool(comparison.unrepeatable()), *clauses])


def clause(verdict, rows, comparison) -> str:
    """What all rows of one verdict have in common."""
    names, several = words.listed([row.precision for row in rows]), len(rows) > 1
    ends = f"{names} end{'' if several else 's'}"
    if verdict == EQUIVALENT:
        return f"{ends} where {comparison.baseline} ends{weak_text(rows)}"
    if verdict == DIFFERENT:
        ways = {direction(row, comparison) for row in rows}
        return f"{ends} {ways.pop() if len(ways) == 1 else 'elsewhere'}{weak_text(rows)}"
    if verdict == DIVERGED:
        return f"{names} diverge{'' if several else 's'}"
    seeds = max(row.pairs for row in rows)
    least = f": at least {LEAST_PAIRS} are needed" if verdict == NO_VERDICT and seeds else ""
    return f"no verdict on {names} from {words.plural(seeds, 'seed')}{least}"


def weak_text(rows) -> str:
    """Of how few seeds a verdict is, where they are few."""
    few = [row.pairs for row in rows if row.weak]
    return f" (weak: {words.plural(min(few), 'seed')})" if few else ""


def direction(row, comparison) -> str:
    """Whether a difference is for the better or the worse, in the score that decides."""
    claim = next(c for c in claims_of(comparison) if c.arm == row.precision and c.decides)
    gain = claim.difference or 0.0
    return "better" if (gain > 0) == (claim.score.goal == "max") else "worse"


def badge(row) -> str:
    """The verdict as it stands in tables."""
    if row.is_control:
        return "control"
    return f"{row.verdict}{' (weak)' if row.weak else ''}" if row.verdict else ""


def statements(comparison) -> list[Finding]:
    """For each precision but the baseline its verdict against it, and the reasons."""
    rows, claims = comparison.rows(), claims_of(comparison)
    base = next(row for row in rows if row.precision == comparison.baseline)
    findings = []
    for row in rows:
        if row is not base and not row.is_control:
            own = next((c for c in claims if c.arm == row.precision and c.decides), None)
            text = reasons(row, base, own, comparison)
            text = " ".join([text, *(beside(own) if row.verdict and own else ())])
            text = text[:1].upper() + text[1:]
            findings.append(Finding(row.precision, badge(row) or NO_VERDICT, text))
    return findings


def reasons(row, base, claim, comparison) -> str:
    """The numbers behind a verdict. claim: the one that decides, if there is one."""
    if row.verdict == DIVERGED:
        return lost_text(row, base, comparison)
    if not words.is_number(row.difference):
        return "no pair of runs to compare yet."
    text = (
        f"{metric_text(comparison, row)} against {metric_text(comparison, base)}: a difference of "
        f"{difference_text(row, comparison.task.primary)}"
    )
    if not words.is_number(row.low):
        return f"{text} from a single pair of runs, which is no evidence."
    if row.pairs < LEAST_PAIRS:
        return f"{text}, too few for a verdict: at least {row.needed} are needed."
    if row.verdict is None:
        why = row.coarse or f"no run has its {comparison.task.decider}"
        return f"{text}; but {why}, and no test loss with a margin is there to decide."
    score = claim.score
    if score.name == comparison.task.metric_name:
        return text + closing(row, f"the task's margin of ±{score.margin:g}")
    why = f"but {row.coarse}, so the" if row.coarse else "as declared, the"
    text += f"; {why} {score.name} decides: {difference_text(claim, score)}"
    note = f" {score.note[:1].upper()}{score.note[1:]}." if row.coarse and score.note else ""
    return text + closing(row, f"its margin of ±{score.margin:.2g}") + note


def difference_text(claim, score) -> str:
    """A difference with its interval and pairs."""
    places, unit = words.decimals(score.margin), score.difference_unit
    text = f"{words.signed(claim.difference, places)} {unit}".rstrip()
    if not words.is_number(claim.low):
        return text
    ends = f"{words.signed(claim.low, places)} to {words.signed(claim.high, places)}"
    return f"{text} ({CONFIDENCE:.0%} interval {ends}, {claim.pairs} pairs)"


def closing(row, margin) -> str:
    """Where an interval lies."""
    if row.verdict == INCONCLUSIVE:
        return f", partly inside {margin}; about {row.needed} seeds would decide."
    where = "inside" if row.verdict == EQUIVALENT else "outside"
    return f", {where} {margin}.{f' {WEAK}.' if row.weak else ''}"


def lost_text(row, base, comparison) -> str:
    """How many runs were lost, and why the first of them was."""
    notes = [run.note for run in comparison.runs_of(row.precision) if not run.finished]
    of_base = f"{base.n - base.diverged} of {base.n}"
    why = f" The first: {notes[0]}." if notes and notes[0] else ""
    ended = f"{row.diverged} of {row.n} runs did not finish {share_text(row)}"
    return f"{ended}, where {of_base} of {base.precision} did.{why}"


def metric_text(comparison, row) -> str:
    """The mean metric with its unit."""
    places, unit = metric_places(comparison.task), comparison.task.metric_unit
    return f"{words.fixed(row.mean, places)} {unit}".strip()
