"""The kinds of CPU that kernels are lowered for; see `shipped.variant`."""

import os

# By LLVM's names: the architecture, the least CPU that has what the kernels ask for.
VARIANTS = {
    "avx512": ("x86_64-unknown-linux-gnu", "x86-64-v4", "+avx512f,+avx2,+fma,+f16c"),
    "avx2": ("x86_64-unknown-linux-gnu", "x86-64-v3", "+avx2,+fma,+f16c"),
    "neon": ("aarch64-unknown-linux-gnu", "generic", ""),
}


def environment(variant):
    """That of a process in which numba and minifp take this machine for such a one."""
    _, name, features = VARIANTS[variant]
    known = {**os.environ, "NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features}
    return {**known, "PYTHONHASHSEED": "0", "MINIFP_KERNELS": "numba"}
