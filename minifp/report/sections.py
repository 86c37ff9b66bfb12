"""The sections of a comparison's page: answers, figures with their tables, how to do it again."""

import re
from html import escape

from minifp.lab.statistics import CONFIDENCE
from minifp.report import curves, drawing, figures, panels, verdicts, words
from minifp.report.markup import code, details, facts, paragraph, table

MARKERS = {  # as paths around (17, 6)
    "o": "M17 2.5a3.5 3.5 0 1 0 .01 0z",
    "s": "M13.8 2.8h6.4v6.4h-6.4z",
    "^": "M17 2l4 7.4h-8z",
    "v": "M17 10l4-7.4h-8z",
    "D": "M17 1.6L21.4 6 17 10.4 12.6 6z",
    "P": "M15.4 2.2h3.2v2.2h2.2v3.2h-2.2v2.2h-3.2v-2.2h-2.2v-3.2h2.2z",
    "X": "M13.4 4.2l1.8-1.8 1.8 1.8 1.8-1.8 1.8 1.8-1.8 1.8 1.8 1.8-1.8 1.8-1.8-1.8-1.8 1.8-1.8-1.8 "
    "1.8-1.8z",
    "*": "M17 1.4l1.3 3h3.2L19 6.5l1 3.2-3-1.9-3 1.9 1-3.2-2.5-2.1h3.2z",
}


# ---- the answer ---------------------------------------------------------------------------------


def heading(comparison) -> str:
    """What was trained, and the whole result in one sentence."""
    task = comparison.task
    steps = max((run.steps for run in comparison.runs), default=0)
    about = [f"minifp comparison: {task.name}", words.plural(len(comparison.seeds), "seed")]
    about += [words.plural(steps, "step"), f"exponent dial {comparison.dial}"][
        : 2 if comparison.dial else 1
    ]
    description = task.description and task.description[:1].upper() + task.description[1:] + "."
    return (
        f'<header>\n<p class="kicker">{escape(", ".join(about))}</p>\n'
        f"<h1>{headline_html(comparison)}</h1>\n{paragraph(description)}\n</header>"
    )


def headline_html(comparison) -> str:
    """The headline, with precisions as code."""
    text = escape(verdicts.headline(comparison))
    names = sorted(map(escape, comparison.precisions), key=len, reverse=True)
    return re.sub("|".join(map(re.escape, names)), lambda name: f"<code>{name[0]}</code>", text)


def verdict_list(comparison) -> str:
    """A statement with its verdict for each precision."""
    items = [
        f"<li><span>{code(s.precision)}"
        f'<b class="badge {s.verdict.lower().replace(" ", "-")}">{escape(s.verdict)}</b></span>'
        f"<span>{escape(s.text[:1].upper() + s.text[1:])}</span></li>"
        for s in verdicts.statements(comparison)
    ]
    return f'<ul class="verdicts">\n{chr(10).join(items)}\n</ul>' if items else ""


def notes(comparison) -> str:
    """What must be known beside the numbers; lost runs are told in their table."""
    texts = [n for n in comparison.notes() if not is_about_a_run(n, comparison)]
    if not drawing.is_available():
        texts.append(f"{drawing.HOW_TO_GET} (all numbers are here without them)")
    paragraphs = "\n".join(paragraph(words.raised(text)) for text in texts)
    return f'<aside class="note">\n{paragraphs}\n</aside>' if texts else ""


def is_about_a_run(note, comparison) -> bool:
    """Whether a note tells what became of one run."""
    return any(note.startswith(f"{r.precision}, seed {r.seed} ") for r in comparison.runs)


# ---- figures ------------------------------------------------------------------------------------


def figure(comparison, name, prefix, only=None) -> str:
    """Panels side by side, with one legend and how to read them; nothing without matplotlib."""
    panels = [p for p in figures.wanted(comparison, name) if only is None or p.name in only]
    if not panels or not drawing.is_available():
        return ""
    drawn = "\n".join(
        f"<div>{figures.panel_svg(comparison, panel.name, prefix)}</div>" for panel in panels
    )
    caption = escape(
        words.raised(f"{figures.note(comparison, name)} {dial_text(comparison)}".strip())
    )
    return (
        f'<figure>\n{legend(comparison, name)}\n<div class="pair">\n{drawn}\n</div>\n'
        f"<figcaption>{caption}</figcaption>\n</figure>"
    )


def dial_text(comparison) -> str:
    """The short form of the dial's statement, for every figure it touches."""
    return f"Exponent dial k = {comparison.dial}, as stated above." if comparison.dial else ""


def legend(comparison, name) -> str:
    """Lines and markers with their precisions, or colours with kinds of memory."""
    if name == "difference":
        return ""
    if name == "memory":
        samples = [
            (
                '<rect x="2" y="1" width="14" height="10" rx="2" fill="{}"/>',
                18,
                color,
                words.KIND_NAMES[kind],
            )
            for kind, color in drawing.KIND_COLORS.items()
        ]
    else:
        styles = drawing.styles(comparison.precisions, comparison.baseline)
        samples = [(sample(s), 34, s.color, p) for p, s in styles.items()]
    items = "\n".join(
        f'<li><svg width="{width}" height="12" viewBox="0 0 {width} 12" aria-hidden="true">'
        f"{shape.replace('{}', f'var({drawing.VARIABLES[color]})')}</svg>{escape(text)}</li>"
        for shape, width, color, text in samples
    )
    return f'<ul class="legend">\n{items}\n</ul>'


def sample(style) -> str:
    """A piece of line with its marker, in the colour {}."""
    dashes = " ".join(f"{d * style.width:.3g}" for d in style.dashes)
    attribute = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (
        f'<path d="M1 6h32" stroke="{{}}" stroke-width="{style.width}"{attribute}/>'
        f'<path d="{MARKERS[style.marker]}" fill="{{}}"/>'
    )


# ---- the tables under them ----------------------------------------------------------------------


def evaluation_table(comparison) -> str:
    """The metric over the course of training, as a mean of the runs that were still finite."""
    task, places = comparison.task, words.decimals(comparison.task.margin)
    lines = {
        p: [curves.evaluations(run) for run in comparison.runs_of(p)] for p in comparison.precisions
    }
    steps = sorted({step for runs in lines.values() for x, _ in runs for step in x})
    if not steps:
        return ""
    chosen = steps[:: -(-len(steps) // 10)] if len(steps) > 10 else steps
    chosen = sorted({*chosen, steps[-1]})
    rows = [
        [code(p), *(words.typeset(mean_at(runs, step, places)) for step in chosen)]
        for p, runs in lines.items()
    ]
    head = ["step", *(f"{step:,.0f}" for step in chosen)]
    caption = f"{figures.metric_title(task)} during training, mean over seeds"
    return details("The same as a table", table(caption, head, rows))


def mean_at(runs, step, places) -> str:
    """The mean over seeds at a step, or what became of it."""
    values = [float(y[x == step][0]) for x, y in runs if (x == step).any()]
    if not values:
        return "-"
    if any(value != value for value in values):
        return "NaN"
    return words.fixed(sum(values) / len(values), places)


def final_table(comparison) -> str:
    """The metric, the difference and the verdict of each precision; the statistics to open."""
    task, places = comparison.task, words.decimals(comparison.task.margin)
    caption = (
        f"At the end of training: mean ± standard deviation over seeds. Differences are paired by "
        f"seed; the margin is ±{task.margin:g} {task.difference_unit}."
    )
    head = ["precision", panels.metric_label(task), "finished", "difference"]
    head += [f"{CONFIDENCE:.0%} interval", "verdict"]
    rows = [final_row(row, comparison, places) for row in comparison.rows()]
    paired = [row for row in comparison.rows() if row.paired is not None]
    more = details("The statistics behind the verdicts", statistics_table(paired)) if paired else ""
    return table(caption, head, rows, text_columns=(5,)) + more


def final_row(row, comparison, places) -> list:
    """Its cells."""
    interval = "-"
    if words.is_number(row.low):
        interval = f"{words.signed(row.low, places)} to {words.signed(row.high, places)}"
    is_baseline = row.precision == comparison.baseline
    difference = "baseline" if is_baseline else words.signed(row.difference, places)
    sd = f" ± {words.fixed(row.sd, places)}" if words.is_number(row.sd) else ""
    cells = [words.fixed(row.mean, places) + sd, f"{row.n - row.diverged} of {row.n}"]
    cells += [difference, interval, row.verdict or "-"]
    return [code(row.precision), *(escape(words.typeset(cell)) for cell in cells)]


def statistics_table(rows) -> str:
    """Two one-sided tests, the sign-flip test and what pairing gained."""
    head = ["precision", "pairs", "SD of differences", "p below margin", "p above margin"]
    head += ["sign-flip p", "pairing gain", "seeds needed"]
    lines = []
    for row in rows:
        p = row.paired
        numbers = (p.sd, p.p_low, p.p_high, p.sign_flip_p, p.pairing_gain)
        cells = [str(p.n), *(f"{x:.3g}" for x in numbers), str(p.needed or "-")]
        lines.append([code(row.precision), *(escape(words.typeset(cell)) for cell in cells)])
    caption = (
        "Equivalent: both one-sided tests, that the difference lies below or above the margin, "
        "reject at 5% (TOST). Sign-flip: the chance of a mean at least so far from 0, if signs were "
        "chance. Pairing gain: how many times fewer seeds pairing needs."
    )
    return table(caption, head, lines)


def scale_note(comparison) -> str:
    """What the reader of the timeline needs."""
    if not any(figures.is_scaled(run) for run in comparison.runs):
        return "None of these precisions scales its loss, and no step was skipped."
    return (
        "Gradients are multiplied by the scale while they are stored in few bits, and divided by it "
        "in float32 before the update. An overflow skips the step and halves the scale; a long run "
        "without one doubles it."
    )


def scale_table(comparison) -> str:
    """Skips and scales of each precision."""
    if not any(figures.is_scaled(run) for run in comparison.runs):
        return ""
    rows = []
    for row in comparison.rows():
        scales = [s for run in comparison.runs_of(row.precision) for s in run.history["scale"]]
        scales = [s for s in scales if words.is_number(s)]
        ends = (min(scales, default=None), max(scales, default=None), row.final_scale)
        cells = [words.count_text(row.skipped), *(words.raised(words.scale_text(s)) for s in ends)]
        rows.append([code(row.precision), *(escape(words.typeset(cell)) for cell in cells)])
    head = ["precision", "skipped steps", "lowest scale", "highest", "at the end"]
    return table("Skipped steps and final scale: means of the runs.", head, rows)


def cost_table(comparison) -> str:
    """Bytes by kind and the time of a step."""
    kinds = [words.KIND_NAMES[kind] for kind in words.KINDS]
    rows = []
    for row in comparison.rows():
        held = [row.bytes.get(kind) for kind in words.KINDS]
        total = sum(row.bytes.values()) if row.bytes else None
        cells = [
            *(words.bytes_text(size) for size in (*held, total)),
            words.seconds_text(row.seconds_per_step),
        ]
        rows.append([code(row.precision), *map(escape, cells)])
    caption = "Held at the peak of one training step, and its median time on this machine."
    return table(caption, ["precision", *kinds, "total", "a step"], rows)


def run_table(comparison) -> str:
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
            escape(run.status),
            escape(run.note or ""),
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
        "",
    ]
    summary = f"All {len(rows)} runs"
    return details(summary, table("Every run", head, rows, text_columns=(6, 7))) if rows else ""


# ---- again, and on what ---------------------------------------------------------------------------


def command(comparison) -> str:
    """The command that makes this comparison again."""
    seeds = comparison.seeds
    count = str(len(seeds)) if seeds == list(range(len(seeds))) else ",".join(map(str, seeds))
    steps = comparison.config.get("steps")
    parts = [f"minifp compare {task_words(comparison)}", "--precision", *comparison.precisions]
    parts += ["--seeds", count]
    parts += ["--steps", str(steps)] if steps else []
    parts += ["--dial", str(comparison.dial)] if comparison.dial else []
    return " ".join([*parts, "--out", "again"])


def task_words(comparison) -> str:
    """The task as the command line takes it."""
    model, _, data = comparison.task.name.partition("-")
    if comparison.config.get("task file") or not data:
        return "YOUR_FILE.py:task"
    return f"{model} --data {data}"


def again(comparison) -> str:
    """How to make it again, and how far the same numbers come out."""
    said = (
        "The same seeds give the same initial weights, batches and dropout masks on every machine; "
        "the last bits of sums may differ between BLAS libraries."
    )
    return f"<pre>{escape(command(comparison))}</pre>" + paragraph(said)


def machine(comparison) -> str:
    """Versions, the machine, and the settings that all runs share."""
    settings = {
        k: v for k, v in comparison.config.items() if v not in (None, "", {}) and k != "model"
    }
    shapes = comparison.config.get("model") or {}
    rows = [*comparison.environment.items(), *settings.items()]
    listed = ", ".join(f"{name} {'×'.join(map(str, shape))}" for name, shape in shapes.items())
    return facts([*rows, ("parameters", listed)] if listed else rows)
