"""torch.backends.cuda: not used here; its switches may be set, and change nothing."""

from types import SimpleNamespace

from minifp.compat.torch.nn.attention import sdpa_kernel as sdp_kernel
from minifp.compat.torch.nothing import answers

__all__ = ["enable_flash_sdp", "enable_math_sdp", "enable_mem_efficient_sdp", "is_built"]
__all__ += ["matmul", "sdp_kernel"]
matmul = SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=False)
is_built = answers(False)
enable_flash_sdp = enable_math_sdp = enable_mem_efficient_sdp = answers(None)
