"""Padding in every mode."""

from hypothesis import strategies as st

from cases.case import drawn, functional, shapes

MODES = ("reflect", "replicate", "circular")

CASES = [
    functional("pad", lambda f, x: f.pad(x, (1, 2)), (2, 3)),
    functional("pad value", lambda f, x: f.pad(x, (1, 0, 0, 2), value=1.5), (2, 3)),
    functional("pad cut", lambda f, x: f.pad(x, (-1, 2, 1, -1)), (2, 3)),
    *(functional(f"pad {m}", lambda f, x, m=m: f.pad(x, (2, 1), m), (1, 2, 3)) for m in MODES),
    *(
        functional(f"pad {m}", lambda f, x, m=m: f.pad(x, (1, 1, 0, 2), m), (2, 1, 3, 4))
        for m in MODES
    ),
]


@drawn("pad")
def draw_padded(draw, name):
    mode = draw(st.sampled_from(["constant", *MODES]))
    if mode == "constant":
        shape = draw(shapes(1, sizes=st.sampled_from([1, 2, 3, 5])))
        value = draw(st.sampled_from([None, 0.0, -1.5]))
        count, widths = draw(st.integers(1, len(shape))), []
        for n in shape[::-1][:count]:
            before = draw(st.integers(-n, 3))
            widths += [before, draw(st.integers(-n - min(before, 0), 3))]
        return functional(name, lambda f, x: f.pad(x, widths, value=value), shape)
    count = draw(st.integers(1, 3))
    shape = draw(shapes(count + 1, count + 2, st.sampled_from([1, 2, 3, 4])))
    most = {"reflect": -1, "replicate": 2, "circular": 0}[mode]
    widths = [draw(st.integers(0, n + most)) for n in shape[::-1][:count] for _ in range(2)]
    return functional(name, lambda f, x: f.pad(x, tuple(widths), mode=mode), shape)


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
}
