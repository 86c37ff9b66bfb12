"""AMP as it was in `torch.cuda.amp`, whose names take no device: each is that of `fp.amp`, whose
GradScaler takes init_scale first as well."""

from typing import Any

from minifp.compat import amp
from minifp.compat.amp import GradScaler, custom_bwd, custom_fwd
from minifp.numerics.autocast import LOW

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(amp.autocast):
    """`fp.amp.autocast("cuda", dtype, enabled, cache_enabled)`."""

    def __init__(self, enabled: bool = True, dtype: Any = LOW, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)
