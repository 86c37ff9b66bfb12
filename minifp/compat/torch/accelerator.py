"""torch.accelerator: there is none but the CPU."""

from minifp.compat.torch.nothing import answers

__all__ = ["current_accelerator", "device_count", "empty_cache", "is_available"]
__all__ += ["memory_allocated", "set_device_index", "synchronize"]
is_available = answers(False)
current_accelerator = answers(None)
device_count = memory_allocated = answers(0)
empty_cache = set_device_index = synchronize = answers(None)
