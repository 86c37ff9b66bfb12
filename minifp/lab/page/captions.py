"""What is said about figures: titles, how to read them, and the same for those who cannot see."""

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
