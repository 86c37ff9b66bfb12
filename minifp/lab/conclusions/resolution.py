"""Whether a metric can tell such a margin at all.

An accuracy over 300 pictures moves in steps of a third of a point. It cannot decide a margin of a
tenth, and ten pairs without any difference are a sign of that and not of perfection.
"""

from statistics import median

from minifp.lab.conclusions.scores import Score

FEWEST = 4  # different values, from which a step can be told where nothing else tells it
SAME = 1e-9  # relative to the largest value: what rounding makes of a step


def step_of(comparison, score: Score) -> float | None:
    """The step in which a metric moves, as far as its values show: of what they are multiples.

    None where too few are known. Of a metric without steps it is next to nothing.
    """
    seen = sorted({v for run in comparison.runs for v in values(run, score) if v is not None})
    step, rounding = 0.0, SAME * max(map(abs, seen), default=0.0)
    for low, high in zip(seen, seen[1:]):
        step = common_step(step, high - low, rounding)
    examples = comparison.task.test_examples
    if step and score.unit == "%" and examples:
        times = step * examples / 100
        if abs(times - round(times)) < 1e-6 and round(times) >= 1:
            return 100 / examples  # a part of what was seen, where that is a coincidence
    return step if len(seen) >= FEWEST else None


def values(run, score) -> list:
    """What a run's metric has been."""
    if score.name in run.metrics:
        return [*run.metrics[score.name], score.of(run)]
    return [*(e[1] for e in run.evaluations), score.of(run)]


def common_step(a: float, b: float, rounding: float) -> float:
    """The largest number of which both are multiples (Euclid), but for rounding."""
    while b > rounding:
        rest = a % b
        a, b = b, min(rest, b - rest) if a else 0.0
    return a


def too_coarse(comparison, score: Score) -> str:
    """Why the metric cannot decide its margin, in words; empty where it can."""
    if score.kind != "metric" or score.margin is None:
        return ""
    step = step_of(comparison, score)
    if step is not None and score.relative:
        middle = median([v for run in comparison.runs for v in [score.of(run)] if v is not None])
        step = 100 * step / middle if middle > 0 else None
    if step is None or step < score.margin:
        return ""
    examples = comparison.task.test_examples
    over = f" over {examples:,} test examples" if examples else ""
    return (
        f"{score.name}{over} moves in steps of {step:.2g} {score.difference_unit}".rstrip()
        + f", too coarse for a margin of {score.margin:g}"
    )


def tells_nothing(pairs, score: Score) -> bool:
    """Whether a metric is the same, pair by pair, of (run, run) pairs that are not."""
    if not pairs or any(score.of(one) != score.of(other) for one, other in pairs):
        return False
    return any(one.history["loss"] != other.history["loss"] for one, other in pairs)
