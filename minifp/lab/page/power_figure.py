"""The power curve: how likely EQUIVALENT is with so many seeds, if there is truly no difference."""

from minifp.lab.conclusions.planning import counts, curve, needs_of
from minifp.lab.page.captions import heading, note
from minifp.lab.page.precision_styles import styles_of
from minifp.report.charts import Arm, Group, Line, Panel


def power_group(comparison, styles=None) -> Group:
    """A line for each arm of which there are pairs, and where it is now."""
    needs = needs_of(comparison)
    seeds = counts(needs)
    said = "; ".join(f"{n.arm} needs {n.seeds:,} seeds" for n in needs) + "."
    styles = styles or styles_of(comparison.precisions, comparison.baseline)
    lines = [Line(need.arm, 0, seeds, curve(need, seeds)) for need in needs]
    look: dict = {"percent": True, "minus": False, "ends": (0, 1.03)}
    look["marks"] = [(need.arm, 0, [need.pairs]) for need in needs]
    title, how = "Power, by the number of seeds", note(comparison, "power")
    panels = [Panel("power", title, lines, said, how, **look)] if needs else []
    arms = [Arm(need.arm, styles[need.arm]) for need in needs]
    return Group(panels, arms, [0], x="seeds", title=heading(comparison))
