"""Of lessons 8 and 9."""

import math

import numpy as np

from minifp.teach.mistake import Mistakes, Said


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


MISTAKES: dict[str, Mistakes] = {
    "sticks_at": {
        "2048 x": lambda x: 2048 * x,
        "65536": lambda x: power_from(2048 * x),
        "ones": lambda x: 2048.0,
    },
    "chunked_sum": {
        "by NumPy": by_numpy,
        "float16 throughout": lambda x, size: np.float32(np.cumsum(sums_of(x, size))[-1]),
        "float32 throughout": lambda x, size: x.astype(np.float32).sum(),
        "last chunk": lambda x, size: np.float32(
            np.cumsum(sums_of(x[: max(len(x) // size, 1) * size], size).astype(np.float32))[-1]
        ),
        "float16 result": Said("^.*it is float16"),
    },
    "mma": {
        "products": lambda A, B, C: multiplied(A, B, C, products=np.float16),
        "sums": lambda A, B, C: multiplied(A, B, C, sums=np.float16),
        "C last": lambda A, B, C: C + multiplied(A, B, np.zeros_like(C)),
        "float16 result": Said("it is float16"),
    },
    "breaking_amplitude": {
        "n c^2": lambda n: power_from(math.sqrt(65520 / n)),
        "c^2": lambda n: 256.0,
    },
    "normalized": {
        "float16 throughout": normal(np.float16),
        "squares": by_squares,
        "no eps": normal(eps=0),
        "ddof": normal(ddof=1),
    },
    "policy": {
        "overflow": Said("as (float16|widest): in float16 .* overflow"),
        "error": Said(r"as (float16|widest): in float16 its error is up to (?![01]\.\d+ times)"),
        "no product": Said("as (float16|float32): .* multiplies 0 times"),
        "many products": Said("as (float32|widest): "),
    },
    "gradient_to_use": {
        "clips first": lambda g, S, w, decay, most: (
            single(clip(g.astype(np.float32), most), S) + term(w, decay)
        ),
        "decay divided": lambda g, S, w, decay, most: clip(
            single(g.astype(np.float32) + term(w, decay), S), most
        ),
        "decay after": lambda g, S, w, decay, most: clip(single(g, S), most) + term(w, decay),
        "divided in float16": used(unscale=half),
        "decay in float16": used(term=narrow),
        "longer": used(longer=True),
    },
    "largest_update": {
        "1 / eps": lambda eps: 1 / eps,
        "v not rounded": lambda eps: float(updates(eps, np.float64).max()),
        "smallest gradient": lambda eps: float(updates(eps)[0]),
    },
    "largest_without_decay": {"twice": lambda decay: 2.0**-25 / decay},
}
