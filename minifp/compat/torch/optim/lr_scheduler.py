"""torch.optim.lr_scheduler: the name that the base had before PyTorch 2."""

from minifp.optim.lr_scheduler import LRScheduler as _LRScheduler

__all__ = ["_LRScheduler"]
