"""The sections of a comparison's page: answers, figures with their tables, how to do it again."""

import re
import shlex

from markupsafe import Markup

from minifp.lab.page import captions, curves, figures, verdicts
from minifp.lab.page.precision_styles import KIND_COLORS, styles_of
from minifp.lab.tasks import BUILT_IN
from minifp.report import drawing, markup, words
from minifp.report.chart_markup import sample
from minifp.report.drawing import VARIABLES
from minifp.report.markup import code, facts, paragraph

SWATCH = Markup(
    '<svg width="18" height="12" viewBox="0 0 18 12" aria-hidden="true"><rect x="2" y="1" '
    'width="14" height="10" rx="2" fill="var({})"/></svg>'
)


# ---- the answer ---------------------------------------------------------------------------------


def heading(comparison) -> Markup:
    """What was trained, and the whole result in one sentence."""
    task = comparison.task
    steps = max((run.steps for run in comparison.runs), default=0)
    about = [f"minifp comparison: {task.name}", words.plural(len(comparison.seeds), "seed")]
    about += [words.plural(steps, "step")]
    about += [f"exponent dial {comparison.dial}"] if comparison.dial else []
    description = task.description and task.description[:1].upper() + task.description[1:] + "."
    return Markup('<header>\n<p class="kicker">{}</p>\n<h1>{}</h1>\n{}\n</header>').format(
        ", ".join(about), headline_html(comparison), paragraph(description)
    )


def headline_html(comparison) -> Markup:
    """The headline, with precisions as code."""
    return with_code(verdicts.headline(comparison), comparison.precisions)


def with_code(text, names) -> Markup:
    """A text with some names in it as code; the longest that fits counts."""
    pattern = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    parts: list = re.split(f"({pattern})", text) if names else [text]
    parts[1::2] = map(code, parts[1::2])
    return Markup().join(parts)


def verdict_list(comparison) -> Markup:
    """A statement with its verdict for each precision."""
    item = Markup('<li><span>{}<b class="badge {}">{}</b></span><span>{}</span></li>').format
    items = [
        item(code(s.precision), badge_class(s.verdict), s.verdict, s.text[:1].upper() + s.text[1:])
        for s in verdicts.statements(comparison)
    ]
    return listed("verdicts", items) if items else Markup()


def listed(kind, items) -> Markup:
    """A list, an item a line."""
    return Markup('<ul class="{}">\n{}\n</ul>').format(kind, Markup("\n").join(items))


def badge_class(verdict) -> str:
    """The style of a verdict, weak or not."""
    return verdict.lower().removesuffix(" (weak)").replace(" ", "-")


def notes(comparison) -> Markup:
    """What must be known beside the numbers; lost runs are told in their table."""
    texts = notes_of(comparison)
    if not drawing.is_available():
        texts.append(f"{drawing.HOW_TO_GET} (all numbers are here without them)")
    paragraphs = Markup("\n").join(paragraph(words.raised(text)) for text in texts)
    return note(paragraphs) if texts else Markup()


def note(content) -> Markup:
    """What stands out."""
    return Markup('<div class="note">\n{}\n</div>').format(content)


def notes_of(comparison) -> list[str]:
    """The notes that are not about a single run."""
    return [n for n in comparison.notes() if not is_about_a_run(n, comparison)]


def is_about_a_run(note, comparison) -> bool:
    """Whether a note tells what became of one run."""
    return any(note.startswith(f"{r.precision}, seed {r.seed} ") for r in comparison.runs)


# ---- figures ------------------------------------------------------------------------------------


def figure(comparison, name, prefix) -> Markup:
    """Panels side by side, with one legend and how to read them; nothing without matplotlib."""
    panels = figures.wanted(comparison, name)
    if not panels or not drawing.is_available():
        return Markup()
    drawn = Markup("\n").join(
        Markup("<div>{}</div>").format(figures.panel_svg(comparison, panel, prefix))
        for panel in panels
    )
    caption = f"{captions.note(comparison, name)} {dial_text(comparison)}".strip()
    return Markup(
        '<figure>\n{}\n<div class="pair">\n{}\n</div>\n<figcaption>{}</figcaption>\n</figure>'
    ).format(legend(comparison, name), drawn, words.raised(caption))


def dial_text(comparison) -> str:
    """The short form of the dial's statement, for every figure it touches."""
    return (
        f"Exponent dial k = {comparison.dial}, which is explained above." if comparison.dial else ""
    )


def legend(comparison, name) -> Markup:
    """Lines with their precisions, or colours with kinds of memory."""
    if name == "difference":
        return Markup()
    styles = styles_of(comparison.precisions, comparison.baseline)
    items = [sample(style) + precision for precision, style in styles.items()]
    if name == "memory":
        items = [SWATCH.format(VARIABLES[c]) + words.spaced(k) for k, c in KIND_COLORS.items()]
    return listed("legend", map(Markup("<li>{}</li>").format, items))


def scale_note(comparison) -> str:
    """What the reader of the timeline needs."""
    if not any(curves.is_scaled(run) for run in comparison.runs):
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


def again(comparison) -> Markup:
    """How to make it again, and how far the same numbers come out."""
    said = (
        "The same seeds give the same initial weights, batches and dropout masks on every "
        "machine; the last bits of sums may differ between BLAS libraries. The script "
        "reproduce.sh beside the results repeats everything with the same settings and compares "
        "the two."
    )
    return markup.command(command(comparison)) + paragraph(said)


def machine(comparison, shared=True) -> Markup:
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
