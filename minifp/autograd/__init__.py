"""The tape, operations that are recorded on it, and the gradients that come back along it."""

from minifp.autograd.function import Function
from minifp.autograd.input_gradients import grad
from minifp.autograd.variable import Variable

__all__ = ["Function", "Variable", "grad"]
