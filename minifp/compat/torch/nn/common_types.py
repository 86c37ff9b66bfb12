"""torch.nn.common_types: for annotations only."""

from typing import Any, TypeAlias

__all__ = ["_size_1_t", "_size_2_t", "_size_3_t"]
_size_1_t: TypeAlias = Any
_size_2_t: TypeAlias = Any
_size_3_t: TypeAlias = Any
