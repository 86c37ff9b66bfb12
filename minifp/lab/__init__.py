"""The laboratory: train the same thing in several precisions and say what differs."""

from minifp.lab.comparison import Comparison, Row, compare
from minifp.lab.run import Run, train

__all__ = ["Comparison", "Row", "Run", "compare", "train"]
