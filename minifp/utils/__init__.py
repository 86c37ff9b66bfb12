"""PyTorch's place for `minifp.data`: `from minifp.utils.data import DataLoader`."""

from minifp.utils import data

__all__ = ["data"]
