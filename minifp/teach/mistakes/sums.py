"""Of lessons 8 and 9."""

import math

import numpy as np

from minifp.teach.mistake import Mistake, like, said


def power_from(x):
    """The first power of two that is not below x."""
    return 2.0 ** math.ceil(math.log2(x))


def sums_of(x, size):
    """The float16 sums of chunks."""
    return np.array([np.cumsum(x[i : i + size])[-1] for i in range(0, len(x), size)])


def by_numpy(x, size):
    """By NumPy's sum of each chunk."""
    return np.float32(sum(np.float32(x[i : i + size].sum()) for i in range(0, len(x), size)))


def multiplied(A, B, C, products=np.float32, sums=np.float32):
    """Product by product, in these formats."""
    D = C.astype(sums)
    for k in range(A.shape[1]):
        D = (D + A[:, k, None].astype(products) * B[k].astype(products)).astype(sums)
    return D.astype(np.float32)


def normal(format=np.float32, eps=1e-5, ddof=0):
    """In a format, with this eps and this divisor n - ddof of the variance."""

    def normalized(x):
        x = x.astype(format)
        return ((x - x.mean()) / np.sqrt(x.var(ddof=ddof) + format(eps))).astype(np.float16)

    return normalized


def by_squares(x):
    """E[x^2] - E[x]^2, which cancels."""
    x = x.astype(np.float32)
    variance = np.maximum(np.square(x).mean() - np.square(x.mean()), 0)
    return ((x - x.mean()) / np.sqrt(variance + np.float32(1e-5))).astype(np.float16)


def clip(g, most, longer=False):
    """To a length of `most`; `longer`: short gradients too."""
    norm = math.sqrt(float(np.sum(np.square(g, dtype=np.float64))))
    factor = most / max(norm, 1e-30) if longer else min(1.0, most / norm) if norm else 1.0
    return g * np.float32(factor)


def single(g, S):
    """Unscaled in float32."""
    return g.astype(np.float32) / np.float32(S)


def half(g, S):
    """Unscaled in float16."""
    return (g / np.float16(S)).astype(np.float32)


def term(w, decay):
    """What decay adds."""
    return np.float32(2 * decay) * w


def narrow(w, decay):
    """What decay adds, in float16."""
    return (np.float16(2 * decay) * w.astype(np.float16)).astype(np.float32)


def used(unscale=single, term=term, longer=False):
    """Unscaled, with decay, clipped, each in this way."""
    return lambda g, S, w, decay, most: clip(unscale(g, S) + term(w, decay), most, longer)


def updates(eps, stored=np.float16):
    """Of gradients below 1, with the second moment rounded to a format."""
    g = np.arange(1, 0x3C00, dtype=np.uint16).view(np.float16).astype(np.float64)
    return g / (np.sqrt((0.001 * g * g).astype(stored).astype(np.float64) / 0.001) + eps)


MISTAKES: dict[str, tuple[Mistake, ...]] = {
    "sticks_at": (
        like(lambda x: 2048 * x, "Right for powers of two. A sum stands still where half the gap "
             "is at least x, and gaps grow only at powers of two."),
        like(lambda x: power_from(2048 * x), "65536 is more than float16 holds: what happens to a "
             "sum that would have to stand still there?"),
        like(lambda x: 2048.0, "That is where a sum of ones stands still. For another x, the gap "
             "there must be as large beside x as it is beside 1."),
    ),
    "chunked_sum": (
        like(by_numpy, "chunk.sum() does not add one number after the other in float16. "
             "np.cumsum(chunk, dtype=np.float16)[-1] does."),
        like(lambda x, size: np.float32(np.cumsum(sums_of(x, size))[-1]), "The sums of chunks are "
             "added in float16, too. Convert them to float32, then add them."),
        like(lambda x, size: x.astype(np.float32).sum(), "Everything is summed in float32. Within "
             "a chunk the sum should be float16."),
        like(lambda x, size: np.float32(np.cumsum(
            sums_of(x[: max(len(x) // size, 1) * size], size).astype(np.float32)
        )[-1]), "The last chunk, which may be shorter, is missing."),
        said("^.*it is float16", "The result should be a float32 number: the sums of chunks are "
             "added in float32."),
    ),
    "mma": (
        like(lambda A, B, C: multiplied(A, B, C, products=np.float16), "Products are rounded to "
             "float16. Convert A and B to float32 before you multiply."),
        like(lambda A, B, C: multiplied(A, B, C, sums=np.float16), "The sum is kept in float16. "
             "Begin with C in float32, and stay in float32."),
        like(lambda A, B, C: C + multiplied(A, B, np.zeros_like(C)), "C is added at the end. Begin "
             "with it: in floating point the order decides the last bits."),
        said("it is float16", "A @ B of float16 arrays is float16. Convert A and B to float32 "
             "before they are multiplied."),
    ),
    "breaking_amplitude": (
        like(lambda n: power_from(math.sqrt(65520 / n)), "This asks when n c^2 is too large. But "
             "a running sum of c^2 may stand still before it gets there."),
        like(lambda n: 256.0, "There c^2 itself is Inf. With several numbers, a smaller c breaks "
             "the sum."),
    ),
    "normalized": (
        like(normal(np.float16), "Everything is computed in float16. Convert x to float32 first, "
             "and round at the very end."),
        like(by_squares, "The mean of squares less the square of the mean subtracts two numbers "
             "that are nearly the same. Subtract the mean first, then square."),
        like(normal(eps=0), "eps is missing under the root: it matters where the variance is "
             "small."),
        like(normal(ddof=1), "The variance here divides by n, not by n - 1."),
    ),
    "policy": (
        said("as (float16|widest): in float16 .* overflow", "Something in it exceeds 65504: a "
             "power, an exponential, a sum of many numbers. Its place is float32."),
        said(r"as (float16|widest): in float16 its error is up to (?![01]\.\d+ times)",
             "It makes a small error of its argument large, or has results so small that float16 "
             "has few bits for them. Its place is float32."),
        said("as (float16|float32): .* multiplies 0 times", "It multiplies nothing, so that a cast "
             "costs as much as it does: it takes what it is given."),
        said("as (float32|widest): ", "It multiplies each number many times, and its sums are "
             "float32 inside: there a cast to float16 pays, and does no harm."),
    ),
    "gradient_to_use": (
        like(lambda g, S, w, decay, most: single(clip(g.astype(np.float32), most), S)
             + term(w, decay), "This clips before it unscales, and before it adds decay. Clipping "
             "comes last."),
        like(lambda g, S, w, decay, most: clip(single(g.astype(np.float32) + term(w, decay), S),
                                               most), "Decay is added before the division by S, "
             "so it is divided too."),
        like(lambda g, S, w, decay, most: clip(single(g, S), most) + term(w, decay), "Decay is "
             "added after clipping, so the result may be longer than allowed."),
        like(used(unscale=half), "The division by S is done in float16, where it loses what the "
             "multiplication has saved. Convert g to float32 first."),
        like(used(term=narrow), "Decay is computed in float16, where 2e-8 is zero. Leave it in "
             "float32, as w is."),
        like(used(longer=True), "This makes short gradients longer. The factor is at most 1."),
    ),
    "largest_update": (
        like(lambda eps: 1 / eps, "That is for a gradient of 1 whose v is zero. Which gradients "
             "have a v that float16 stores as zero?"),
        like(lambda eps: float(updates(eps, np.float64).max()), "v is not rounded. Store "
             "0.001 * g * g in float16 before you divide it by 0.001."),
        like(lambda eps: float(updates(eps)[0]), "That is the update of the smallest gradient. "
             "Larger ones have a v of zero, too."),
    ),
    "largest_without_decay": (
        like(lambda decay: 2.0**-25 / decay, "Twice too large. Either the factor 2 is missing: the "
             "term is 2 decay w. Or you let it reach 2^-24, which float16 stores as itself."),
    ),
}  # fmt: skip
