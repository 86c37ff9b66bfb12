"""What `evaluate` found, in words and in cells."""

from minifp.lab.inference.examples import class_name
from minifp.report import words
from minifp.report.plain_text import columns, fill

NAME = "evaluation"  # of the files in a folder
CHANGED = "changed"  # the file of the examples whose prediction changed
HEAD = (
    *("precision", "metric", "change", "loss", "changed", "p"),
    *("example", "x time", "weights", "activ.", "x memory"),
)


def about(found) -> str:
    """What was done, and what the columns are."""
    threads = words.plural(found.threads, "thread")
    return (
        f"{words.plural(len(found.judged), 'checkpoint')} in "
        f"{words.plural(len(found.precisions), 'precision')}, without training. Change: of the "
        f"metric, from {found.precisions[0]}. Changed: predictions of another class than "
        f"{found.precisions[0]}'s; p: the p value of McNemar's exact test, which rejects that "
        "both are right equally often. "
        "Example: the time of a forward pass per example, the median when the precisions took "
        f"{words.plural(found.repeats, 'turn')}, with {threads}. Weights and activations: bytes at "
        "the peak of one batch, without the workspace inside operations; x: times "
        f"{found.precisions[0]}'s."
    )


def heading(judged) -> str:
    """Which checkpoint, which metric, on how much."""
    task = judged.trained.task
    unit = f" in {task.metric_unit}" if task.metric_unit else ""
    return (
        f"{judged.trained.name}: {task.metric_name}{unit}, "
        f"{words.plural(len(judged.trained.test_set), 'example')}, batch {judged.batch}"
    )


def row(judged, precision) -> list[str]:
    """The cells of one checkpoint in one precision."""
    task, result, base = judged.trained.task, judged.results[precision], judged.base
    places = words.decimals(task.margin)
    changed = None if result is base else judged.changed(precision)
    difference = None if result is base else judged.difference(precision)
    return [
        precision,
        words.fixed(result.metrics[task.metric_name], places),
        words.signed(difference, places) if result is not base else "",
        words.fixed(result.loss, 4),
        "" if changed is None else f"{len(changed.places):,}",
        "" if changed is None else f"{changed.p:.2g}",
        words.seconds_text(result.seconds),
        ratio(result.seconds, base.seconds),
        *(words.bytes_text(result.bytes.get(kind)) for kind in ("weights", "activations")),
        ratio(result.held, base.held),
    ]


def ratio(value, base) -> str:
    """How many times the baseline's."""
    return f"{value / base:.2f}" if value is not None and base else "-"


def notes(judged) -> list[str]:
    """What must be known of one checkpoint beside its numbers."""
    told = [*judged.trained.notes]
    told += [f"left out: {text}" for text in judged.left_out]
    for precision, result in judged.results.items():
        lost = result.predictions.not_finite if result.predictions is not None else 0
        if lost:
            told.append(f"{precision}: {words.plural(lost, 'output')} not finite, which name none")
    return told


def changes(judged, precision) -> str:
    """How many predictions changed, and what became of them."""
    changed = judged.changed(precision)
    if changed is None:
        return ""
    n, rest = len(changed.places), len(changed.places) - changed.gained - changed.lost
    told = f"{precision}: {n:,} of {words.plural(changed.of, 'prediction')} changed"
    if not n:
        return told
    return (
        f"{told}: {changed.gained:,} became right, {changed.lost:,} wrong, {rest:,} from wrong to "
        "wrong"
    )


def text(found) -> str:
    """Everything, for a terminal."""
    rows = [row(judged, precision) for judged in found.judged for precision in found.precisions]
    head, line, *lines = columns([HEAD, *rows]).split("\n")
    parts = [fill(about(found)), "\n".join([head, line])]
    each = len(found.precisions)
    for i, judged in enumerate(found.judged):
        said = [changes(judged, precision) for precision in found.others]
        said = [*filter(None, said), *notes(judged)]
        parts.append(
            "\n".join(
                [
                    fill(heading(judged)),
                    *lines[i * each : (i + 1) * each],
                    *(fill(f"- {one}", hang="  ") for one in said),
                ]
            )
        )
    return "\n\n".join(parts)


def each_change(judged, precision):
    """(example, place in it, true class, class and share before, class and share now) of each."""
    changed, dataset = judged.changed(precision), judged.trained.test_set
    base, other = judged.base.predictions, judged.results[precision].predictions
    for place in () if changed is None else changed.places:
        at = tuple(place)
        yield [
            int(place[0]),
            "/".join(map(str, place[1:])),
            class_name(dataset, int(base.targets[at])),
            class_name(dataset, int(base.classes[at])),
            round(float(base.shares[at]), 6),
            class_name(dataset, int(other.classes[at])),
            round(float(other.shares[at]), 6),
        ]
