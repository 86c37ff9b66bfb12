"""Shapes: views, stretching, order of axes, joining and cutting."""

from math import prod
from operator import mul

from hypothesis import strategies as st

from cases.case import alike, axis_of, drawn, shapes

CASES = [
    alike("reshape", lambda m, x: x.reshape(3, -1), (2, 3, 2)),
    alike("reshape empty", lambda m, x: x.reshape(2, 0), (0, 4)),
    alike("view", lambda m, x: x.contiguous().view(-1, 2), (2, 3, 2)),
    alike("view_as", lambda m, x, y: x.contiguous().view_as(y) * y, (2, 6), (3, 4)),
    alike("contiguous", lambda m, x: x.transpose(0, 1).contiguous(), (2, 3)),
    alike("ravel", lambda m, x: m.ravel(x.T), (2, 3)),
    alike("flatten", lambda m, x: x.flatten(1), (2, 3, 2)),
    alike("flatten empty", lambda m, x: x.flatten(1), (0, 3, 2)),
    alike("flatten number", lambda m, x: x.flatten(), ()),
    alike("squeeze", lambda m, x: x.squeeze(1), (2, 1, 1)),
    alike("squeeze all", lambda m, x: x.squeeze(), (2, 1, 1)),
    alike("squeeze several", lambda m, x: x.squeeze((0, -1)), (1, 2, 1)),
    alike("unsqueeze", lambda m, x: x.unsqueeze(-1), (2, 3)),
    alike("permute", lambda m, x: x.permute(2, 0, 1) * 1.5, (2, 3, 4)),
    alike("transpose", lambda m, x: x.transpose(0, -1), (2, 3, 4)),
    alike("swapaxes", lambda m, x: m.swapaxes(x, 0, -1), (2, 3, 4)),
    alike("movedim", lambda m, x: m.movedim(x, (0, 1), (-1, 0)), (2, 3, 4)),
    *(alike("T", lambda m, x: x.T.exp(), (2, 3)), alike("mT", lambda m, x: x.mT, (2, 3, 4))),
    *(alike("t", lambda m, x: x.t(), (2, 3)), alike("t of a vector", lambda m, x: m.t(x), (3,))),
    alike("expand", lambda m, x: x.expand(4, -1, 3), (2, 1)),
    alike("expand nothing", lambda m, x: x.expand(0, 3), (1, 3)),
    alike("expand_as", lambda m, x, y: x.expand_as(y) * y, (3, 1), (2, 3, 4)),
    alike("broadcast_to", lambda m, x: m.broadcast_to(x, (2, 3)), (3,)),
    alike("repeat", lambda m, x: x.repeat(2, 1, 3), (2, 3)),
    alike("tile", lambda m, x: m.tile(x, (3,)), (2, 3)),
    alike("cat", lambda m, x, y: m.cat([x, y], 1), (2, 3), (2, 1)),
    alike("cat empty", lambda m, x, y: m.cat([x, y]), (0, 3), (2, 3)),
    alike("cat onto nothing", lambda m, x, y: m.cat([x, y], 1), (0,), (2, 3)),
    alike("concat", lambda m, x, y: m.concat([x, y], dim=-1), (2, 3), (2, 1)),
    alike("concatenate", lambda m, x, y: m.concatenate((x, y)), (2, 3), (1, 3)),
    alike("hstack", lambda m, x, y: m.hstack([x, y]), (2, 3), (2, 1)),
    alike("hstack vectors", lambda m, x, y: m.hstack([x, y]), (2,), ()),
    alike("vstack", lambda m, x, y: m.vstack([x, y]), (2, 3), (3,)),
    alike("narrow", lambda m, x: x.narrow(1, -2, 2), (2, 3)),
    alike("select", lambda m, x: m.select(x, 1, -1), (2, 3, 2)),
    alike("unflatten", lambda m, x: x.unflatten(1, (3, -1)), (2, 6)),
    alike("meshgrid", lambda m, x, y: mul(*m.meshgrid(x, y, indexing="ij")), (2,), (3,)),
    alike("meshgrid xy", lambda m, x, y: mul(*m.meshgrid(x, y, indexing="xy")), (2,), (3,)),
    alike("stack", lambda m, x, y: m.stack([x, y], -1), (2, 3), (2, 3)),
    alike("split", lambda m, x: m.split(x, [1, 2], 1)[1], (2, 3)),
    alike("split pieces", lambda m, x: tuple(m.split(x, 2)), (5, 3)),
    alike("chunk", lambda m, x: x.chunk(2, 0)[0], (5, 3)),
    alike("chunk nothing", lambda m, x: tuple(x.chunk(3)), (0, 2)),
    alike("unbind", lambda m, x: tuple(x.unbind(1)), (2, 3)),
]


def factors(draw, count):
    shape = []
    while count > 1 and draw(st.booleans()):
        divisors = [d for d in range(1, count + 1) if count % d == 0]
        shape.append(draw(st.sampled_from(divisors)))
        count //= shape[-1]
    return draw(st.permutations([*shape, count]))


@drawn("reshape", "view")
def draw_reshape(draw, name):
    shape = draw(shapes())
    count = prod(shape)
    sizes = draw(st.permutations([0, 3])) if count == 0 else factors(draw, count)
    if count and draw(st.booleans()):
        sizes[draw(st.integers(0, len(sizes) - 1))] = -1
    args = draw(st.sampled_from([(tuple(sizes),), tuple(sizes)]))
    if name == "view":
        return alike(name, lambda m, x: x.contiguous().view(*args), shape)
    return alike(name, lambda m, x: x.reshape(*args), shape)


@drawn("view_as", "expand_as")
def draw_as(draw, name):
    if name == "view_as":
        shape = draw(shapes(sizes=st.sampled_from([1, 2, 3])))
        pair = shape, tuple(factors(draw, prod(shape)))
        return alike(name, lambda m, x, y: x.contiguous().view_as(y) * y, *pair)
    other = draw(shapes())
    return alike(name, lambda m, x, y: x.expand_as(y) * y, stretchable(draw, other), other)


@drawn("contiguous", "ravel", "t", "mT", "T")
def draw_plain(draw, name):
    least = {"mT": 2, "T": 2}.get(name, 0)
    shape = draw(shapes(least, {"t": 2, "T": 2}.get(name, 4)))
    if name in ("mT", "T"):
        return alike(name, lambda m, x: getattr(x, name), shape)
    return alike(name, lambda m, x: getattr(x, name)(), shape)


@drawn("flatten")
def draw_flatten(draw, name):
    shape = draw(shapes())
    if not shape:
        return alike(name, lambda m, x: m.flatten(x), shape)
    first, last = sorted(draw(st.tuples(*[st.integers(0, len(shape) - 1)] * 2)))
    last -= len(shape) * draw(st.booleans())
    return alike(name, lambda m, x: m.flatten(x, start_dim=first, end_dim=last), shape)


@drawn("squeeze")
def draw_squeeze(draw, name):
    shape = draw(shapes(1))
    several = st.lists(st.integers(0, len(shape) - 1), unique=True).map(tuple)
    args = draw(st.just(()) | axis_of(shape).map(lambda d: (d,)) | several.map(lambda d: (d,)))
    return alike(name, lambda m, x: m.squeeze(x, *args), shape)


@drawn("unsqueeze")
def draw_unsqueeze(draw, name):
    shape = draw(shapes(0, 3))
    dim = draw(axis_of((*shape, 1)))
    return alike(name, lambda m, x: m.unsqueeze(x, dim), shape)


@drawn("permute", "transpose", "swapaxes", "movedim")
def draw_order(draw, name):
    shape = draw(shapes(1))
    order = draw(st.permutations(range(len(shape))))
    order = [d - len(shape) if draw(st.booleans()) else d for d in order]
    if name == "permute":
        return alike(name, lambda m, x: m.permute(x, order), shape)
    if name != "movedim":
        dims = draw(axis_of(shape)), draw(axis_of(shape))
        return alike(name, lambda m, x: getattr(m, name)(x, *dims), shape)
    to, count = draw(st.permutations(range(len(shape)))), draw(st.integers(0, len(shape)))
    pair = (tuple(order[:count]), tuple(to[:count])) if count != 1 else (order[0], to[0])
    return alike(name, lambda m, x: m.movedim(x, *pair), shape)


def stretchable(draw, shape):
    own = [1 if draw(st.booleans()) else n for n in shape]
    return tuple(own[draw(st.integers(0, len(own))) :])


@drawn("expand", "broadcast_to")
def draw_expand(draw, name):
    full = draw(shapes())
    shape = stretchable(draw, full)
    added = len(full) - len(shape)
    kept = [
        -1 if i >= added and shape[i - added] == n and draw(st.booleans()) else n
        for i, n in enumerate(full)
    ]
    if name == "expand":
        return alike(name, lambda m, x: x.expand(*kept) if kept else x.expand(()), shape)
    return alike(name, lambda m, x: m.broadcast_to(x, full), shape)


@drawn("repeat", "tile")
def draw_repeat(draw, name):
    shape, counts = draw(shapes(0, 3)), st.lists(st.integers(0, 3), max_size=4)
    repeats = draw(counts.filter(lambda r: name == "tile" or len(r) >= len(shape)))
    if name == "tile":
        return alike(name, lambda m, x: m.tile(x, tuple(repeats)), shape)
    return alike(name, lambda m, x: x.repeat(tuple(repeats)), shape)


@drawn("hstack", "vstack")
def draw_stacked(draw, name):
    shape, count = draw(shapes(0, 3)), draw(st.integers(1, 3))
    return alike(name, lambda m, *xs: getattr(m, name)(xs), *[shape] * count)


@drawn("meshgrid")
def draw_grid(draw, name):
    axes = draw(st.lists(shapes(0, 1), min_size=1, max_size=3))
    indexing, packed = draw(st.sampled_from(["ij", "xy"])), draw(st.booleans())
    if packed:
        return alike(name, lambda m, *xs: tuple(m.meshgrid(list(xs), indexing=indexing)), *axes)
    return alike(name, lambda m, *xs: tuple(m.meshgrid(*xs, indexing=indexing)), *axes)


@drawn("narrow", "select")
def draw_slice(draw, name):
    shape = draw(shapes(1, sizes=st.sampled_from([1, 2, 3, 5])))
    dim = draw(axis_of(shape))
    n = shape[dim]
    start = draw(st.integers(-n, n - 1))
    if name == "select":
        return alike(name, lambda m, x: m.select(x, dim, start), shape)
    length = draw(st.integers(0, -start if start < 0 else n - start))
    return alike(name, lambda m, x: m.narrow(x, dim, start, length), shape)


@drawn("unflatten")
def draw_unflatten(draw, name):
    shape = draw(shapes(1, sizes=st.sampled_from([1, 2, 4, 6])))
    dim = draw(axis_of(shape))
    sizes = list(factors(draw, shape[dim]))
    if draw(st.booleans()):
        sizes[draw(st.integers(0, len(sizes) - 1))] = -1
    return alike(name, lambda m, x: m.unflatten(x, dim, tuple(sizes)), shape)


@drawn("cat", "concat", "concatenate", "stack")
def draw_joined(draw, name):
    shape, count = draw(shapes(int(name != "stack"), 3)), draw(st.integers(1, 3))
    if name == "stack":
        dim = draw(axis_of((*shape, 1)))
        return alike(name, lambda m, *xs: m.stack(xs, dim), *[shape] * count)
    dim, parts = draw(axis_of(shape)), [list(shape) for _ in range(count)]
    for part in parts:
        part[dim] = draw(st.sampled_from([0, 1, 2, 3]))
    if any(part == [0] for part in parts):  # PyTorch joins these with anything
        parts = [[n or 1 for n in part] for part in parts]
    return alike(name, lambda m, *xs: getattr(m, name)(xs, dim=dim), *map(tuple, parts))


@drawn("split", "chunk", "unbind")
def draw_pieces(draw, name):
    shape = draw(shapes(1, sizes=st.sampled_from([1, 2, 3, 5])))
    dim = draw(axis_of(shape))
    if name == "unbind":
        return alike(name, lambda m, x: tuple(m.unbind(x, dim)), shape)
    size = draw(st.integers(1, 6))
    if name == "split" and draw(st.booleans()):
        cuts = sorted(draw(st.lists(st.integers(0, shape[dim]), max_size=3)))
        size = [b - a for a, b in zip([0, *cuts], [*cuts, shape[dim]])]
    return alike(name, lambda m, x: tuple(getattr(m, name)(x, size, dim)), shape)


# A layer in minifp.nn or torch.nn, and the shape of its input.
LAYERS = {
    "Flatten": (lambda m: m.Flatten(), (3, 4, 2)),
    "Unflatten": (lambda m: m.Unflatten(1, (2, 3)), (4, 6)),
    "Unflatten from the end": (lambda m: m.Unflatten(-1, (2, -1)), (4, 3, 6)),
}
