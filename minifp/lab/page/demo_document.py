"""What is shown of the demonstration: its experiments, each with what it shows."""

import textwrap

from minifp.lab.page import end_tables, line_charts, verdicts
from minifp.lab.page.cost_table import cost_table, cost_text
from minifp.lab.page.precision_styles import styles_of
from minifp.lab.results.store import HISTORY, REPORT, RESULTS
from minifp.report import drawing, figures, line_drawing
from minifp.report.content import Document, Facts, Links, Section
from minifp.report.markup import command

NAME = "report"  # of its page
TITLE = "Half the bits, the same result: what it takes"
INTRODUCTION = (
    "A float16 number has 1 bit for its sign, 5 for its exponent and 10 for its digits: about "
    "three decimal digits, nothing above 65,504, and nothing between 0 and 2^-24. It takes half "
    "the memory of float32, and hardware for it is several times as fast. Trained naively in it, a "
    "network can go wrong in three ways, and mixed-precision training has one technique against "
    "each: float32 master weights, loss scaling, and sums in float32.",
    "Here each technique is switched off alone, in training that would otherwise end where "
    "float32 ends. All runs of an experiment start from the same weights and see the same "
    "batches, so every difference comes from the numbers alone.",
)
CLOSING = (
    "minifp stores what a half-precision GPU would store, rounded at the same places, so the "
    "effects on training are the same. The times are not: a CPU has no fast float16 arithmetic. "
    "They were measured in these runs, on the machine below, and say nothing about a GPU.",
)


def document(parts) -> Document:
    """All experiments. parts: pairs of a part (with key, name, title, claim, look, honest: texts)
    and its comparison, which is kept in the folder `name` beside the page."""
    parts = list(parts)
    return Document(
        name=NAME,
        title=TITLE,
        about=INTRODUCTION[0],
        findings=[f"({part.key}) {verdicts.headline(c)}." for part, c in parts],
        sections=[
            Section("", INTRODUCTION[1:]),
            *(chapter(part, comparison) for part, comparison in parts),
            Section("On a real GPU", CLOSING),
            Section("How to do it again", [command("minifp demo --out runs/demo")]),
            Section("The machine", [Facts([*parts[0][1].environment.items()])]),
        ],
    )


def chapter(part, comparison) -> Section:
    """One experiment: what it shows, what was arranged, what came out, and where to see it."""
    dial = comparison.dial_note()
    arranged = [f"What was arranged. {part.honest}"] if part.honest else []
    arranged += [f"The dial. {dial}"] if dial and dial not in part.honest else []
    pages = ((REPORT, "its own page"), (RESULTS, "its results"), (HISTORY, "every step"))
    title = f"({part.key}) {part.title}"
    parts: list = [part.claim, *arranged]
    parts += [line_charts.group_of(comparison, ("loss", "metric"), prefix=f"part-{part.key}")]
    parts += [f"Where to look. {part.look}", verdicts.statements(comparison)]
    parts += [end_tables.final_table(comparison), cost_text(comparison)]
    parts += [cost_table(comparison)]
    links = Links([[(f"{part.name}/{name}", text) for name, text in pages]])
    return Section(title, [*parts, links])


def overview(parts):
    """One Figure of the whole demonstration: each part's metric over the steps, and its result."""
    rows = -(-len(parts) // 2)
    wide = 2 * figures.WIDTH
    with drawing.canvas(wide, 3.3 * rows, rows, 2, squeeze=False) as (drawn, grid):
        drawn.get_layout_engine().set(w_pad=0.14, h_pad=0.12)
        for axes, (part, comparison) in zip(grid.ravel(), parts):
            draw_part(axes, part, comparison)
        for axes in grid.ravel()[len(parts) :]:
            axes.set_axis_off()
    return drawn


def draw_part(axes, part, comparison):
    """One part: a title, its result, the metric or loss, and a legend."""
    group = line_charts.group_of(comparison, ("metric", "loss"))
    for panel in group.panels[-1:]:
        line_drawing.draw(axes, panel, group)
        axes.set_ylabel(panel.title, fontsize=8)
    result = textwrap.fill(verdicts.headline(comparison), 62)
    axes.set_title(f"({part.key}) {part.title}", pad=34, fontsize=9.5)
    small = {"fontsize": 8, "color": drawing.MUTED, "va": "top", "linespacing": 1.25}
    axes.annotate(result, (0, 1), (0, 29), "axes fraction", "offset points", **small)
    if comparison.dial:
        axes.set_xlabel(f"step; exponent dial {comparison.dial}")
    below = {"loc": "upper left", "bbox_to_anchor": (-0.03, -0.2), "ncols": 2}
    samples = figures.lines(styles_of(comparison.precisions, comparison.baseline))
    axes.legend(handles=samples, fontsize=8, handlelength=2.6, **below)
