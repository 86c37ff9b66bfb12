"""The tables of a page: what its figures show, in numbers."""

from statistics import fmean

from markupsafe import Markup

from minifp.lab.conclusions.scores import ended, has_loss, scores_of
from minifp.lab.memory import KINDS
from minifp.lab.metrics import TEST_LOSS
from minifp.lab.page import captions, curves
from minifp.lab.page.tests_table import places_of
from minifp.lab.page.verdicts import badge
from minifp.lab.statistics.paired import CONFIDENCE
from minifp.report import words
from minifp.report.in_notebook import plain_table
from minifp.report.markup import code, details, table


def final_table(comparison) -> Markup:
    """The metric, the difference and the verdict of each precision; the statistics to open."""
    task, places = comparison.task, words.decimals(comparison.task.margin)
    caption = (
        f"At the end of training: mean ± standard deviation over seeds. Differences are paired by "
        f"seed; the margin is ±{task.margin:g} {task.difference_unit}."
    )
    if task.decider != task.metric_name:
        caption += f" The verdict is that of the {task.decider}, as declared."
    rows = [
        [code(row.precision), *final_cells(row, comparison, places)] for row in comparison.rows()
    ]
    return table(caption, final_head(comparison), rows, text_columns=(6,))


def final_head(comparison) -> list:
    """The names of its columns."""
    head = ["precision", captions.metric_label(comparison.task), "finished", "pairs", "difference"]
    head += [f"{CONFIDENCE:.0%} interval", "verdict"]
    for name in beside(comparison):
        head += [name, "difference"]
    return head


def beside(comparison) -> list[str]:
    """The scores that stand in a row beside the metric: the test loss, and what was declared to
    decide."""
    names = [TEST_LOSS] * has_loss(comparison) + [comparison.task.decider]
    known = {score.name for score in scores_of(comparison)} - {comparison.task.metric_name}
    return [name for name in dict.fromkeys(names) if name in known]


def beside_cells(row, comparison) -> list[str]:
    """The mean and the difference of each of these."""
    cells, claims = [], {c.score.name: c for c in comparison.claims() if c.arm == row.precision}
    scores = {score.name: score for score in scores_of(comparison)}
    for name in beside(comparison):
        values = [scores[name].of(r) for r in comparison.runs_of(row.precision) if ended(r)]
        known, claim = [v for v in values if v is not None], claims.get(name)
        cells.append(words.fixed(fmean(known) if known else None, None))
        ends = () if claim is None else (claim.difference, claim.low, claim.high, places_of(claim))
        cells.append(words.interval_text(*ends) if ends else "-")
    return cells


def final_cells(row, comparison, places) -> list:
    """The texts of its cells behind the precision."""
    interval = "-"
    if words.is_number(row.low):
        interval = f"{words.signed(row.low, places)} to {words.signed(row.high, places)}"
    is_baseline = row.precision == comparison.baseline
    difference = "baseline" if is_baseline else words.signed(row.difference, places)
    own = captions.metric_places(comparison.task)
    sd = f" ± {words.fixed(row.sd, own)}" if words.is_number(row.sd) else ""
    cells = [words.fixed(row.mean, own) + sd, f"{row.n - row.diverged} of {row.n}"]
    cells.append("-" if is_baseline else str(row.pairs))
    cells += [difference, interval, badge(row) or "-", *beside_cells(row, comparison)]
    return [words.typeset(cell) for cell in cells]


def plain_final_table(comparison) -> Markup:
    """The same in a notebook's own style."""
    places = words.decimals(comparison.task.margin)
    rows = [[row.precision, *final_cells(row, comparison, places)] for row in comparison.rows()]
    return plain_table(final_head(comparison), rows)


def scale_table(comparison) -> Markup:
    """Skips and scales of each precision."""
    if not any(curves.is_scaled(run) for run in comparison.runs):
        return Markup()
    rows = []
    for row in comparison.rows():
        scales = [s for run in comparison.runs_of(row.precision) for s in run.history["scale"]]
        scales = [s for s in scales if words.is_number(s)]
        ends = (min(scales, default=None), max(scales, default=None), row.final_scale)
        cells = [words.count_text(row.skipped), *(words.raised(words.scale_text(s)) for s in ends)]
        rows.append([code(row.precision), *map(words.typeset, cells)])
    head = ["precision", "skipped steps", "lowest scale", "highest", "at the end"]
    return table("Skipped steps and final scale: means over runs.", head, rows)


def cost_table(comparison) -> Markup:
    """Bytes by kind and the time of a step."""
    kinds = [words.spaced(kind) for kind in KINDS]
    rows = []
    for row in comparison.rows():
        held = [row.bytes.get(kind) for kind in KINDS]
        total = sum(row.bytes.values()) if row.bytes else None
        cells = [
            *(words.bytes_text(size) for size in (*held, total)),
            words.seconds_text(row.seconds_per_step),
        ]
        rows.append([code(row.precision), *cells])
    caption = "Memory at the peak of one training step, and its median time on this machine."
    return table(caption, ["precision", *kinds, "total", "a step"], rows)


def run_table(comparison) -> Markup:
    """Every run, with what became of it."""
    places = words.decimals(comparison.task.margin)
    rows = [
        [
            code(run.precision),
            str(run.seed),
            words.typeset(words.fixed(run.metric, places)),
            str(run.steps),
            str(run.skipped),
            words.raised(words.scale_text(run.final_scale)),
            run.status,
            run.note or "",
        ]
        for precision in comparison.precisions
        for run in comparison.runs_of(precision)
    ]
    head = [
        "precision",
        "seed",
        comparison.task.metric_name,
        "steps",
        "skipped",
        "scale",
        "status",
        "note",
    ]
    summary = f"All {len(rows)} runs"
    whole = table("Every run", head, rows, text_columns=(6, 7))
    return details(summary, whole) if rows else Markup()
