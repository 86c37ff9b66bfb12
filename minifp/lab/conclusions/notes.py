"""What must be known beside the table."""

from collections import Counter

from minifp.lab import registration
from minifp.lab.arms import is_control
from minifp.lab.conclusions import courses
from minifp.lab.conclusions.claims import claims_of, decisive_of
from minifp.lab.conclusions.prices import price_notes
from minifp.lab.conclusions.sentences import look_text, sentence_case
from minifp.lab.statistics.moments import mean
from minifp.report import words

FEW_SEEDS = 5  # below it a mean and its band say little


def notes(comparison) -> list[str]:
    """The dial, few seeds, what is too coarse or not converged, runs that did not finish."""
    texts = [comparison.dial_note()] if comparison.dial else []
    if len(comparison.seeds) < FEW_SEEDS:
        seeds = words.plural(len(comparison.seeds), "seed")
        texts.append(
            f"{seeds} only: pictures show intervals from {FEW_SEEDS} seeds on, and a claim should "
            "rest on 10."
        )
    texts += registration.warnings(comparison.registered)
    texts += looks_notes(comparison)
    texts += coarse_notes(comparison) + converged_notes(comparison) + partner_notes(comparison)
    for arm in comparison.precisions:
        for run in comparison.runs_of(arm):
            if not run.finished:
                texts.append(f"{arm}, seed {run.seed} {run.status}: {run.note}.")
            if "repeated" in run.made:
                why = run.made["repeated"]
                texts.append(f"{arm}, seed {run.seed} was run twice: {why}.")
    elsewhere = Counter(r.made["environment"] for r in comparison.runs if "environment" in r.made)
    for machine, runs in elsewhere.items():
        of = f"{runs} of {len(comparison.runs)} runs"
        texts.append(f"{of} ran on another machine: {machine}.")
    if comparison.missing():
        left = f"{len(comparison.missing())} of {len(comparison.asked)} runs"
        texts.append(f"{left} are still missing.")
    return texts


def looks_notes(comparison) -> list[str]:
    """At which of the planned looks each arm was decided, and what those that were not cost."""
    budget, decisive = comparison.budget, decisive_of(comparison)
    if budget is None:
        return []
    looks = [f"{arm}: {text}" for arm, c in decisive.items() for text in look_text(c)]
    said = (
        f"Verdicts are read at planned looks ({budget}); intervals and p values hold at all "
        f"of them together. {'; '.join(looks)}{'.' * bool(looks)}"
    )
    return [said.strip(), *price_notes(comparison, decisive)]


def coarse_notes(comparison) -> list[str]:
    """Metrics that cannot tell their margins, and what decides instead."""
    texts, claims = [], claims_of(comparison)
    for claim in claims:
        if not claim.coarse:
            continue
        loss = next((c.score for c in claims if c.arm == claim.arm and c.decides), None)
        is_declared = claim.score.name == comparison.task.decider
        after = ": test on more examples"
        if loss is not None and is_declared:
            note = f" ({loss.note})" if loss.note else ""
            after = f": so the {loss.name} decides{note}"
        texts.append(f"{sentence_case(claim.coarse)}{after}.")
    return list(dict.fromkeys(texts))


def converged_notes(comparison) -> list[str]:
    """Arms that were still becoming better."""
    task, improving = comparison.task, courses.not_converged(comparison)
    if all(map(is_control, improving)):
        return []
    plain = [arm for arm in improving if not is_control(arm)]
    is_all = len(improving) == len(comparison.precisions)
    arms = "in all arms" if is_all else f"of {words.listed(plain)}"
    by = f"{mean(list(improving.values())):.2g} {task.difference_unit}".strip()
    return [
        f"Not converged: over the last quarter of the steps the {task.metric_name} {arms} still "
        f"improved by {by}, more than the margin of {task.margin:g}. These results may not hold "
        "after longer training."
    ]


def partner_notes(comparison) -> list[str]:
    """Controls without the runs that they disturb."""
    controls = [row for row in comparison.rows() if row.is_control]
    alone = [row for row in controls if row.against not in comparison.precisions]
    return [
        f"{r.precision} has nothing to compare with: add {r.against} to the precisions."
        for r in alone
    ]
