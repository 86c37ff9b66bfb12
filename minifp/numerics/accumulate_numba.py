"""Sequential float16 sums in numba: the compiled kernel of the references in accumulate.py, bit for
bit.

Rounding is done in float32, without a half in sight, so that it runs and vectorises on every CPU.
For x with 2^e <= |x| < 2^(e+1) and m = 1.5 x 2^(e+13), a float32 of the size of m has an ulp of
2^(e-10), that of a float16 of the size of x. So (x + m) - m is x rounded to it, to nearest even;
with e held at -14 and above it is right for subnormal results. What is now 2^16 or more overflows
float16: multiplying by 2^112 makes it, and nothing else, Inf. The sign of a zero is lost, which an
accumulator that started at +0 cannot tell.

Measured on one core with AVX-512 (AVX2, SSE2), a product of 64x256 with 256x128: 0.14 (0.25, 0.95)
ns a product, where the float16 conversions of F16C cost 0.08 (0.13, none). A single chain of sums
waits for itself: 10 ns an addend.
"""

import numpy as np
from numba import config, float32, intp, njit, types

from minifp.numerics.formats import FORMATS, float16
from minifp.runtime.cpu.compile import front_end

if config.DISABLE_JIT:
    raise ImportError("NUMBA_DISABLE_JIT is set: these kernels only work compiled")

FORMAT = FORMATS[float16.name]
EXPONENT = np.int32(0x7F800000)  # the exponent's bits in a float32
LOWEST = np.int32((127 + 1 - FORMAT.bias) << 23)  # as exponent bits: the smallest normal number's,
HIGHEST = np.int32((127 + 1 + FORMAT.bias) << 23)  # and the first one that overflows
SHIFT = np.int32(((23 - FORMAT.mantissa_bits) << 23) + 0x400000)  # from 2^e to 1.5 x 2^(e+13)
UP = np.float32(2.0 ** (127 - FORMAT.bias))
DOWN = np.float32(2.0 ** -(127 - FORMAT.bias))


def compiled(*arguments):
    """Compile a kernel for these arguments, now, or load what was compiled before.

    It runs without the GIL. No fastmath: NaN and Inf are values, and (x + m) - m is not x.
    """

    def decorate(kernel):
        ready = front_end.dispatcher(kernel, {"nogil": True})
        ready.compile(types.void(*arguments))
        ready.disable_compile()
        return ready

    return decorate


def strided(ndim, dtype=float32):
    """The type of an argument that is only read: contiguous, and possibly read-only."""
    return types.Array(dtype, ndim, "C", readonly=True)


def prepared(x):
    """x as such an argument, copied only if need be."""
    return np.require(x, np.float32, ["C", "A", "E"])


@njit
def rounded(x):
    """A float32 rounded to float16, as a float32."""
    exponent = min(max(np.float32(x).view(np.int32) & EXPONENT, LOWEST), HIGHEST)
    m = np.int32(exponent + SHIFT).view(np.float32)
    return (((x + m) - m) * UP) * DOWN


@compiled(strided(1), float32[::1])
def round_to_halves(x, y):
    for i in range(len(x)):
        y[i] = rounded(x[i])


@compiled(strided(2), float32[::1])
def add_rows_of_halves(x, y):
    for k in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[j] = rounded(y[j] + rounded(x[k, j]))


@compiled(strided(3), strided(3), strided(1, intp), strided(1, intp), float32[:, :, ::1])
def add_products_of_halves(a, b, ia, ib, y):
    for n in range(len(ia)):
        a_n, b_n, y_n = a[ia[n]], b[ib[n]], y[n]
        for i in range(a_n.shape[0]):
            for k in range(a_n.shape[1]):
                x = a_n[i, k]
                for j in range(b_n.shape[1]):
                    y_n[i, j] = rounded(y_n[i, j] + rounded(x * b_n[k, j]))


def sum_columns(x):
    """The sequential sum of each column of x (K, N) float32: (N) float32."""
    K, N = x.shape
    y = np.zeros(N, np.float32)
    # Columns that do not lie side by side are copied, at most 1 MiB at once, to stay in the cache.
    step = N if x.flags.c_contiguous else max(16, 2**18 // max(K, 1))
    for j in range(0, N, max(step, 1)):
        add_rows_of_halves(prepared(x[:, j : j + step]), y[j : j + step])
    return y


def dot_matrices(a, b, ia, ib):
    """The sequential products a[ia[i]] @ b[ib[i]] of (_, M, K) and (_, K, N): (B, M, N) float32."""
    M, N = a.shape[1], b.shape[2]
    if N < min(M, 64):  # too few columns to fill the vector units: there are more rows
        y = dot_matrices(b.transpose(0, 2, 1), a.transpose(0, 2, 1), ib, ia)
        return np.ascontiguousarray(y.transpose(0, 2, 1))
    y = np.zeros((len(ia), M, N), np.float32)
    add_products_of_halves(round_operand(a), round_operand(b), ia, ib, y)
    return y


def round_operand(x):
    x = prepared(x)
    y = np.empty(x.shape, np.float32)
    round_to_halves(x.reshape(-1), y.reshape(-1))
    return y
