"""The laboratory: train the same thing in several precisions and say what differs."""

from minifp.lab.ablation import Ablation, ablate
from minifp.lab.capacity.searching import Capacity, largest_batch
from minifp.lab.comparison import Comparison, compare
from minifp.lab.conclusions.rows import Row
from minifp.lab.exhibits import Gallery, gallery
from minifp.lab.grids.sweeping import Sweep, sweep
from minifp.lab.inference.evaluating import Inference, evaluate
from minifp.lab.kept import Audio, Picture
from minifp.lab.metrics import Metric
from minifp.lab.planning import Plan, plan
from minifp.lab.results.merging import merge
from minifp.lab.run import Run, train
from minifp.lab.task import EarlyStopping

__all__ = [
    "Ablation",
    "Audio",
    "Capacity",
    "Comparison",
    "EarlyStopping",
    "Gallery",
    "Inference",
    "Metric",
    "Picture",
    "Plan",
    "Row",
    "Run",
    "Sweep",
    "ablate",
    "compare",
    "evaluate",
    "gallery",
    "largest_batch",
    "plan",
    "merge",
    "sweep",
    "train",
]
