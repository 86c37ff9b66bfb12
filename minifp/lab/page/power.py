"""How many seeds it takes: what a plan shows, and a section of a comparison's page."""

from minifp.lab import registration
from minifp.lab.conclusions.planning import counts, curve, needs_of
from minifp.lab.page.captions import heading
from minifp.lab.page.precision_styles import styles_of
from minifp.lab.statistics.power import POWER
from minifp.report import words
from minifp.report.charts import Arm, Group, Line, Panel
from minifp.report.content import Document, Part, Section, Table
from minifp.report.markup import paragraph

HEAD = ("precision", "score", "margin", "pairs", "SD", "power now", "seeds needed", "80% interval")
SHOWN = 8  # numbers of seeds of a power curve in text
ABOUT = (
    "Seeds needed: with this many, the verdict is EQUIVALENT with a chance of {power:.0%}, if "
    "there is truly no difference and differences spread (SD) as they do in the present pairs. "
    "Several precisions are to hold together, with Holm's correction. A spread from few pairs is "
    "uncertain: the interval shows the seeds needed at both ends of its 80% interval."
)
HOW = (
    "The chance of the verdict EQUIVALENT, if there is truly no difference and differences spread "
    "as they do here. Ticks at the bottom: the present number of seeds."
)


def section(comparison) -> Section:
    """What was registered, and how many seeds the margin needs."""
    needs = needs_of(comparison)
    lines = registration.sentences(comparison.registered)
    registered: list[Part] = [paragraph(text) for text in lines]
    if not needs:
        return Section("What was planned", registered)
    about = paragraph(ABOUT.format(power=POWER), "small")
    parts: list[Part] = [power_group(comparison, needs), needs_table(needs, brief=()), about]
    return Section("How many seeds", [*registered, *parts])


def power_group(comparison, needs) -> Group:
    """A line for each arm of which there are pairs, and where it is now."""
    seeds = counts(needs)
    said = "; ".join(f"{n.arm} needs {n.seeds:,} seeds" for n in needs) + "."
    styles = styles_of(comparison.precisions, comparison.baseline)
    lines = [Line(need.arm, 0, seeds, curve(need, seeds)) for need in needs]
    look: dict = {"percent": True, "minus": False, "ends": (0, 1.03)}
    look["marks"] = [(need.arm, 0, [need.pairs]) for need in needs]
    panel = Panel("power", "Power, by the number of seeds", lines, said, HOW, **look)
    arms = [Arm(need.arm, styles[need.arm]) for need in needs]
    return Group([panel], arms, [0], x="seeds", title=heading(comparison), name="seeds")


def needs_table(needs, brief=None) -> Table:
    """A row for each arm."""
    rows = [
        [need.arm, need.score, f"{need.margin:.3g} {need.unit}".strip(), str(need.pairs)]
        + [f"{need.sd:.2g}", f"{need.now:.2f}", f"{need.seeds:,}"]
        + [f"{need.at_best:,} to {need.at_worst:,}"]
        for need in needs
    ]
    return Table("From the pairs that there are", [HEAD, *rows], (1,), code=True, brief=brief)


def plan_document(plan) -> Document:
    """What a plan shows: the needs, the power of some numbers of seeds, and how to go on."""
    pilot, needs, notes = plan.pilot, plan.needs, plan.pilot.notes()
    if not needs:
        least = "fewer than two pairs of runs finished, or what decides has no margin"
        return Document(about=f"{pilot.task.name}: no plan is possible from the pilot: {least}.")
    seeds = words.plural(len(pilot.seeds), "seed")
    few = counts(needs)
    few = few[:: -(-len(few) // SHOWN)]
    powers = [[n.arm, *(f"{p:.2f}" for p in curve(n, few))] for n in needs]
    where = (
        f"The pilot's runs are in {pilot.out}. With --seeds {plan.seeds} and the same --out, only "
        "the missing runs are trained."
        if pilot.out
        else "With a folder (--out), the pilot's runs are kept and count."
    )
    table = Table("Power", [["seeds", *map(str, few)], *powers], code=True)
    return Document(
        title=f"{pilot.task.name}: how many seeds",
        about=f"{pilot.task.name}, a pilot of {seeds}. {ABOUT.format(power=plan.power)}",
        findings=[f"Take {plan.seeds} seeds{cautious(plan)}. {where}"],
        sections=[
            Section("Seeds needed", [needs_table(needs)]),
            Section("Power, by the number of seeds", [power_group(pilot, needs), table]),
        ],
        notes=notes,
    )


def cautious(plan) -> str:
    """How many it may be, if the pilot's differences happen to spread too little."""
    worst = max(need.at_worst for need in plan.needs)
    return f", or to be cautious {worst:,}" if worst > plan.seeds else ""
