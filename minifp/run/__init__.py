"""Run PyTorch's scripts as they are: `python -m minifp.run script.py`, or `install()` in a program
of your own before its first `import torch`."""

from minifp.compat.torch.mirror import install

__all__ = ["install"]
