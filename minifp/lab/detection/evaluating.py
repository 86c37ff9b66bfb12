"""The evaluation of a detector, as a Task's own `evaluate`; its detections, kept as an array."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minifp.checks import check_count
from minifp.data import DataLoader, detection_collate
from minifp.data.structure import mapped
from minifp.errors import ArgumentError, DataError
from minifp.lab.batches import checked
from minifp.lab.detection.coco import coco_map
from minifp.lab.detection.gathering import gathered
from minifp.lab.evaluation import wide
from minifp.runtime import untrusted
from minifp.saving import files

KEPT = "detections"  # what is kept with a run by this name: see `as_rows`
COLUMNS = ("picture", "label", "score", "left", "top", "right", "bottom")


@dataclass(frozen=True)
class DetectionEvaluation:
    """The `evaluate` of a detector's Task(evaluate=DetectionEvaluation(...), metric_name="AP").

    It asks the model, in evaluation mode, for the detections in all test pictures, and returns the
    metrics, and the detections in the first pictures, which are kept with the run.

    metrics: functions (outputs, targets) by name, such as {"AP": lab.coco_map, "F1":
        lab.detection_f1}, among them the task's. One that returns a dict has several numbers, by
        their names: {"COCO": lambda outputs, targets: lab.CocoEvaluation(outputs, targets).stats}.
    collate, batch_size: of test batches.
    detect: detect(model, pictures), which returns for each picture a dict with "boxes" (n, 4),
        "scores" (n,) and "labels" (n,); None: the model does, as torchvision's do.
    keep: the detections of how many pictures are kept.
    """

    metrics: Mapping[str, Callable] = field(default_factory=lambda: {"AP": coco_map})
    collate: Callable = detection_collate
    batch_size: int = 16
    detect: Callable | None = None
    keep: int = 8

    def __post_init__(self):
        check_count("DetectionEvaluation: batch_size", self.batch_size)
        check_count("DetectionEvaluation: keep", self.keep, least=0)
        if not isinstance(self.metrics, Mapping) or not all(map(callable, self.metrics.values())):
            raise ArgumentError(
                f"DetectionEvaluation: metrics={self.metrics!r}: expected a dict of functions of "
                "(outputs, targets)"
            )

    def __call__(self, state, test_set) -> dict[str, Any]:
        outputs, targets = self.detections(state.model, test_set)
        values: dict[str, Any] = {}
        for name, function in self.metrics.items():
            value = function(outputs, targets)
            values |= value if isinstance(value, Mapping) else {name: value}
        return {**values, KEPT: as_rows(outputs[: self.keep])}

    def detections(self, model, test_set) -> tuple[list[dict], list[dict]]:
        """(outputs, targets) of all test pictures. Raises ArgumentError for other outputs."""
        outputs: list[dict] = []
        targets: list[dict] = []
        loader = DataLoader(test_set, self.batch_size, collate_fn=self.collate)
        for pictures, expected in checked(loader, "the test set"):
            detections = model(pictures) if self.detect is None else self.detect(model, pictures)
            is_many = isinstance(detections, (list, tuple))
            outputs += mapped(wide, list(detections) if is_many else [detections])
            targets += mapped(wide, list(expected))
        gathered(outputs, targets)
        return outputs, targets


def as_rows(outputs: Sequence[Mapping]) -> np.ndarray:
    """Detections of some pictures as one array, (n, 7), float64: see COLUMNS."""
    rows = [
        np.column_stack([np.full(len(o["scores"]), i), o["labels"], o["scores"], o["boxes"]])
        for i, o in enumerate(outputs)
    ]
    return np.concatenate([np.zeros((0, len(COLUMNS))), *rows])


def from_rows(rows: np.ndarray, count: int) -> list[dict]:
    """For each of so many pictures a dict, as `as_rows` was given them."""
    parts = [rows[rows[:, 0] == i] for i in range(count)]
    return [
        {
            "boxes": part[:, 3:].astype(np.float32),
            "scores": part[:, 2],
            "labels": part[:, 1].astype(np.int64),
        }
        for part in parts
    ]


def read(folder, name: str) -> np.ndarray | None:
    """The rows in a file that a run has kept in a folder; None for another file, or a lost one."""
    if folder is None or not name.endswith(".npy"):
        return None
    try:
        return untrusted.array_of(files.read_within(folder, name, untrusted.LARGEST), name)
    except DataError:
        return None


def kept_in(comparison, seed: int) -> dict[str, np.ndarray | None]:
    """For each precision of a comparison the rows that its run with a seed has kept, or None."""
    rows: dict[str, np.ndarray | None] = {}
    for precision in comparison.precisions:
        run = next((r for r in comparison.runs_of(precision) if r.seed == seed), None)
        value = None if run is None else run.kept.get(KEPT)
        rows[precision] = read(comparison.out, value) if isinstance(value, str) else value
    return rows
