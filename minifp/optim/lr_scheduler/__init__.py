"""Learning rates as closed forms of the number of steps (or epochs) that succeeded.

Call `scheduler.step()` once after each `optimizer.step()`, or once an epoch. A step that was
skipped does not advance it; an epoch always does. A rise over 3 steps, then a fall over 4:

>>> from minifp import nn, optim
>>> from minifp.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR
>>> layer = nn.Linear(2, 1)
>>> optimizer = optim.SGD(layer.parameters(), lr=1.0)
>>> rise = LinearLR(optimizer, start_factor=0.25, total_iters=3)
>>> fall = CosineAnnealingLR(optimizer, T_max=4)
>>> scheduler = SequentialLR(optimizer, [rise, fall], milestones=[3])
>>> rates = scheduler.get_last_lr()
>>> for _ in range(7):
...     optimizer.zero_grad()
...     layer.weight.sum().backward()
...     optimizer.step()
...     scheduler.step()
...     rates += scheduler.get_last_lr()
>>> [round(rate, 3) for rate in rates]
[0.25, 0.5, 0.75, 1.0, 0.854, 0.5, 0.146, 0.0]
"""

from minifp.optim.lr_scheduler.base import LRScheduler
from minifp.optim.lr_scheduler.combined import ChainedScheduler, SequentialLR
from minifp.optim.lr_scheduler.cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from minifp.optim.lr_scheduler.factors import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from minifp.optim.lr_scheduler.one_cycle import OneCycleLR
from minifp.optim.lr_scheduler.plateau import ReduceLROnPlateau

_LRScheduler = LRScheduler  # its name in PyTorch before 2.0

__all__ = ["ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts"]
__all__ += ["ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "OneCycleLR"]
__all__ += ["PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR"]
