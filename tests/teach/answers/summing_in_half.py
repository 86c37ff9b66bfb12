"""Of lesson 8."""

import math

import numpy as np
from teach.answers import Answers


def sticks_at(x):
    stands = 2.0 ** math.ceil(math.log2(2048 * x))
    return stands if stands <= 65504 else math.inf


def as_one_does(x):
    """2,048 times x, which is right for powers of two."""
    return 2048 * x


def never_infinite(x):
    """As if float16 went on."""
    return 2.0 ** math.ceil(math.log2(2048 * x))


def chunks_of(x, size):
    return [x[at : at + size] for at in range(0, len(x), size)]


def in_half(x):
    return np.cumsum(x, dtype=np.float16)[-1]


def chunked_sum(x, size):
    total = np.float32(0)
    for chunk in chunks_of(x, size):
        total += np.float32(in_half(chunk))
    return total


def half_between(x, size):
    """Float16 all the way."""
    return np.float32(in_half(np.array([in_half(chunk) for chunk in chunks_of(x, size)])))


def with_sum(x, size):
    """NumPy's sum, which does not add one after the other."""
    return np.float32(sum(np.float32(chunk.sum()) for chunk in chunks_of(x, size)))


def whole_chunks_only(x, size):
    """What is left over is forgotten."""
    whole = x[: len(x) // size * size] if len(x) >= size else x
    return chunked_sum(whole, size)


def mma(A, B, C):
    D = C.copy()
    for k in range(4):
        D += A[:, k, None].astype(np.float32) * B[k].astype(np.float32)
    return D


def half_products(A, B, C):
    """Products that are rounded to float16."""
    D = C.copy()
    for k in range(4):
        D += (A[:, k, None] * B[k]).astype(np.float32)
    return D


def half_accumulator(A, B, C):
    """A sum that is rounded to float16."""
    D = C.astype(np.float16)
    for k in range(4):
        D = (D + A[:, k, None].astype(np.float32) * B[k].astype(np.float32)).astype(np.float16)
    return D.astype(np.float32)


def added_at_the_end(A, B, C):
    """Another order."""
    return C + mma(A, B, np.zeros_like(C))


def in_double(A, B, C):
    """Better than float32."""
    return (C + A.astype(np.float64) @ B.astype(np.float64)).astype(np.float32)


def breaking_amplitude(n):
    c = 1.0
    while not np.isinf(np.cumsum(np.full(n, c * c).astype(np.float16), dtype=np.float16)[-1]):
        c *= 2
    return c


def as_if_sums_grew(n):
    """n squares of c are n c^2."""
    return 2.0 ** math.ceil(math.log2(math.sqrt(65520 / n)))


def only_the_square(n):
    """c^2 itself."""
    return 256.0


def first_above(n):
    """As if sums stood still at 2,048 c^2 in any batch."""
    return 8.0


def normalized(x):
    x = x.astype(np.float32)
    x = x - x.mean()
    return (x / np.sqrt(np.square(x).mean() + np.float32(1e-5))).astype(np.float16)


def all_in_half(x):
    """NumPy's own statistics of float16."""
    return ((x - x.mean()) / np.sqrt(x.var() + np.float16(1e-5))).astype(np.float16)


def difference_of_squares(x):
    """E[x^2] - E[x]^2, which cancels."""
    x = x.astype(np.float32)
    variance = np.maximum(np.square(x).mean() - np.square(x.mean()), 0)
    return ((x - x.mean()) / np.sqrt(variance + np.float32(1e-5))).astype(np.float16)


def without_eps(x):
    """0 / 0 where all numbers are the same."""
    x = x.astype(np.float32)
    return ((x - x.mean()) / x.std()).astype(np.float16)


def unbiased(x):
    """Divides by n - 1."""
    x = x.astype(np.float32)
    return ((x - x.mean()) / np.sqrt(x.var(ddof=1) + np.float32(1e-5))).astype(np.float16)


ANSWERS = {
    "sticks_at": Answers(
        (sticks_at,),
        (lambda x: 2048.0, "x = 0.0999755859375: the sum stands still at 256.0"),
        (as_one_does, "x = 0.0999755859375"),
        (never_infinite, "stands still at inf"),
    ),
    "chunked_sum": Answers(
        (chunked_sum,),
        (lambda x, size: x.astype(np.float32).sum(), "in chunks of"),
        (half_between, "in chunks of"),
        (with_sum, "in chunks of"),
        (whole_chunks_only, "in chunks of"),
        (lambda x, size: in_half(x), "it is float16"),
    ),
    "mma": Answers(
        (mma,),
        (half_products, "ordinary numbers"),
        (half_accumulator, "ordinary numbers"),
        (added_at_the_end, "ordinary numbers"),
        (in_double, "numbers are wrong"),
        (lambda A, B, C: (A @ B).astype(np.float32) + C, "numbers are wrong"),
        (lambda A, B, C: A @ B, "it is float16"),
    ),
    "breaking_amplitude": Answers(
        (breaking_amplitude,),
        (as_if_sums_grew, "n = 4096: you say 4, but there the sum is 32768"),
        (only_the_square, "n = 16: you say 256, but half of it gives Inf"),
        (first_above, "n = 1: you say 8, but there the sum is 64"),
    ),
    "normalized": Answers(
        (normalized,),
        (all_in_half, "numbers are wrong"),
        (difference_of_squares, "a mean of 4000"),
        (without_eps, "numbers around 1e-4"),
        (unbiased, "ordinary numbers"),
        (lambda x: normalized(x).astype(np.float32), "it is float32"),
    ),
}
