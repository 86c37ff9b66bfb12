"""What is said about figures: titles, how to read them, and the same for those who cannot see."""

from minifp.lab.page import curves
from minifp.lab.statistics.paired import CONFIDENCE
from minifp.report import words


def metric_label(task) -> str:
    """The metric with its unit."""
    return f"{task.metric_name} ({task.metric_unit})" if task.metric_unit else task.metric_name


def metric_title(task) -> str:
    """The metric, said to be the test set's, with its unit."""
    name = metric_label(task)
    known = any(word in task.metric_name for word in ("test", "valid"))
    return name[:1].upper() + name[1:] if known else f"Test {name}"


def metric_places(task) -> int | None:
    """With how many decimals its metric is written; None, for three digits, of a relative one,
    whose margin says nothing of its size."""
    return None if task.relative else words.decimals(task.margin)


def heading(comparison) -> str:
    """What was trained, and how often."""
    return f"{comparison.task.name}, {words.plural(len(comparison.seeds), 'seed')}"


def runs_there(comparisons) -> str:
    """How many runs there are, where some are missing: "; 4 of 6 runs are there"."""
    asked = sum(len(c.asked) for c in comparisons)
    there = sum(len(c.done() & {*c.asked}) for c in comparisons)
    return "" if there == asked else f"; {there} of {asked} runs are there"


def mean_text(row, places) -> str:
    """Mean and deviation, and how many runs were lost on the way."""
    parts = []
    if words.is_number(row.mean):
        spread = f" ± {words.fixed(row.sd, places)}" if words.is_number(row.sd) else ""
        parts.append(words.fixed(row.mean, places) + spread)
    if row.diverged:
        parts.append(f"diverged: {row.diverged} of {row.n}")
    return ", ".join(parts) or "no run finished"


def difference_text(row, places) -> str:
    """The difference and its interval."""
    if not words.is_number(row.difference):
        return f"diverged: {row.diverged} of {row.n}" if row.diverged else "-"
    text = words.signed(row.difference, places)
    if words.is_number(row.low):
        text += f" ({words.signed(row.low, places)} to {words.signed(row.high, places)})"
    return text


# ---- how to read a figure -----------------------------------------------------------------------


def note(comparison, name) -> str:
    """How to read a figure: what its marks, lines and bands are."""
    if name == "loss":
        return f"{lines_text(comparison)} {astray_text(comparison)}".strip()
    texts = {
        "scale": "Ticks: steps that were skipped because a gradient was Inf or NaN. A skipped "
        "step has no norm; the previous step's norm is drawn.",
        "difference": "At the end: a mark for each seed, a bar at their mean. Difference: the "
        f"mean with its {CONFIDENCE:.0%} interval, below it a mark for each seed; an arrow "
        "points to a mean outside the picture.",
        "power": "The chance of the verdict EQUIVALENT, if there is truly no difference and "
        "differences spread as they do here. Ticks at the bottom: the present number of seeds.",
        "memory": "Bytes of the arrays that exist at the peak of one training step. Times were "
        "measured in these runs, on the machine named in the report.",
    }
    return texts[name]


def lines_text(comparison) -> str:
    """What the lines are, and the band."""
    seeds, width = len(comparison.seeds), curves.window_of(comparison)
    of_steps = f" of {width} steps" if width > 1 else ""
    if seeds == 1:
        return f"Thin line: every step. Thick line: the mean{of_steps}." if width > 1 else ""
    band = f"its {CONFIDENCE:.0%} interval (Student's t)"
    if seeds < curves.FEWEST_SEEDS:
        band = "from the lowest to the highest seed"
    return (
        f"Thin lines: every step of every seed. Thick line: the mean{of_steps} over seeds; band: "
        f"{band}."
    )


def astray_text(comparison) -> str:
    """How runs are drawn that did not finish, if there are any."""
    if all(run.finished for run in comparison.runs):
        return ""
    return (
        "If a run did not finish, all seeds of its precision are drawn separately. A cross: the "
        "loss is NaN from there on. A triangle: it leaves the picture."
    )


# ---- the same in words --------------------------------------------------------------------------


def describe_loss(comparison) -> str:
    """How the losses end, and which were lost."""
    return "; ".join(describe_losses(comparison, p) for p in comparison.precisions) + "."


def describe_losses(comparison, precision) -> str:
    """The same of one precision."""
    runs = comparison.runs_of(precision)
    lost = [step for step in map(curves.lost_at, runs) if step is not None]
    ends = [loss[-1] for _, loss in (curves.series(run, "loss") for run in runs) if loss.size]
    ends = [f"{end:.3g}" for end in sorted(ends) if words.is_number(end)]
    text = f"{precision} ends between {ends[0]} and {ends[-1]}" if ends else precision
    if lost:
        text += f", NaN in {len(lost)} of {len(runs)} runs, first at step {min(lost):.0f}"
    return text


def describe_metric(comparison) -> str:
    """Mean and deviation of each precision at the end."""
    places = metric_places(comparison.task)
    rows = (f"{r.precision} {mean_text(r, places)}" for r in comparison.rows())
    return f"Over the steps of training, ending at: {'; '.join(rows)}."


def describe_scale(comparison) -> str:
    """Where the scale ends and what was skipped."""
    rows = (
        f"{r.precision} ends at {words.scale_text(r.final_scale)}, "
        f"{words.count_text(r.skipped)} steps skipped a run"
        for r in comparison.rows()
    )
    return "; ".join(rows) + "."
