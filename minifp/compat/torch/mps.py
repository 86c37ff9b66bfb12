"""torch.mps: not available."""

from minifp.compat.torch.nothing import answers

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed"]
is_available = answers(False)
device_count = answers(0)
empty_cache = manual_seed = answers(None)
