"""Calls of the kernels of a GPU at the shapes that their blocks are made for.

Blocks have borders and tails, rows are shared by one thread, a warp or a block, sums have parts,
and packs do not divide everything: shapes of that kind, which tests/cases has no need of. Each
function here yields the calls of some kernels, and is sent the results of each, once checked.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from sampling import number_of

BOTH = ("float16", "float32")
SINGLE = ("float32", "float32")
SHAPES: dict[str, tuple[Callable, tuple]] = {}  # by name: what yields calls, and its arguments


@dataclass
class Call:
    """A call of the kernel of this name: its results have the formats `to`."""

    name: str
    args: tuple
    to: tuple
    params: dict


def call(name, *args, to, **params):
    return Call(name, args, to if isinstance(to, tuple) else (to,), params)


def shapes(*kinds):
    """Register what yields calls, once for each kind, which is its first argument."""

    def register(function):
        for kind in kinds or [()]:
            name = function.__name__ if kind == () else f"{function.__name__} {kind}"
            SHAPES[name] = function, (() if kind == () else (kind,))
        return function

    return register


class Numbers:
    """Random numbers, and of the rows of a table what is to be called.

    seed: what decides it; None for all of it.
    """

    def __init__(self, seed):
        self.random, self.seed = np.random.default_rng(0), seed

    def normal(self, shape, dtype="float16", scale=1.0, shift=0.0):
        return np.asarray(self.random.normal(size=shape) * scale + shift).astype(dtype)

    def integers(self, low, high, shape):
        return np.asarray(self.random.integers(low, high, shape))

    def rows(self, rows, *settings):
        """Each row with a format and one of each of the settings; or with all of them."""
        choices = [*product(BOTH, *settings)]
        for row in rows:
            if self.seed is None:
                yield from ((*row, *choice) for choice in choices)
            else:
                yield *row, *choices[number_of(self.seed, repr(row)) % len(choices)]


ROWS = [
    *((9,), (40, 16), (5, 10), (300, 8), (65, 64), (33, 100), (9, 1024), (3, 1500), (2, 9000)),
    *((1, 20000), (40000, 2), (3, 7, 5), (2, 100, 37), (2, 600, 40), (3, 50, 8), (70000,)),
]
# Columns; columns of short planes; packs; parts of a channel.
CHANNELS = [
    *((300, 5), (700, 37), (2, 3, 4), (9, 40, 4, 4), (33, 3, 5, 3), (11, 6, 8, 8), (7, 5, 7, 7)),
    *((2, 2, 96, 64), (3, 2, 75, 77), (1, 3, 90, 100), (40, 2, 1, 33)),
]
# Axes that are reduced: inner, outer, in the middle, apart, all, and long ones.
AXES = [
    *(((40, 300), (1,)), ((300, 40), (0,)), ((3, 50, 7), (1,)), ((3, 50, 7), (0, 2))),
    *(((3, 50, 7), (0, 1, 2)), ((2, 40000), (1,)), ((70000,), (0,))),
]


@shapes("softmax", "log_softmax", "softmin")
def softmax(kind, numbers):
    for n, behind in product((5, 40, 2000), ((), (3,))):
        x = np.zeros((6, n, *behind), "float16")
        x[0, 1], x[1, 1], x[2, 1:], x[3], x[4, 3] = np.nan, np.inf, -np.inf, -np.inf, 65504
        x[5, 0], x[5, 1:] = -65504, -np.inf
        yield call(f"softmax.{kind}_forward", x, axis=1, to="float16")
    rising = np.linspace(-60000, 60000, 5000).astype("float16")  # summed from its largest
    for x in (rising, np.linspace(0, 3, 5000).astype("float32")):
        yield call(f"softmax.{kind}_forward", x.reshape(1, -1), axis=1, to="float32")


@shapes()
def attention(numbers):
    for keys in (5, 70, 1200):
        s = numbers.normal((2, 4, keys))
        s[0, 0], s[0, 1, 1:], s[1, 2, 0], s[1, 3] = -np.inf, -np.inf, np.nan, -np.inf
        s[1, 3, 2] = np.nan
        yield call("attention.attention_probabilities", s, to="float16")


POWERS = {f"norm {p}": ("norm.norm", {"p": p}) for p in (0.0, 1.0, 2.0, 3.0, 0.5, -2.0)}
POWERS |= {f"norm {p}": ("norm.norm", {"p": p}) for p in (np.inf, -np.inf)}
REDUCED = {"logsumexp": ("norm.logsumexp", {}), "var": ("variance.var", {"correction": 1}),
           "std": ("variance.std", {"correction": 1})}  # fmt: skip


@shapes(*POWERS, *REDUCED)
def reduced(kind, numbers):
    name, given = (POWERS | REDUCED)[kind]
    shift = 3 if name.startswith("variance") else 0
    for shape, axes, dtype in numbers.rows([*AXES, ((9,), (0,)), ((150000,), (0,))]):
        x, kept = numbers.normal(shape, dtype, 1, shift), {*range(len(shape))} - {*axes}
        dy = numbers.normal([shape[i] for i in sorted(kept)], dtype)
        yield call(f"{name}_forward", x, axes=axes, keepdims=False, to="float32", **given)
        yield call(f"{name}_dx", dy, x, axes=axes, to=dtype, **given)
    x = np.ones((10, 40), "float16")
    x[0], x[1, 3], x[2, 3], x[3, 2], x[4] = 0, np.nan, np.inf, 0, 65504
    x[5], x[6, ::2], x[7, 1], x[7, 2], x[8], x[9, 3] = 6e-8, -1, np.nan, np.inf, -np.inf, -np.inf
    for each in (x, np.stack([x, x], 2)):
        yield call(f"{name}_forward", each, axes=(1,), keepdims=False, to="float32", **given)
    yield call(f"{name}_dx", np.ones(10, "float16"), x, axes=(1,), to="float32", **given)


@shapes()
def running_sum(numbers):
    x = np.ones((1, 600), "float16")
    x[0, 300] = np.inf
    (y,) = yield call("cumulative.cumsum_forward", x, axis=1, to="float16")
    assert np.array_equal(y[0, :300], np.arange(1, 301)) and np.isposinf(y[0, 300:]).all()


@shapes()
def prod(_):
    for behind in ((), (3,)):  # no product on the way overflows
        x = np.ones((2, 600, *behind), "float32")
        x[0, :300], x[0, 300:], x[1, ::2], x[1, 1::2] = 1e20, 1e-20, 1e-30, 1e30
        (y,) = yield call("cumulative.prod_forward", x, axes=(1,), keepdims=True, to="float32")
        yield call("cumulative.prod_dx", np.ones_like(y), x, axes=(1,), to="float32")
    x = np.array(
        [[2, np.inf, 3, 0, 5], [2, np.nan, 0, 3, 1], [0, 0, 2, 3, 4], [0, 2, 3, 0, 4],
         [np.inf, -1, 2, np.inf, 1], [65504, 65504, 6e-8, 6e-8, 1], [1, 2, 0, np.inf, 3]],
        "float16",
    )  # fmt: skip
    yield call("cumulative.prod_forward", x, axes=(1,), keepdims=False, to="float32")
    yield call("cumulative.prod_dx", np.ones(7, "float16"), x, axes=(1,), to="float32")
    yield call("cumulative.cumprod_forward", x, axis=1, to="float32")
    yield call("cumulative.cumprod_dx", np.ones_like(x), x, axis=1, to="float32")
    for shape, axes in (((3, 0), (1,)), ((0, 3), (1,)), ((), ())):
        x = np.full(shape, 2.5, "float16")
        yield call("cumulative.prod_forward", x, axes=axes, keepdims=False, to="float16")


ONE = np.array(1.5, "float32")


@shapes()
def cross_entropy(numbers):
    z, t = numbers.normal((8, 16), "float16", 3), numbers.integers(0, 16, 8)
    z[0], z[1, 3], z[2, 5] = -np.inf, np.nan, np.inf
    given = {"ignore_index": -100, "smoothing": 0.0, "to": "float16"}
    yield call("cross_entropy.cross_entropy_each", z, t, None, **given)
    yield call("cross_entropy.cross_entropy_dz", ONE, z, t, None, reduction="sum", **given)


@shapes()
def ctc_loss(numbers):
    """More states than the threads of a block; one sequence that fits, one that does not, one that
    is short, one without labels."""
    many, name = 130, "ctc_loss.ctc_loss"
    for zero_infinity, dtype in numbers.rows(zip((False, True))):
        x = numbers.normal((140, 4, 200), dtype, 1, -1.5)
        labels = numbers.integers(1, 200, (4, many))
        labels[1, :60] = 7  # labels that come again
        steps, lengths = np.array([140, 100, 90, 5]), np.array([many, 100, 40, 0])
        for n, count in enumerate(lengths.tolist()):
            labels[n, count:] = 0
        args, given = (x, labels, steps, lengths), {"blank": 0, "zero_infinity": zero_infinity}
        (each,) = yield call(f"{name}_each", *args, to=dtype, **given)
        assert np.isposinf(np.float32(each[1])) != zero_infinity
        for reduction, dl in (("none", np.float32([1, 2, 3, 4])), ("mean", ONE)):
            given["reduction"] = reduction
            yield call(f"{name}_dx", dl, *args, to=dtype, **given)
        yield call(f"{name}_total", *args, to="float32", **given)
