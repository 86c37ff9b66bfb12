"""What is shown of the largest batches: the table, all trials, bytes over the batch."""

from minifp.lab.memory import KINDS
from minifp.lab.page.precision_styles import styles_of
from minifp.report import drawing, words
from minifp.report.content import Document, Picture, Section, Table

NAME = "largest-batch"  # of the files
HEAD = ("precision", "batch", "held", "fixed", "an example", "process", "process/held", "trials")
TRIALS = ("precision", "batch", "held", "process")
SETTINGS = ("task", "memory", "examples")


def document(capacity) -> Document:
    """The findings first, then the largest batches and all trials."""
    sentences, head = findings(capacity), {name: getattr(capacity, name) for name in SETTINGS}
    title = f"{capacity.task}: the largest batch in {words.bytes_text(capacity.memory)}"
    picture = Picture(NAME, title, " ".join(sentences), lambda look: figure(capacity))
    largest = Table("Largest batches", [HEAD, *map(row, capacity.limits)], code=True)
    limits = [limit_data(limit) for limit in capacity.limits]
    return Document(
        name=NAME,
        title=title,
        about=about(capacity),
        findings=sentences,
        sections=[
            Section("The largest batches", [picture, largest]),
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
            sentences.append(
                f"{limit.precision}: not even one example fits: {limit.trials[-1].why}."
            )
    fits = [limit.best for limit in capacity.limits if limit.best]
    shares = [
        f"{t.growth / t.held:.2f} times in {t.precision}" for t in fits if t.growth is not None
    ]
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


# ---- as a picture -------------------------------------------------------------------------------


def figure(capacity):
    """A matplotlib Figure: bytes over the batch of all trials, and bars of the largest batches."""
    styles = styles_of([limit.precision for limit in capacity.limits], capacity.limits[0].precision)
    with drawing.canvas(9.2, 3.3, 1, 2, width_ratios=(1.5, 1)) as (drawn, (bytes_panel, bars)):
        for limit in capacity.limits:
            draw_trials(bytes_panel, limit, styles[limit.precision])
        bytes_panel.axhline(
            capacity.memory, color=drawing.MUTED, linewidth=1, linestyle=(0, (4, 2))
        )
        bytes_panel.set_xscale("log")
        bytes_panel.set_yscale("log")
        bytes_panel.set_xlabel("examples in a batch; filled: arrays, hollow: the process")
        bytes_panel.set_title("Bytes of a step; dashed: the memory")
        bytes_panel.legend(loc="lower right", fontsize=8)
        draw_largest(bars, capacity.limits, styles)
    return drawn


def draw_trials(axes, limit, style):
    """The bytes that were measured, of those that fit."""
    fits = sorted((t for t in limit.trials if t.fits), key=lambda t: t.batch)
    look = {"color": style.color, "marker": style.marker, "markersize": 4.5}
    batches = [t.batch for t in fits]
    line = {"linestyle": style.line, "linewidth": 1.4, "label": limit.precision}
    axes.plot(batches, [t.held for t in fits], **look, **line)
    grown = [(t.batch, t.growth) for t in fits if t.growth]
    hollow = {"linestyle": "none", "markerfacecolor": "none"}
    axes.plot([b for b, _ in grown], [g for _, g in grown], **look, **hollow)


def draw_largest(axes, limits, styles):
    """A bar for each precision, with its number and what an example takes."""
    names, largest = [l.precision for l in limits], [l.best.batch if l.best else 0 for l in limits]
    axes.barh(names, largest, 0.55, color=[styles[name].color for name in names])
    for at, limit in enumerate(limits):
        beside = {"va": "center", "xytext": (4, 0), "textcoords": "offset points"}
        each = f"\n{words.bytes_text(limit.line[1])} each" if limit.line else ""
        axes.annotate(f"{largest[at]:,}{each}", (largest[at], at), fontsize=8, **beside)
    axes.invert_yaxis()
    axes.margins(x=0.3)
    axes.locator_params(axis="x", nbins=4)
    axes.grid(False, axis="y")
    axes.set_title("The largest batch")
    axes.set_xlabel("examples")
