"""Detectors judged: average precision as Pascal VOC and COCO have it, F1, and boxes drawn.

Metrics are functions (outputs, targets) of lists with a dict for each picture, as a Task's metrics
are given them: outputs with "boxes" (n, 4), "scores" (n,), "labels" (n,); targets with "boxes",
"labels" and what else counts (see minifp/data/detection/targets.py). All are percentages, and NaN
where a box or a score is not finite, or nothing is to be found.
"""
