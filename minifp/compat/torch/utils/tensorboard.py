"""torch.utils.tensorboard: the SummaryWriter of the package tensorboardX."""

from minifp.errors import MinifpError

try:
    from tensorboardX import SummaryWriter
except ModuleNotFoundError as error:
    raise MinifpError("SummaryWriter needs tensorboardX: python -m pip install tensorboardX") from error

__all__ = ["SummaryWriter"]
