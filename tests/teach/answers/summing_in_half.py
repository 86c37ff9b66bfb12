"""Of lesson 8."""

import math

import numpy as np
from teach.answers import Answers


def power_from(x):
    """The first power of two that is not below x."""
    return 2.0 ** math.ceil(math.log2(x))


def sticks_at(x):
    stands = power_from(2048 * x)
    return stands if stands <= 65504 else math.inf


def chunks_of(x, size):
    return [x[at : at + size] for at in range(0, len(x), size)]


def in_half(x):
    return np.cumsum(x, dtype=np.float16)[-1]


def chunked_sum(x, size, format=np.float32):
    """The format is that in which the sums of chunks are added up."""
    sums = np.array([in_half(chunk) for chunk in chunks_of(x, size)])
    return np.float32(np.cumsum(sums, dtype=format)[-1])


def by_numpy(x, size):
    return np.float32(sum(np.float32(chunk.sum()) for chunk in chunks_of(x, size)))


def mma(A, B, C, products=np.float32, sums=np.float32):
    D = C.astype(sums)
    for k in range(4):
        D = (D + A[:, k, None].astype(products) * B[k].astype(products)).astype(sums)
    return D.astype(np.float32)


def in_double(A, B, C):
    return (C + A.astype(np.float64) @ B.astype(np.float64)).astype(np.float32)


def breaking_amplitude(n):
    c = 1.0
    while not np.isinf(in_half(np.full(n, c * c).astype(np.float16))):
        c *= 2
    return c


def normalized(x, eps=1e-5, ddof=0):
    x = x.astype(np.float32)
    return ((x - x.mean()) / np.sqrt(x.var(ddof=ddof) + np.float32(eps))).astype(np.float16)


def all_in_half(x):
    return ((x - x.mean()) / np.sqrt(x.var() + np.float16(1e-5))).astype(np.float16)


def difference_of_squares(x):
    """E[x^2] - E[x]^2, which cancels."""
    x = x.astype(np.float32)
    variance = np.maximum(np.square(x).mean() - np.square(x.mean()), 0)
    return ((x - x.mean()) / np.sqrt(variance + np.float32(1e-5))).astype(np.float16)


ANSWERS = {
    "sticks_at": Answers(
        (sticks_at,),
        (lambda x: 2048.0, "x = 0.0999755859375: the sum stands still at 256.0"),
        (lambda x: 2048 * x, "x = 0.0999755859375"),  # right for powers of two
        (lambda x: power_from(2048 * x), "stands still at inf"),
    ),
    "chunked_sum": Answers(
        (chunked_sum,),
        (lambda x, size: x.astype(np.float32).sum(), "in chunks of"),
        (lambda x, size: chunked_sum(x, size, np.float16), "in chunks of"),
        (by_numpy, "in chunks of"),  # which does not add one after the other
        (lambda x, n: chunked_sum(x[: max(len(x) // n, 1) * n], n), "in chunks of"),
        (lambda x, size: in_half(x), "it is float16"),
    ),
    "mma": Answers(
        (mma,),
        (lambda A, B, C: mma(A, B, C, products=np.float16), "ordinary numbers"),
        (lambda A, B, C: mma(A, B, C, sums=np.float16), "ordinary numbers"),
        (lambda A, B, C: C + mma(A, B, np.zeros_like(C)), "ordinary numbers"),
        (in_double, "numbers are wrong"),
        (lambda A, B, C: (A @ B).astype(np.float32) + C, "numbers are wrong"),
        (lambda A, B, C: A @ B, "it is float16"),
    ),
    "breaking_amplitude": Answers(
        (breaking_amplitude,),
        (lambda n: power_from(math.sqrt(65520 / n)), "n = 4096: you say 4, but there the sum is"),
        (lambda n: 256.0, "n = 16: you say 256, but half of it gives Inf"),
        (lambda n: 8.0, "n = 1: you say 8, but there the sum is 64"),
    ),
    "normalized": Answers(
        (normalized,),
        (all_in_half, "numbers are wrong"),
        (difference_of_squares, "a mean of 4000"),
        (lambda x: normalized(x, eps=0), "numbers around 1e-4"),
        (lambda x: normalized(x, ddof=1), "ordinary numbers"),
        (lambda x: normalized(x).astype(np.float32), "it is float32"),
    ),
}
