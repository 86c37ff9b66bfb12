"""torch.cuda: no GPU is available. What scripts ask of it in passing is answered so; tensors that
are made there, as torch.cuda.FloatTensor, say that there is none."""

from typing import Any

from minifp.compat.torch.nothing import answers
from minifp.errors import DeviceError, OutOfMemory

__all__ = ["OutOfMemoryError", "current_device", "device", "device_count", "empty_cache"]
__all__ += ["get_device_capability", "get_device_name", "get_device_properties"]
__all__ += ["get_rng_state_all", "init", "is_available", "is_bf16_supported", "is_initialized"]
__all__ += ["manual_seed", "manual_seed_all", "max_memory_allocated", "max_memory_cached"]
__all__ += ["max_memory_reserved", "memory_allocated", "memory_cached", "memory_reserved"]
__all__ += ["reset_max_memory_allocated", "reset_peak_memory_stats", "set_device"]
__all__ += ["set_rng_state_all", "synchronize"]

OutOfMemoryError = OutOfMemory
is_available = is_initialized = is_bf16_supported = answers(False)
device_count = memory_allocated = memory_reserved = memory_cached = answers(0)
max_memory_allocated = max_memory_reserved = max_memory_cached = answers(0)
empty_cache = synchronize = init = reset_peak_memory_stats = answers(None)
reset_max_memory_allocated = set_rng_state_all = answers(None)
get_rng_state_all = answers([])
manual_seed_all = manual_seed = answers(None)  # of GPUs: torch.manual_seed is the CPU's


def _no_gpu(*args: Any, **settings: Any) -> Any:
    """Raises DeviceError."""
    raise DeviceError("torch.cuda: minifp.run has no GPU: ask torch.cuda.is_available() before")


current_device = get_device_name = get_device_properties = get_device_capability = _no_gpu
set_device = device = _no_gpu
