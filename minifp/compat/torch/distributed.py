"""torch.distributed: one process, which is rank 0."""

from minifp.compat.torch.nothing import answers

__all__ = ["get_rank", "get_world_size", "is_available", "is_initialized"]
is_available = is_initialized = answers(False)
get_rank = answers(0)
get_world_size = answers(1)
