"""The verdict on each arm, in words."""

from minifp.lab.conclusions.claims import LEVEL, claims_of
from minifp.lab.statistics.paired import DIFFERENT, DIVERGED, WEAK_PAIRS
from minifp.report import words

WEAK = f"It is a weak verdict, of fewer than {WEAK_PAIRS} pairs"


def verdict_sentence(comparison) -> str:
    """The answer for each arm, with the margin and the number of seeds."""
    claims = claims_of(comparison)
    rows = [r for r in comparison.rows() if r.against is not None and not r.is_control]
    of = {row.precision: [c for c in claims if c.arm == row.precision] for row in rows}
    texts = [sentence(row, of[row.precision], comparison) for row in rows]
    return " ".join(texts) or "There is nothing to compare."


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
    interval = f"90% interval {decides.low:+.3g} to {decides.high:+.3g}"
    text += f", {interval}, {decides.pairs} paired seeds."
    texts = [text, *[f"{WEAK}."] * row.weak, *instead(row, decides)]
    return " ".join([*texts, *beside(decides)])


def instead(row, decides) -> list[str]:
    """Why it is not the declared score that decides."""
    if not row.coarse or decides.coarse:
        return []
    note = f" ({decides.score.note})" if decides.score.note else ""
    return [f"{sentence_case(row.coarse)}: so the {decides.score.name} decides{note}."]


def beside(claim) -> list[str]:
    """What goes with a verdict: its look, that signs of differences speak against it, if they do,
    and whether it holds together with the others."""
    p, there = claim.contradicted_by, "may be none" if claim.verdict == DIFFERENT else "is one"
    said = f"But by the signs of the differences there {there} (sign-flip p: {p or 0:.2g})."
    return [*at_look(claim), *[said] * (p is not None), *after_holm(claim)]


def at_look(claim) -> list[str]:
    """At which of the looks that were planned it was decided."""
    if not claim.looks:
        return []
    d, of = claim.paired, f"of {words.plural(len(claim.looks), 'planned look')}"
    when = f"Decided at look {d.decided} {of}" if d.decided else f"Open after {d.made} {of}"
    return [f"{when}: the interval holds at all of them together."]


def after_holm(claim) -> list[str]:
    """Whether a verdict holds when all claims are to hold together."""
    p, count = claim.holm_of_verdict, claim.together
    if count < 2 or p is None:
        return []
    if p <= LEVEL:
        return [f"It holds with Holm's correction for {count} claims (adjusted p: {p:.2g})."]
    return [f"With Holm's correction for {count} claims it does not hold (adjusted p: {p:.2g})."]


def limits(claim, decided_by: str = "", before: tuple[str, ...] = ()) -> str:
    """What takes from a verdict, in brackets: few pairs, that another score decided, that it does
    not hold together with the other claims, signs of differences; empty where nothing does.

    before: what else the brackets hold, first.
    """
    texts = [*before, *([f"weak, of {words.plural(claim.pairs, 'pair')}"] if claim.is_weak else [])]
    texts += [f"by its {decided_by}"] if decided_by else []
    if not holds_together(claim):
        count, p = words.plural(claim.together, "claim"), claim.holm_of_verdict
        texts.append(f"not with Holm's correction for {count}, adjusted p {p:.2g}")
    if claim.contradicted_by is not None:
        texts.append(f"but sign-flip p {claim.contradicted_by:.2g}")
    return f" ({'; '.join(texts)})" if texts else ""


def look_text(claim) -> list[str]:
    """The look that gave the verdict, of those planned, in short."""
    decided = claim.paired.decided if claim.looks else None
    return [f"look {decided} of {len(claim.looks)}"] if decided else []


def holds_together(claim) -> bool:
    """Whether nothing says that a verdict does not hold together with the other claims."""
    return (claim.holm_of_verdict or 0.0) <= LEVEL


def share_text(row) -> str:
    """In which share of runs it might diverge."""
    low, high = row.diverged_interval
    return f"(95% interval {low:.0%} to {high:.0%})"


def sentence_case(text: str) -> str:
    """With its first letter large."""
    return text[:1].upper() + text[1:]
