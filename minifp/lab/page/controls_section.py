"""The section that says whether a difference is special, or what any perturbation does."""

from markupsafe import Markup

from minifp.lab.arms import CONTROLS, split
from minifp.report import words
from minifp.report.markup import code, paragraph, section, table

ABOUT = (
    "Controls disturb a run in a harmless way, and show how far apart equally good runs end. Mean "
    "size: the mean of the differences without their signs. p: if the arm were just another "
    "control, the share of cases in which it would stand out this much, in the mean or in size (a "
    "permutation test within each seed, adjusted by Holm for both and for all arms). Distances: "
    "medians over seeds at the end of training, relative to the size of the baseline's; "
    "predictions: the share of test examples with another class."
)
KINDS = ("weights", "outputs", "predictions")


def answers(comparison) -> Markup:
    """The answers in words, which stand on top of the page; nothing where there are no controls."""
    return Markup("\n").join(map(paragraph, comparison.answer_sentences()))


def controls_section(comparison) -> Markup:
    """The numbers behind them."""
    answers = comparison.answers()
    if not answers:
        return Markup()
    together: dict = {}
    for a in answers:
        if a.moved:
            together.setdefault((*a.controls, a.seeds), []).append(a)
    tables = [control_table(group, comparison) for group in together.values()]
    used = dict.fromkeys(split(c)[1] for a in answers for c in a.controls)
    kinds = "; ".join(f"{name}: {CONTROLS[name]}" for name in used)
    told = [paragraph(f"{ABOUT} {kinds[:1].upper()}{kinds[1:]}.", "small")]
    return section("Special, or what any perturbation does?", *tables, *told)


def control_table(answers, comparison) -> Markup:
    """Arms, and then the controls that all of them are held against."""
    task = comparison.task
    unit = f", {task.difference_unit}" if task.difference_unit else ""
    head = ["arm", f"mean difference of {task.metric_name}{unit}", "mean size", "p"]
    kinds = [k for k in KINDS if any(band.kind == k for a in answers for band in a.bands)]
    head += [f"{kind}, at the end" for kind in kinds]
    rows = [row(a, a.moved[0], f"{a.p:.2g}", kinds, comparison) for a in answers]
    rows += [row(answers[0], moved, "control", kinds, comparison) for moved in answers[0].moved[1:]]
    seeds = words.plural(answers[0].seeds, "seed")
    caption = f"Differences at the end and distances, of {seeds}: arms, and controls below them"
    return table(caption, head, rows)


def row(answer, moved, p, kinds, comparison) -> list[str]:
    """One arm of an answer: its difference, and its distances."""
    places = words.decimals(comparison.task.margin)
    cells = [words.signed(moved.mean, places), words.fixed(moved.size, places), p]
    ends = {band.kind: band.ends for band in answer.bands}
    cells += [distance_text(ends.get(kind, {}).get(moved.arm), kind) for kind in kinds]
    return [code(moved.arm), *map(words.typeset, cells)]


def distance_text(value, kind) -> str:
    """Predictions as a percentage, the others as they are."""
    if not words.is_number(value):
        return "-"
    return f"{100 * value:.1f}%" if kind == "predictions" else words.short(value)
