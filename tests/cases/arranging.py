"""The same numbers in other places: flips, triangles, padding, windows."""

from hypothesis import strategies as st

from cases.case import alike, axis_of, drawn, functional, shapes

MODES = ("reflect", "replicate", "circular")

CASES = [
    alike("flip", lambda m, x: m.flip(x, (0, -1)), (2, 3, 4)),
    alike("flip", lambda m, x: x.flip(1), (2, 3)),
    alike("roll", lambda m, x: m.roll(x, (1, -2), (0, 1)), (2, 3)),
    alike("roll flat", lambda m, x: x.roll(4), (2, 3)),
    alike("diagonal", lambda m, x: m.diagonal(x, 1), (3, 4)),
    alike("diagonal of matrices", lambda m, x: x.diagonal(-1, 2, 0), (3, 2, 4)),
    alike("diagonal beyond", lambda m, x: x.diagonal(9), (3, 4)),
    alike("tril", lambda m, x: m.tril(x, -1), (3, 4)),
    alike("triu", lambda m, x: x.triu(1), (2, 3, 4)),
    functional("pad", lambda f, x: f.pad(x, (1, 2)), (2, 3)),
    functional("pad value", lambda f, x: f.pad(x, (1, 0, 0, 2), value=1.5), (2, 3)),
    functional("pad cut", lambda f, x: f.pad(x, (-1, 2, 1, -1)), (2, 3)),
    *(functional(f"pad {m}", lambda f, x, m=m: f.pad(x, (2, 1), m), (1, 2, 3)) for m in MODES),
    *(
        functional(f"pad {m}", lambda f, x, m=m: f.pad(x, (1, 1, 0, 2), m), (2, 1, 3, 4))
        for m in MODES
    ),
    functional("pixel_shuffle", lambda f, x: f.pixel_shuffle(x, 2), (2, 8, 1, 3)),
    functional("pixel_unshuffle", lambda f, x: f.pixel_unshuffle(x, 2), (3, 2, 4)),
    functional("unfold", lambda f, x: f.unfold(x, 2), (2, 3, 4, 3)),
    functional("unfold strided", lambda f, x: f.unfold(x, (2, 3), 2, (1, 2), (2, 1)), (1, 2, 5, 4)),
    functional("unfold one", lambda f, x: f.unfold(x, 3, 1, 1), (2, 3, 3)),
    functional("fold", lambda f, x: f.fold(x, (4, 3), 2), (2, 8, 6)),
    functional("fold padded", lambda f, x: f.fold(x, 4, (3, 2), 1, 1, (2, 1)), (6, 10)),
]


# ---- drawn --------------------------------------------------------------------------------------


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


@drawn("diagonal", "tril", "triu")
def draw_diagonal(draw, name):
    shape, offset = draw(shapes(2)), draw(st.integers(-4, 4))
    if name != "diagonal":
        return alike(name, lambda m, x: getattr(m, name)(x, diagonal=offset), shape)
    axes = draw(st.permutations(range(len(shape))))[:2]
    axes = [d - len(shape) if draw(st.booleans()) else d for d in axes]
    return alike(name, lambda m, x: m.diagonal(x, offset, dim1=axes[0], dim2=axes[1]), shape)


@drawn("pad")
def draw_padded(draw, name):
    mode = draw(st.sampled_from(["constant", *MODES]))
    if mode == "constant":
        shape = draw(shapes(1, sizes=st.sampled_from([1, 2, 3, 5])))
        value = draw(st.sampled_from([None, 0.0, -1.5]))
        count = draw(st.integers(1, len(shape)))
        widths = []
        for n in shape[::-1][:count]:
            before = draw(st.integers(-n, 3))
            widths += [before, draw(st.integers(-n - min(before, 0), 3))]
        return functional(name, lambda f, x: f.pad(x, widths, value=value), shape)
    count = draw(st.integers(1, 3))
    sizes = st.sampled_from([1, 2, 3, 4])
    shape = draw(shapes(count + 1, count + 2, sizes))
    most = {"reflect": -1, "replicate": 2, "circular": 0}[mode]
    widths = [draw(st.integers(0, n + most)) for n in shape[::-1][:count] for _ in range(2)]
    return functional(name, lambda f, x: f.pad(x, tuple(widths), mode=mode), shape)


@drawn("pixel_shuffle", "pixel_unshuffle")
def draw_pixels(draw, name):
    *lead, c, h, w = draw(shapes(3, 5, st.sampled_from([1, 2, 3])))
    r = draw(st.integers(1, 3))
    shape = (*lead, c * r * r, h, w) if name == "pixel_shuffle" else (*lead, c, h * r, w * r)
    return functional(name, lambda f, x: getattr(f, name)(x, r), shape)


@drawn("unfold", "fold")
def draw_windows(draw, name):
    pair = st.tuples(*[st.integers(1, 3)] * 2)
    settings = {"kernel_size": draw(pair), "dilation": draw(pair), "stride": draw(pair)}
    settings["padding"] = draw(st.tuples(*[st.integers(0, 2)] * 2))
    reach = [d * (k - 1) + 1 for k, d in zip(settings["kernel_size"], settings["dilation"])]
    least = [max(r - 2 * p, 1) for r, p in zip(reach, settings["padding"])]
    size = [n + draw(st.integers(0, 3)) for n in least]
    steps = zip(size, settings["padding"], reach, settings["stride"])
    counts = [(n + 2 * p - r) // s + 1 for n, p, r, s in steps]
    lead, channels = draw(st.sampled_from([(), (1,), (2,)])), draw(st.integers(1, 2))
    if draw(st.booleans()):  # an integer stands for a pair of it
        settings = {k: v[0] if v[0] == v[1] else v for k, v in settings.items()}
    if name == "unfold":
        return functional(name, lambda f, x: f.unfold(x, **settings), (*lead, channels, *size))
    columns = (*lead, channels * settings_area(settings), counts[0] * counts[1])
    return functional(name, lambda f, x: f.fold(x, tuple(size), **settings), columns)


def settings_area(settings):
    """How many places a window has."""
    size = settings["kernel_size"]
    return size * size if isinstance(size, int) else size[0] * size[1]


# A layer in minifp.nn or torch.nn, and the shape of its input.
LAYERS = {
    **{
        f"{kind}Pad{n}d": (
            lambda m, name=f"{kind}Pad{n}d", widths=widths: getattr(m, name)(widths),
            (2, 3, 4, 3)[: n + 2],
        )
        for kind in ("Zero", "Reflection", "Replication", "Circular")
        for n, widths in ((1, (2, 1)), (2, (1, 0, 2, 1)))
    },
    "ZeroPad2d that cuts": (lambda m: m.ZeroPad2d((-1, 2, 1, -1)), (3, 4, 3)),
    "ReflectionPad2d everywhere": (lambda m: m.ReflectionPad2d(2), (3, 4, 3)),
    "ConstantPad1d": (lambda m: m.ConstantPad1d(2, 0.5), (2, 3)),
    "ConstantPad2d": (lambda m: m.ConstantPad2d((1, 0, 0, 2), -1.0), (2, 3, 2)),
    "PixelShuffle": (lambda m: m.PixelShuffle(2), (2, 8, 1, 3)),
    "PixelUnshuffle": (lambda m: m.PixelUnshuffle(2), (3, 2, 4)),
    "Unfold": (lambda m: m.Unfold((2, 3), 2, (1, 2), (2, 1)), (1, 2, 5, 4)),
    "Fold": (lambda m: m.Fold((4, 3), 2), (2, 8, 6)),
}
