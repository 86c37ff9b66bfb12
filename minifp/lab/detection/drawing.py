"""Boxes drawn onto their pictures: the true ones, and beside them what each precision sees.

A class has a colour of Okabe's and Ito's, which most eyes tell apart, and its name beside the box;
lines have a light rim, so that they are seen on any picture. True boxes are dashed, detections
solid; one that is wrong is dotted.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from minifp.checks import check_range
from minifp.errors import ArgumentError, MinifpError
from minifp.lab.detection.evaluating import from_rows, kept_in
from minifp.lab.detection.gathering import Detections, gathered
from minifp.lab.detection.voc import judged
from minifp.report import drawing, look

COLORS = [style.color for style in drawing.STYLES[1:]]
SIDE = 2.3  # inches of a picture's larger side
LETTERS = (3.5, 6.5)  # points of labels, at least and at most
TRUE, RIGHT, WRONG = (0, (4, 1.5)), "solid", (0, (1, 1))
TITLE = "true boxes"
# Inches under the pictures, between them, and for a line of text above each.
LEGEND, GAP, LINES = 0.5, 0.06, 0.3


def draw_detections(
    path: str | os.PathLike,
    pictures: Sequence[np.ndarray],
    targets: Sequence[Mapping],
    found: Mapping[str, Sequence[Mapping] | None],
    classes: Sequence[str] | None = None,
    *,
    least: float = 0.5,
) -> Path:
    """Draw pictures in rows: with their true boxes, and beside it with those of each of `found`.

    path: what to write, .png, .svg or .pdf. pictures: (C, H, W), grey or colours, from 0 to 1.
    targets: for each a dict with "boxes" and "labels". found: by what is written above them, such
    as a precision, for each picture a dict with "boxes", "scores" and "labels"; None where a run
    has none. classes: the names of labels. least: the score from which a box is drawn. Returns the
    path. Raises ArgumentError for what does not fit together, MinifpError without matplotlib.
    """
    format = Path(path).suffix[1:].lower()
    if format not in drawing.FORMATS:
        endings = ", .".join(drawing.FORMATS)
        raise ArgumentError(f"{str(path)!r}: expected a name that ends in .{endings}")
    drawn = detections_figure(pictures, targets, found, classes, least=least)
    return drawing.save(drawn, path, format)


def draw_comparison(
    path: str | os.PathLike,
    comparison,
    test_set,
    seed: int | None = None,
    *,
    count: int = 4,
    least: float = 0.5,
) -> Path:
    """Draw what each precision of a comparison sees in the first test pictures, side by side.

    The task's `evaluate` is a DetectionEvaluation(keep=...), which has kept the detections. seed:
    of the runs; None: the first. Otherwise as `draw_detections`.
    """
    seed = comparison.seeds[0] if seed is None else seed
    rows = kept_in(comparison, seed)
    if all(of_run is None for of_run in rows.values()):
        raise ArgumentError(
            f"{comparison.task.name}: no run with the seed {seed} has kept detections: give the "
            "task evaluate=DetectionEvaluation(keep=8), and a seed of the comparison"
        )
    items = [test_set[i] for i in range(min(count, len(test_set)))]
    detections = {p: None if r is None else from_rows(r, len(items)) for p, r in rows.items()}
    pictures, targets = zip(*items)
    classes = getattr(test_set, "classes", None)
    return draw_detections(path, pictures, targets, detections, classes, least=least)


def detections_figure(pictures, targets, detections, classes=None, *, least: float = 0.5):
    """The figure of `draw_detections`, as `drawing.inline_svg` takes it."""
    check_range("least", least)
    if not drawing.is_available():
        raise MinifpError(drawing.HOW_TO_GET)
    columns = {name: selected(outputs, targets, least) for name, outputs in detections.items()}
    if len(pictures) != len(targets) or not len(pictures):
        raise ArgumentError(f"{len(pictures)} pictures, {len(targets)} targets: expected as many")
    with drawing.settings():
        return panels(pictures, targets, columns, names_of(classes, targets, columns))


def detections_text(targets, detections, *, least: float = 0.5) -> str:
    """What a figure of detections shows, in words, for whom it is not to be seen."""
    lines = []
    for name, outputs in detections.items():
        chosen = selected(outputs, targets, least)
        if chosen is None:
            lines.append(f"{name}: no detections.")
            continue
        each = [
            f"picture {i + 1}: {counted(right, target)}"
            for i, ((_, right), target) in enumerate(zip(chosen, targets))
        ]
        lines.append(f"{name}: {'; '.join(each)}.")
    return "\n".join(lines)


def counted(right: np.ndarray, target: Mapping) -> str:
    """How many boxes were found, and how many of what was found are wrong."""
    text = f"{np.count_nonzero(right)} of {len(target['boxes'])} found"
    wrong = np.count_nonzero(~right)
    return f"{text}, {wrong} wrong" if wrong else text


def selected(outputs, targets, least) -> list[tuple] | None:
    """For each picture the detections with scores of at least so much, and which are right, or of
    difficult boxes. None where there are no outputs."""
    if outputs is None:
        return None
    detections, true = gathered(list(outputs), list(targets))
    enough = np.isfinite(detections.box).all(1) & (detections.score >= least)
    few = Detections(*(a[enough] for a in vars(detections).values()))
    _, wrong = judged(few, true, 0.5)
    which = [few.picture == i for i in range(len(targets))]
    return [
        ({"boxes": few.box[w], "labels": few.label[w], "scores": few.score[w]}, ~wrong[w])
        for w in which
    ]


def names_of(classes, targets, columns) -> dict[int, str]:
    """What labels are called, of those that are there."""
    chosen = [item for column in columns.values() if column is not None for item, _ in column]
    labels = {int(label) for item in (*targets, *chosen) for label in item["labels"]}
    known = [] if classes is None else list(classes)
    return {k: str(known[k]) if 0 <= k < len(known) else str(k) for k in sorted(labels)}


# ---- the figure ----------------------------------------------------------------------------------


def panels(pictures, targets, columns, names):
    """A row for each picture, a column for the true boxes and for each of `columns`."""
    drawn, grid = empty_panels(pictures, 1 + len(columns))
    colors = {label: COLORS[i % len(COLORS)] for i, label in enumerate(names)}
    for i, (line, picture, target) in enumerate(zip(grid, pictures, targets)):
        for axes in line:
            show(axes, picture)
        draw_boxes(line[0], target, colors, names, [TRUE] * len(target["boxes"]))
        line[0].set_title(TITLE if i == 0 else "", fontsize=8)
        for axes, (name, column) in zip(line[1:], columns.items()):
            draw_column(axes, name if i == 0 else "", column and column[i], target, colors, names)
    add_legend(drawn, colors, names)
    return drawn


def empty_panels(pictures, count):
    """A figure with so many columns, and its axes, a row for each picture."""
    from matplotlib.figure import Figure

    height, width = np.max([picture.shape[1:] for picture in pictures], axis=0)
    scale = SIDE / max(height, width)
    across, down = scale * width + GAP, scale * height + LINES
    total = across * count + GAP, down * len(pictures) + LEGEND + LINES / 2
    drawn = Figure(figsize=total)
    places = [
        [(GAP + across * j, LEGEND + down * i) for j in range(count)]
        for i in reversed(range(len(pictures)))
    ]
    size = (across - GAP) / total[0], (down - LINES) / total[1]
    return drawn, [
        [drawn.add_axes((left / total[0], bottom / total[1], *size)) for left, bottom in line]
        for line in places
    ]


def show(axes, picture):
    """A picture, (C, H, W), without axes."""
    pixels = np.asarray(picture, np.float32).clip(0, 1).transpose(1, 2, 0)
    if pixels.shape[2] not in (1, 3):
        raise ArgumentError(f"a picture of shape {picture.shape}: expected (1, H, W) or (3, H, W)")
    height, width = pixels.shape[:2]
    whole = (0, width, height, 0)  # boxes are measured from the corner, not from a pixel's middle
    look_of = {"cmap": "gray", "vmin": 0, "vmax": 1} if pixels.shape[2] == 1 else {}
    axes.imshow(pixels.squeeze(), extent=whole, interpolation="nearest", **look_of)
    axes.set_axis_off()


def draw_column(axes, name, chosen, target, colors, names):
    """What one precision has found in a picture."""
    text = "no detections"
    if chosen:
        item, right = chosen
        draw_boxes(axes, item, colors, names, [RIGHT if r else WRONG for r in right])
        text = counted(right, target)
    room = axes.figure.get_figwidth() * axes.get_position().width
    size = min(look.fitting(line, 0.9 * room, 8) for line in (name, text))
    axes.set_title(f"{name}\n{text}".strip(), fontsize=size)


def draw_boxes(axes, item, colors, names, styles):
    """Boxes with their classes, and scores where there are some."""
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Rectangle
    from matplotlib.patheffects import Normal, Stroke

    scores = item.get("scores")
    inches = SIDE / max(np.ptp(axes.get_xlim()), np.ptp(axes.get_ylim()))
    for k, (box, label, style) in enumerate(zip(item["boxes"], item["labels"], styles)):
        left, top, right, bottom = map(float, box)
        color = colors[int(label)]
        rim = [Stroke(linewidth=2.6, foreground=drawing.PAPER, alpha=0.8), Normal()]
        line = {"edgecolor": color, "linestyle": style, "linewidth": 1.3, "path_effects": rim}
        axes.add_patch(Rectangle((left, top), right - left, bottom - top, fill=False, **line))
        text = names[int(label)] + ("" if scores is None else f" {100 * scores[k]:.0f}%")
        size = max(LETTERS[0], look.fitting(text, (right - left) * inches, LETTERS[1]))
        back = {"facecolor": color, "linewidth": 0, "pad": 0.6, "alpha": 0.85}
        letters = {"fontsize": size, "color": drawing.readable_on(to_rgb(color)), "bbox": back}
        axes.text(left, top, text, va="top", ha="left", clip_on=True, **letters)


def add_legend(drawn, colors, names):
    """What colours and lines mean."""
    from matplotlib.lines import Line2D

    lines = {"true": TRUE, "found": RIGHT, "wrong": WRONG}
    handles = [
        *(Line2D([], [], color=colors[k], linewidth=3, label=name) for k, name in names.items()),
        *(Line2D([], [], color=drawing.INK, linestyle=s, label=n) for n, s in lines.items()),
    ]
    columns = min(8, len(handles), max(2, int(drawn.get_figwidth() / 0.8)))
    drawn.legend(handles=handles, loc="lower center", ncols=columns, fontsize=7)
