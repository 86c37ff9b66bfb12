"""torch.backends.cuda: not used here; its switches may be set, and change nothing."""

from types import SimpleNamespace

from minifp.compat.torch.nothing import answers

__all__ = [
    "enable_flash_sdp", "enable_math_sdp", "enable_mem_efficient_sdp", "is_built", "matmul"
]  # fmt: skip
matmul = SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=False)
is_built = answers(False)
enable_flash_sdp = enable_math_sdp = enable_mem_efficient_sdp = answers(None)
