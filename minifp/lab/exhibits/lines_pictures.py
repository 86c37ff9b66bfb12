"""Pictures of exhibits that are lines of a table: differences from float32, boxes in pictures."""

from minifp.lab.conclusions.claims import metric_differences
from minifp.lab.conclusions.scores import primary
from minifp.lab.detection.drawing import detections_figure, detections_text
from minifp.lab.detection.evaluating import KEPT, from_rows, kept_in
from minifp.lab.exhibits.finding import called
from minifp.report import drawing, words
from minifp.report.content import Picture

SHOWN = 3  # pictures with their boxes
LEAST = 0.4  # the score from which a box is drawn
FAR = 4.0  # margins from 0 at which a mark becomes an arrow


# ---- boxes ---------------------------------------------------------------------------------------


def boxes(gallery) -> list[Picture]:
    """What each precision sees in the same pictures, of each detector whose runs keep it."""
    pictures = []
    for exhibit, comparison in zip(gallery.exhibits, gallery.comparisons):
        seed = comparison.seeds[0]
        if any(KEPT in run.kept for run in comparison.runs if run.seed == seed):
            pictures.append(boxes_of(exhibit, comparison, gallery.scale))
    return pictures


def boxes_of(exhibit, comparison, scale) -> Picture:
    """The first test pictures with the boxes of every precision, of the first seed."""
    test_set = exhibit.task(scale).data()[1]
    items = [test_set[i] for i in range(min(SHOWN, len(test_set)))]
    rows = kept_in(comparison, comparison.seeds[0])
    seen = {called(p): None if r is None else from_rows(r, len(items)) for p, r in rows.items()}
    images, targets = zip(*items)
    classes = getattr(test_set, "classes", None)
    title = f"{exhibit.title}: what each precision sees, seed {comparison.seeds[0]}"
    return Picture(
        f"{exhibit.name}-boxes",
        title,
        detections_text(targets, seen, least=LEAST),
        lambda look: detections_figure(images, targets, seen, classes, least=LEAST),
        f"{title}. Dashed: true boxes. Dotted: wrong ones. Scores from {LEAST:g}.",
    )


# ---- differences ---------------------------------------------------------------------------------


def differences(gallery) -> Picture:
    """For each exhibit and arm the difference from float32."""
    name, title = f"differences-{gallery.exhibits[0].name}", "Differences from float32"
    return Picture(name, title, "See the table", lambda look: differences_figure(gallery))


def differences_figure(gallery):
    """A matplotlib Figure: for each exhibit and arm the difference from float32 with its interval,
    a small mark for each seed, the margin shaded, and the paper's difference as a ring."""
    lines, task = gallery.lines, gallery.comparisons[0].task
    arms = gallery.exhibits[0].tested
    styles = dict(zip(arms, drawing.STYLES[1:]))
    reach = FAR * task.margin
    between = primary(gallery.comparisons[0]).between
    with drawing.canvas(7.6, 1.1 + (0.3 + 0.2 * len(arms)) * len(lines)) as (drawn, axes):
        drawing.show_margin(axes, task.margin)
        for i, (line, comparison) in enumerate(zip(lines, gallery.comparisons)):
            for j, (arm, row) in enumerate(line.tested.items()):
                y = i + (j - (len(arms) - 1) / 2) * 0.22
                draw_row(axes, y, row, metric_differences(comparison, arm), styles[arm], reach)
            draw_paper(axes, i + 0.22 * len(arms) / 2, line.exhibit.published, between, reach)
        axes.set_yticks(range(len(lines)), [line.exhibit.title for line in lines])
        axes.set_ylim(len(lines) - 0.4, -0.6)
        axes.set_xlim(-1.05 * reach, 1.05 * reach)
        axes.grid(False, axis="y")
        what = ", ".join(filter(None, (f"{task.metric_name} less float32's", task.difference_unit)))
        axes.set_xlabel(
            f"{what}; shaded: the margin of "
            f"±{words.fixed(task.margin, words.decimals(task.margin))}; ring: the paper's"
        )
        for arm, style in styles.items():
            look = {"color": style.color, "marker": style.marker, "linestyle": "none"}
            axes.plot([], [], label=called(arm), **look)
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(arms), fontsize=8)
    return drawn


def draw_row(axes, y, row, each, style, reach):
    """The interval, the mean, and each seed; an arrow for a mean far outside."""
    if row.difference is None or row.diverged:  # the difference of survivors would flatter
        return
    if drawing.show_interval(axes, y, row.difference, (row.low, row.high), style, reach):
        inside = [v for v in each if abs(v) <= reach]
        axes.plot(inside, [y] * len(inside), "|", color=style.color, markersize=6, alpha=0.6)


def draw_paper(axes, y, published, between, reach):
    """A ring at the difference that the paper has."""
    if published is not None:
        at = max(-reach, min(reach, between(published.mixed, published.float32)))
        axes.plot(at, y, "o", markerfacecolor="none", color=drawing.INK, markersize=6)
