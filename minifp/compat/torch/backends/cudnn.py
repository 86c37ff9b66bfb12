"""torch.backends.cudnn: not used here; its switches may be set, and change nothing."""

from contextlib import nullcontext

from minifp.compat.torch.nothing import answers

__all__ = ["allow_tf32", "benchmark", "deterministic", "enabled", "flags", "is_available"]
__all__ += ["version"]
benchmark = deterministic = enabled = allow_tf32 = False
is_available = answers(False)
version = answers(None)
flags = answers(nullcontext())
