"""torch.backends.mps: not used here; switches may be set, and change nothing."""

from minifp.compat.torch.nothing import answers

__all__ = ["is_available", "is_built"]
is_available = is_built = answers(False)
