"""The laboratory: train the same thing in several precisions and say what differs."""

from minifp.lab.ablation import Ablation, ablate
from minifp.lab.comparison import Comparison, compare
from minifp.lab.conclusions.rows import Row
from minifp.lab.detection.coco import CocoEvaluation, coco_map
from minifp.lab.detection.drawing import draw_comparison, draw_detections
from minifp.lab.detection.evaluating import DetectionEvaluation
from minifp.lab.detection.voc import detection_f1, voc_average_precision, voc_map
from minifp.lab.exhibits import Gallery, gallery
from minifp.lab.grids.sweeping import Sweep, sweep
from minifp.lab.kept import Audio, Picture
from minifp.lab.metrics import Metric
from minifp.lab.planning import Plan, plan
from minifp.lab.results.merging import merge
from minifp.lab.run import Run, train
from minifp.lab.task import EarlyStopping

__all__ = [
    "Ablation",
    "Audio",
    "CocoEvaluation",
    "Comparison",
    "DetectionEvaluation",
    "EarlyStopping",
    "Gallery",
    "Metric",
    "Picture",
    "Plan",
    "Row",
    "Run",
    "Sweep",
    "ablate",
    "coco_map",
    "compare",
    "detection_f1",
    "draw_comparison",
    "draw_detections",
    "gallery",
    "plan",
    "merge",
    "sweep",
    "train",
    "voc_average_precision",
    "voc_map",
]
