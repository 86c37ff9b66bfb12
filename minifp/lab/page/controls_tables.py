"""The tables that say whether a difference is special, or what any perturbation does."""

from minifp.report import words
from minifp.report.content import Table

ABOUT = (
    "Controls disturb a run in a harmless way, and show how far apart equally good runs end. Mean "
    "size: the mean of the differences without their signs. p: if the arm were just another "
    "control, the share of cases in which it would stand out this much, in the mean or in size (a "
    "permutation test within each seed, adjusted by Holm for both and for all arms). Distances: "
    "medians over seeds at the end of training, relative to the size of the baseline's; "
    "predictions: the share of test examples with another class."
)
KINDS = ("weights", "outputs", "predictions")


def control_tables(comparison) -> list[Table]:
    """One for all answers that rest on the same controls and seeds; for pages."""
    together: dict = {}
    for answer in comparison.answers():
        if answer.moved:
            together.setdefault((*answer.controls, answer.seeds), []).append(answer)
    return [control_table(answers, comparison) for answers in together.values()]


def control_table(answers, comparison) -> Table:
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
    return Table(caption, [head, *rows], code=True, brief=())


def row(answer, moved, p, kinds, comparison) -> list[str]:
    """One arm of an answer: its difference, and its distances."""
    places = words.decimals(comparison.task.margin)
    cells = [words.signed(moved.mean, places), words.fixed(moved.size, places), p]
    ends = {band.kind: band.ends for band in answer.bands}
    distances = (distance_text(ends.get(kind, {}).get(moved.arm), kind) for kind in kinds)
    return [moved.arm, *cells, *distances]


def distance_text(value, kind) -> str:
    """Predictions as a percentage, the others as they are."""
    if not words.is_number(value):
        return "-"
    return f"{100 * value:.1f}%" if kind == "predictions" else words.short(value)
