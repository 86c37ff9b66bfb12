"""Charts with a row for each arm: how it ended, its difference, its memory and its time."""

from minifp.lab.conclusions.claims import metric_differences
from minifp.lab.memory import KINDS
from minifp.lab.page import captions
from minifp.lab.page.precision_styles import KIND_STYLES, styles_of
from minifp.lab.statistics.paired import CONFIDENCE
from minifp.report import words
from minifp.report.drawing import STYLES
from minifp.report.rows import Mark, Row, Rows

UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
DIFFERENCE = (
    f"A mark at the mean, with its {CONFIDENCE:.0%} interval; below it one for each seed. An arrow "
    "points to a mean outside the picture."
)
MEMORY = "Bytes of the arrays that exist at the peak of one training step."
TIME = "The median, measured in these runs, on the machine named in the report."


def ends(comparison) -> list[Rows]:
    """The metric at the end, and differences from the baseline where there are any."""
    charts = [final(comparison), difference(comparison)]
    return charts if len(comparison.precisions) > 1 else charts[:1]


def costs(comparison) -> list[Rows]:
    """Memory, where it was measured, and time."""
    measured = any(run.bytes for run in comparison.runs)
    return [*([memory(comparison)] if measured else []), time(comparison)]


def styles(comparison) -> dict:
    """How each arm is drawn."""
    return styles_of(comparison.precisions, comparison.baseline)


def final(comparison) -> Rows:
    """The metric at the end."""
    places, looks, rows = captions.metric_places(comparison.task), styles(comparison), []
    for row in comparison.rows():
        metrics = [run.metric for run in comparison.runs_of(row.precision) if run.finished]
        each = [metric for metric in metrics if words.is_number(metric)]
        mark = Mark(row.mean, looks[row.precision], each=each)
        rows.append(Row(row.precision, [mark], captions.mean_text(row, places)))
    title = f"{captions.metric_title(comparison.task)} at the end"
    return Rows("final", title, rows, "a mark at the mean, below it one for each seed")


def difference(comparison) -> Rows:
    """The differences with their intervals, and the margin."""
    task, looks, rows = comparison.task, styles(comparison), []
    places = words.decimals(task.margin)
    for row in comparison.rows():
        look = looks[row.precision]
        if row.precision == comparison.baseline:
            rows.append(Row(row.precision, [Mark(0.0, look)], "the baseline"))
            continue
        each = metric_differences(comparison, row.precision)
        mark = Mark(row.difference, look, row.low, row.high, each)
        text = words.interval_text(row.difference, row.low, row.high, places)
        if row.diverged and not words.is_number(row.difference):
            text = f"diverged: {row.diverged} of {row.n}"
        rows.append(Row(row.precision, [mark], text))
    margin = f"shaded: the margin of ±{words.fixed(task.margin, places)}"
    x = "; ".join(filter(None, (task.difference_unit, margin)))
    title = f"Difference from {comparison.baseline}, paired by seed"
    return Rows("difference", title, rows, x, note=DIFFERENCE, margin=task.margin)


def memory(comparison) -> Rows:
    """Bytes held at the peak of a step, by kind."""
    totals = {row.precision: sum(row.bytes.values()) for row in comparison.rows()}
    unit = words.bytes_text(max(totals.values(), default=1)).split()[-1]
    divisor, rows = 1024 ** UNITS.index(unit), []
    for row in comparison.rows():
        marks = [Mark(row.bytes.get(k, 0) / divisor, style) for k, style in KIND_STYLES.items()]
        rows.append(Row(row.precision, marks, memory_text(totals, row, comparison.baseline)))
    legend = {words.spaced(kind): KIND_STYLES[kind] for kind in KINDS}
    look: dict = {"is_bars": True, "is_stacked": True, "legend": legend}
    return Rows("memory", "Memory of one training step", rows, unit, note=MEMORY, **look)


def memory_text(totals, row, baseline) -> str:
    """The total, and how many times the baseline's it is."""
    total, base = totals[row.precision], totals.get(baseline)
    if not total:
        return "not measured"
    times = f", {total / base:.2f} of {baseline}" if base and row.precision != baseline else ""
    return words.bytes_text(total) + times


def time(comparison) -> Rows:
    """The median time of a step, measured in these runs on this machine."""
    seconds = {row.precision: row.seconds_per_step for row in comparison.rows()}
    known = [s for s in seconds.values() if words.is_number(s)]
    unit, factor = ("s", 1) if max(known, default=0) >= 1 else ("ms", 1000)
    rows = [
        Row(arm, [Mark(factor * s if s in known else 0.0, STYLES[0])], words.seconds_text(s))
        for arm, s in seconds.items()
    ]
    return Rows("time", "Time of one training step", rows, unit, note=TIME, is_bars=True)
