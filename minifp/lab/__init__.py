"""The laboratory: train the same thing in several precisions and say what differs."""

from minifp.lab.ablation import Ablation, ablate
from minifp.lab.comparison import Comparison, compare
from minifp.lab.conclusions.rows import Row
from minifp.lab.error_rates import (
    ErrorRate,
    character_error_rate,
    edit_distance,
    error_rate,
    word_error_rate,
)
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
    "Comparison",
    "EarlyStopping",
    "ErrorRate",
    "Gallery",
    "Metric",
    "Picture",
    "Plan",
    "Row",
    "Run",
    "Sweep",
    "ablate",
    "character_error_rate",
    "compare",
    "edit_distance",
    "error_rate",
    "gallery",
    "plan",
    "merge",
    "sweep",
    "train",
    "word_error_rate",
]
