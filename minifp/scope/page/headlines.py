"""The answers of a microscope: on the loss scale, on skipped steps, on updates, on misuse."""

from minifp.report import words
from minifp.report.words import share_text
from minifp.scope.observed import ObservedStep
from minifp.scope.record import Record


def headlines(findings: Record) -> list[str]:
    """A text on each, the most important first."""
    texts = [str(findings.advice())]
    if skipped := sum(findings.skipped):
        first = findings.diagnoses[0]["text"] if findings.diagnoses else ""
        count = words.plural(skipped, "step")
        texts.append(f"{count} of {findings.count} skipped. {first}".strip())
    last = next((s for s in reversed(findings.steps) if s.updates), None)
    if last is not None:
        texts.append(on_updates(last, findings.alone))
    return texts + findings.warnings


def on_updates(step: ObservedStep, formats: list[str]) -> str:
    """How many of a step's updates were lost, and would be with weights in these formats alone."""
    if step.rates and not any(step.rates):
        return (
            f"The learning rate of step {step.step} is 0, perhaps because a schedule has ended: no "
            "weight changes, so there are no updates to show."
        )
    updates = step.updates.values()
    total, lost = sum(u.wanted for u in updates), sum(u.lost for u in updates)
    text = f"In step {step.step}, {some(lost, total)} of the updates that the optimizer computed"
    alone = {name: sum(u.number(name) for u in updates) for name in formats}
    others = [
        f"{some(n, total)} with {name} weights alone" for name, n in alone.items() if n != lost
    ]
    more = f"; it would have been {words.listed(others)}" if others else ""
    return f"{text} were lost{more}."


def some(n: int, total: int) -> str:
    """A share of all, or none."""
    return share_text(n, total) if n else "none"
