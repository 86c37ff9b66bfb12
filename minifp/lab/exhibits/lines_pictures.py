"""Pictures of exhibits that are lines of a table: differences from float32, boxes in pictures."""

from minifp.lab.conclusions.claims import metric_differences
from minifp.lab.conclusions.scores import primary
from minifp.lab.detection.drawing import detections_figure, detections_text
from minifp.lab.detection.evaluating import KEPT, from_rows, kept_in
from minifp.lab.exhibits.finding import called
from minifp.lab.page.row_charts import DIFFERENCE
from minifp.report import drawing, words
from minifp.report.content import Picture
from minifp.report.rows import Mark, Row, Rows

SHOWN = 3  # pictures with their boxes
LEAST = 0.4  # the score from which a box is drawn
RING = drawing.Style(drawing.INK, (), "o", 1.0)


# ---- boxes ---------------------------------------------------------------------------------------


def boxes(gallery) -> list[Picture]:
    """What each precision sees in the same pictures, of each detector whose runs keep it."""
    pictures = []
    for exhibit, comparison in zip(gallery.exhibits, gallery.comparisons):
        runs = [run for run in comparison.runs if run.seed == comparison.seeds[0]]
        if any(KEPT in run.kept for run in runs):
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


def differences(gallery) -> Rows:
    """For each exhibit and arm the difference from float32, and the paper's as a ring."""
    task, between = gallery.comparisons[0].task, primary(gallery.comparisons[0]).between
    styles = dict(zip(gallery.exhibits[0].tested, drawing.STYLES[1:]))
    rows = []
    for line, comparison in zip(gallery.lines, gallery.comparisons):
        marks = []
        for arm, row in line.tested.items():
            is_whole = not row.diverged  # the difference of survivors would flatter
            each = metric_differences(comparison, arm)
            ends = (row.low, row.high, each)
            marks.append(Mark(row.difference if is_whole else None, styles[arm], *ends))
        published = line.exhibit.published
        if published is not None:
            paper = between(published.mixed, published.float32)
            marks.append(Mark(paper, RING, is_ring=True))
        rows.append(Row(line.exhibit.title, marks))
    margin = words.fixed(task.margin, words.decimals(task.margin))
    x = ", ".join(filter(None, (f"{task.metric_name} less float32's", task.difference_unit)))
    name = f"differences-{gallery.exhibits[0].name}"
    legend = {called(arm): style for arm, style in styles.items()}
    x = f"{x}; shaded: the margin of ±{margin}; ring: the paper's"
    look: dict = {"note": DIFFERENCE, "margin": task.margin, "legend": legend}
    return Rows(name, "Differences from float32", rows, x, "See the table.", **look)
