"""What is shown of an ablation: effects, combinations, and what follows for each technique."""

from minifp.lab.ablation.effects import ALONE, AVERAGE, TOGETHER, WAYS
from minifp.lab.conclusions.sentences import limits
from minifp.lab.page.captions import mean_text, metric_label, metric_places
from minifp.lab.results.store import EFFECTS, REPORT
from minifp.lab.statistics.paired import CONFIDENCE, DIFFERENT, DIVERGED, EQUIVALENT
from minifp.report import drawing, words
from minifp.report.content import Document, Links, Section, Table
from minifp.report.rows import Mark, Row, Rows

ASKED = {TOGETHER: "with all others", ALONE: "with no other", AVERAGE: "on average"}
STYLE_OF = dict(zip(WAYS, drawing.STYLES[1:]))


def document(ablation) -> Document:
    """The findings first, then the effects and the combinations."""
    dial = ablation.comparison.dial_note()
    effects = [effect.told() for effect in ablation.effects]
    return Document(
        name=EFFECTS,
        title=f"{ablation.comparison.task.name}: what each technique does",
        about=about(ablation),
        findings=sentences(ablation),
        sections=[
            Section("Effects", [chart(ablation, EFFECTS), effect_table(ablation)]),
            Section("Combinations", [cell_table(ablation)]),
            Section("All runs", [Links([[(REPORT, "All runs, curves and settings")]])]),
        ],
        notes=[dial] if dial else [],
        caption=dial,
        records={EFFECTS: [[*effects[0]], *([*row.values()] for row in effects)]},
    )


# ---- in words -----------------------------------------------------------------------------------


def about(ablation) -> str:
    """What was trained, and what an effect is."""
    c = ablation.comparison
    margin = f"{c.task.margin:g} {c.task.difference_unit}".strip()
    return (
        f"{c.task.name}{f', exponent dial {c.dial}' if c.dial else ''}: "
        f"{words.plural(len(ablation.cells), 'combination')} of "
        f"{words.plural(len(ablation.factors), 'technique')}, {words.plural(len(c.seeds), 'seed')}"
        f". The effect of a technique is {c.task.metric_name} with it minus without it, paired by "
        f"seed, with its {CONFIDENCE:.0%} interval; the margin is {margin}. Runs that failed are "
        "counted, with it and without it, and not averaged. Verdicts are those of a comparison: "
        f"p values are adjusted for all {len(ablation.effects)} effects (Holm)."
    )


def sentences(ablation) -> list[str]:
    """For each technique what follows from its effects: taken away alone, and there alone."""
    texts = []
    for factor in ablation.factors:
        ways = {e.way: e for e in ablation.effects if e.factor == factor.switch}
        text = f"{factor.name}: {taken_away(ways[TOGETHER], ablation)}"
        alone = there_alone(ways[ALONE], ablation) if len(ablation.factors) > 1 else ""
        texts.append(f"{text}{'; ' if alone else ''}{alone}.")
    return texts


def taken_away(effect, ablation) -> str:
    """What taking a technique away from all others does, in words."""
    if effect.verdict == DIVERGED:
        return f"needed: {diverged(effect)}"
    if effect.verdict == EQUIVALENT:
        said = "taken away alone, it makes no difference beyond the margin"
        return said + limits(effect.claim)
    if effect.verdict == DIFFERENT:
        said = f"taken away alone, it makes a difference of {amount(effect, ablation)}"
        return said + limits(effect.claim)
    if effect.verdict is None:
        reason = f": {effect.claim.coarse}" if effect.claim.coarse else ""
        return f"no verdict from {words.plural(effect.claim.pairs, 'pair')} of runs{reason}"
    return "taken away alone, undecided: more seeds are needed"


def there_alone(effect, ablation) -> str:
    """What a technique does without all others, where that is clear and not nothing."""
    if effect.verdict == DIVERGED:
        return f"with no other technique {diverged(effect)}"
    if effect.verdict == DIFFERENT:
        said = f"with no other technique it makes one of {amount(effect, ablation)}"
        return said + limits(effect.claim)
    return ""


def amount(effect, ablation) -> str:
    """The effect with its unit."""
    task = ablation.comparison.task
    difference = words.signed(effect.claim.difference, words.decimals(task.margin))
    return f"{difference} {task.difference_unit}".strip()


def diverged(effect) -> str:
    """How many runs were lost without it."""
    return (
        f"without it {effect.failed_without} of {effect.runs} runs diverge, "
        f"with it {effect.failed_with}"
    )


def effect_table(ablation) -> Table:
    """The effects; with the runs that failed, if any did."""
    places = words.decimals(ablation.comparison.task.margin)
    lost = any(e.failed_with + e.failed_without for e in ablation.effects)
    rows = [["technique", *ASKED.values(), *(("failed", "without") if lost else ())]]
    for factor in ablation.factors:
        ways = {e.way: e for e in ablation.effects if e.factor == factor.switch}
        claims = (ways[way].claim for way in ASKED)
        cells = [words.interval_text(c.difference, c.low, c.high, places) for c in claims]
        failed = (ways[AVERAGE].failed_with, ways[AVERAGE].failed_without)
        counts = [f"{n}/{ways[AVERAGE].runs}" for n in failed] if lost else []
        rows.append([factor.name, *cells, *counts])
    return Table("Effects, with 90% intervals", rows)


def cell_table(ablation) -> Table:
    """The combinations, and float32 beside them."""
    comparison = ablation.comparison
    places, own = words.decimals(comparison.task.margin), metric_places(comparison.task)
    rows = [[*(f.switch for f in ablation.factors), metric_label(comparison.task), "difference"]]
    by_text = {row.precision: row for row in comparison.rows()}
    for present, text in ablation.cells.items():
        row = by_text[text]
        switches = ["yes" if there else f.missing for f, there in zip(ablation.factors, present)]
        rows.append([*switches, mean_text(row, own), words.signed(row.difference, places)])
    base = by_text[comparison.baseline]
    count = len(ablation.factors)
    empty = [""] * (count - 1)
    rows.append([comparison.baseline, *empty, mean_text(base, own), "baseline"])
    return Table("Mean ± standard deviation over seeds", rows, text_columns=(*range(1, count),))


# ---- as a chart ---------------------------------------------------------------------------------


def chart(ablation, name) -> Rows:
    """For each technique its three effects with their intervals, and the margin; in a file of that
    name."""
    task, rows = ablation.comparison.task, []
    for factor in ablation.factors:
        ways = {e.way: e for e in ablation.effects if e.factor == factor.switch}
        claims = ((ways[way].claim, style) for way, style in STYLE_OF.items())
        marks = [Mark(c.difference, style, c.low, c.high) for c, style in claims]
        lost = ways[AVERAGE].failed_with + ways[AVERAGE].failed_without
        rows.append(Row(factor.name, marks, f"on average, {diverged(ways[AVERAGE])}" * bool(lost)))
    x = f"{metric_label(task)} with it minus without it; shaded: the margin of ±{task.margin:g}"
    said, legend = " ".join(sentences(ablation)), {ASKED[w]: s for w, s in STYLE_OF.items()}
    look: dict = {"margin": task.margin, "legend": legend}
    return Rows(name, f"What each technique does: {task.name}", rows, x, said, **look)
