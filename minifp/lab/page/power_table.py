"""How many seeds it takes, as tables: on the screen, and in a page."""

from markupsafe import Markup

from minifp.lab import registration
from minifp.lab.conclusions.planning import counts, curve, needs_of
from minifp.lab.page.power_figure import power_group
from minifp.lab.statistics.power import POWER
from minifp.report import words
from minifp.report.chart_markup import group_html
from minifp.report.markup import code, paragraph, section, table
from minifp.report.plain_text import columns, fill

HEAD = ("margin", "pairs", "SD", "power now", "seeds needed", "80% interval")
SHOWN = 8  # numbers of seeds of a power curve in text
ABOUT = (
    "Seeds needed: with this many, the verdict is EQUIVALENT with a chance of {power:.0%}, if "
    "there is truly no difference and differences spread (SD) as they do in the present pairs. "
    "Several precisions are to hold together, with Holm's correction. A spread from few pairs is "
    "uncertain: the interval shows the seeds needed at both ends of its 80% interval."
)


def plan_text(plan) -> str:
    """A plan as plain text."""
    pilot, needs = plan.pilot, plan.needs
    if not needs:
        least = "fewer than two pairs of runs finished, or what decides has no margin"
        return fill(f"{pilot.task.name}: no plan is possible from the pilot: {least}.")
    seeds = words.plural(len(pilot.seeds), "seed")
    rows = [(f"{n.arm}, {n.score}", *cells(n)) for n in needs]
    few = counts(needs)
    few = few[:: -(-len(few) // SHOWN)]
    powers = [(n.arm, *(f"{p:.2f}" for p in curve(n, few))) for n in needs]
    where = (
        f"The pilot's runs are in {pilot.out}. With --seeds {plan.seeds} and the same --out, only "
        "the missing runs are trained."
        if pilot.out
        else "With a folder (--out), the pilot's runs are kept and count."
    )
    blocks = [
        fill(f"{pilot.task.name}, a pilot of {seeds}. {ABOUT.format(power=plan.power)}"),
        columns([("precision, score", *HEAD), *rows]),
        "Power, by the number of seeds:",
        columns([("seeds", *map(str, few)), *powers]),
        fill(f"Take {plan.seeds} seeds{cautious(plan)}. {where}"),
        "\n".join(fill(note, hang="  ") for note in pilot.notes()),
    ]
    return "\n\n".join(block for block in blocks if block)


def cautious(plan) -> str:
    """How many it may be, if the pilot's differences happen to spread too little."""
    worst = max(need.at_worst for need in plan.needs)
    return f", or to be cautious {worst:,}" if worst > plan.seeds else ""


def cells(need) -> tuple:
    """The cells of one arm behind its name."""
    return (
        f"{need.margin:.3g} {need.unit}".strip(),
        str(need.pairs),
        f"{need.sd:.2g}",
        f"{need.now:.2f}",
        f"{need.seeds:,}",
        f"{need.at_best:,} to {need.at_worst:,}",
    )


def power_section(comparison, prefix) -> Markup:
    """What was registered, and how many seeds the margin needs."""
    needs = needs_of(comparison)
    registered = [paragraph(text) for text in registration.sentences(comparison.registered)]
    if not needs:
        return section("What was planned", *registered)
    rows = [[code(n.arm), n.score, *cells(n)] for n in needs]
    shown = table(
        "From the pairs that there are", ["precision", "score", *HEAD], rows, text_columns=(1,)
    )
    return section(
        "How many seeds",
        *registered,
        group_html(power_group(comparison), prefix),
        shown,
        paragraph(ABOUT.format(power=POWER), "small"),
    )
