"""Arrays on a GPU, which are CuPy's, and what asks CuPy for them."""

import importlib
import sys
from collections import Counter
from functools import cache
from importlib.util import find_spec
from math import prod
from typing import Any
from weakref import WeakSet

import numpy as np

from minifp.derive.dtypes import CODED, COMPILED, name_of
from minifp.errors import DeviceError, OutOfMemory
from minifp.runtime.cuda import capturing
from minifp.runtime.cuda.coded import coded_array

INSTALL = 'pip install "minifp[cuda13]" (or "minifp[cuda12]", for an older driver)'
NOTHING = 'extern "C" __global__ void nothing() {}'

WITHOUT = (
    "without a GPU drop .cuda(), .to('cuda') and device='cuda' (unset MINIFP_DEVICE): everything "
    "runs on the CPU; `minifp doctor` says what this machine has"
)


@cache
def cupy() -> Any:
    """The module CuPy. Raises DeviceError where it is not installed, finds no GPU, or cannot
    compile for it; and where numba is missing, of whose functions kernels are made."""
    try:
        found = importlib.import_module("cupy")
    except Exception as error:  # ImportError, and whatever a library that does not load raises
        raise DeviceError(
            f"device 'cuda' needs CuPy 14 or later, which cannot be imported ({error}): {INSTALL}; "
            f"{WITHOUT}"
        ) from None
    try:
        count = found.cuda.runtime.getDeviceCount()
    except Exception as error:  # CUDARuntimeError, which only CuPy knows
        raise DeviceError(
            f"device 'cuda': CuPy {found.__version__} finds no GPU ({error}): a driver for an "
            "NVIDIA GPU is needed (nvidia-smi shows it), and a CuPy for its CUDA version; "
            f"{WITHOUT}"
        ) from None
    if not count:
        raise DeviceError(f"device 'cuda': this machine has no GPU that CUDA can use: {WITHOUT}")
    if find_spec("numba") is None:
        raise DeviceError(
            "device 'cuda' needs numba, without which minifp compiles no kernel: pip install numba"
        )
    _try_compiler(found)
    return found


def _try_compiler(found):
    """Compile nothing: CuPy's own kernels fail for the same reasons, with errors of CuPy's."""
    try:
        found.RawModule(code=NOTHING).get_function("nothing")
    except Exception as error:  # RuntimeError without headers, others without NVRTC
        raise DeviceError(
            f"device 'cuda': CuPy {found.__version__} cannot compile a kernel ({error}); CUDA's "
            f"compiler and headers come with {INSTALL}"
        ) from None


def is_on_device(a: Any) -> bool:
    """Whether `a` is an array in a GPU's memory, one of CuPy's."""
    kind: Any = type(a)
    return kind is not np.ndarray and _is_cupys(kind)


@cache
def _is_cupys(kind: Any) -> bool:
    """Whether a class is that of CuPy's arrays. Those of others tell where they are, too, as
    PyTorch's tensors do, on the CPU by an error."""
    arrays = getattr(sys.modules.get("cupy"), "ndarray", ())
    return hasattr(kind, "__cuda_array_interface__") and issubclass(kind, arrays)


def check_stored(dtype: Any) -> None:
    """Raise DeviceError for a dtype of codes that no kernel reads."""
    if getattr(dtype, "names", None) is not None and dtype not in CODED:
        known = ", ".join(sorted(map(name_of, COMPILED)))
        raise DeviceError(
            f"{name_of(dtype)} on a GPU: minifp stores {known} there; keep the tensor or model on "
            'the CPU, or choose a precision of these, such as "mixed"'
        )


def is_coded(dtype: Any) -> bool:
    """Whether a dtype stores the codes of a format that CuPy lacks. Raises as `check_stored`."""
    check_stored(dtype)
    return getattr(dtype, "names", None) is not None


def empty(shape: tuple[int, ...], dtype: Any) -> Any:
    """An array on the current device, C-contiguous, in which nothing is set yet.

    Raises OutOfMemory where there is no room for it.
    """
    made = coded_array(cupy()) if is_coded(dtype) else cupy().ndarray
    try:
        return made(shape, dtype)
    except cupy().cuda.memory.OutOfMemoryError:
        raise out_of_memory(shape, dtype) from None


holders: WeakSet = WeakSet()  # objects whose memory() tells what they hold, by kind, in bytes


def out_of_memory(shape: tuple[int, ...], dtype: Any) -> OutOfMemory:
    """The error for an array that does not fit: what was asked for, what is held, what to do."""
    pool, (free, total) = cupy().get_default_memory_pool(), cupy().cuda.Device().mem_info
    held: Counter = Counter()
    for holder in holders:
        held.update(holder.memory())
    known = ", ".join(f"{kind} {_mebibytes(n)}" for kind, n in held.items() if n)
    return OutOfMemory(
        f"no room on the GPU for {_mebibytes(prod(shape) * np.dtype(dtype).itemsize)} "
        f"({np.dtype(dtype)} {tuple(shape)}): {_mebibytes(pool.used_bytes())} are in use"
        f"{f' ({known}; the rest mostly activations)' if known else ''}, {_mebibytes(free)} of "
        f"{_mebibytes(total)} are free. Take a smaller batch, precision 'mixed', or an optimizer "
        "with less state; in a notebook, delete tensors that are still named"
    )


def _mebibytes(n):
    return f"{n / 2**20:,.1f} MiB"


def lasting(shape: tuple[int, ...], dtype: Any) -> Any:
    """As `empty`, in memory that no graph that is being captured takes for its own: for what is
    written before a graph is launched, and read by it."""
    with cupy().cuda.using_allocator(cupy().get_default_memory_pool().malloc):
        return empty(shape, dtype)


def restrided(a: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """A view of an array's memory in another shape, with these strides (bytes)."""
    view = cupy().lib.stride_tricks.as_strided(a, shape, strides)
    return view if type(view) is type(a) else view.view(a.dtype, type(a))  # of a coded array


def zeros(shape: tuple[int, ...], dtype: Any) -> Any:
    """An array of zeros on the current device."""
    made = empty(shape, dtype)
    made.fill(0)
    return made


def to_device(a: np.ndarray) -> Any:
    """A copy, on the current device, of an array of the host's."""
    capturing.refuse("copies an array from the CPU to the GPU")
    if not is_coded(a.dtype):
        return cupy().asarray(a)
    return cupy().asarray(a.view(a.dtype[0])).view(a.dtype, coded_array(cupy()))


def to_host(a: Any) -> np.ndarray:
    """A copy, in the host's memory, of a device's array. Waits until it is computed."""
    capturing.refuse("reads a result on the CPU")
    return a.get()


def steps_of(a: Any, shape: tuple[int, ...]) -> list[int]:
    """How many elements lie between neighbours along each axis of an array stretched to `shape`."""
    own = [0 if n == 1 else s // a.itemsize for n, s in zip(a.shape, a.strides)]
    return [0] * (len(shape) - a.ndim) + own


def collapsed(shape: Any, steps: list[list[int]]) -> tuple[list[int], list[list[int]]]:
    """The same elements in the same order, along as few axes as can be: their sizes, and steps.

    steps: of each array that is read along these axes, its step along each. Axes of size 1 are left
    out, and neighbours that are one axis in all arrays are joined. [] stands for one element.
    """
    sizes: list[int] = []
    kept: list[list[int]] = [[] for _ in steps]
    for axis, n in enumerate(shape):
        if n == 1:
            continue
        here = [s[axis] for s in steps]
        if sizes and all(k[-1] == n * s for k, s in zip(kept, here)):
            sizes[-1] *= n
            for k, s in zip(kept, here):
                k[-1] = s
        else:
            sizes.append(n)
            for k, s in zip(kept, here):
                k.append(s)
    return sizes, kept


def is_whole(a: Any, shape: tuple[int, ...]) -> bool:
    """Whether an array has this shape and lies in C order without gaps."""
    return a.shape == shape and a.flags.c_contiguous


def is_aligned(a: Any) -> bool:
    """Whether an array begins where 16 bytes can be read at once."""
    return a.data.ptr % 16 == 0
