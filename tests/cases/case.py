"""What a case is: an operation, how to call it here and in PyTorch, and on which shapes."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minifp as fp
import minifp.nn.functional as F
from minifp.numerics.formats import as_stored

BASIC = [(3, 5), (1,), (), (4, 1, 3), (0, 3)]


@dataclass(frozen=True)
class Case:
    """name: of the operation in `fp` or `F`, and what is special. fn: on tensors of these shapes.

    Its inputs lie between low and high. torch(t, *tensors): the same with PyTorch, `t`. stays_wide:
    whether what it gives is float32 also where less is stored, as coordinates are.
    """

    name: str
    fn: Callable
    shapes: tuple
    low: float = -2.0
    high: float = 2.0
    torch: Callable | None = None
    stays_wide: bool = False

    def arrays(self, seed=0):
        """Random float64 arrays whose values float16 holds exactly."""
        random = np.random.default_rng(seed)
        return [
            random.uniform(self.low, self.high, shape).astype("float16").astype("float64")
            for shape in self.shapes
        ]

    @property
    def operation(self):
        return self.name.split()[0]

    def __str__(self):
        return f"{self.name} {list(self.shapes)}".replace(", ", ",").replace(" ", "-")


def alike(name, fn, *shapes, **limits):
    """A case that PyTorch writes in the same way: fn(module, *tensors)."""
    return Case(name, lambda *a: fn(fp, *a), shapes, torch=fn, **limits)


def functional(name, fn, *shapes, **limits):
    """The same for `F` and torch.nn.functional."""
    return Case(
        name, lambda *a: fn(F, *a), shapes, torch=lambda t, *a: fn(t.nn.functional, *a), **limits
    )


DRAWN = {}  # operation -> a strategy of its Cases

SIZES = st.sampled_from([0, 1, 1, 2, 3, 5])


def drawn(*operations):
    """Let `build(draw, operation)` draw Cases of these operations: shapes and every keyword."""

    def register(build):
        for operation in operations:
            DRAWN[operation] = st.composite(build)(operation)
        return build

    return register


def shapes(least=0, most=4, sizes=SIZES):
    """Any shape with so many dimensions; `sizes` are 0, 1, and small odd and even ones."""
    return st.lists(sizes, min_size=least, max_size=most).map(tuple)


def broadcast_shapes(count):
    return hnp.mutually_broadcastable_shapes(
        num_shapes=count, min_side=0, max_side=4, max_dims=3
    ).map(lambda drawn: drawn.input_shapes)


@st.composite
def axis_of(draw, shape):
    """One axis of a shape, counted from either end."""
    return draw(st.integers(-len(shape), len(shape) - 1))


def every_other(a):
    """As a view of every other element of a larger array, along each axis."""
    gap = as_stored(np.nan, a.dtype) if a.dtype.kind in "fV" else 0
    wide = np.full([2 * n for n in a.shape], gap, a.dtype)
    places = (*(slice(None, None, 2) for _ in a.shape), ...)  # with dots: also an array, of none
    wide[places] = a
    return wide[places]


def backwards(a):
    """As a view that runs backwards in memory along each axis."""
    flip = (*(slice(None, None, -1),) * a.ndim, ...)
    return np.array(a[flip])[flip]


def stretched(a):
    """With its first row everywhere, as a view without memory of its own for the others."""
    return np.broadcast_to(a[:1], a.shape) if a.ndim and len(a) else np.asarray(a)


LAYOUTS = {
    **{"contiguous": np.array, "fortran": lambda a: np.array(a, order="F"), "strided": every_other},
    **{"reversed": backwards, "stretched": stretched},
}


def some_places(shape):
    """The first, the last and a place in the middle."""
    n = int(np.prod(shape))
    return [np.unravel_index(k, shape) for k in sorted({0, n // 2, n - 1})] if n else []
