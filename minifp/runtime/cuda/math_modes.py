"""Which arithmetic cuBLAS and cuDNN may use for products on a GPU: one setting, with named modes.

In what products are summed is no part of it: that is the precision's `accumulate`. cuBLAS is told
by the compute type of each call, and cuDNN by the engines that it may not choose.

Source: the cuBLAS reference, `cublasComputeType_t`; the cuDNN reference, notes of engines.
"""

import os
from collections.abc import Mapping
from typing import NamedTuple

from minifp.errors import ArgumentError, DeviceError
from minifp.runtime.cuda import arrays
from minifp.runtime.cuda.devices import generation, lacks


class MathMode(NamedTuple):
    """One mode.

    tensor_cores: the formats of operands that tensor cores may multiply. compute: what to ask
    cuBLAS for in place of a compute type, by their names there. meaning: of the mode, in words.
    """

    tensor_cores: tuple[str, ...]
    compute: Mapping[str, str]
    meaning: str


MODES = {
    "tensor_cores": MathMode(
        ("float16", "bfloat16"),
        {},
        "tensor cores multiply numbers of 16 bits; float32 ones are not rounded",
    ),
    "no_tensor_cores": MathMode(
        (),
        {"float16": "float16_pedantic", "float32": "float32_pedantic"},
        "no tensor cores: numbers of 16 bits are multiplied by ordinary instructions, too",
    ),
    "tf32": MathMode(
        ("float16", "bfloat16", "float32"),
        {"float32": "tf32"},
        "tensor cores multiply numbers of 16 bits, and float32 ones rounded to 10 mantissa bits",
    ),
}

_chosen: str | None = None  # until it is asked for: MINIFP_GPU_MATH's


def set_gpu_math(mode: str) -> None:
    """Choose how products are computed on a GPU from now on.

    mode: "tensor_cores" (the default): tensor cores multiply numbers of 16 bits (float16, and
        bfloat16 from Ampere on; those of 8 bits are multiplied so), and float32 numbers are not
        rounded; "no_tensor_cores": those of 16 bits are multiplied without them too;
        "tf32": tensor cores also multiply float32 numbers, rounded to 10 mantissa bits.

    Sums stay in the precision's `accumulate` in each. A step that is captured already stays as it
    is, and on the CPU nothing changes. Raises ArgumentError for another name, and DeviceError for
    "tf32" where the GPU has no tensor cores for it.
    """
    global _chosen
    if mode not in MODES:
        raise ArgumentError(f"set_gpu_math({mode!r}): expected one of {', '.join(MODES)}")
    missing = _lacking("tf32") if mode == "tf32" else None
    if missing:
        raise DeviceError(f"set_gpu_math({mode!r}): {missing}")
    _chosen = mode


def _lacking(feature):
    """Why the GPU cannot have a feature; None if it can, or if there is no GPU."""
    try:
        capability = arrays.cupy().cuda.Device().compute_capability
    except DeviceError:
        return None
    return lacks(generation(capability), feature)


def get_gpu_math() -> str:
    """The name of the mode. The environment variable MINIFP_GPU_MATH is read when this is first
    asked, which raises what `set_gpu_math` does."""
    if _chosen is None:
        try:
            set_gpu_math(os.environ.get("MINIFP_GPU_MATH") or "tensor_cores")
        except (ArgumentError, DeviceError) as error:
            raise type(error)(f"environment variable MINIFP_GPU_MATH: {error}") from None
    return str(_chosen)


def compute_type(sums: str) -> str:
    """What cuBLAS is asked for where products are summed in a format, by its name there."""
    return MODES[get_gpu_math()].compute.get(sums, sums)


def may_use_tensor_cores(dtype: str) -> bool:
    """Whether tensor cores may multiply numbers of a format."""
    return dtype in MODES[get_gpu_math()].tensor_cores
