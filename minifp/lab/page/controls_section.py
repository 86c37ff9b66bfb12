"""The section that says whether a difference is special, or what any perturbation does."""

from html import escape

from minifp.lab.arms import CONTROLS, split
from minifp.report import words
from minifp.report.markup import code, paragraph, section, table

ABOUT = (
    "Controls disturb a run in a way that cannot matter, and show how far apart equally good runs "
    "end. p: were the arm one more control, in so many of all cases it would stand out as much "
    "from the others, in the mean or in size (a permutation test within each seed, adjusted by "
    "Holm for both and for all arms). Distances: medians over seeds at the end of training, "
    "relative to the size of the baseline's; predictions: the share of test examples with another "
    "class."
)
KINDS = ("weights", "outputs", "predictions")


def answers(comparison) -> str:
    """The answers in words, which stand on top of the page; nothing where there are no controls."""
    return "\n".join(map(paragraph, comparison.answer_sentences()))


def controls_section(comparison) -> str:
    """The numbers behind them."""
    answers = comparison.answers()
    if not answers:
        return ""
    tables = [control_table(a, comparison) for a in answers if a.moved]
    used = dict.fromkeys(split(c)[1] for a in answers for c in a.controls)
    kinds = "; ".join(f"{name}: {CONTROLS[name]}" for name in used)
    told = [paragraph(f"{ABOUT} {kinds[:1].upper()}{kinds[1:]}.", "small")]
    return section("Special, or what any perturbation does?", *tables, *told)


def control_table(answer, comparison) -> str:
    """An arm, and each control beside it."""
    task, places = comparison.task, words.decimals(comparison.task.margin)
    unit = f", {task.difference_unit}" if task.difference_unit else ""
    head = ["arm", f"difference of {task.metric_name}{unit}", "its size, seed by seed"]
    bands = {band.kind: band for band in answer.bands}
    kinds = [kind for kind in KINDS if kind in bands]
    head += [f"{kind}, at the end" for kind in kinds]
    rows = []
    for moved in answer.moved:
        cells = [words.signed(moved.mean, places), words.fixed(moved.size, places)]
        cells += [distance_text(bands[kind].ends.get(moved.arm), kind) for kind in kinds]
        rows.append([code(moved.arm), *(escape(words.typeset(cell)) for cell in cells)])
    seeds = words.plural(answer.seeds, "seed")
    caption = f"{answer.arm} beside the controls, means of {seeds}; p = {answer.p:.2g}"
    return table(caption, head, rows)


def distance_text(value, kind) -> str:
    """Predictions as a percentage, the others as they are."""
    if not words.is_number(value):
        return "-"
    return f"{100 * value:.1f}%" if kind == "predictions" else f"{value:.2g}"
