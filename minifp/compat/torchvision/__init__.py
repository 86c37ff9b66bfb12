"""What `import torchvision` brings to a script that `python -m minifp.run` runs.

Its modules stand where torchvision's do, and are found as those of minifp/compat/torch are
(minifp/compat/torch/mirror.py). Pictures are Pillow's, or tensors.
"""

__all__ = ["__version__"]

__version__ = "0.28.0+minifp"  # the torchvision whose names these are
