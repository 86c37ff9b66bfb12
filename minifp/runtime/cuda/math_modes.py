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
from minifp.runtime.cuda.cublas_lt import located, opened
from minifp.runtime.cuda.devices import generation, lacks


class MathMode(NamedTuple):
    """One mode.

    tensor_cores: the formats of operands that tensor cores may multiply. compute: what to ask
    cuBLAS for in place of a compute type, by their names there. meaning: of the mode, in words.
    needs: the format that the GPU's tensor cores must take.
    """

    tensor_cores: tuple[str, ...]
    compute: Mapping[str, str]
    meaning: str
    needs: str | None = None


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
        "tf32",
    ),
    "float8": MathMode(
        ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"),
        {},
        "tensor cores multiply numbers of 16 bits, and the codes of operands rounded to float8",
        "float8",
    ),
}

_chosen: str | None = None  # until it is asked for: MINIFP_GPU_MATH's


def set_gpu_math(mode: str) -> None:
    """Choose how products are computed on a GPU from now on.

    mode: "tensor_cores" (the default): tensor cores multiply numbers of 16 bits (float16, and
        bfloat16 from Ampere on; those of 8 bits are multiplied so), and float32 numbers are not
        rounded; "no_tensor_cores": those of 16 bits are multiplied without them too;
        "tf32": tensor cores also multiply float32 numbers, rounded to 10 mantissa bits;
        "float8": as by default, but where both operands of a matrix product were rounded to float8
        with a scale for the tensor (operand_scale=current), tensor cores multiply their codes, by
        cublasLt. A trial on the GPU comes first: see docs/gpu.md.

    Sums stay in the precision's `accumulate` in each. A step that is captured already stays as it
    is, and on the CPU nothing changes. Raises ArgumentError for another name, and DeviceError for
    "tf32" and "float8" where the GPU has no tensor cores for it, and for "float8" without a
    cublasLt.
    """
    global _chosen
    if mode not in MODES:
        raise ArgumentError(f"set_gpu_math({mode!r}): expected one of {', '.join(MODES)}")
    missing = _missing(MODES[mode].needs)
    if missing:
        raise DeviceError(f"set_gpu_math({mode!r}): {missing}")
    _chosen = mode


def _missing(format):
    """Why tensor cores cannot multiply a format here; None if they can, or if there is no GPU."""
    if format is None:
        return None
    try:
        cuda = arrays.cupy().cuda
    except DeviceError:
        return None
    return lacks(generation(cuda.Device().compute_capability), format) or (
        _without_library(cuda) if format == "float8" else None
    )


def _without_library(cuda):
    try:
        opened(located(cuda.runtime.runtimeGetVersion() // 1000))
    except DeviceError as error:
        return str(error)
    return None


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
