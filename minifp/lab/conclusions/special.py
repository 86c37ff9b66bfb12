"""Whether an arm is special, in words; and the warning where a repetition was none."""

from minifp.lab.arms import split
from minifp.lab.conclusions.controls import answers_of, unrepeatable
from minifp.report import words


def answer_sentences(comparison) -> list[str]:
    """One for each arm, if there are controls."""
    return [answer_sentence(a, comparison) for a in answers_of(comparison)]


def answer_sentence(answer, comparison) -> str:
    """Whether an arm's difference is special, or what any perturbation does."""
    end = ended_text(answer, comparison)
    return f"{end}{course_text(answer, comparison.baseline)}"


def ended_text(answer, comparison) -> str:
    """The same of where it ended."""
    base = comparison.baseline
    controls = f"controls ({words.listed([split(c)[1] for c in answer.controls])})"
    if answer.lost and not answer.controls_lost:
        return (
            f"{answer.arm} is special: {words.plural(answer.lost, 'run')} of it diverged where "
            f"{base} did not, and none of the {controls} did."
        )
    if not answer.moved:
        return f"{answer.arm}: no seed yet with which it, {base} and the {controls} all ended."
    numbers = numbers_text(answer, comparison)
    if answer.special:
        return f"{answer.arm} is special, which no harmless perturbation is: {numbers}."
    if answer.special is None:
        return (
            f"{answer.arm} ends farther from {base} than each control does, but not so that "
            f"{words.plural(answer.seeds, 'seed')} could tell it from one: {numbers}."
        )
    less = [c for c in answer.controls if c not in answer.as_far]
    more = f", though more than {named(less)}" if less else ""
    return (
        f"{answer.arm} does no more than a harmless perturbation ({named(answer.as_far)})"
        f"{more}: {numbers}."
    )


def named(controls) -> str:
    """@order and @ulp."""
    return words.listed([f"@{split(control)[1]}" for control in controls])


def numbers_text(answer, comparison) -> str:
    """How far the arm ends from the baseline, and how far controls do."""
    task, places = comparison.task, words.decimals(comparison.task.margin)
    own, *others = answer.moved
    unit = f" {task.difference_unit}".rstrip()
    sizes = {split(m.arm)[1]: words.fixed(m.size, places) for m in others}
    each = words.listed([f"{size} ({name})" for name, size in sizes.items()])
    seeds = words.plural(answer.seeds, "seed")
    return (
        f"seed by seed its {task.metric_name} ends {words.fixed(own.size, places)}{unit} from "
        f"{comparison.baseline}'s ({words.signed(own.mean, places)} in the mean), with controls "
        f"{each}; {seeds}, p value of the permutation test {answer.p:.2g}"
    )


def course_text(answer, baseline) -> str:
    """How it went on the way there."""
    bands = {band.kind: band for band in answer.bands}
    band = bands.get("outputs") or bands.get("weights")
    if band is None or band.inside_from == band.steps[0]:
        return ""
    what = f" On the way its {band.kind} were farther from {baseline}'s than any control's"
    if band.inside_from is None:
        return f"{what}, at the last step still."
    return f"{what}, and no farther from step {band.inside_from:,} on."


def warnings(comparison) -> list[str]:
    """What makes all else doubtful: a repetition that was none."""
    texts = unrepeatable(comparison)
    if not texts:
        return []
    more = f", and {len(texts) - 1} more" if texts[1:] else ""
    return [
        f"NOT REPEATABLE: {texts[0]}{more}. A repeated run must give the same bits. This machine "
        "does not repeat its own results, so a difference may come from anything: find out why "
        "before you believe any."
    ]
