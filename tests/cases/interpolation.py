"""Pictures and sequences in another size."""

from hypothesis import strategies as st

from cases.case import drawn, functional


def resized(shape, mode="nearest", **settings):
    return functional("interpolate", lambda f, x: f.interpolate(x, mode=mode, **settings), shape)


CASES = [
    resized((2, 3, 4), size=7),
    resized((2, 3, 4), scale_factor=2),
    resized((2, 3, 5, 4), size=(3, 9)),
    resized((1, 2, 5, 4), scale_factor=(1.7, 0.6)),
    resized((2, 3, 5, 4), "nearest-exact", size=(3, 9)),
    resized((2, 3, 4), "linear", size=7),
    resized((2, 3, 4), "linear", size=7, align_corners=True),
    resized((2, 3, 5, 4), "bilinear", size=(3, 9)),
    resized((2, 3, 5, 4), "bilinear", scale_factor=2, align_corners=True),
    resized((1, 2, 3, 4), "bilinear", scale_factor=(1.7, 0.6)),
    resized((1, 1, 1, 1), "bilinear", size=(2, 3), align_corners=True),
    resized((0, 2, 4, 4), "bilinear", size=2),
]


@drawn("interpolate")
def draw_interpolate(draw, name):
    mode = draw(st.sampled_from(["nearest", "nearest-exact", "linear", "bilinear"]))
    ndim = {"linear": 1, "bilinear": 2}.get(mode) or draw(st.integers(1, 2))
    sizes = draw(st.tuples(*[st.integers(1, 6)] * ndim))
    settings = {}
    if draw(st.booleans()):
        settings["size"] = draw(st.integers(1, 9) | st.tuples(*[st.integers(1, 9)] * ndim))
    else:
        # None that gives twice the size, though it is not 2: PyTorch's gradient is then not that of
        # its value, for sequences.
        one = draw(st.sampled_from([1, 2, 3, 0.5, 1.5, 0.75, 2.6]))
        factor = max(one, 1 / min(sizes))
        settings["scale_factor"] = draw(st.sampled_from([factor, (factor,) * ndim]))
    if "linear" in mode:
        settings["align_corners"] = draw(st.sampled_from([None, False, True]))
    return resized((*draw(st.sampled_from([(2, 3), (0, 1)])), *sizes), mode, **settings)


# A layer in minifp.nn or torch.nn, and the shape of its input.
LAYERS = {
    "Upsample": (lambda m: m.Upsample(scale_factor=2), (2, 3, 4)),
    "Upsample bilinear": (
        lambda m: m.Upsample((5, 7), mode="bilinear", align_corners=True),
        (2, 3, 4, 6),
    ),
}
