"""Reading and adding at places: indices of every kind, gather and its kin, rows."""

from math import prod

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minifp as fp
from cases.case import Case, alike, axis_of, drawn, shapes

INDEX = np.array([[0, 3, 3], [1, 3, 0]])


def translated(part, t):
    """A part of an index as PyTorch takes it."""
    if isinstance(part, tuple):
        return tuple(translated(p, t) for p in part)
    return t.from_numpy(part.copy()) if isinstance(part, np.ndarray) else part


def index(description, i, shape=(4, 3, 2)):
    return Case(
        *(f"getitem {description}", lambda x: x[i], (shape,)),
        torch=lambda t, x: x[translated(i, t)],
    )


def with_places(name, call, i, *shapes):
    """fn(module, *tensors, index) here and in PyTorch."""
    return Case(
        *(name, lambda *xs: call(fp, *xs, fp.tensor(i)), shapes),
        torch=lambda t, *xs: call(t, *xs, t.from_numpy(np.ascontiguousarray(i))),
    )


ROWS, PAIRS, PLACES = np.array([0, 3, 3]), np.array([1, 2, 2]), np.array([1, 1, 0])
MASK = np.array([True, False, True, True])

CASES = [
    *(index("int", 1), index("slice", (slice(1, 3), slice(None, None, 2)))),
    *(index("ellipsis", (..., 0)), index("None", (None, 1, slice(None), None))),
    *(index("all", (0, -1, 1)), index("nothing at all", ()), index("mask", MASK)),
    *(index("array", INDEX), index("pairs", (ROWS, PAIRS))),
    *(index("mixed", (slice(None), np.array([2, 2, 0]))), index("negative", np.array([-1, 3, 0]))),
    *(index("nothing", np.zeros(0, int)), index("apart", (ROWS, slice(None), PLACES))),
    *(index("int beside", (1, slice(None), PLACES)), index("true", (..., True))),
    *(index("mask of two", (np.arange(12).reshape(4, 3) % 3 == 0, 1)), index("false", False)),
    *(index("int at the end", (ROWS, slice(None), 0)), index("int between", (ROWS, 1, PLACES))),
    *(index("None first", (None, ROWS, slice(None), PLACES)), index("0-d", (np.array(1), ..., 0))),
    *(index("0-d true", (slice(None), True, PAIRS)), index("true first", (True, 1))),
    index("broadcast", (ROWS[:, None], np.array([[2, 2]]), slice(None, None, 2))),
    with_places("gather", lambda m, x, i: m.gather(x, 1, i), [[0, 0, 2], [1, 2, 1]], (3, 3)),
    with_places("gather nothing", lambda m, x, i: x.gather(0, i), np.zeros((0, 2), int), (3, 2)),
    with_places("take_along_dim", lambda m, x, i: m.take_along_dim(x, i, 1), [[0, 2, 2]], (2, 3)),
    with_places("take_along_dim flat", lambda m, x, i: x.take_along_dim(i), [[0, 5, 5]], (2, 3)),
    with_places("index_select", lambda m, x, i: m.index_select(x, 1, i), ROWS, (2, 4, 3)),
    with_places(
        *("scatter_add", lambda m, x, s, i: m.scatter_add(x, 0, i, s)), *(INDEX, (4, 3), (2, 3))
    ),
    with_places(
        *("scatter", lambda m, x, s, i: m.scatter(x, 0, i, s)), *([[0, 3], [1, 2]], (4, 3), (2, 2))
    ),
    with_places("scatter number", lambda m, x, i: x.scatter(1, i, 0.3), [[0], [1]], (2, 3)),
    Case(  # PyTorch's own gradient of src has the wrong shape
        *("scatter_add part", lambda x, s: x.scatter_add(1, fp.tensor([[1], [1]]), s)),
        ((3, 2), (3, 2)),
    ),
    with_places(
        *("index_add", lambda m, x, s, i: m.index_add(x, 1, i, s, alpha=-1.5)),
        *(ROWS, (2, 4), (2, 3)),
    ),
    alike("repeat_interleave", lambda m, x: m.repeat_interleave(x, 3, 1), (2, 3)),
    alike("repeat_interleave flat", lambda m, x: x.repeat_interleave(2), (2, 3)),
]


@st.composite
def parts_of(draw, shape):
    """An index into a shape: integers, slices, None, arrays of places and masks, one for each axis
    or more, with an ellipsis somewhere."""
    parts, axis = [], 0
    result = draw(hnp.array_shapes(min_dims=1, max_dims=2, max_side=3))
    while axis < len(shape):
        n = shape[axis]
        kinds = ["slice", "None", "mask", "stop"] + ["int", "array", "number"] * (n > 0)
        kind = draw(st.sampled_from(kinds))
        if kind == "stop":
            break
        axis += kind != "None"
        if kind == "slice":
            part = draw(st.slices(n).filter(lambda s: (s.step or 1) > 0))
        elif kind in ("int", "number"):
            part = draw(st.integers(-n, n - 1))
            part = np.array(part) if kind == "number" else part
        elif kind == "array":
            sizes = [draw(st.sampled_from([1, size])) for size in result]
            part = draw(hnp.arrays("int64", tuple(sizes), elements=st.integers(-n, n - 1)))
        elif kind == "mask":
            part = masked(draw, n, result)
        else:
            part = None
        parts.append(part)
    if draw(st.booleans()):
        parts.insert(draw(st.integers(axis == len(shape) and len(parts), len(parts))), ...)
    return tuple(parts)


def masked(draw, n, result):
    """A mask that broadcasts with the arrays: as many are true as they have columns, or one."""
    count = draw(st.sampled_from([1, result[-1]]))
    return np.isin(np.arange(n), draw(st.permutations(range(n)))[: min(count, n)])


@drawn("getitem")
def draw_index(draw, name):
    shape = draw(shapes(1, 4, st.sampled_from([1, 2, 3, 5])))
    kinds = [
        parts_of(shape),
        hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True).filter(goes_up),
        hnp.arrays(bool, shape[: draw(st.integers(1, len(shape)))]),
        hnp.integer_array_indices(shape, result_shape=hnp.array_shapes(max_dims=2, max_side=3)),
        st.booleans(),
    ]
    i = draw(st.one_of(kinds).filter(lambda i: can_be_read(i, shape)))
    return index("", i, shape)


def goes_up(i):
    """Whether no slice runs backwards, which PyTorch refuses."""
    parts = i if isinstance(i, tuple) else (i,)
    return all((p.step or 1) > 0 for p in parts if isinstance(p, slice))


def can_be_read(i, shape):
    try:
        fp.zeros(shape)[i]
    except fp.ShapeError:
        return False
    return True


@drawn("scatter")
def draw_scatter(draw, name):
    """No place twice: which source wins there is PyTorch's secret."""
    shape = draw(shapes(1, 3, st.sampled_from([1, 2, 3, 5])))
    dim, sizes = draw(axis_of(shape)), [draw(st.integers(1, n)) for n in shape]
    order = np.random.default_rng(draw(st.integers(0, 99))).permuted(
        np.indices(shape)[dim], axis=dim
    )
    i = order[tuple(slice(n) for n in sizes)]
    value = draw(st.sampled_from([None, 0.25, -2]))
    if value is None:
        call = lambda m, x, s, i: m.scatter(x, dim, i, s)  # noqa: E731
        return with_places(name, call, i, shape, tuple(sizes))
    by_name = draw(st.booleans())
    settings = {"value": value} if by_name else {}
    args = () if by_name else (value,)
    return with_places(name, lambda m, x, i: m.scatter(x, dim, i, *args, **settings), i, shape)


@drawn("gather", "take_along_dim", "scatter_add")
def draw_gather(draw, name):
    shape = draw(shapes(1, 3, st.sampled_from([1, 2, 3, 5])))
    dim, sizes = draw(axis_of(shape)), [draw(st.integers(0, n)) for n in shape]
    sizes[dim] = draw(st.integers(0, 6))
    if name == "take_along_dim":
        sizes = [draw(st.sampled_from([1, n])) for n in shape]
        sizes[dim] = draw(st.integers(1, 6))
    i = draw(hnp.arrays("int64", tuple(sizes), elements=st.integers(0, shape[dim] - 1)))
    if name == "scatter_add":
        return with_places(
            *(name, lambda m, x, s, i: m.scatter_add(x, dim, i, s)), *(i, shape, tuple(sizes))
        )
    return with_places(name, lambda m, x, i: getattr(m, name)(*ordered(name, x, dim, i)), i, shape)


def ordered(name, x, dim, i):
    """gather has the index last, take_along_dim the axis."""
    return (x, dim, i) if name == "gather" else (x, i, dim)


@drawn("index_select", "index_add")
def draw_rows(draw, name):
    shape = draw(shapes(1, 3, st.sampled_from([1, 2, 3, 5])))
    dim, count = draw(axis_of(shape)), draw(st.integers(0, 5))
    i = draw(hnp.arrays("int64", count, elements=st.integers(0, shape[dim] - 1)))
    if name == "index_select":
        return with_places(name, lambda m, x, i: m.index_select(x, dim, i), i, shape)
    source, alpha = list(shape), draw(st.sampled_from([1, -2, 0.5]))
    source[dim] = count
    return with_places(
        *(name, lambda m, x, s, i: m.index_add(x, dim, i, s, alpha=alpha)),
        *(i, shape, tuple(source)),
    )


@drawn("repeat_interleave")
def draw_repeats(draw, name):
    shape = draw(shapes(1, 3, st.sampled_from([1, 2, 3, 5])))
    dim = draw(st.none() | axis_of(shape))
    n = prod(shape) if dim is None else shape[dim]
    each = draw(st.integers(0, 3) | hnp.arrays("int64", n, elements=st.integers(0, 3)))
    if isinstance(each, int):
        return alike(name, lambda m, x: m.repeat_interleave(x, each, dim), shape)
    return with_places(name, lambda m, x, i: m.repeat_interleave(x, i, dim), each, shape)
