"""The laboratory: train the same thing in several precisions and say what differs."""

from typing import TYPE_CHECKING

from minifp.runtime import late

if TYPE_CHECKING:  # imported when they are first asked for: see `late`
    from minifp.lab import schedules
    from minifp.lab.ablation import Ablation, ablate
    from minifp.lab.alignments import draw_alignment
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
    from minifp.lab.exhibits.exhibit import Exhibit, Published, ablation_exhibit
    from minifp.lab.exhibits.showing import Gallery, gallery
    from minifp.lab.feature_distances import FeatureDistance, feature_distance, fixed_noise
    from minifp.lab.gradients import observe_gradients
    from minifp.lab.grids.sweeping import Sweep, sweep
    from minifp.lab.inference.evaluating import Inference, evaluate
    from minifp.lab.metrics import Metric
    from minifp.lab.planning import Plan, plan
    from minifp.lab.results.merging import merge
    from minifp.lab.run import Run, train
    from minifp.lab.task import EarlyStopping
    from minifp.lab.translation_metrics import TranslationScores, translation_scores
    from minifp.lab.where import Where

__all__ = ["EarlyStopping", "Metric", "Run", "schedules", "train"]  # of a task
__all__ += ["Ablation", "Capacity", "Comparison", "Inference", "Plan", "Row", "Sweep", "Where"]
__all__ += ["ablate", "compare", "evaluate", "largest_batch", "merge", "plan", "sweep"]
__all__ += ["Exhibit", "Gallery", "Published", "ablation_exhibit", "gallery"]
# What evaluations are made of.
__all__ += ["Audio", "Picture", "fixed_noise", "observe_gradients"]
__all__ += ["CocoEvaluation", "DetectionEvaluation", "coco_map", "detection_f1"]
__all__ += ["draw_comparison", "draw_detections", "voc_average_precision", "voc_map"]
__all__ += ["ErrorRate", "character_error_rate", "edit_distance", "error_rate", "word_error_rate"]
__all__ += ["FeatureDistance", "TranslationScores"]
__all__ += ["draw_alignment", "feature_distance", "translation_scores"]

late.attach(__name__)
