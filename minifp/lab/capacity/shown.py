"""The largest batches as text, as files of numbers, as a picture and as a page."""

from markupsafe import Markup

from minifp.lab.memory import KINDS
from minifp.lab.page.precision_styles import styles_of
from minifp.lab.results import store
from minifp.report import document, drawing, in_notebook, words
from minifp.report.csv_text import csv_text
from minifp.report.markup import bullets, code, header, paragraph, section, table, wide
from minifp.report.plain_text import columns, fill

NAME = "largest-batch"  # of the files
HEAD = ("precision", "batch", "held", "fixed", "an example", "process", "process/held", "trials")
TRIALS = ("precision", "batch", "held", "process")


def about(found) -> str:
    """What was searched, and what the columns are."""
    return (
        f"{found.task}: the largest batch whose training step holds at most {found.memory:,} bytes "
        f"({words.bytes_text(found.memory)}) of arrays, found by trying: each trial is two real "
        "steps in its own process. Held: bytes at the peak of the second step, divided into a "
        "fixed part and a part per example. Process: how much the process grew in the trial, "
        "including the workspace of operations, the batch as it was read, and memory that the "
        "allocator keeps."
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


def findings(found) -> list[str]:
    """What follows, in sentences."""
    told = []
    first, *others = found.limits
    for limit in others:
        if first.best is None or limit.best is None:
            continue
        text = f"{limit.precision}: {limit.best.batch / first.best.batch:.2f} times the batch"
        if first.line and limit.line:
            share = limit.line[1] / first.line[1]
            text += f" of {first.precision}, as an example takes {share:.3f} of its bytes"
        told.append(f"{text}.")
    for limit in found.limits:
        if limit.best is None:
            told.append(f"{limit.precision}: not even one example fits: {limit.trials[-1].why}.")
    grown = [limit.best for limit in found.limits if limit.best and limit.best.growth is not None]
    if grown:
        shares = [f"{t.growth / t.held:.2f} times in {t.precision}" for t in grown]
        told.append(f"The process grew, against what was counted, {words.listed(shares)}.")
    elif any(limit.best for limit in found.limits):
        told.append("This system does not report how much the process grew.")
    largest = max((limit.best.batch for limit in found.limits if limit.best), default=0)
    if largest > found.examples:
        told.append(
            f"The training set has {found.examples:,} examples: larger batches repeat them, which "
            "does not change the bytes."
        )
    return told


def text(found) -> str:
    """Everything, for a terminal."""
    told = "\n".join(fill(one, hang="  ") for one in findings(found))
    return "\n\n".join([fill(about(found)), columns([HEAD, *map(row, found.limits)]), told])


# ---- files --------------------------------------------------------------------------------------


def contents(found) -> dict[str, str]:
    """The files, by name."""
    return {
        f"{NAME}.json": to_json(found),
        f"{NAME}.csv": to_csv(found),
        f"{NAME}.html": document.document(title(found), body(found)),
    }


def to_json(found) -> str:
    """All trials, and what follows."""
    limits = [
        {
            "precision": limit.precision,
            "largest_batch": limit.best.batch if limit.best else 0,
            "fixed_bytes": limit.line[0] if limit.line else None,
            "bytes_per_example": limit.line[1] if limit.line else None,
            "trials": [told(trial) for trial in limit.trials],
        }
        for limit in found.limits
    ]
    head = {"task": found.task, "memory": found.memory, "examples": found.examples}
    whole = {**head, "limits": limits, "findings": findings(found)}
    return store.to_json({**whole, "environment": found.environment}, indent=1)


def told(trial) -> dict:
    """One trial."""
    known = {"batch": trial.batch, "fits": trial.fits, "bytes": trial.bytes}
    return {**known, "process_growth": trial.growth, "why": trial.why}


def to_csv(found) -> str:
    """A row for each trial."""
    rows: list = [["precision", "batch", "fits", "held", *KINDS, "process_growth", "why"]]
    for limit in found.limits:
        for t in limit.trials:
            held = [t.bytes.get(kind, "") for kind in KINDS]
            whole = t.held if t.fits else ""
            rows.append([t.precision, t.batch, t.fits, whole, *held, t.growth, t.why])
    return csv_text(rows)


# ---- as a picture -------------------------------------------------------------------------------


def picture(found):
    """A matplotlib Figure: bytes over the batch of all trials, and bars of the largest batches."""
    from matplotlib.figure import Figure

    styles = styles_of([limit.precision for limit in found.limits], found.limits[0].precision)
    with drawing.settings():
        drawn = Figure(figsize=(9.2, 3.3))
        drawn.set_layout_engine("constrained", w_pad=0.1)
        bytes_panel, bars = drawn.subplots(1, 2, width_ratios=(1.5, 1))
        for limit in found.limits:
            draw_trials(bytes_panel, limit, styles[limit.precision])
        bytes_panel.axhline(found.memory, color=drawing.MUTED, linewidth=1, linestyle=(0, (4, 2)))
        bytes_panel.set_xscale("log")
        bytes_panel.set_yscale("log")
        bytes_panel.set_xlabel("examples in a batch; filled: arrays, hollow: the process")
        bytes_panel.set_title("Bytes of a step; dashed: the memory")
        bytes_panel.legend(loc="lower right", fontsize=8)
        draw_largest(bars, found.limits, styles)
        drawing.settle(drawn)
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


# ---- as a page ----------------------------------------------------------------------------------


def title(found) -> str:
    """Of the page."""
    return f"{found.task}: the largest batch in {words.bytes_text(found.memory)}"


def body(found) -> Markup:
    """The findings, the picture and all trials."""
    rows = [[code(first), *rest] for first, *rest in map(row, found.limits)]
    trials = [
        [code(t.precision), f"{t.batch:,}", words.bytes_text(t.held) if t.fits else "does not fit"]
        + [words.bytes_text(t.growth)]
        for limit in found.limits
        for t in limit.trials
    ]
    return Markup("\n").join(
        [
            header(title(found), about(found)),
            bullets(map(words.typeset, findings(found))),
            section("The largest batches", drawn(found), table("Largest batches", HEAD, rows)),
            section("All trials", table("Trials", TRIALS, trials)),
        ]
    )  # fmt: skip


def drawn(found) -> Markup:
    """The picture, where matplotlib is."""
    if not drawing.is_available():
        return paragraph(drawing.HOW_TO_GET)
    said = " ".join(findings(found))
    return wide(drawing.inline_svg(picture(found), "b-largest", title(found), said))


def fragment(found) -> Markup:
    """The same inside a notebook."""
    rows = in_notebook.plain_table(HEAD, map(row, found.limits))
    whole = document.document(title(found), body(found))
    return in_notebook.card(title(found), rows, whole)
