"""Random sizes, and arrays of a format in random memory layouts, for one call of a kernel."""

import numpy as np

from minifp.numerics.formats import float16, float32

SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 6e-8, 65504.0])
SIZES = [1, 2, 3, 5, 8, 17, 33]
# More than one chunk of each kernel; lines longer than a block; channels of 1, few and many.
LARGE = {
    "channels": [(70, 40, 3), (5, 12, 1300), (40, 300), (66, 6, 20, 20)],
    "rows": [(300, 65), (3, 5000), (2000, 10), (33, 40, 16)],
}


class Draw:
    """What one call is drawn from. large: enough for several threads, where a kernel has rows."""

    def __init__(self, seed, dtype=float16, special=False, large=False):
        self.random, self.large = np.random.default_rng(seed), large
        self.dtype, self.special = np.dtype(dtype), special

    def size(self, low, high):
        return int(self.random.integers(low, high + 1))

    def choice(self, *choices):
        return choices[self.size(0, len(choices) - 1)]

    def shape(self, kind, least=1):
        """(N, C, ...) for "channels", (..., n) for "rows"."""
        if self.large:
            return self.choice(*LARGE[kind])
        return tuple(int(n) for n in self.random.choice(SIZES, self.size(least, 4)))

    def array(self, *shape, dtype=None, low=None):
        """Numbers around 0, of which some are alike, with special ones among them if they are to
        be; or numbers from `low` to 2."""
        if low is not None:
            return self.laid(self.random.uniform(low, 2, shape).astype(dtype or self.dtype))
        x = np.asarray(self.random.normal(0, 1, shape).round(self.choice(1, 3)))
        if self.special and x.size:
            where = self.random.integers(0, x.size, 1 + x.size // 50)
            x.reshape(-1)[where] = self.random.choice(SPECIAL, where.size)
        return self.laid(x.astype(dtype or self.dtype))

    def parameter(self, n):
        """Weights of a layer in either format, or None."""
        return self.choice(None, self.array(n, dtype=float32), self.array(n, dtype=float16))

    def laid(self, x):
        """x in a memory layout that is not always C order."""
        if not np.ndim(x):
            return np.asarray(x)
        kind = self.choice("C", "C", "Fortran", "backwards", "every other", "moved", "frozen")
        if kind == "Fortran":
            return np.asfortranarray(x)
        if kind == "backwards":
            return np.ascontiguousarray(x[..., ::-1])[..., ::-1]
        if kind == "every other":
            return np.repeat(x, 2, -1)[..., ::2]
        if kind == "moved" and x.ndim > 1:
            return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
        if kind == "frozen":
            x.flags.writeable = False
        return x

    def indices(self, n, *shape):
        """Places below n, some of them often; of any integer type and layout."""
        i = self.random.integers(0, n, shape) // self.choice(1, 2, n)
        return self.laid(i.astype(self.choice("int64", "int32", "uint8" if n < 256 else "int64")))
