"""Update rules on flat buffers, parameter groups, clipping and schedules. They know no loss scale's
policy and no models; gradients come with an inverse scale as an operand."""

from minifp.optim import lr_scheduler
from minifp.optim.adam import Adam, AdamW
from minifp.optim.clip import clip_grad_norm_
from minifp.optim.optimizer import Optimizer
from minifp.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "clip_grad_norm_", "lr_scheduler"]
