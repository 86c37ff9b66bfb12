"""The detectors of Micikevicius et al. 2018 (arXiv:1710.03740), table 2 and figure 3, small.

There, on Pascal VOC, the multibox detector SSD diverges in mixed precision without loss scaling and
matches float32 with S = 8, as many of its activation gradients lie below what float16 holds; Faster
R-CNN trains either way. Here SSD sees scenes of digits, and both see blood cells at 160x120.
"""

from functools import partial

from minifp import Metric, Task, data, optim
from minifp.lab import DetectionEvaluation, Exhibit, Published, coco_map, detection_f1, voc_map
from minifp.lab.schedules import cosine
from minifp.models import SSD300, FasterRCNN

WHERE = "Micikevicius et al. 2018, table 2"
WHAT = "mAP on Pascal VOC 2007, %"
ARMS = ("mixed,loss_scale=1", "mixed,loss_scale=8", "mixed")
FAILS = "SSD fails in mixed precision without loss scaling, and matches float32 with it"
DIALLED = "with gradients that are 2^14 times as small, Faster R-CNN needs loss scaling too"
TRAINS = "Faster R-CNN matches float32 in mixed precision, without loss scaling too"
SSD_NUMBERS = Published(76.9, 77.1, WHAT, WHERE, unscaled="diverges")
FASTER_NUMBERS = Published(69.1, 69.7, WHAT, WHERE, unscaled=68.6)
DIAL = 14
METRICS = {"AP": voc_map, "F1": detection_f1, "COCO AP": coco_map}
FIGURE_3 = (
    "Of the paper's SSD 67% are exact zeros, 2% lie from 2^-34 to 2^-32 and 2% from 2^-24 to "
    "2^-23; what lies below 2^-27 was found not to matter, what lies from there to 2^-24 did."
)
SEARCHED_DIGITS = (
    "in float32, with one seed and 400 steps: SGD with momentum at rates of 0.003, 0.01, 0.03 and, "
    "with batch normalisation, 0.02, Adam at 0.001 and 0.003 (0.002 lies between); the dial among "
    "10 and 14, with S = 1 and S = 8 and one seed: at 10, as in an earlier sketch of another "
    "detector, S = 1 trained"
)
SEARCHED_CELLS = "nothing: the optimizer is that of the scenes, at half its rate"


def step(state, batch) -> dict:
    """A step of a detector: the sum of its losses, which are told one by one."""
    pictures, targets = batch
    losses = state.model(pictures, targets)
    total = sum(losses.values())
    state.optimizer.minimize(total)
    return {"loss": total, **losses}


def detector(*, lr: float, **settings) -> Task:
    """The Task of a detector. settings: those that differ from one to the next."""
    return Task(
        loss=None,
        step=step,
        evaluate=DetectionEvaluation(metrics=METRICS, keep=4),
        metric=None,
        metric_name="AP",
        metric_unit="%",
        margin=MARGIN,
        metrics=[Metric("F1", None, "%"), Metric("COCO AP", None, "%")],
        optimizer=partial(optim.Adam, lr=lr),
        schedule=cosine,
        collate=data.detection_collate,
        **settings,
    )


MARGIN = 3.0  # points of AP
SCENES = partial(data.digit_scenes, 2_000, 300)
DIGIT_STEPS = {"quick": 600, "evening": 1_500, "full": 4_000}


def ssd_on_digits(scale: str, dial: int = DIAL, steps=DIGIT_STEPS) -> Task:
    """SSD on scenes of one or two digits, for one of the scales."""
    return detector(
        name="ssd-digits",
        description="SSD with the first stages of VGG-16 at a quarter of their width, on scenes "
        "of one or two digits, 32x32",
        model=partial(SSD300, 11, channels=1, size=32, stem="small", width=1 / 4),
        data=SCENES,
        lr=2e-3,
        batch_size=32,
        steps=steps[scale],
        dial=dial,
    )


CELL_STEPS = {"quick": 100, "evening": 800, "full": 4_000}
CELLS = partial(data.bccd, size=(120, 160))


def of_cells(scale: str, dial: int) -> dict:
    """What is the same for both detectors of blood cells: half of the training pictures are seen
    from behind."""
    flip = data.transforms.RandomHorizontalFlip()
    return {"data": CELLS, "lr": 1e-3, "steps": CELL_STEPS[scale], "dial": dial, "transform": flip}


def ssd_on_cells(scale: str, dial: int) -> Task:
    """SSD on blood cells."""
    return detector(
        name="ssd-cells",
        description="SSD with the first stages of VGG-16 at a quarter of their width, on blood "
        "cells, 160x120",
        model=partial(SSD300, 4, size=(120, 160), stem="smaller", width=1 / 4),
        batch_size=8,
        **of_cells(scale, dial),
    )


def faster_on_cells(scale: str, dial: int) -> Task:
    """Faster R-CNN on blood cells."""
    return detector(
        name="faster-rcnn-cells",
        description="Faster R-CNN with the first stages of VGG-16 at an eighth of their width, on "
        "blood cells, 160x120",
        model=partial(FasterRCNN, 4, stem="smaller", width=1 / 8),
        batch_size=4,
        **of_cells(scale, dial),
    )


def on_cells(name, title, task, claim, published=None, dial=0) -> Exhibit:
    """A detector on blood cells, with or without the dial."""
    return Exhibit(
        name=f"{name}-dial" if dial else name,
        title=f"{title}, dial {dial}" if dial else title,
        claim=claim,
        published=published,
        task=partial(task, dial=dial),
        arms=ARMS,
        seeds={"evening": 3, "full": 5},
        searched=SEARCHED_CELLS,
        expects="matches" if claim == TRAINS else "fails",
        is_own=claim == DIALLED,
    )


DIGITS = Exhibit(
    name="ssd-digits",
    title="SSD on digits",
    claim=FAILS,
    published=SSD_NUMBERS,
    task=ssd_on_digits,
    arms=ARMS,
    searched=SEARCHED_DIGITS,
    expects="fails",
    looked_at=True,
    published_look=FIGURE_3,
)

ssd = partial(on_cells, "ssd-cells", "SSD on blood cells", ssd_on_cells, FAILS, SSD_NUMBERS)
faster = partial(on_cells, "faster-rcnn-cells", "Faster R-CNN on blood cells", faster_on_cells)

EXHIBITS = (
    DIGITS,
    ssd(),
    ssd(dial=DIAL),
    faster(TRAINS, FASTER_NUMBERS),
    faster(DIALLED, dial=DIAL),
)
