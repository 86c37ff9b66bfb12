"""AMP as it was in `torch.cuda.amp`, whose names take no device: each is that of `fp.amp`."""

from typing import Any

from minifp.compat import amp
from minifp.compat.amp import custom_bwd, custom_fwd
from minifp.numerics.autocast import LOW

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(amp.autocast):
    """`fp.amp.autocast("cuda", dtype, enabled, cache_enabled)`."""

    def __init__(self, enabled: bool = True, dtype: Any = LOW, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """`fp.amp.GradScaler("cuda", init_scale, ...)`."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        settings = init_scale, growth_factor, backoff_factor, growth_interval, enabled
        super().__init__("cuda", *settings)
