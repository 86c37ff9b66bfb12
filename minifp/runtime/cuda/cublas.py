"""cuBLAS without CuPy between: finding the library, its handles, and matrix products.

CuPy refuses every call of its own cuBLAS while a stream is captured, so the products have a binding
of their own. Matrices are column-major here, as cuBLAS has them; product.py is at the level of
arrays. alpha and beta are read from the host at the call.

Three settings decide what a product is:

- the compute type says in what it is summed and whether tensor cores may be used, and is given
  with every call; it depends on the math mode of math_modes.py;
- the handle's math mode forbids partial sums in a narrower result's format;
- the algorithm is the library's choice among those of the compute type (-1): the other default, 99,
  also allows float32 operands to be rounded.

Source: the cuBLAS reference, sections `cublasGemmEx`, `cublasGemmStridedBatchedEx`,
`cublasSetWorkspace` and `cublasMath_t`.
"""

import ctypes
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minifp.derive.dtypes import name_of
from minifp.errors import ArgumentError, DeviceError

# ---- finding the library ------------------------------------------------------------------------

MAJORS = 13, 12  # of cuBLAS, newest first
PACKAGES = {13: "nvidia-cublas", 12: "nvidia-cublas-cu12"}
# Where pip puts the library, under site-packages.
WHEELS = {
    ("linux", 13): "nvidia/cu13/lib",
    ("linux", 12): "nvidia/cublas/lib",
    ("win32", 13): "nvidia/cu13/bin/x86_64",
    ("win32", 12): "nvidia/cublas/bin",
}
TOOLKIT = {"linux": ("lib64", "lib"), "win32": ("bin/x64", "bin")}  # in a CUDA installation


def file_name(platform: str, major: int) -> str:
    """What the library of a major version is called on a platform ("linux" or "win32")."""
    return f"cublas64_{major}.dll" if platform == "win32" else f"libcublas.so.{major}"


def loaded_libraries(maps: str) -> list[tuple[int, str]]:
    """(major version, path) of each libcublas in the text of /proc/self/maps, in its order."""
    found = re.findall(r"(/\S*/libcublas\.so\.(\d+)[\d.]*)$", maps, re.MULTILINE)
    return list(dict.fromkeys((int(major), path) for path, major in found))


def candidates(
    major: int | None = None,
    *,
    platform: str,
    environment: Mapping[str, str],
    roots: Iterable[str | Path],
    toolkits: Iterable[str | Path] = (),
    maps: str = "",
) -> list[str]:
    """Libraries to try, the best first: paths of files that exist, then plain names for the loader.

    In this order: the path in MINIFP_CUBLAS, and then nothing else; what the process has loaded;
    pip's; a CUDA installation (CUDA_PATH, CUDA_HOME, `toolkits`); what the loader finds.

    major: the version to prefer to all others, wherever it is. platform: as sys.platform. roots:
    folders like site-packages. maps: the text of /proc/self/maps. Raises DeviceError if
    MINIFP_CUBLAS names no file.
    """
    given = environment.get("MINIFP_CUBLAS")
    if given:
        if not Path(given).is_file():
            raise DeviceError(
                f"environment variable MINIFP_CUBLAS={given!r}: no such file; expected the path "
                f"of {file_name(platform, MAJORS[0])} or the like"
            )
        return [given]
    found = loaded_libraries(maps)
    if platform in TOOLKIT:
        named = [environment[n] for n in ("CUDA_PATH", "CUDA_HOME") if environment.get(n)]
        folders = [(m, Path(root, WHEELS[platform, m])) for root in roots for m in MAJORS]
        for kit in (*named, *toolkits):
            folders += [(m, Path(kit, name)) for name in TOOLKIT[platform] for m in MAJORS]
        paths = [(m, folder / file_name(platform, m)) for m, folder in folders]
        found += [(m, str(path)) for m, path in paths if path.is_file()]
    found += [(m, file_name(platform, m)) for m in MAJORS]
    found.sort(key=lambda pair: major is not None and pair[0] != major)
    return list(dict.fromkeys(path for _, path in found))


def on_this_machine(major: int | None = None) -> list[str]:
    """The candidates of this process, on this machine."""
    maps = Path("/proc/self/maps")
    return candidates(
        major,
        platform=sys.platform,
        environment=os.environ,
        roots=[folder for folder in sys.path if folder],
        toolkits=["/usr/local/cuda"],
        maps=maps.read_text("utf-8", "replace") if maps.is_file() else "",
    )


def load(major: int | None = None, tried: Iterable[str] | None = None) -> "Cublas":
    """The best cuBLAS there is. major: the version to prefer, that of the CUDA that CuPy is for.

    tried: paths and names to try instead of those of this machine. Raises DeviceError if none of
    them can be loaded.
    """
    reasons = []
    for path in on_this_machine(major) if tried is None else tried:
        try:
            return Cublas(path)
        except OSError as error:
            reasons.append(f"{path} ({error})" if os.path.dirname(path) else path)
    package = PACKAGES.get(major or MAJORS[0], PACKAGES[MAJORS[0]])
    raise DeviceError(
        f"no cuBLAS found: tried {'; '.join(reasons)}; pip install {package}, or set MINIFP_CUBLAS "
        f"to the path of the library"
    )


# ---- errors -------------------------------------------------------------------------------------

STATUS = {
    1: ("NOT_INITIALIZED", "no usable device or driver: nvidia-smi tells whether it sees one"),
    3: ("ALLOC_FAILED", "the device has no memory left: use a smaller batch"),
    7: ("INVALID_VALUE", "an argument is wrong, which is a fault of minifp: please report it"),
    8: ("ARCH_MISMATCH", "this cuBLAS is not for this GPU: install that of another CUDA version"),
    11: ("MAPPING_ERROR", "the device's memory could not be reached"),
    13: ("EXECUTION_FAILED", "the GPU failed here or earlier: CUDA_LAUNCH_BLOCKING=1 shows where"),
    14: ("INTERNAL_ERROR", "cuBLAS failed inside: out of device memory, or not allowed now"),
    15: ("NOT_SUPPORTED", "this GPU or this cuBLAS cannot do it with these formats"),
    16: ("LICENSE_ERROR", "the licence of cuBLAS was not found"),
}


class CublasError(DeviceError):
    """A call of cuBLAS that failed. status: its number. name: the number's name."""

    def __init__(self, status: int, call: str):
        self.status = status
        self.name, advice = STATUS.get(status, ("UNKNOWN", "see the cuBLAS reference"))
        super().__init__(f"{call}: cuBLAS status {status}, {self.name}: {advice}")


# ---- formats ------------------------------------------------------------------------------------

DATA_TYPES = {"float16": 2, "bfloat16": 14, "float32": 0, "float64": 1}
NAMES = {code: name for name, code in DATA_TYPES.items()}

COMPUTE_16F, COMPUTE_16F_PEDANTIC, COMPUTE_32F, COMPUTE_32F_PEDANTIC = 64, 65, 68, 69
COMPUTE_64F, COMPUTE_32F_FAST_TF32 = 70, 77
# By the name of what sums are in. tf32: of operands rounded to 10 mantissa bits. Pedantic: without
# tensor cores.
COMPUTE_TYPES = {
    "float16": COMPUTE_16F,
    "float16_pedantic": COMPUTE_16F_PEDANTIC,
    "float32": COMPUTE_32F,
    "float32_pedantic": COMPUTE_32F_PEDANTIC,
    "tf32": COMPUTE_32F_FAST_TF32,
    "float64": COMPUTE_64F,
}
COMPUTE_NAMES = {code: name for name, code in COMPUTE_TYPES.items()}
# Of alpha and beta; else float32.
SCALARS = {COMPUTE_16F: "float16", COMPUTE_16F_PEDANTIC: "float16", COMPUTE_64F: "float64"}
RESULTS = {  # by compute type: (format of both operands, of the result)
    COMPUTE_16F: {("float16", "float16")},
    COMPUTE_64F: {("float64", "float64")},
    COMPUTE_32F_FAST_TF32: {("float32", "float32")},
    COMPUTE_32F: {
        ("float16", "float16"),
        ("float16", "float32"),
        ("bfloat16", "bfloat16"),
        ("bfloat16", "float32"),
        ("float32", "float32"),
    },
}
RESULTS[COMPUTE_16F_PEDANTIC] = RESULTS[COMPUTE_16F]
RESULTS[COMPUTE_32F_PEDANTIC] = RESULTS[COMPUTE_32F]


@lru_cache(None)
def supported(a: np.dtype, b: np.dtype, out: np.dtype, compute: str) -> bool:
    """Whether cuBLAS multiplies arrays of these dtypes into one of `out`, computing in `compute`.

    compute: a name of COMPUTE_TYPES. Raises ArgumentError for another.
    """
    if compute not in COMPUTE_TYPES:
        expected = ", ".join(COMPUTE_TYPES)
        raise ArgumentError(f"compute {compute!r}: expected one of {expected}")
    return a == b and (name_of(a), name_of(out)) in RESULTS[COMPUTE_TYPES[compute]]


@lru_cache(None)
def codes(a: np.dtype, b: np.dtype, out: np.dtype, compute: str) -> tuple[int, int, int]:
    """(data type of both operands, of the result, compute type), as cuBLAS numbers them.

    Raises ArgumentError for a combination that it does not have.
    """
    if not supported(a, b, out, compute):
        pairs = sorted(RESULTS[COMPUTE_TYPES[compute]])
        raise ArgumentError(
            f"a product of {name_of(a)} and {name_of(b)} into {name_of(out)}, computed in "
            f"{compute}: cuBLAS has none; expected two operands of one format, computed in "
            f"{compute}: " + ", ".join(f"{x} into {y}" for x, y in pairs)
        )
    return DATA_TYPES[name_of(a)], DATA_TYPES[name_of(out)], COMPUTE_TYPES[compute]


@lru_cache(256)
def scalar(compute: int, value: float) -> tuple[Any, int]:
    """(a number in the format that alpha and beta have, its address), kept by the caller."""
    with np.errstate(over="ignore"):
        held = np.array([value], SCALARS.get(compute, "float32"))
    return held, held.ctypes.data


# ---- calls --------------------------------------------------------------------------------------

NO_PARTIAL_SUMS_IN_THE_RESULT = 16  # CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION
BEST_OF_THE_COMPUTE_TYPE = -1  # CUBLAS_GEMM_DEFAULT
LARGEST = 2**31 - 1  # size, of the entry points that every version has


class Matrix(NamedTuple):
    """How a matrix lies in memory, in column-major order.

    transposed: 1 if it is read so, else 0. kind: of DATA_TYPES. ld: elements from one column to the
    next. stride: elements from one matrix of a batch to the next; 0: all are one.
    """

    transposed: int
    kind: int
    ld: int
    stride: int = 0


def signatures() -> dict[str, list[Any]]:
    """The arguments of each entry point. Results are statuses."""
    pointer, number, long = ctypes.c_void_p, ctypes.c_int, ctypes.c_longlong
    found: dict[str, list[Any]] = {
        "cublasCreate_v2": [ctypes.POINTER(pointer)],
        "cublasDestroy_v2": [pointer],
        "cublasGetVersion_v2": [pointer, ctypes.POINTER(number)],
        "cublasSetStream_v2": [pointer, pointer],
        "cublasSetWorkspace_v2": [pointer, pointer, ctypes.c_size_t],
        "cublasSetMathMode": [pointer, number],
    }
    for suffix, size in ("", number), ("_64", ctypes.c_int64):
        head = [pointer, number, number, size, size, size, pointer]
        one, several = [pointer, number, size], [pointer, number, size, long]
        tail = [number, number]
        found["cublasGemmEx" + suffix] = [*head, *one, *one, pointer, *one, *tail]
        batched = [*head, *several, *several, pointer, *several, size, *tail]
        found["cublasGemmStridedBatchedEx" + suffix] = batched
    return found


class Cublas:
    """One loaded cuBLAS.

    path: a file, or a name for the loader. Raises OSError if it cannot be loaded, and DeviceError
    if it is not cuBLAS 11 or later.
    """

    def __init__(self, path: str):
        self.path, self.library = path, ctypes.CDLL(path)
        for name, arguments in signatures().items():
            entry = getattr(self.library, name, None)
            if entry is not None:
                entry.argtypes, entry.restype = arguments, ctypes.c_int
            elif not name.endswith("_64"):
                raise DeviceError(f"{path} has no {name}: expected cuBLAS 11 or later")
        self.has_64 = hasattr(self.library, "cublasGemmStridedBatchedEx_64")  # since version 12

    def __repr__(self):
        return f"<cuBLAS {self.path}>"

    def handle(self, stream: int, workspace: Any, size: int) -> "Handle":
        """A handle for a stream, given by its address; see Handle."""
        return Handle(self, stream, workspace, size)

    def gemm(
        self,
        handle: "Handle",
        compute: int,
        sizes: tuple[int, int, int],
        pointers: tuple[int, int, int],
        a: Matrix,
        b: Matrix,
        c: Matrix,
        *,
        alpha: float = 1.0,
        beta: float = 0.0,
        batch: int | None = None,
    ) -> None:
        """C = alpha op(A) op(B) + beta C, or that many of them, enqueued on the handle's stream.

        compute: of COMPUTE_TYPES' values. sizes: (m, n, k); op(A) is (m, k), op(B) (k, n).
        pointers: where A, B and C begin on the device. With beta = 0, C is not read. Raises
        CublasError if cuBLAS refuses, and ArgumentError for sizes of 2^31 and more where it is
        older than version 12.
        """
        (m, n, k), (at_a, at_b, at_c) = sizes, pointers
        up, down = scalar(compute, alpha), scalar(compute, beta)
        head = handle.value, a.transposed, b.transposed, m, n, k, up[1]
        large = max(m, n, k, a.ld, b.ld, c.ld, batch or 0) > LARGEST
        if large and not self.has_64:
            raise ArgumentError(
                f"{told(compute, sizes, a, b, c, batch)}: sizes of 2^31 and more need cuBLAS 12, "
                f"and {self.path} is older"
            )
        suffix = "_64" if large else ""
        if batch is None:
            entry = getattr(self.library, "cublasGemmEx" + suffix)
            read, written = (at_a, a.kind, a.ld, at_b, b.kind, b.ld), (at_c, c.kind, c.ld)
        else:
            entry = getattr(self.library, "cublasGemmStridedBatchedEx" + suffix)
            read = at_a, a.kind, a.ld, a.stride, at_b, b.kind, b.ld, b.stride
            written = at_c, c.kind, c.ld, c.stride, batch
        status = entry(*head, *read, down[1], *written, compute, BEST_OF_THE_COMPUTE_TYPE)
        if status:
            raise CublasError(status, told(compute, sizes, a, b, c, batch))


def told(compute, sizes, a, b, c, batch):
    """A call in words, for errors."""
    several = "" if batch is None else f"{batch} times "
    left, right, result = (NAMES.get(x.kind, x.kind) for x in (a, b, c))
    computed = COMPUTE_NAMES.get(compute, compute)
    return (
        f"matrix product {several}m, n, k = {sizes} of {left} and {right} into {result}, computed "
        f"in {computed}, leading dimensions {a.ld}, {b.ld}, {c.ld}"
    )


class Handle:
    """A handle of cuBLAS, for one stream, one thread at a time.

    workspace: memory on the device with a `ptr`, kept as long as the handle, of `size` bytes. The
    stream is set first, because setting it gives the workspace up. Raises CublasError.
    """

    def __init__(self, cublas: Cublas, stream: int, workspace: Any, size: int):
        self.cublas, self.stream, self.workspace, self.size = cublas, stream, workspace, size
        self.value: int | None = None
        created = ctypes.c_void_p()
        self._call("cublasCreate_v2", ctypes.byref(created))
        self.value = created.value
        try:
            self._call("cublasSetStream_v2", self.value, stream)
            self._call("cublasSetWorkspace_v2", self.value, workspace.ptr, size)
            self._call("cublasSetMathMode", self.value, NO_PARTIAL_SUMS_IN_THE_RESULT)
        except CublasError:
            self.close()
            raise

    def _call(self, name, *args):
        status = getattr(self.cublas.library, name)(*args)
        if status:
            raise CublasError(status, name)

    def version(self) -> int:
        """The version of the library as one number: 120804 is 12.8.4."""
        found = ctypes.c_int()
        self._call("cublasGetVersion_v2", self.value, ctypes.byref(found))
        return found.value

    def close(self) -> None:
        """Destroy it; it waits for the device. Nothing happens if it is closed already."""
        value, self.value, self.workspace = self.value, None, None
        if value is not None:
            self.cublas.library.cublasDestroy_v2(value)


class Handles:
    """Handles, one for each device, stream and thread, made when they are first asked for.

    workspace: called with the device's number, gives (memory with a `ptr`, bytes). Handles are kept
    until `drop` or `close`: destroying one waits for the device, which must not happen at any time.
    Another thread that is given the number of an ended one, or a stream at the address of one,
    takes over its handle.
    """

    def __init__(self, cublas: Cublas, workspace: Callable[[int], tuple[Any, int]]):
        self.cublas, self.workspace = cublas, workspace
        self._held: dict[tuple[int, int, int], Handle] = {}

    def __len__(self):
        return len(self._held)

    def get(self, device: int, stream: int) -> Handle:
        """The calling thread's handle for a stream of the current device, `device`."""
        key = device, stream, threading.get_ident()
        held = self._held.get(key)
        if held is None:
            memory, size = self.workspace(device)
            held = self._held[key] = self.cublas.handle(stream, memory, size)
        return held

    def drop(self, device: int, stream: int) -> None:
        """Destroy the handles of one stream, of all threads. Nobody may be using them."""
        for key in [key for key in self._held if key[:2] == (device, stream)]:
            self._held.pop(key).close()

    def close(self) -> None:
        """Destroy all handles. No other thread may be using one."""
        while self._held:
            self._held.popitem()[1].close()
