"""PyTorch's place for `minifp.data`: `from minifp.utils.data import DataLoader`."""
