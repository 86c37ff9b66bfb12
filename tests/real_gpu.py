"""Whether there is a GPU for tests, and whether it can still be used.

With MINIFP_REQUIRE_GPU=1 nothing but a GPU will do: where there is none, tests fail, and none is
skipped or done on the imitation of tests/cuda.
"""

import os
from functools import cache

NONE_THERE = "cudaErrorNoDevice", "cudaErrorInsufficientDriver"  # no GPU; no driver, or an old one


@cache
def has_gpu():
    """Whether there is one. Raises RuntimeError where it is required and there is none.

    Without CuPy, a driver or a device there is none. Whatever else CuPy raises is a fault.
    """
    reason = why_none()
    if reason and os.environ.get("MINIFP_REQUIRE_GPU", "0") not in ("", "0"):
        raise RuntimeError(f"MINIFP_REQUIRE_GPU is set, and there is no GPU for tests: {reason}")
    return not reason


def __getattr__(name):
    """IMITATED, for tests/cuda: whether "cuda" is an imitation there."""
    if name != "IMITATED":
        raise AttributeError(name)
    return not has_gpu()


def why_none():
    try:
        import cupy
    except ModuleNotFoundError as error:
        if error.name != "cupy":
            raise
        return "CuPy is not installed"
    if "imitated" in cupy.__version__:
        return "this CuPy is the imitation"
    try:
        return None if cupy.cuda.runtime.getDeviceCount() else "CuPy counts no device"
    except cupy.cuda.runtime.CUDARuntimeError as error:
        if not str(error).startswith(NONE_THERE):
            raise
        return str(error)


def why_broken():
    """Why this process cannot use its GPU any more, None if it can.

    After an illegal access, and the like, every call of CUDA fails, until the process ends.
    """
    import cupy

    try:
        cupy.cuda.runtime.deviceSynchronize()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return str(error)
    return None
