"""What is shown of the largest batches: the table, all trials, bytes over the batch."""

from minifp.lab.memory import KINDS
from minifp.lab.page.precision_styles import styles_of
from minifp.lab.page.row_charts import UNITS
from minifp.report import drawing, words
from minifp.report.charts import Arm, Group, Line, Panel
from minifp.report.content import Document, Section, Table
from minifp.report.rows import Mark, Row, Rows

NAME = "largest-batch"  # of the files
HEAD = ("precision", "batch", "held", "fixed", "an example", "process", "process/held", "trials")
TRIALS = ("precision", "batch", "held", "process")
SETTINGS = ("task", "memory", "examples")
MEMORY = "the memory"


def document(capacity) -> Document:
    """The findings first, then the largest batches and all trials."""
    sentences, head = findings(capacity), {name: getattr(capacity, name) for name in SETTINGS}
    title = f"{capacity.task}: the largest batch in {words.bytes_text(capacity.memory)}"
    largest = Table("Largest batches", [HEAD, *map(row, capacity.limits)], code=True)
    limits = [limit_data(limit) for limit in capacity.limits]
    return Document(
        name=NAME,
        title=title,
        about=about(capacity),
        findings=sentences,
        sections=[
            Section("The largest batches", [largest_rows(capacity), largest]),
            Section("Bytes of a step", [bytes_group(capacity)]),
            Section("All trials", [trial_table(capacity)], is_folded=True),
        ],
        data={**head, "limits": limits, "findings": sentences, "environment": capacity.environment},
        records={NAME: records(capacity)},
    )


def about(capacity) -> str:
    """What was searched, and what the columns are."""
    return (
        f"{capacity.task}: the largest batch whose training step holds at most "
        f"{capacity.memory:,} bytes ({words.bytes_text(capacity.memory)}) of arrays, found by "
        "trying: each trial is two real steps in its own process. Held: bytes at the peak of the "
        "second step, divided into a fixed part and a part per example. Process: how much the "
        "process grew in the trial, including the workspace of operations, the batch as it was "
        "read, and memory that the allocator keeps."
    )


def row(limit) -> list[str]:
    """The cells of one precision."""
    best, line = limit.best, limit.line
    if best is None:
        return [limit.precision, "none", *["-"] * 5, str(len(limit.trials))]
    fixed, each = line or (None, None)
    return [
        limit.precision,
        f"{best.batch:,}",
        words.bytes_text(best.held),
        words.bytes_text(None if fixed is None else max(0.0, fixed)),
        words.bytes_text(each),
        words.bytes_text(best.growth),
        "-" if best.growth is None else f"{best.growth / best.held:.2f}",
        str(len(limit.trials)),
    ]


def findings(capacity) -> list[str]:
    """What follows, in sentences."""
    sentences = []
    first, *others = capacity.limits
    for limit in others:
        if first.best is None or limit.best is None:
            continue
        text = f"{limit.precision}: {limit.best.batch / first.best.batch:.2f} times the batch"
        if first.line and limit.line:
            share = limit.line[1] / first.line[1]
            text += f" of {first.precision}, as an example takes {share:.3f} of its bytes"
        sentences.append(f"{text}.")
    for limit in capacity.limits:
        if limit.best is None:
            why = limit.trials[-1].why
            sentences.append(f"{limit.precision}: not even one example fits: {why}.")
    fits = [limit.best for limit in capacity.limits if limit.best]
    growth = {t.precision: t.growth / t.held for t in fits if t.growth is not None}
    shares = [f"{ratio:.2f} times in {precision}" for precision, ratio in growth.items()]
    if shares:
        sentences.append(f"The process grew, against what was counted, {words.listed(shares)}.")
    elif fits:
        sentences.append("This system does not report how much the process grew.")
    if max((t.batch for t in fits), default=0) > capacity.examples:
        sentences.append(
            f"The training set has {capacity.examples:,} examples: larger batches repeat them, "
            "which does not change the bytes."
        )
    return sentences


# ---- numbers ------------------------------------------------------------------------------------


def trial_table(capacity) -> Table:
    """What each trial came to."""
    rows = [
        [t.precision, f"{t.batch:,}", words.bytes_text(t.held) if t.fits else "does not fit"]
        + [words.bytes_text(t.growth)]
        for limit in capacity.limits
        for t in limit.trials
    ]
    return Table("Trials", [TRIALS, *rows], code=True)


def limit_data(limit) -> dict:
    """One precision as numbers."""
    fixed, each = limit.line or (None, None)
    return {
        "precision": limit.precision,
        "largest_batch": limit.best.batch if limit.best else 0,
        "fixed_bytes": fixed,
        "bytes_per_example": each,
        "trials": [trial_data(trial) for trial in limit.trials],
    }


def trial_data(trial) -> dict:
    """One trial."""
    known = {"batch": trial.batch, "fits": trial.fits, "bytes": trial.bytes}
    return {**known, "process_growth": trial.growth, "why": trial.why}


def records(capacity) -> list:
    """A row for each trial."""
    rows: list = [["precision", "batch", "fits", "held", *KINDS, "process_growth", "why"]]
    for limit in capacity.limits:
        for t in limit.trials:
            held = [t.bytes.get(kind, "") for kind in KINDS]
            whole = t.held if t.fits else ""
            rows.append([t.precision, t.batch, t.fits, whole, *held, t.growth, t.why])
    return rows


# ---- as charts ----------------------------------------------------------------------------------


def styles(capacity) -> dict:
    """How each precision is drawn."""
    return styles_of([limit.precision for limit in capacity.limits], capacity.limits[0].precision)


def bytes_group(capacity) -> Group:
    """Bytes over the batch, of the trials that fit, and the memory: of arrays, and of the process
    where it is known."""
    unit = words.bytes_text(capacity.memory).split()[-1]
    divisor = 1024 ** UNITS.index(unit)
    panels = []
    for field, title in (("held", "Arrays"), ("growth", "The process")):
        lines = []
        for limit in capacity.limits:
            trials = sorted((t for t in limit.trials if t.fits), key=lambda t: t.batch)
            sizes = [(t.batch, getattr(t, field)) for t in trials if getattr(t, field) is not None]
            y = [size / divisor for _, size in sizes]
            lines += [Line(limit.precision, 0, [batch for batch, _ in sizes], y)] if sizes else []
        if lines:
            ends = min(line.x[0] for line in lines), max(line.x[-1] for line in lines)
            lines.append(Line(MEMORY, 0, ends, [capacity.memory / divisor] * 2))
            said = f"{title}: bytes by the number of examples, see the table."
            look: dict = {"points": True, "minus": False}
            panels.append(Panel(f"bytes-{field}", f"{title}, {unit}", lines, said, **look))
    arms = [Arm(*pair) for pair in styles(capacity).items()]
    arms.append(Arm(MEMORY, drawing.Style(drawing.MUTED, (4, 2), "", 1.0)))
    return Group(panels, arms, [0], x="examples", title=capacity.task, name="bytes")


def largest_rows(capacity) -> Rows:
    """A bar for each precision, with its number and what an example takes."""
    rows = []
    for limit in capacity.limits:
        largest = limit.best.batch if limit.best else 0
        each = f", {words.bytes_text(limit.line[1])} each" if limit.line else ""
        mark = Mark(float(largest), styles(capacity)[limit.precision])
        rows.append(Row(limit.precision, [mark], f"{largest:,}{each}"))
    return Rows(NAME, "The largest batch", rows, "examples", is_bars=True)
