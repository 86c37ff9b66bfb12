"""torch.utils.tensorboard: the SummaryWriter of the package tensorboardX."""

from importlib import import_module

from minifp.errors import MinifpError

try:
    SummaryWriter = import_module("tensorboardX").SummaryWriter
except ModuleNotFoundError as error:
    raise MinifpError("SummaryWriter needs tensorboardX: pip install tensorboardX") from error

__all__ = ["SummaryWriter"]
