"""torch.version: of the PyTorch whose names these are."""

__all__ = ["cuda", "hip"]
cuda = hip = None
