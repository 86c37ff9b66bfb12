"""What machines can do: this one, measured, and GPUs from their datasheets.

A kernel that reads and writes B bytes and does F operations takes at least max(B / bandwidth,
F / rate, launch) (Williams et al. 2009, "Roofline"). Where F / B is above rate / bandwidth, the
ridge, arithmetic decides, below it memory does.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from time import perf_counter
from typing import NamedTuple

import numpy as np

from minifp.autograd.replay import unobserved
from minifp.errors import ArgumentError
from minifp.numerics.formats import float16, float32
from minifp.numerics.policy import Precision, precision
from minifp.ops.pointwise.arithmetic import add_forward
from minifp.ops.products.linear import linear_dx
from minifp.runtime.cpu.threads import get_num_threads
from minifp.runtime.device import as_device, moved, name_of_gpu, wait_for

GB = 10**9
# No datasheet has it. One short kernel after the other takes about this in NVIDIA's "Getting
# Started with CUDA Graphs" (developer.nvidia.com/blog/cuda-graphs, V100), none waited for.
LAUNCH = 4e-6


@dataclass(frozen=True)
class Machine:
    """What a machine can do at best.

    half_rate: products of float16 summed in float32, operations a second (a multiplication and an
    addition are two): of tensor cores, dense. single_rate: float32. bandwidth: of memory, bytes a
    second. memory: bytes, of each variant; () for this machine. launch: seconds that the smallest
    kernel takes. source: where the numbers are from. launches_steps: whether the steps of a
    recurrent layer, each of which waits for the one before, are kernels of their own.
    """

    name: str
    half_rate: float
    single_rate: float
    bandwidth: float
    memory: tuple[int, ...]
    launch: float
    source: str
    launches_steps: bool = True

    def ridge(self, half: bool = True) -> float:
        """Operations for each byte above which arithmetic, not memory, decides."""
        return (self.half_rate if half else self.single_rate) / self.bandwidth


DATASHEETS = "https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center"
KNOWN = {
    "V100": Machine(
        *("V100", 125e12, 15.7e12, 900e9, (16 * GB, 32 * GB), LAUNCH),
        "V100 datasheet, SXM2: https://images.nvidia.com/content/technologies/volta/pdf/"
        "volta-v100-datasheet-update-us-1165301-r5.pdf",
    ),
    "T4": Machine(
        *("T4", 65e12, 8.1e12, 320e9, (16 * GB,), LAUNCH),
        f"T4 datasheet (300 GB/s there, 320 in others of NVIDIA's texts, from the clock): "
        f"{DATASHEETS}/tesla-t4/t4-tensor-core-datasheet-951643.pdf",
    ),
    "A100": Machine(
        *("A100", 312e12, 19.5e12, 1555e9, (40 * GB,), LAUNCH),
        f"A100 datasheet, 40 GB SXM: {DATASHEETS}/a100/pdf/"
        "nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf",
    ),
    "H100": Machine(
        *("H100", 989e12, 67e12, 3350e9, (80 * GB,), LAUNCH),
        "H100 datasheet, SXM, without sparsity: "
        "https://resources.nvidia.com/en-us-tensor-core/nvidia-tensor-core-gpu-datasheet",
    ),
}


def machine(name: str) -> Machine:
    """The machine of this name: one of KNOWN, or "here". Raises ArgumentError for another."""
    if name == "here":
        return measured()
    if name not in KNOWN:
        raise ArgumentError(f"machine {name!r}: expected here, {', '.join(KNOWN)}")
    return KNOWN[name]


# ---- this machine -------------------------------------------------------------------------------


class Sizes(NamedTuple):
    """Of what is measured.

    streamed: bytes of each array that is added: more than caches hold. square: rows and columns of
    a product, large enough to be held up by arithmetic. calls: of a kernel, one after the other,
    between two looks at the clock.
    """

    streamed: int
    square: int
    calls: int


SIZES = {
    "cpu": Sizes(2**24, 768, 1),  # a product of 20 ms at 50 Gflop/s, whose blocks fit caches
    "cuda": Sizes(
        2**28, 4096, 10
    ),  # of 0.14 ms at 1 Pflop/s; the host waits for the GPU at the end
}
SECONDS = 0.2  # for each of the four


def measured() -> Machine:
    """This machine, by minifp's own kernels, once in a process: its processor, on the threads that
    minifp uses, or where the default device is a GPU, that.

    bandwidth: of adding arrays of 16 MiB (on a GPU 256): what a core has in its cache is faster.
    Rates: of a large product, of float32 and of stored float16, which a processor computes in
    float32.
    """
    device = as_device(None)
    return _measured(device, get_num_threads() if device == "cpu" else 0)


@cache
def _measured(device: str, threads: int) -> Machine:
    streamed = SIZES[device].streamed
    with unobserved(), precision(Precision()):
        x, y = moved(np.ones((2, streamed // 4), np.float32), device)
        bandwidth = 3 * streamed / fastest(lambda: add_forward(x, y, alpha=1), device)
        one = moved(np.ones(1, np.float32), device)
        launch = fastest(lambda: add_forward(one, one, alpha=1), device)
        half, single = (rate_of_products(dtype, device) for dtype in (float16, float32))
    what = f"{threads} thread{'s' * (threads > 1)}" if device == "cpu" else name_of_gpu()
    source = f"measured, {what}"
    return Machine("here", half, single, bandwidth, (), launch, source, device != "cpu")


def rate_of_products(dtype: np.dtype, device: str) -> float:
    """Operations a second of a large product of arrays stored in this format."""
    square = SIZES[device].square
    a, b = moved(np.ones((2, square, square), dtype), device)
    return 2 * square**3 / fastest(lambda: linear_dx(a, b), device)


def fastest(call: Callable[[], object], device: str, seconds: float = SECONDS) -> float:
    """Seconds of the fastest of many calls, of which the first, which loads things, is none."""
    calls = SIZES[device].calls
    call()
    wait_for(device)
    best, end = np.inf, perf_counter() + seconds
    while perf_counter() < end:
        start = perf_counter()
        for _ in range(calls):
            call()
        wait_for(device)
        best = min(best, (perf_counter() - start) / calls)
    return best
