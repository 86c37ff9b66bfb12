"""AMP as scripts call it: honoured on the CPU too, where PyTorch turns it off, which is said once."""

from typing import Any

from minifp.compat import amp
from minifp.runtime.callers import warn_once

__all__ = ["GradScaler", "autocast"]


def _honoured(name: str, device: Any, enabled: Any) -> None:
    if enabled and str(device).startswith("cuda"):
        warn_once(
            "torch.amp on a CPU",
            f"{name} for CUDA is honoured on the CPU, in the same formats and with a loss scale; "
            "PyTorch would turn it off",
        )


class autocast(amp.autocast):
    """`fp.autocast`, of "cuda:0" as of "cuda"."""

    def __init__(
        self, device_type: Any = "cuda", dtype: Any = None, enabled: bool = True,
        cache_enabled: Any = None,
    ) -> None:  # fmt: skip
        if not isinstance(device_type, bool):
            device_type = str(device_type).partition(":")[0]
        _honoured("autocast", device_type, enabled)
        super().__init__(device_type, dtype, enabled, cache_enabled is not False)


class GradScaler(amp.GradScaler):
    """`fp.GradScaler`, with PyTorch's arguments."""

    def __init__(self, device: Any = "cuda", *args: Any, **settings: Any) -> None:
        _honoured("GradScaler", device, settings.get("enabled", True))
        super().__init__(device, *args, **settings)
