"""Whether an arm is special, in words; and the warning where a repetition was none."""

from minifp.lab.arms import split
from minifp.lab.conclusions.controls import answers_of, unrepeatable
from minifp.report import words

ALIKE = "does no more than any perturbation does, as far as this shows"


def answer_sentences(comparison) -> list[str]:
    """One for each arm, if there are controls."""
    return [answer_sentence(a, comparison) for a in answers_of(comparison)]


def answer_sentence(answer, comparison) -> str:
    """Whether an arm's difference is special, or what any perturbation does."""
    controls = f"controls ({words.listed([split(c)[1] for c in answer.controls])})"
    if answer.lost and not answer.controls_lost:
        return (
            f"{answer.arm} is special: {words.plural(answer.lost, 'run')} of it diverged where "
            f"{comparison.baseline} did not, and none of the {controls} did."
        )
    if answer.special is None:
        seeds, n = words.plural(answer.seeds, "seed"), len(answer.controls)
        least = f": the smallest p that can come out is {answer.least_p:.2g}"
        return (
            f"{answer.arm}: special or not cannot be told from {seeds} and "
            f"{words.plural(n, 'control')}{least if answer.seeds else ''}."
        )
    numbers = numbers_text(answer, controls, comparison)
    if answer.special:
        return f"{answer.arm} is special, and not what any perturbation does: {numbers}."
    return f"{answer.arm} {ALIKE}: {numbers}.{course_text(answer, comparison.baseline)}"


def numbers_text(answer, controls, comparison) -> str:
    """Where the arm ends, and where the controls do."""
    task, places = comparison.task, words.decimals(comparison.task.margin)
    unit = f" {task.difference_unit}".rstrip()
    low, high = (words.signed(v, places) for v in (answer.low, answer.high))
    return (
        f"its {task.metric_name} ends {words.signed(answer.difference, places)}{unit} from "
        f"{comparison.baseline}'s, the {controls} {low} to {high}{unit} "
        f"(means of {words.plural(answer.seeds, 'seed')}; p = {answer.p:.2g})"
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
    found = unrepeatable(comparison)
    if not found:
        return []
    more = f", and {len(found) - 1} more" if found[1:] else ""
    return [
        f"NOT REPEATABLE: {found[0]}{more}. A run that is done again must be the same to the last "
        "bit. This machine does not repeat its own results, so that a difference may come from "
        "anything: find out why before believing any."
    ]
