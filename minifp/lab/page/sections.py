"""The sections of a comparison's page: answers, figures with their tables, how to do it again."""

import re
import shlex
from html import escape

from minifp.lab.page import captions, figures, over_steps, power_figure, verdicts
from minifp.lab.page.precision_styles import KIND_COLORS, styles_of
from minifp.lab.tasks import BUILT_IN
from minifp.report import drawing, markup, words
from minifp.report.markup import code, facts, paragraph

MARKERS = {  # as paths around (17, 6)
    "o": "M17 2.5a3.5 3.5 0 1 0 .01 0z",
    "s": "M13.8 2.8h6.4v6.4h-6.4z",
    "^": "M17 2l4 7.4h-8z",
    "v": "M17 10l4-7.4h-8z",
    "D": "M17 1.6L21.4 6 17 10.4 12.6 6z",
    "P": "M15.4 2.2h3.2v2.2h2.2v3.2h-2.2v2.2h-3.2v-2.2h-2.2v-3.2h2.2z",
    "X": "M13.4 4.2l1.8-1.8 1.8 1.8 1.8-1.8 1.8 1.8-1.8 1.8 1.8 1.8-1.8 1.8-1.8-1.8-1.8 1.8"
    "-1.8-1.8 1.8-1.8z",
    "*": "M17 1.4l1.3 3h3.2L19 6.5l1 3.2-3-1.9-3 1.9 1-3.2-2.5-2.1h3.2z",
}
SWATCH = '<rect x="2" y="1" width="14" height="10" rx="2" fill="COLOR"/>'


# ---- the answer ---------------------------------------------------------------------------------


def heading(comparison) -> str:
    """What was trained, and the whole result in one sentence."""
    task = comparison.task
    steps = max((run.steps for run in comparison.runs), default=0)
    about = [f"minifp comparison: {task.name}", words.plural(len(comparison.seeds), "seed")]
    about += [words.plural(steps, "step")]
    about += [f"exponent dial {comparison.dial}"] if comparison.dial else []
    description = task.description and task.description[:1].upper() + task.description[1:] + "."
    return (
        f'<header>\n<p class="kicker">{escape(", ".join(about))}</p>\n'
        f"<h1>{headline_html(comparison)}</h1>\n{paragraph(description)}\n</header>"
    )


def headline_html(comparison) -> str:
    """The headline, with precisions as code."""
    return with_code(verdicts.headline(comparison), comparison.precisions)


def with_code(text, names) -> str:
    """Text as HTML, with some names in it as code; the longest that fits counts."""
    pattern = "|".join(re.escape(escape(name)) for name in sorted(names, key=len, reverse=True))
    return re.sub(pattern, lambda found: code_of(found[0]), escape(text)) if names else escape(text)


def code_of(html) -> str:
    """The same as code."""
    return f"<code>{html}</code>"


def verdict_list(comparison) -> str:
    """A statement with its verdict for each precision."""
    items = [
        f"<li><span>{code(s.precision)}"
        f'<b class="badge {badge_class(s.verdict)}">{escape(s.verdict)}</b></span>'
        f"<span>{escape(s.text[:1].upper() + s.text[1:])}</span></li>"
        for s in verdicts.statements(comparison)
    ]
    return f'<ul class="verdicts">\n{chr(10).join(items)}\n</ul>' if items else ""


def badge_class(verdict) -> str:
    """The style of a verdict, weak or not."""
    return verdict.lower().removesuffix(" (weak)").replace(" ", "-")


def notes(comparison) -> str:
    """What must be known beside the numbers; lost runs are told in their table."""
    texts = notes_of(comparison)
    if not drawing.is_available():
        texts.append(f"{drawing.HOW_TO_GET} (all numbers are here without them)")
    paragraphs = "\n".join(paragraph(words.raised(text)) for text in texts)
    return f'<div class="note">\n{paragraphs}\n</div>' if texts else ""


def notes_of(comparison) -> list[str]:
    """The notes that are not about a single run."""
    return [n for n in comparison.notes() if not is_about_a_run(n, comparison)]


def is_about_a_run(note, comparison) -> bool:
    """Whether a note tells what became of one run."""
    return any(note.startswith(f"{r.precision}, seed {r.seed} ") for r in comparison.runs)


# ---- figures ------------------------------------------------------------------------------------


def figure(comparison, name, prefix) -> str:
    """Panels side by side, with one legend and how to read them; nothing without matplotlib."""
    panels = figures.wanted(comparison, name)
    if not panels or not drawing.is_available():
        return ""
    drawn = "\n".join(
        f"<div>{figures.panel_svg(comparison, panel.name, prefix)}</div>" for panel in panels
    )
    caption = f"{captions.note(comparison, name)} {dial_text(comparison)}".strip()
    return (
        f'<figure>\n{legend(comparison, name)}\n<div class="pair">\n{drawn}\n</div>\n'
        f"<figcaption>{escape(words.raised(caption))}</figcaption>\n</figure>"
    )


def dial_text(comparison) -> str:
    """The short form of the dial's statement, for every figure it touches."""
    return (
        f"Exponent dial k = {comparison.dial}, which is explained above." if comparison.dial else ""
    )


def legend(comparison, name) -> str:
    """Lines and markers with their precisions, or colours with kinds of memory."""
    if name == "difference":
        return ""
    if name == "memory":
        kinds = KIND_COLORS.items()
        samples = [(SWATCH, 18, color, words.spaced(kind)) for kind, color in kinds]
    else:
        styles = styles_of(comparison.precisions, comparison.baseline)
        if name == "power":
            styles = power_figure.shown(comparison, styles)
        samples = [(line(style), 34, style.color, p) for p, style in styles.items()]
    items = "\n".join(
        f'<li><svg width="{width}" height="12" viewBox="0 0 {width} 12" aria-hidden="true">'
        f"{shape.replace('COLOR', f'var({drawing.VARIABLES[color]})')}</svg>{escape(text)}</li>"
        for shape, width, color, text in samples
    )
    return f'<ul class="legend">\n{items}\n</ul>'


def line(style) -> str:
    """A piece of line with its marker, in COLOR."""
    dashes = " ".join(f"{d * style.width:.3g}" for d in style.dashes)
    attribute = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (
        f'<path d="M1 6h32" stroke="COLOR" stroke-width="{style.width}"{attribute}/>'
        f'<path d="{MARKERS[style.marker]}" fill="COLOR"/>'
    )


def scale_note(comparison) -> str:
    """What the reader of the timeline needs."""
    if not any(over_steps.is_scaled(run) for run in comparison.runs):
        return "None of these precisions scales its loss, and no step was skipped."
    return (
        "Gradients are multiplied by the scale while they are stored in few bits. Before the "
        "update they are divided by it, in float32. An overflow skips the step and halves the "
        "scale; many steps without one double it."
    )


# ---- again, and on what -------------------------------------------------------------------------


def command(comparison) -> str:
    """What makes this comparison again: a command, or a call where the task came as an object."""
    model, _, data = comparison.task.name.partition("-")
    settings, origin = again_settings(comparison), comparison.origin
    if origin.task is not None:
        named = [origin.task, *(["--data", origin.data] if origin.data else [])]
        return command_line(named, comparison, settings)
    if comparison.config.get("task file"):
        return command_line(["YOUR_FILE.py:task"], comparison, settings)
    if data in BUILT_IN.get(model, ((), ()))[1]:
        return command_line([model, "--data", data], comparison, settings)
    arguments = "".join(f", {name}={value}" for name, value in settings.items())
    return (
        f"fp.compare(task, {comparison.precisions}{arguments})"
        f"  # task: the Task {comparison.task.name!r}"
    )


def again_settings(comparison) -> dict:
    """The seeds, the number of steps and the dial."""
    seeds = comparison.seeds
    settings = {"seeds": len(seeds) if seeds == list(range(len(seeds))) else seeds}
    settings |= {"steps": comparison.config["steps"]} if comparison.config.get("steps") else {}
    return settings | ({"dial": comparison.dial} if comparison.dial else {})


def command_line(task, comparison, settings) -> str:
    """The command, of which a shell does nothing else."""
    texts = {k: seeds_text(v) if isinstance(v, list) else str(v) for k, v in settings.items()}
    options = [word for name, text in texts.items() for word in (f"--{name}", text)]
    words = ["minifp", "compare", *task, "--precision", *comparison.precisions, *options]
    return shlex.join([*words, "--out", "again"])


def seeds_text(seeds) -> str:
    """Which seeds, as --seeds takes them; one alone has a comma, as 7 would be how many."""
    return ",".join(map(str, seeds)) + "," * (len(seeds) == 1)


def again(comparison) -> str:
    """How to make it again, and how far the same numbers come out."""
    said = (
        "The same seeds give the same initial weights, batches and dropout masks on every "
        "machine; the last bits of sums may differ between BLAS libraries. The script "
        "reproduce.sh beside the results repeats everything with the same settings and compares "
        "the two."
    )
    return markup.command(command(comparison)) + paragraph(said)


def machine(comparison, shared=True) -> str:
    """Versions and the machine; shared: and the settings that all runs share."""
    rows = [*comparison.environment.items()]
    if shared:
        rows += [
            (k, v) for k, v in comparison.config.items() if k != "model" and v not in (None, "")
        ]
        shapes = (comparison.config.get("model") or {}).items()
        listed = ", ".join(f"{name} {'×'.join(map(str, shape))}" for name, shape in shapes)
        rows += [("parameters", listed)] * bool(listed)
    return facts(rows)
