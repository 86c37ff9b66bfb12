"""cublasLt without CuPy between: products of float8 codes, which cuBLAS itself does not multiply.

    D = alpha / (s t) sum_k A[k, m] B[k, n]  (+ D)

A and B are codes, 1/s and 1/t float32 numbers on the device. Matrices are column-major, A is read
transposed and B is not, the only way that all GPUs with float8 have. Three settings keep sums in
float32: the compute type; fast accumulation, which is off; and the reduction schemes, of which
those are left out that store partial sums in D's format.

Numbers of attributes, and structures, are those of cublasLt.h (12.9 and 13), by the names in
capitals; those of formats are cudaDataType's, in library_types.h. Source: the cuBLAS reference,
`cublasLtMatmul`: the table of formats for float8, and what it says of alignment.
"""

import ctypes
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from minifp.errors import ArgumentError, DeviceError
from minifp.runtime.cuda.cublas import COMPUTE_32F, DATA_TYPES, CublasError, load

E4M3, E5M2 = "float8_e4m3fn", "float8_e5m2"
PAIRS = (E4M3, E4M3), (E4M3, E5M2), (E5M2, E4M3)  # of operands; there is none of E5M2 twice
RESULTS = "float16", "bfloat16", "float32"
TYPES = {**DATA_TYPES, E4M3: 28, E5M2: 29}  # CUDA_R_8F_E4M3, CUDA_R_8F_E5M2
UNIT = 16  # of which sizes, and addresses in bytes, are multiples
MOST_ALIGNED = 256  # bytes: what the heuristic takes for granted unless it is told of less

TRANSPOSE, AS_IT_IS = 1, 0  # CUBLAS_OP_T, CUBLAS_OP_N
# CUBLASLT_MATMUL_DESC_...
TRANSA, TRANSB, A_SCALE_POINTER, B_SCALE_POINTER, FAST_ACCUM = 3, 4, 17, 18, 25
# CUBLASLT_MATMUL_PREF_...
MAX_WORKSPACE_BYTES, REDUCTION_SCHEME_MASK = 1, 3
MIN_ALIGNMENT_C_BYTES, MIN_ALIGNMENT_D_BYTES = 7, 8
REDUCTION_SCHEME_COMPUTE_TYPE = 2  # CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
SUCCESS, NOT_SUPPORTED = 0, 15


class Algorithm(ctypes.Structure):
    """cublasLtMatmulAlgo_t."""

    _fields_ = [("data", ctypes.c_uint64 * 8)]


class HeuristicResult(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    TYPES = Algorithm, ctypes.c_size_t, ctypes.c_int, ctypes.c_float, ctypes.c_int * 4
    _fields_ = list(zip(("algorithm", "workspace", "state", "waves", "reserved"), TYPES))


class Problem(NamedTuple):
    """What an algorithm is chosen for. a, b: formats of the operands, and out: of the result, by
    name; sizes: (m, n, k); aligned: of how many bytes D's address is a multiple; workspace: bytes.
    """

    a: str
    b: str
    out: str
    sizes: tuple[int, int, int]
    aligned: int
    workspace: int

    @property
    def why_not(self) -> str | None:
        """Why cublasLt is not asked for it, in words; None if it can be."""
        if (self.a, self.b) not in PAIRS or self.out not in RESULTS:
            pairs = ", ".join(f"{a} and {b}" for a, b in PAIRS)
            return f"expected operands of {pairs}, and a result of {', '.join(RESULTS)}"
        if any(n < 1 or n % UNIT for n in self.sizes) or self.aligned % UNIT:
            return f"expected sizes, and an address of the result, that are multiples of {UNIT}"
        return None

    @property
    def layouts(self) -> list[tuple[int, int, int, int]]:
        """Of A, B and D: (type, rows, columns, leading dimension)."""
        m, n, k = self.sizes
        a, b, out = (TYPES[name] for name in (self.a, self.b, self.out))
        return [(a, k, m, k), (b, k, n, k), (out, m, n, m)]

    def __str__(self):
        return f"a product m, n, k = {self.sizes} of {self.a} and {self.b} into {self.out}"


def alignment(address: int) -> int:
    """Of how many bytes an address is a multiple, as a power of two, up to MOST_ALIGNED."""
    return min(address & -address, MOST_ALIGNED) or MOST_ALIGNED


def signatures() -> dict[str, list[Any]]:
    """The arguments of each entry point. Results are statuses."""
    pointer, number, size = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
    made, attribute = ctypes.POINTER(pointer), [pointer, number, pointer, size]
    wide = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int64]
    found: dict[str, list[Any]] = {
        "cublasLtCreate": [made],
        "cublasLtMatmulDescCreate": [made, number, number],
        "cublasLtMatrixLayoutCreate": [made, number, *wide],
        "cublasLtMatmulPreferenceCreate": [made],
        "cublasLtMatmulDescSetAttribute": attribute,
        "cublasLtMatmulPreferenceSetAttribute": attribute,
        "cublasLtMatmulAlgoGetHeuristic": [*[pointer] * 7, number, pointer, pointer],
        "cublasLtMatmul": [*[pointer] * 14, size, pointer],
    }
    for kind in ("MatmulDesc", "MatrixLayout", "MatmulPreference"):
        found[f"cublasLt{kind}Destroy"] = [pointer]
    return found


# ---- finding the library ------------------------------------------------------------------------


def located(major: int | None = None) -> str:
    """The path of cublasLt: that in MINIFP_CUBLAS_LT, or of the library beside the cuBLAS that is
    used, or its name for the loader. major: the version of CUDA.

    Raises DeviceError if MINIFP_CUBLAS_LT names no file, or there is no cuBLAS.
    """
    given = os.environ.get("MINIFP_CUBLAS_LT")
    if given and not Path(given).is_file():
        raise DeviceError(
            f"environment variable MINIFP_CUBLAS_LT={given!r}: no such file; expected the path of "
            "libcublasLt.so.13 or the like"
        )
    return given or beside(load(major).path)


def beside(cublas: str) -> str:
    """Where cublasLt is, if it lies, as it always comes, beside a cuBLAS."""
    folder, name = os.path.split(cublas)
    return os.path.join(folder, name.replace("cublas", "cublasLt", 1))


def opened(path: str) -> ctypes.CDLL:
    """The library at a path. Raises DeviceError if it cannot be loaded, or is no cublasLt."""
    advice = "set MINIFP_CUBLAS_LT to the path of a cublasLt of CUDA 12 or later"
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise DeviceError(f"no cublasLt: {path} ({error}): {advice}") from None
    for name, arguments in signatures().items():
        entry = getattr(library, name, None)
        if entry is None:
            raise DeviceError(f"{path} has no {name}: {advice}")
        entry.argtypes, entry.restype = arguments, ctypes.c_int
    return library


# ---- products -----------------------------------------------------------------------------------


class CublasLt:
    """cublasLt for the current device, with its handle, which is kept, and the algorithms that were
    chosen; None where there is none.

    Raises DeviceError if there is none, and CublasError if it does not start.
    """

    def __init__(self, path: str):
        self.path, self.library = path, opened(path)
        self.algorithms: dict[Problem, Algorithm | None] = {}
        self.handle = ctypes.c_void_p()
        self._call("cublasLtCreate", ctypes.byref(self.handle))

    def has(self, problem: Problem, scale: int) -> bool:
        """Whether the library has an algorithm for a problem that nothing forbids; asked once.

        scale: an address on the device that stands for those of the scales, and is not read.
        """
        return self._algorithm(problem, (scale, scale)) is not None

    def multiply(
        self,
        problem: Problem,
        pointers: tuple[int, int, int],
        scales: tuple[int, int],
        *,
        alpha: float,
        beta: float,
        workspace: int,
        stream: int,
    ) -> None:
        """Enqueue a product on a stream.

        pointers: where A, B and D begin on the device. scales: where the float32 factors of A and
        of B are. workspace: where the problem's bytes of it are. Raises ArgumentError for what
        `why_not` names and what the library does not have, and CublasError if it fails.
        """
        reason = problem.why_not
        algorithm = None if reason else self._algorithm(problem, scales)
        if algorithm is None:
            raise ArgumentError(f"{problem}: {reason or 'cublasLt has no algorithm for it'}")
        (a, b, d), up, down = pointers, ctypes.c_float(alpha), ctypes.c_float(beta)
        with self._described(problem, scales) as (operation, A, B, D):
            read = ctypes.byref(up), a, A, b, B
            written = ctypes.byref(down), d, D, d, D, ctypes.byref(algorithm)
            room = workspace, problem.workspace, stream
            self._call("cublasLtMatmul", self.handle, operation, *read, *written, *room)

    @contextmanager
    def _described(self, problem, scales) -> Iterator[Any]:
        """The descriptors of the operation, and of A, B and D."""
        with ExitStack() as held:
            operation = held.enter_context(self._operation(scales))
            layouts = [held.enter_context(self._layout(given)) for given in problem.layouts]
            yield operation, *layouts

    def _algorithm(self, problem, scales):
        if problem not in self.algorithms:
            with self._described(problem, scales) as (operation, A, B, D):
                self.algorithms[problem] = self._chosen(problem, operation, (A, B, D, D))
        return self.algorithms[problem]

    def _chosen(self, problem, operation, layouts):
        """The fastest algorithm that sums in float32, or None."""
        found, count = HeuristicResult(), ctypes.c_int()
        with self._made("MatmulPreference") as preference:
            for attribute, value in (
                (MAX_WORKSPACE_BYTES, ctypes.c_uint64(problem.workspace)),
                (REDUCTION_SCHEME_MASK, ctypes.c_uint32(REDUCTION_SCHEME_COMPUTE_TYPE)),
                (MIN_ALIGNMENT_C_BYTES, ctypes.c_uint32(problem.aligned)),
                (MIN_ALIGNMENT_D_BYTES, ctypes.c_uint32(problem.aligned)),
            ):
                self._set("MatmulPreference", preference, attribute, value)
            given = self.handle, operation, *layouts, preference, 1
            entry = self.library.cublasLtMatmulAlgoGetHeuristic
            status = entry(*given, ctypes.byref(found), ctypes.byref(count))
        if status not in (SUCCESS, NOT_SUPPORTED):
            raise CublasError(status, f"{problem}: cublasLtMatmulAlgoGetHeuristic")
        is_found = status == SUCCESS and count.value and found.state == SUCCESS
        return found.algorithm if is_found else None

    @contextmanager
    def _operation(self, scales) -> Iterator[Any]:
        with self._made("MatmulDesc", COMPUTE_32F, DATA_TYPES["float32"]) as operation:
            for attribute, value in (
                (TRANSA, ctypes.c_int32(TRANSPOSE)),
                (TRANSB, ctypes.c_int32(AS_IT_IS)),
                (A_SCALE_POINTER, ctypes.c_void_p(scales[0])),
                (B_SCALE_POINTER, ctypes.c_void_p(scales[1])),
                (FAST_ACCUM, ctypes.c_int8(0)),
            ):
                self._set("MatmulDesc", operation, attribute, value)
            yield operation

    def _layout(self, given):
        return self._made("MatrixLayout", *given)

    @contextmanager
    def _made(self, kind, *given) -> Iterator[Any]:
        made = ctypes.c_void_p()
        self._call(f"cublasLt{kind}Create", ctypes.byref(made), *given)
        try:
            yield made
        finally:
            getattr(self.library, f"cublasLt{kind}Destroy")(made)

    def _set(self, kind, made, attribute, value):
        given = ctypes.byref(value), ctypes.sizeof(value)
        self._call(f"cublasLt{kind}SetAttribute", made, attribute, *given)

    def _call(self, name, *args):
        status = getattr(self.library, name)(*args)
        if status:
            raise CublasError(status, name)
