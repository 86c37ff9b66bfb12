"""What can be watched while it trains."""

from typing import Any

from minifp.errors import ArgumentError
from minifp.training.mixed import MixedOptimizer


def check_training(name: str, model: Any, optimizer: Any) -> None:
    """Raise ArgumentError, in the name of who watches, for anything but a Module and its
    MixedOptimizer."""
    if not hasattr(model, "named_parameters"):
        raise ArgumentError(f"{name}: model is a {type(model).__name__}: expected a Module")
    if not isinstance(optimizer, MixedOptimizer):
        raise ArgumentError(
            f"{name}: optimizer is a {type(optimizer).__name__}: expected an fp.MixedOptimizer "
            "(under float32 it acts as the plain optimizer)"
        )
