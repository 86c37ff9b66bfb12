"""torch.utils.tensorboard: the SummaryWriter of the package tensorboardX."""

from importlib import import_module
from typing import Any

from minifp.errors import MinifpError

__all__ = ["SummaryWriter"]


def _absent(*args: Any, **settings: Any) -> Any:
    """Raises MinifpError: networks import a SummaryWriter that they do not make."""
    raise MinifpError("SummaryWriter needs tensorboardX: pip install tensorboardX")


try:
    SummaryWriter: Any = import_module("tensorboardX").SummaryWriter
except ModuleNotFoundError:
    SummaryWriter = _absent
