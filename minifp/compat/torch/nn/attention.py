"""torch.nn.attention: there is one way to compute attention."""

from contextlib import nullcontext
from enum import Enum
from typing import Any

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(Enum):
    """PyTorch's ways."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3


def sdpa_kernel(*backends: Any, **settings: Any) -> nullcontext:
    """A context that changes nothing."""
    return nullcontext()
