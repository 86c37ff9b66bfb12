"""The laboratory: train the same thing in several precisions and say what differs."""

from typing import TYPE_CHECKING

from minifp.runtime import late

if TYPE_CHECKING:  # imported when they are first asked for: see `late`
    from minifp.lab.ablation import Ablation, ablate
    from minifp.lab.attachments import Audio, Picture
    from minifp.lab.capacity.searching import Capacity, largest_batch
    from minifp.lab.comparison import Comparison, compare
    from minifp.lab.conclusions.rows import Row
    from minifp.lab.detection.coco import CocoEvaluation, coco_map
    from minifp.lab.detection.drawing import draw_comparison, draw_detections
    from minifp.lab.detection.evaluating import DetectionEvaluation
    from minifp.lab.detection.voc import detection_f1, voc_average_precision, voc_map
    from minifp.lab.error_rates import (
        ErrorRate,
        character_error_rate,
        edit_distance,
        error_rate,
        word_error_rate,
    )
    from minifp.lab.exhibits import Gallery, gallery
    from minifp.lab.grids.sweeping import Sweep, sweep
    from minifp.lab.inference.evaluating import Inference, evaluate
    from minifp.lab.metrics import Metric
    from minifp.lab.planning import Plan, plan
    from minifp.lab.results.merging import merge
    from minifp.lab.run import Run, train
    from minifp.lab.task import EarlyStopping

__all__ = ["Ablation", "Audio", "Capacity", "CocoEvaluation", "Comparison", "DetectionEvaluation"]
__all__ += ["EarlyStopping", "ErrorRate", "Gallery", "Inference", "Metric", "Picture", "Plan"]
__all__ += ["Row", "Run", "Sweep", "ablate", "character_error_rate", "coco_map", "compare"]
__all__ += ["detection_f1", "draw_comparison", "draw_detections", "edit_distance", "error_rate"]
__all__ += ["evaluate", "gallery", "largest_batch", "merge", "plan", "sweep", "train"]
__all__ += ["voc_average_precision", "voc_map", "word_error_rate"]

late.attach(__name__)
