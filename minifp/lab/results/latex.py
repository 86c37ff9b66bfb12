"""table.tex: the table of a comparison for a paper, as a tabular of the package booktabs.

No number is bold: which arm is best is not what the test says. What a caption must say stands
above it as a comment.
"""

import math
from functools import partial
from itertools import chain
from statistics import fmean, stdev

from minifp.lab.conclusions.claims import claims_of
from minifp.lab.conclusions.scores import has_loss, test_loss
from minifp.lab.metrics import AVERAGED, TEST_LOSS
from minifp.lab.page.captions import metric_places
from minifp.lab.page.tests_table import places_of
from minifp.lab.page.verdicts import badge
from minifp.lab.results.tidy import final, metric_names
from minifp.lab.statistics.paired import CONFIDENCE, DIVERGED
from minifp.report import words
from minifp.report.content import Table
from minifp.report.rendering import latex


def table(comparison) -> str:
    """The text of table.tex."""
    task, rows = comparison.task, comparison.rows()
    claims = {claim.arm: claim for claim in claims_of(comparison) if claim.decides}
    units = {metric.name: metric.unit for metric in [task.primary, *task.metrics]}
    units |= {AVERAGED + name: unit for name, unit in units.items()}
    names = [*metric_names(comparison), *[TEST_LOSS] * has_loss(comparison)]
    head = ["Arm", "Runs", *(with_unit(name, units.get(name)) for name in names)]
    head += [with_unit("Difference", task.difference_unit), f"{CONFIDENCE:.0%} interval"]
    if task.decider != task.metric_name:
        head += [f"Difference of {task.decider}", f"{CONFIDENCE:.0%} interval"]
    head += ["Verdict", "p"]
    groups = [[r for r in rows if r.is_control == is_control] for is_control in (False, True)]
    lines = [cells(comparison, r, names, claims.get(r.precision)) for r in chain(*groups)]
    whole = Table("", [head, *lines], text_columns=(len(head) - 2,), code=True)
    return latex(whole, [*filter(None, map(len, groups))], caption(comparison))


def with_unit(name, unit) -> str:
    """The head of a column."""
    return f"{name} ({unit})" if unit else name


def caption(comparison) -> list[str]:
    """What must be said with the table, and the answers in words."""
    task = comparison.task
    deciding = [claim for claim in claims_of(comparison) if claim.decides]
    count = max((claim.together for claim in deciding), default=0)
    margin, of = f"{task.margin:g} {task.difference_unit}".rstrip(), ""
    if task.decider != task.metric_name and deciding:
        margin = f"{deciding[0].score.margin:.3g} {deciding[0].score.difference_unit}".rstrip()
        of = f" of the {task.decider}, which was declared to decide,"
    better = "higher" if task.goal == "max" else "lower"
    steps, seeds = comparison.config.get("steps"), len(comparison.seeds)
    return [
        f"{task.name}, {words.plural(steps, 'step')}, {words.plural(seeds, 'seed')}: at the end, "
        f"mean ± standard deviation over the runs that finished ({task.metric_name}: {better} is "
        "better). Runs: how many finished, of all.",
        f"Difference of {task.metric_name} from {comparison.baseline} (of a control, from what it "
        f"disturbs), paired by seed, with its {CONFIDENCE * 100:.0f}% interval (Student's t).",
        f"EQUIVALENT: the whole interval{of} is within ±{margin} (two one-sided tests at 5%); "
        "DIFFERENT: outside of it. p: of what the verdict claims, adjusted for "
        f"{words.plural(count, 'claim')} (Holm).",
        comparison.verdict_sentence(),
        *comparison.answer_sentences(),
        *comparison.notes(),
    ]


def cells(comparison, row, metrics, claim) -> list[str]:
    """The texts of one arm's row. claim: the one that its verdict is of, if any."""
    task, primary = comparison.task, comparison.task.metric_name
    places = words.decimals(comparison.task.margin)
    ended = [run for run in comparison.runs_of(row.precision) if run.finished]
    texts = [
        row.precision,
        f"{row.n - row.diverged}/{row.n}",
        spread(row.mean, row.sd, metric_places(task)),
    ]
    for name in metrics[1:]:
        of = test_loss if name == TEST_LOSS else partial(final, metric=name, primary=primary)
        values = [of(run) for run in ended]
        texts += [spread(*moments([value for value in values if words.is_number(value)]))]
    of_decider = claim if claim is not None and claim.score.name == task.decider else None
    other = [] if task.decider == primary else difference_cells(of_decider)
    if row.precision == comparison.baseline:
        return [*texts, "baseline", *[""] * len(other), "", "", ""]
    decided = row.verdict not in (None, DIVERGED) and row.decided_by not in ("", primary)
    by = f" by {row.decided_by}" if decided else ""
    p = claim.holm_of_verdict if claim is not None else None
    verdict = (badge(row) or "no verdict") + by
    both = [*difference_cells(row, places), *other]
    return [*texts, *both, verdict, "" if p is None else p_text(p)]


def difference_cells(of, places=None) -> list[str]:
    """The difference and the interval of a row, or of a claim, by whose margin they are written."""
    if of is None or not words.is_number(of.difference):
        return ["", ""]
    places = places_of(of) if places is None else places
    ends = ", ".join(words.signed(end, places) for end in (of.low, of.high))
    return [words.signed(of.difference, places), f"[{ends}]" if words.is_number(of.low) else ""]


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
    """Mean and deviation; empty where no run finished."""
    if not words.is_number(mean):
        return ""
    return words.fixed(mean, places) + (
        f" ± {words.fixed(sd, places)}" if words.is_number(sd) else ""
    )
