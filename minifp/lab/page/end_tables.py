"""The tables of how runs ended: by arm, for all who read them, and run by run."""

import math
from statistics import fmean, stdev

from minifp.lab.conclusions.claims import claims_of
from minifp.lab.page.captions import metric_label, metric_places
from minifp.lab.page.tests_table import ends
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
    return (
        f"{text} Difference from {baseline} (of a control, from what it disturbs), paired by seed, "
        f"with its {CONFIDENCE:.0%} interval (Student's t). EQUIVALENT: the whole interval is "
        f"within ±{f'{task.margin:g} {task.difference_unit}'.strip()} (two one-sided tests at 5%); "
        "DIFFERENT: outside of it. p: of what the verdict claims, adjusted for "
        "all verdicts (Holm)."
    )


def final_table(comparison) -> Table:
    """A row for each arm, controls last; the other metrics are not at terminals."""
    task, names = comparison.task, metric_names(comparison)
    units = {metric.name: metric.unit for metric in task.metrics}
    label = metric_label(task)
    head = ["precision", label if len(label) <= LONGEST_LABEL else "final"]
    head += [f"{name} ({units[name]})" if units.get(name) else name for name in names[1:]]
    head += ["runs", "difference", f"{CONFIDENCE:.0%} interval", "p", "verdict"]
    claims = {claim.arm: claim for claim in claims_of(comparison) if claim.decides}
    arms = sorted(comparison.rows(), key=lambda row: row.is_control)
    rows = [final_cells(comparison, row, names, claims.get(row.precision)) for row in arms]
    brief = (0, 1, *range(1 + len(names), len(head)))
    return Table("At the end", [head, *rows], (len(head) - 1,), code=True, brief=brief)


def final_cells(comparison, row, metrics, claim) -> list[str]:
    """The texts of one arm. claim: the one that its verdict is of, if any."""
    task, places = comparison.task, words.decimals(comparison.task.margin)
    ended = [run for run in comparison.runs_of(row.precision) if run.finished]
    cells = [row.precision, spread(row.mean, row.sd, metric_places(task))]
    for name in metrics[1:]:
        values = (final(run, name, task.metric_name) for run in ended)
        cells.append(spread(*moments([value for value in values if words.is_number(value)])))
    cells.append(f"{row.n - row.diverged}/{row.n}")
    if row.precision == comparison.baseline:
        return [*cells, "baseline", "", "", ""]
    p = None if claim is None else claim.holm_of_verdict
    cells += [words.signed(row.difference, places), ends(row.low, row.high, places)]
    cells.append("-" if p is None else p_text(p))
    by_other = row.verdict not in (None, DIVERGED) and row.decided_by not in ("", task.metric_name)
    return [*cells, (badge(row) or "-") + (f" by {row.decided_by}" if by_other else "")]


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
