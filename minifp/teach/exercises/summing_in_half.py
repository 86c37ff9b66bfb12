"""Lesson 8: sums in float16, in chunks, and in float32."""

import math

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.numerics.policy import precision
from minifp.teach.counterexample import by_one_unit
from minifp.teach.exercise import exercise, random_of

LESSON = "08-summing-in-half"
LONG = 10_000  # numbers after which a sum of equal ones stands still
BITS = {np.dtype(np.float16): np.uint16, np.dtype(np.float32): np.uint32}


def running_sum(x: np.ndarray, dtype: type) -> np.ndarray:
    """The sum of x (n), one number after the other, each partial sum rounded."""
    return np.cumsum(x, dtype=dtype)[-1]


def differing(said, right: np.ndarray) -> str:
    """What of `said` is not `right` to the last bit; "" if nothing is."""
    said = np.asarray(said)
    if said.shape != right.shape or said.dtype != right.dtype:
        return f"it is {said.dtype} {said.shape}, and should be {right.dtype} {right.shape}"
    bits = BITS[right.dtype]
    wrong = (said.view(bits) != right.view(bits)) & ~(np.isnan(said) & np.isnan(right))
    if not wrong.any():
        return ""
    at = np.argmax(wrong.ravel())
    share = f"{wrong.sum()} of {wrong.size} numbers are wrong, the first is "
    unit = by_one_unit(said[wrong], right[wrong])
    text = f"{said.ravel()[at]!s}, and should be {right.ravel()[at]!s}{unit}"
    return share + text if wrong.size > 1 else text


# ---- where a sum stands still --------------------------------------------------------------------


@exercise(LESSON)
def sticks_at(answer):
    """A function from a positive x to what x + x + x + ... becomes in float16, in the end."""
    random = random_of("sticks_at")
    powers = [2.0**k for k in range(-24, 6)]
    for x in (1.0, 0.1, 3.0, *powers, *(2.0 ** random.uniform(-20, 5.5, 40))):
        x = float(np.float16(x))
        right = float(running_sum(np.full(LONG, x, np.float16), np.float16))
        said = answer(x)
        if said != right:
            return f"x = {x!r}: the sum stands still at {right!r}, and you say {said!r}"
    return None


# ---- chunks --------------------------------------------------------------------------------------


def sum_of_chunks(x, size):
    """minifp's own, which answers are held against."""
    with precision(f"mixed,reduce=chunked:{size}"):
        return np.float32(Tensor(x).sum().item())


@exercise(LESSON)
def chunked_sum(answer):
    """A function from x, float16 (n), and a chunk's size to the sum, a float32 number."""
    random = random_of("chunked_sum")
    fixed = (1, 4), (4096, 64), (4096, 5000), (9000, 32)
    drawn = zip(random.integers(1, 900, 25), random.choice([4, 7, 32, 64, 300], 25))
    for n, size in (*fixed, *drawn):
        low = random.choice([-1.0, 0.0])
        x = random.uniform(low, 1, int(n)).astype(np.float16)
        problem = differing(answer(x.copy(), int(size)), sum_of_chunks(x, int(size)))
        if problem:
            return f"{n} numbers from {low:g} to 1 in chunks of {size}: {problem}"
    return None


# ---- a tensor core's step ------------------------------------------------------------------------


def multiplied_and_added(A, B, C):
    """C + A B, product by product, in float32."""
    D = C.copy()
    for k in range(A.shape[1]):
        D = D + A[:, k : k + 1].astype(np.float32) * B[k : k + 1].astype(np.float32)
    return D


def tiles(random):
    """(what they are, A and B in float16, C in float32)."""
    for _ in range(20):
        A, B = random.normal(0, 1, (2, 4, 4)).astype(np.float16)
        yield "ordinary numbers", A, B, random.normal(0, 1, (4, 4)).astype(np.float32)
    A, B = random.normal(0, 2.0**-9, (2, 4, 4)).astype(np.float16)
    yield "products below float16's smallest", A * A, B * B, np.zeros((4, 4), np.float32)
    A, B = random.uniform(200, 2000, (2, 4, 4)).astype(np.float16)
    yield "products above 65504", A, B, random.normal(0, 1e5, (4, 4)).astype(np.float32)
    A, B = random.uniform(0, 1, (2, 4, 4)).astype(np.float16)
    yield "small products on a sum of 4096", A, B, np.full((4, 4), 4096, np.float32)
    A = np.tile(np.array([1, 1, -1, 1], np.float16), (4, 1))
    B = np.tile(np.array([[4096], [2.0**-11], [4096], [2.0**-11]], np.float16), (1, 4))
    yield "sums that cancel", A, B, random.normal(0, 1e-3, (4, 4)).astype(np.float32)


@exercise(LESSON)
def mma(answer):
    """A function (A, B, C) -> C + A B: A, B float16 (4, 4), C float32 (4, 4); float32 (4, 4)."""
    for what, A, B, C in tiles(random_of("mma")):
        problem = differing(answer(A.copy(), B.copy(), C.copy()), multiplied_and_added(A, B, C))
        if problem:
            return f"{what}: {problem}"
    return None


# ---- batch normalisation -------------------------------------------------------------------------


@exercise(LESSON)
def breaking_amplitude(answer):
    """A function from n to the smallest power of two c at which the running float16 sum of the
    squares of n numbers, each c or -c, is Inf."""
    for n in (1, 2, 3, 16, 60, 64, 100, 1000, 1023, 1024, 2000, 4096, 50_000):
        c = answer(n)
        if not (isinstance(c, (int, float, np.number)) and c > 0 and math.frexp(c)[0] == 0.5):
            return f"n = {n}: you say {c!r}, which is no power of two"
        at, below = (sum_of_squares(n, float(tried)) for tried in (c, c / 2))
        if math.isfinite(at):
            return f"n = {n}: you say {c:g}, but there the sum is {at:g}"
        if not math.isfinite(below):
            return f"n = {n}: you say {c:g}, but half of it gives Inf, too"
    return None


def sum_of_squares(n: int, c: float) -> float:
    """Of n numbers that are c or -c, in float16 one after the other."""
    return float(running_sum(np.full(min(n, LONG), c * c).astype(np.float16), np.float16))


def batches(random):
    """(what they are, numbers in float16 (n))."""
    for _ in range(10):
        yield "ordinary numbers", random.normal(0, 1, 128).astype(np.float16)
    yield "pixels from 0 to 255", random.uniform(0, 255, 4096).astype(np.float16)
    yield "numbers up to 60000", random.uniform(-60000, 60000, 300).astype(np.float16)
    yield "a mean of 4000 with a deviation of 8", random.normal(4000, 8, 128).astype(np.float16)
    yield "numbers around 1e-4", random.normal(0, 1e-4, 128).astype(np.float16)
    yield "all the same", np.full(128, 7, np.float16)


@exercise(LESSON)
def normalized(answer):
    """A function from x, float16 (n), to (x - mean) / sqrt(variance + 1e-5) in float16."""
    for what, x in batches(random_of("normalized")):
        said = np.asarray(answer(x.copy()))
        if said.shape != x.shape or said.dtype != x.dtype:
            return f"it is {said.dtype} {said.shape}, and should be {x.dtype} {x.shape}"
        exact, bound = normalized_exactly(x)
        wrong = ~(np.abs(said.astype(np.float64) - exact) <= bound)  # which NaN is, too
        if wrong.any():
            at = int(np.argmax(wrong))
            return (
                f"{what}: {wrong.sum()} of {len(x)} numbers are wrong; {x[at]} became {said[at]}, "
                f"and should be {exact[at]:.5g}"
            )
    return None


def normalized_exactly(x):
    """In float64, and by how much an answer may be off: one rounding to float16, a dozen to
    float32, and a mean in float32 that is off by as much as one rounding of each number."""
    x = x.astype(np.float64)
    root = math.sqrt(x.var() + 1e-5)
    y = (x - x.mean()) / root
    single = 2.0**-24
    return y, np.abs(y) * (2.0**-11 + 12 * single) + 2.0**-25 + 2 * single * np.abs(x).max() / root
