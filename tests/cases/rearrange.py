"""The same numbers in other places: flips, rolls, diagonals, triangles, pixels."""

from math import prod

from hypothesis import strategies as st

from cases.case import alike, axis_of, drawn, functional, shapes

CASES = [
    alike("flip", lambda m, x: m.flip(x, (0, -1)), (2, 3, 4)),
    alike("flip", lambda m, x: x.flip(1), (2, 3)),
    alike("roll", lambda m, x: m.roll(x, (1, -2), (0, 1)), (2, 3)),
    alike("roll flat", lambda m, x: x.roll(4), (2, 3)),
    alike("diagonal", lambda m, x: m.diagonal(x, 1), (3, 4)),
    *(alike("diag", lambda m, x: m.diag(x, -1), s) for s in ((3,), (3, 4))),
    alike("trace", lambda m, x: m.trace(x), (3, 4)),
    alike("take", lambda m, x: x.take(m.tensor([[0, 5], [7, -1]])), (2, 4)),
    alike("diagonal of matrices", lambda m, x: x.diagonal(-1, 2, 0), (3, 2, 4)),
    alike("diagonal beyond", lambda m, x: x.diagonal(9), (3, 4)),
    alike("tril", lambda m, x: m.tril(x, -1), (3, 4)),
    alike("triu", lambda m, x: x.triu(1), (2, 3, 4)),
    functional("pixel_shuffle", lambda f, x: f.pixel_shuffle(x, 2), (2, 8, 1, 3)),
    functional("pixel_unshuffle", lambda f, x: f.pixel_unshuffle(x, 2), (3, 2, 4)),
]


@drawn("flip", "roll")
def draw_moved(draw, name):
    shape = draw(shapes(1))
    several = st.lists(st.integers(0, len(shape) - 1), unique=True).map(tuple)
    dims = draw(several | axis_of(shape))
    if name == "flip":
        return alike(name, lambda m, x: x.flip(dims), shape)
    count = len(dims) if isinstance(dims, tuple) else 1
    shifts = tuple(draw(st.integers(-7, 7)) for _ in range(count))
    if not shifts or draw(st.booleans()):
        shift = draw(st.integers(-7, 7))
        return alike(name, lambda m, x: m.roll(x, shift), shape)
    return alike(name, lambda m, x: m.roll(x, shifts, dims), shape)


@drawn("diag", "trace", "take")
def draw_of_matrix(draw, name):
    shape = draw(shapes(1 if name == "diag" else 2, 2, st.sampled_from([1, 2, 3, 5])))
    offset, places = draw(st.integers(-4, 4)), st.integers(-prod(shape), prod(shape) - 1)
    indices = draw(st.lists(places, min_size=1))
    calls = {
        "diag": lambda m, x: m.diag(x, offset), "trace": lambda m, x: x.trace(),
        "take": lambda m, x: m.take(x, m.tensor(indices)),
    }  # fmt: skip
    return alike(name, calls[name], shape)


@drawn("diagonal", "tril", "triu")
def draw_diagonal(draw, name):
    shape, offset = draw(shapes(2)), draw(st.integers(-4, 4))
    if name != "diagonal":
        return alike(name, lambda m, x: getattr(m, name)(x, diagonal=offset), shape)
    axes = draw(st.permutations(range(len(shape))))[:2]
    axes = [d - len(shape) if draw(st.booleans()) else d for d in axes]
    return alike(name, lambda m, x: m.diagonal(x, offset, dim1=axes[0], dim2=axes[1]), shape)


@drawn("pixel_shuffle", "pixel_unshuffle")
def draw_pixels(draw, name):
    *lead, c, h, w = draw(shapes(3, 5, st.sampled_from([1, 2, 3])))
    r = draw(st.integers(1, 3))
    shape = (*lead, c * r * r, h, w) if name == "pixel_shuffle" else (*lead, c, h * r, w * r)
    return functional(name, lambda f, x: getattr(f, name)(x, r), shape)


# A layer in minifp.nn or torch.nn, and the shape of its input.
LAYERS = {
    "PixelShuffle": (lambda m: m.PixelShuffle(2), (2, 8, 1, 3)),
    "PixelUnshuffle": (lambda m: m.PixelUnshuffle(2), (3, 2, 4)),
}
