"""The verdict on each arm, in words."""

from minifp.lab.conclusions.claims import LEVEL, claims_of
from minifp.lab.statistics.paired import DIVERGED, WEAK_PAIRS
from minifp.report import words

WEAK = f"It is a weak verdict, of fewer than {WEAK_PAIRS} pairs"


def verdict_sentence(comparison) -> str:
    """The answer for each arm, with the margin and the number of seeds."""
    claims = claims_of(comparison)
    rows = [r for r in comparison.rows() if r.against is not None and not r.is_control]
    of = {row.precision: [c for c in claims if c.arm == row.precision] for row in rows}
    told = [sentence(row, of[row.precision], comparison) for row in rows]
    return " ".join(told) or "There is nothing to compare."


def sentence(row, claims, comparison) -> str:
    """That of one arm."""
    against = f"{row.precision} against {comparison.baseline}"
    if row.verdict == DIVERGED:
        lost = f"DIVERGED in {row.diverged} of {row.n} runs {share_text(row)}"
        return f"{against}, {comparison.task.metric_name}: {lost}."
    if row.verdict is None:
        least = f": at least {row.needed} seeds are needed" if row.needed else ""
        pairs = words.plural(row.pairs, "pair") + " of runs"
        coarse = f" {sentence_case(row.coarse)}." if row.coarse else ""
        return f"{against}, {comparison.task.metric_name}: no verdict from {pairs}{least}.{coarse}"
    decides = next(c for c in claims if c.decides)
    unit, margin = decides.score.difference_unit, decides.score.margin
    weak = " (weak)" if row.weak else ""
    more = f" about {row.needed} seeds are needed;" if row.needed else ""
    text = (
        f"{against}, {decides.score.name}: {row.verdict}{weak} at a margin of "
        f"{f'{margin:.3g} {unit}'.strip()};{more} difference {decides.difference:+.3g} {unit}"
    ).rstrip()
    text += f", 90% interval {decides.low:+.3g} to {decides.high:+.3g}, {row.pairs} paired seeds."
    told = [text, *[f"{WEAK}."] * row.weak, *instead(row, decides)]
    return " ".join([*told, *after_holm(decides, claims_made(comparison))])


def instead(row, decides) -> list[str]:
    """Why it is not the metric that decides."""
    if not row.coarse or decides.score.kind != "loss":
        return []
    note = f" ({decides.score.note})" if decides.score.note else ""
    return [f"{sentence_case(row.coarse)}: so the {decides.score.name} decides{note}."]


def claims_made(comparison) -> int:
    """How many claims are adjusted together."""
    return sum(bool(c.holm) for c in claims_of(comparison))


def after_holm(claim, count) -> list[str]:
    """Whether a verdict holds when all claims are to hold together."""
    p = claim.holm_of_verdict
    if count < 2 or p is None:
        return []
    if p <= LEVEL:
        return [f"It holds with Holm's correction for {count} claims (adjusted p: {p:.2g})."]
    return [f"With Holm's correction for {count} claims it does not hold (adjusted p: {p:.2g})."]


def share_text(row) -> str:
    """In which share of runs it might diverge."""
    low, high = row.diverged_interval
    return f"(95% interval {low:.0%} to {high:.0%})"


def sentence_case(text: str) -> str:
    """With its first letter large."""
    return text[:1].upper() + text[1:]
