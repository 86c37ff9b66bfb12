"""Products of operands that were rounded to float8, of their codes: under the math mode "float8".

    x  ->  round(s x) / s           by operands.py, which notes it, with its amax
    a b  =  sum of codes / (s t)    by cublasLt, where both a and b are noted, or views of such

What cublasLt does not multiply is multiplied in 16 bits: the same products, summed in another
order. Whether its sums are in float32 is asked of the first product on each GPU: see
float8_trial.py.
"""

from collections.abc import Callable
from math import prod
from typing import Any

from minifp.derive.dtypes import name_of
from minifp.errors import DeviceError
from minifp.runtime.callers import warn_once
from minifp.runtime.cuda import arrays, capturing
from minifp.runtime.cuda.cublas import Handle
from minifp.runtime.cuda.cublas_lt import CublasLt, Problem, alignment, located
from minifp.runtime.cuda.devices import generation, lacks
from minifp.runtime.cuda.float8_trial import disagreement
from minifp.runtime.cuda.noted import noted_of
from minifp.runtime.cuda.operands import encoded, scale_back

Multiply = Callable[..., Any]  # product.multiply
libraries: dict[int, CublasLt | None] = {}  # by device: None where it was refused


def multiply(
    a: Any, b: Any, out: Any, alpha: float, accumulate: bool, handle: Handle, in_16_bits: Multiply
) -> bool:
    """out = alpha a b, or out += alpha a b, of codes; False if nothing was done.

    a: (..., M, K). b: (K, N). out: (..., M, N), C-contiguous. handle: of cuBLAS, whose stream and
    workspace are used. in_16_bits: `product.multiply`, against which the first product is held.
    Raises CublasError if cublasLt fails.
    """
    problem = problem_of(a, b, out, handle)
    library = library_of_device(handle, in_16_bits) if problem else None
    if problem is None or library is None:
        return False
    if problem not in library.algorithms and _captures():
        return False  # kernels would be loaded, which no stream that captures allows
    if not library.has(problem, handle.workspace.ptr):
        warn_once(
            "cublasLt has no algorithm",
            f"GPU math 'float8': cublasLt has no algorithm for {problem}: this product, and others "
            "like it, are made in 16 bits",
            category=RuntimeWarning,
        )
        return False
    launch(library, problem, a, b, out, alpha, accumulate, handle)
    return True


def problem_of(a: Any, b: Any, out: Any, handle: Handle) -> Problem | None:
    """What cublasLt is asked for: out^T = b^T a^T, as in product.py. None if it is not."""
    left, right = noted_of(a), noted_of(b)
    if left is None or right is None or b.ndim != 2 or not out.flags.c_contiguous:
        return None
    if a.ndim < 2 or a.shape[-1] != b.shape[0] or out.shape != (*a.shape[:-1], b.shape[1]):
        return None  # what is wrong with it, product.py says
    names = name_of(right.dtype), name_of(left.dtype), name_of(out.dtype)
    sizes = b.shape[1], prod(a.shape[:-1]), b.shape[0]
    problem = Problem(*names, sizes, alignment(out.data.ptr), handle.size)
    return None if problem.why_not else problem


def launch(
    library: CublasLt, problem: Problem, a, b, out, alpha: float, accumulate: bool, handle: Handle
) -> None:
    """Enqueue a product of noted arrays, for which there is an algorithm."""
    capturing.launched("a product of float8", (*problem.sizes, alpha, accumulate))
    (first, scale), (second, other) = map(as_codes, (b.T, a))
    library.multiply(
        problem,
        (first.data.ptr, second.data.ptr, out.data.ptr),
        (scale.data.ptr, other.data.ptr),
        alpha=alpha,
        beta=float(accumulate),
        workspace=handle.workspace.ptr,
        stream=handle.stream,
    )


def as_codes(x: Any) -> tuple[Any, Any]:
    """(the codes, C-contiguous, of a noted array; 1 over its scale)."""
    found = noted_of(x)
    assert found is not None
    _, dtype, amax, largest = found
    return encoded(x, dtype, amax, True, largest), scale_back(amax, x.dtype, dtype, largest)


def _captures():
    return capturing.now is not None and capturing.now.captures


# ---- whether a device has them ------------------------------------------------------------------


def library_of_device(handle: Handle, in_16_bits: Multiply) -> CublasLt | None:
    """cublasLt for the current device; None where it is refused, of which the first call warns."""
    device = arrays.cupy().cuda.Device().id
    if device not in libraries:
        if _captures():
            return None  # the trial waits for its results
        try:
            libraries[device] = tried(handle, in_16_bits)
        except DeviceError as reason:
            libraries[device] = None
            warn_once(
                f"float8 on device {device}",
                f"GPU math 'float8': {reason}; operands in float8 are multiplied in 16 bits on "
                f"device {device} from now on",
                category=RuntimeWarning,
            )
    return libraries[device]


def tried(handle: Handle, in_16_bits: Multiply) -> CublasLt:
    """cublasLt, after a trial on the current device. Raises DeviceError for what is wrong."""
    cuda = arrays.cupy().cuda
    missing = lacks(generation(cuda.Device().compute_capability), "float8")
    if missing:
        raise DeviceError(missing)
    library = CublasLt(located(cuda.runtime.runtimeGetVersion() // 1000))

    def of_codes(a, b, out):
        problem = problem_of(a, b, out, handle)
        assert problem is not None  # by the sizes and formats of the trial
        if not library.has(problem, handle.workspace.ptr):
            raise DeviceError(f"cublasLt has no algorithm for {problem}")
        launch(library, problem, a, b, out, 1.0, False, handle)
        return out

    with capturing.beside_the_step():
        wrong = disagreement(of_codes, in_16_bits)
    if wrong:
        raise DeviceError(wrong)
    return library
