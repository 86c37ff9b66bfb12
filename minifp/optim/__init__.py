"""Update rules on flat buffers, parameter groups and schedules. They know no loss scale's policy
and no models; gradients come with an inverse scale as an operand."""

from minifp.autograd.gradient_clip import clip_grad_norm_, clip_grad_value_
from minifp.optim import lr_scheduler, swa_utils
from minifp.optim.adadelta import Adadelta
from minifp.optim.adagrad import Adagrad
from minifp.optim.adam import Adam, AdamW
from minifp.optim.adamax import Adamax
from minifp.optim.lamb import LAMB
from minifp.optim.nadam import NAdam
from minifp.optim.optimizer import Optimizer
from minifp.optim.radam import RAdam
from minifp.optim.rmsprop import RMSprop
from minifp.optim.sgd import SGD

__all__ = ["Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "LAMB", "NAdam", "Optimizer"]
__all__ += ["RAdam", "RMSprop", "SGD", "clip_grad_norm_", "clip_grad_value_", "lr_scheduler"]
__all__ += ["swa_utils"]
