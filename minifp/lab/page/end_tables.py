"""The tables of how runs ended: by arm, for all who read them, and run by run."""

import math
from functools import partial
from itertools import chain
from statistics import fmean, stdev

from minifp.lab.conclusions.claims import claims_of
from minifp.lab.conclusions.scores import has_loss, scores_of, test_loss
from minifp.lab.metrics import AVERAGED, TEST_LOSS
from minifp.lab.page.captions import metric_label, metric_places
from minifp.lab.page.tests_table import ends, places_of
from minifp.lab.page.verdicts import badge
from minifp.lab.results.tidy import final, metric_names
from minifp.lab.statistics.paired import CONFIDENCE, DIVERGED
from minifp.report import words
from minifp.report.content import Table

LONGEST_LABEL = 17  # characters of a metric in the head of the table


def about(comparison) -> str:
    """How to read the table of ends."""
    task, baseline = comparison.task, comparison.baseline
    unit = f" in {task.metric_unit}" if task.metric_unit else ""
    better = "higher" if task.goal == "max" else "lower"
    text = (
        f"Final {task.metric_name}{unit}, mean ± standard deviation over the runs that finished; "
        f"{better} is better. Runs: how many finished, of all."
    )
    if len(comparison.precisions) == 1:
        return text
    margin, whole = f"{task.margin:g} {task.difference_unit}".strip(), "the whole interval"
    if task.decider != task.metric_name:
        deciding = next((claim.score for claim in claims_of(comparison) if claim.decides), None)
        margin = margin if deciding is None else f"{deciding.margin:.3g}"
        whole = f"that of the {task.decider}, which was declared to decide,"
    return (
        f"{text} Difference from {baseline} (of a control, from what it disturbs), paired by seed, "
        f"with its {CONFIDENCE:.0%} interval (Student's t). EQUIVALENT: {whole} is within "
        f"±{margin} (two one-sided tests at 5%); DIFFERENT: outside of it. p: of what the verdict "
        "claims, adjusted for all verdicts (Holm)."
    )


def final_table(comparison) -> Table:
    """A row for each arm, controls last; the other metrics are not at terminals."""
    task, others = comparison.task, beside(comparison)
    names = [*metric_names(comparison)[1:], *[TEST_LOSS] * has_loss(comparison)]
    units = {metric.name: metric.unit for metric in [task.primary, *task.metrics]}
    units |= {AVERAGED + name: unit for name, unit in units.items()}
    label = metric_label(task)
    head = ["precision", label if len(label) <= LONGEST_LABEL else "final"]
    head += [f"{name} ({units[name]})" if units.get(name) else name for name in names]
    interval = f"{CONFIDENCE:.0%} interval"
    head += ["runs", "difference", interval]
    declared = [[f"difference of {name}", interval] for name in others]
    before = others[:1] if task.decider in others else []  # the verdict is of this one
    head += [*chain(*declared[: len(before)]), "p", "verdict", *chain(*declared[len(before) :])]
    arms = sorted(comparison.rows(), key=lambda row: row.is_control)
    pairs = ((ends_of(comparison, row, names), row) for row in arms)
    rows = [[*ends, *judged(comparison, row, before, others)] for ends, row in pairs]
    verdict = head.index("verdict")
    brief = (0, 1, *range(2 + len(names), verdict + 1))
    return Table("At the end", [head, *rows], (verdict,), code=True, brief=brief)


def beside(comparison) -> list[str]:
    """The scores whose difference stands beside the metric's: what was declared to decide, and the
    test loss."""
    names = dict.fromkeys([comparison.task.decider, *[TEST_LOSS] * has_loss(comparison)])
    known = {score.name for score in scores_of(comparison)} - {comparison.task.metric_name}
    return [name for name in names if name in known]


def ends_of(comparison, row, metrics) -> list[str]:
    """Of one arm the means of the metric and of others, and how many runs finished."""
    task = comparison.task
    ended = [run for run in comparison.runs_of(row.precision) if run.finished]
    cells = [row.precision, spread(row.mean, row.sd, metric_places(task))]
    for name in metrics:
        of = partial(final, metric=name, primary=task.metric_name)
        values = map(test_loss if name == TEST_LOSS else of, ended)
        cells.append(spread(*moments([value for value in values if words.is_number(value)])))
    return [*cells, f"{row.n - row.diverged}/{row.n}"]


def judged(comparison, row, before, others) -> list[str]:
    """Of one arm the differences, the metric's first, p and verdict. before: whose stand before
    these; others: of all scores beside the metric."""
    task = comparison.task
    if row.precision == comparison.baseline:
        return ["baseline", *[""] * (3 + 2 * len(others))]
    claims = {c.score.name: c for c in claims_of(comparison) if c.arm == row.precision}
    differences = {
        name: difference_cells(claims[name], places_of(claims[name]))
        if name in claims
        else ["-"] * 2
        for name in others
    }
    deciding = next((claim for claim in claims.values() if claim.decides), None)
    p = None if deciding is None else deciding.holm_of_verdict
    by_other = row.verdict not in (None, DIVERGED) and row.decided_by not in ("", task.metric_name)
    return [
        *difference_cells(row, words.decimals(task.margin)),
        *chain(*(differences.pop(name) for name in before)),
        "-" if p is None else p_text(p),
        (badge(row) or "-") + (f" by {row.decided_by}" if by_other else ""),
        *chain(*differences.values()),
    ]


def difference_cells(of, places) -> list[str]:
    """The difference and the interval of a row, or of a claim."""
    return [words.signed(of.difference, places), ends(of.low, of.high, places)]


def p_text(p) -> str:
    """A p value with two digits, or what it is less than."""
    return "<0.001" if p < 0.001 else f"{p:.2g}"


def moments(values) -> tuple:
    """Mean, deviation, and so many decimals that this has two digits."""
    if not values:
        return None, None, 0
    sd = stdev(values) if len(values) > 1 else None
    size = sd or abs(fmean(values)) / 100 or 1.0
    return fmean(values), sd, min(9, max(0, 1 - math.floor(math.log10(size))))


def spread(mean, sd, places) -> str:
    """Mean and deviation; a dash where no run finished."""
    deviation = f" ± {words.fixed(sd, places)}" if words.is_number(sd) else ""
    return words.fixed(mean, places) + deviation


def run_tables(comparison) -> list[Table]:
    """Every run, with what became of it; nothing without a run."""
    places = words.decimals(comparison.task.margin)
    head = ["precision", "seed", comparison.task.metric_name, "steps", "skipped", "scale"]
    rows = [
        [run.precision, str(run.seed), words.fixed(run.metric, places), str(run.steps)]
        + [str(run.skipped), words.scale_text(run.final_scale), run.status, run.note or ""]
        for precision in comparison.precisions
        for run in comparison.runs_of(precision)
    ]
    whole = [[*head, "status", "note"], *rows]
    return [Table("Every run", whole, text_columns=(6, 7), code=True)] if rows else []
