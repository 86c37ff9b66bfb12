"""The tape, operations that are recorded on it, and the gradients that come back along it."""

from minifp.autograd.function import Function
from minifp.autograd.input_gradients import grad

__all__ = ["Function", "grad"]
