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


def mma(A, B, C, products=np.float32, sums=np.float32):
    D = C.astype(sums)
    for k in range(4):
        D = (D + A[:, k, None].astype(products) * B[k].astype(products)).astype(sums)
    return D.astype(np.float32)


def breaking_amplitude(n):
    c = 1.0
    while not np.isinf(in_half(np.full(n, c * c).astype(np.float16))):
        c *= 2
    return c


def normalized(x, eps=1e-5, ddof=0):
    x = x.astype(np.float32)
    return ((x - x.mean()) / np.sqrt(x.var(ddof=ddof) + np.float32(eps))).astype(np.float16)


ANSWERS = {
    "sticks_at": Answers(
        (sticks_at,),
        known={
            0: "x = 0.0999755859375",
            1: "stands still at inf",
            2: "x = 0.0999755859375: the sum stands still at 256.0",
        },
    ),
    "chunked_sum": Answers(
        (chunked_sum,),
        (lambda x, size: in_half(x), "it is float16"),
        known={0: "in chunks of", 1: "in chunks of", 2: "in chunks of", 3: "in chunks of"},
    ),
    "mma": Answers(
        (mma,),
        (lambda A, B, C: (A @ B).astype(np.float32) + C, "numbers are wrong"),
        (lambda A, B, C: A @ B, "it is float16"),
        known={0: "ordinary numbers", 1: "ordinary numbers", 2: "ordinary numbers"},
    ),
    "breaking_amplitude": Answers(
        (breaking_amplitude,),
        (lambda n: 8.0, "n = 1: you say 8, but there the sum is 64"),
        known={
            0: "n = 4096: you say 4, but there the sum is",
            1: "n = 16: you say 256, but half of it gives Inf",
        },
    ),
    "normalized": Answers(
        (normalized,),
        (lambda x: normalized(x).astype(np.float32), "it is float32"),
        known={
            0: "numbers are wrong",
            1: "a mean of 4000",
            2: "numbers around 1e-4",
            3: "ordinary numbers",
        },
    ),
}
