"""The table of a comparison as plain text: at most 100 columns wide, in ASCII and one "±"."""

from minifp.lab.arms import is_control
from minifp.lab.conclusions import special
from minifp.lab.conclusions.notes import notes
from minifp.lab.memory import KINDS
from minifp.lab.metrics import AVERAGED, TEST_LOSS
from minifp.lab.page.captions import metric_places
from minifp.lab.page.tests_table import ends, mean_text, p_text, places_of
from minifp.lab.page.verdicts import badge
from minifp.lab.statistics.paired import LEAST_PAIRS
from minifp.report import words
from minifp.report.plain_text import columns, fill

LONGEST_NAME = 20  # characters of a precision on one line; longer ones are broken at their commas
KIND_HEADS = ("weights", "masters", "state", "activ.", "grads")  # of KINDS


def text_table(comparison) -> str:
    """Two blocks with a line for each precision: how it ended, and what it cost. Then the notes."""
    rows = comparison.rows()
    names = [broken(row.precision) for row in rows]
    divisor, unit = byte_unit(max((sum(row.bytes.values()) for row in rows), default=0))
    ended = [("final", "difference", "90% interval", "pairs", "failed", "verdict")]
    ended += [how_it_ended(row, comparison) for row in rows]
    wanted = {3: bool(comparison.missing()), 4: any(row.diverged for row in rows)}
    ended = [tuple(c for i, c in enumerate(cells) if wanted.get(i, True)) for cells in ended]
    cost = [("skips", "scale", "s/step", *KIND_HEADS, "total")]
    cost += [what_it_cost(row, divisor) for row in rows]
    about_cost = (
        f"Skipped steps and final loss scale (means over runs), median seconds of a step, and "
        f"{unit} of memory at the peak of a step: weights, master weights, optimizer state, "
        "activations, gradients."
    )
    needs = [needed(row) for row in rows if row.needed and not row.is_control]
    warned = special.warnings(comparison)
    found = [*needs, *notes(comparison)]
    blocks = [
        "\n".join(fill(warning, hang="  ") for warning in warned),
        fill(about_end(comparison)),
        columns(beside(names, ended), text_columns=(0, len(ended[0]))),
        "\n".join(fill(answer, hang="  ") for answer in comparison.answer_sentences()),
        *tests(comparison),
        fill(about_cost),
        columns(beside(names, cost)),
        "\n".join(fill(note, hang="  ") for note in found),
    ]
    return "\n\n".join(block for block in blocks if block)


def run_table(task, run) -> str:
    """What one run came to, a line for each figure."""
    losses = [loss for loss in run.history["loss"] if words.is_number(loss)]
    rows = [
        ("task", task.name),
        ("precision", f"{run.precision}, seed {run.seed}"),
        ("status", run.status + (f": {run.note}" if run.note else "")),
        ("steps", f"{run.steps}, of which {run.skipped} skipped"),
        ("training loss", f"{losses[-1]:.4g} at the last step" if losses else "-"),
        (task.metric_name, words.fixed(run.metric, metric_places(task)) + unit_text(task)),
        *averaged_rows(task, run),
        ("loss scale", words.scale_text(run.final_scale)),
        ("seconds", f"{words.seconds_text(run.seconds_per_step)} a step, median"),
        ("memory", f"{words.bytes_text(sum(run.bytes.values()))} at the peak of a step"),
    ]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:{width}}  {value}" for name, value in rows)


def unit_text(task) -> str:
    """The unit of a task's metric, behind a number."""
    return f" {task.metric_unit}" if task.metric_unit else ""


def averaged_rows(task, run) -> list[tuple[str, str]]:
    """What averages of the weights came to, where there are any."""
    known = {AVERAGED + task.metric_name: unit_text(task), AVERAGED + TEST_LOSS: ""}
    return [
        (name, f"{words.fixed(run.metrics[name][-1], None)}{unit}")
        for name, unit in known.items()
        if name in run.metrics
    ]


def about_end(comparison) -> str:
    """What was trained, how long and how often, and how to read the first block."""
    task, baseline = comparison.task, comparison.baseline
    steps = words.plural(max((run.steps for run in comparison.runs), default=0), "step")
    dial = f", exponent dial {comparison.dial}" if comparison.dial else ""
    unit = f" in {task.metric_unit}" if task.metric_unit else ""
    better = "higher" if task.goal == "max" else "lower"
    margin = f"{task.margin:g} {task.difference_unit}".strip()
    about = (
        f"{task.name}{dial}: {steps}, {words.plural(len(comparison.seeds), 'seed')}. "
        f"Final {task.metric_name}{unit}, mean ± standard deviation over seeds; {better} is "
        "better."
    )
    if len(comparison.precisions) == 1:
        return about
    whose = "its whole interval"
    if task.decider != task.metric_name:
        decides = next((c for c in comparison.claims() if c.decides), None)
        whose = f"that of the {task.decider}, which was declared to decide,"
        margin = margin if decides is None else f"{decides.score.margin:.3g}"
    return (
        f"{about} Difference from {baseline}, paired by seed; EQUIVALENT where {whose} "
        f"is within ±{margin}."
    )


def how_it_ended(row, comparison) -> tuple:
    """The cells of the first block."""
    places, own = words.decimals(comparison.task.margin), metric_places(comparison.task)
    sd = f" ± {words.fixed(row.sd, own)}" if words.is_number(row.sd) else ""
    final = words.fixed(row.mean, own) + sd if row.n else "no run yet"
    lost = f"{row.diverged} of {row.n}" if row.diverged else ""
    if row.precision == comparison.baseline:
        return final, "baseline", "", words.plural(row.n, "run"), lost, ""
    difference = words.signed(row.difference, places) if words.is_number(row.difference) else "-"
    ends = (words.signed(end, places) for end in (row.low, row.high))
    interval = " to ".join(ends) if words.is_number(row.low) else "-"
    return final, difference, interval, str(row.pairs), lost, badge(row) or "-"


def tests(comparison) -> list[str]:
    """The p values, and all scores that have a margin or a target, if anything is claimed."""
    claims = [c for c in comparison.claims() if not is_control(c.arm) and c.pairs]
    claims = [c for c in claims if c.score.margin is not None or c.reached is not None]
    if not any(c.verdict for c in claims):
        return []
    head = ("precision, score", "difference", "90% interval", "p equivalence", "p difference")
    lines = [head, *map(test_cells, claims)]
    told = (
        "p values: how often data this far out would come up if the hypothesis of the test were "
        "true. Below 0.05 the test of equivalence (TOST) rejects that the difference is beyond the "
        "margin, that of difference that it is within it. In brackets: adjusted (Holm), of what "
        "decides for all that decides, of the other scores for all here."
    )
    return [fill(told), columns(lines, text_columns=(0, 5))]


def test_cells(claim) -> tuple:
    """One claim."""
    places = places_of(claim)
    score = claim.score.name
    if claim.reached is not None:
        score += f": {mean_text(claim, places)}"
    name = f"{claim.arm}, {score}"
    return (
        name if len(name) <= 2 * LONGEST_NAME else f"{broken(claim.arm)},\n  {score}",
        words.signed(claim.difference, places),
        ends(claim.low, claim.high, places),
        p_text(claim, "equivalent"),
        p_text(claim, "different"),
    )


def needed(row) -> str:
    """What would settle a verdict that is inconclusive, or for which there is too little."""
    if row.pairs < LEAST_PAIRS:
        pairs = words.plural(row.pairs, "seed")
        return f"{row.precision}: no verdict from {pairs}; at least {row.needed} are needed."
    return f"{row.precision}: inconclusive with {row.pairs} seeds; about {row.needed} are needed."


def what_it_cost(row, divisor) -> tuple:
    """The cells of the second block; bytes in a unit of `divisor` bytes."""
    seconds = f"{row.seconds_per_step:.2g}" if words.is_number(row.seconds_per_step) else "-"
    held = [row.bytes.get(kind) for kind in KINDS] + [sum(row.bytes.values()) or None]
    sizes = ["-" if size is None else size_text(size / divisor) for size in held]
    return words.count_text(row.skipped), words.scale_text(row.final_scale), seconds, *sizes


def byte_unit(largest) -> tuple:
    """(bytes, name) of the unit in which the largest has at most five digits."""
    units = ((1, "bytes"), (2**10, "KiB"), (2**20, "MiB"), (2**30, "GiB"))
    return next((u for u in units if largest / u[0] < 99999.5), units[-1])


def size_text(size) -> str:
    """Whole units, and three digits where there are fewer."""
    return f"{size:.0f}" if size >= 99.95 or size == int(size) else words.three_digits(size)


def beside(names, rows) -> list:
    """The rows, each with the precision in front."""
    return [(name, *cells) for name, cells in zip(["precision", *names], rows)]


def broken(name) -> str:
    """A precision's name in lines of at most LONGEST_NAME characters, broken after its commas."""
    return name if len(name) <= LONGEST_NAME else name.replace(",", ",\n  ")
