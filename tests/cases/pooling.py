"""Pooling, and pictures in other sizes."""

from hypothesis import strategies as st

from cases.case import drawn, functional


def pool(name, shape, *args, **settings):
    return functional(name, lambda f, x: getattr(f, name)(x, *args, **settings), shape)


CASES = [
    *(pool("max_pool1d", (2, 3, 7), 2), pool("max_pool1d", (3, 9), 3, 1, 1, dilation=2)),
    *(pool("max_pool1d", (2, 1, 5), 2, 3, ceil_mode=True), pool("max_pool2d", (2, 3, 6, 7), 2)),
    *(pool("max_pool2d", (2, 3, 6, 7), 3, 2, 1), pool("max_pool2d", (1, 1, 5, 5), (2, 3), (1, 2))),
    pool("max_pool2d", (0, 2, 4, 4), 2),
    pool("max_pool2d", (3, 8, 9), (3, 2), 1, (1, 0), (2, 3)),
    pool("max_pool2d", (2, 1, 5, 6), 3, 2, 1, ceil_mode=True),
    *(pool("max_pool2d", (2, 3, 4, 5), (4, 5)), pool("max_pool2d", (2, 1, 5, 4), 4, 2, 2, 2)),
    pool("avg_pool1d", (2, 3, 7), 2),
    pool("avg_pool1d", (3, 9), 4, 1, 2, count_include_pad=False),
    *(pool("avg_pool1d", (2, 1, 6), 3, 2, 1, ceil_mode=True), pool("avg_pool2d", (2, 3, 6, 7), 2)),
    *(pool("avg_pool2d", (2, 3, 6, 7), 3, 2, 1), pool("avg_pool2d", (1, 2, 4, 4), (1, 4), 1)),
    pool("avg_pool2d", (0, 2, 4, 4), 2),
    pool("avg_pool2d", (3, 5, 6), 3, 2, 1, ceil_mode=True, count_include_pad=False),
    pool("avg_pool2d", (2, 1, 5, 5), 2, 1, divisor_override=3),
    *(pool("avg_pool2d", (2, 3, 4, 5), (4, 5)), pool("avg_pool2d", (2, 1, 5, 4), 4, 2, 2)),
    *(
        pool(f"adaptive_{kind}_pool{ndim}d", *arguments)
        for kind in ("max", "avg")
        for ndim, *arguments in (
            *((1, (2, 3, 7), 3), (1, (3, 4), 7), (1, (0, 2, 6), 2), (1, (2, 1, 1), 1)),
            *((2, (2, 3, 6, 5), 1), (2, (2, 1, 7, 6), (3, 2)), (2, (3, 5, 4), (None, 3))),
            *((2, (1, 2, 3, 2), (5, 3)),),
        )
    ),
]


def one_or_each(draw, ndim, low, high):
    """A number for all axes, or one for each."""
    each = draw(st.tuples(*[st.integers(low, high)] * ndim))
    return draw(st.sampled_from([each[0], each]))


def as_each(value, ndim):
    return (value,) * ndim if isinstance(value, int) else value


@drawn("max_pool1d", "max_pool2d", "avg_pool1d", "avg_pool2d")
def draw_pool(draw, name):
    ndim = int(name[-2])
    size = one_or_each(draw, ndim, 1, 4)
    most = [k // 2 for k in as_each(size, ndim)]
    padding = tuple(draw(st.integers(0, m)) for m in most)
    settings = {"padding": padding, "ceil_mode": draw(st.booleans())}
    settings["stride"] = draw(st.sampled_from([None, one_or_each(draw, ndim, 1, 5)]))
    dilation = (1,) * ndim
    if name[:3] == "max":
        settings["dilation"] = one_or_each(draw, ndim, 1, 3)
        dilation = as_each(settings["dilation"], ndim)
    else:
        settings["count_include_pad"] = draw(st.booleans())
        if ndim == 2:
            settings["divisor_override"] = draw(st.sampled_from([None, 1, 3, -2]))
    # A place inside each window, which PyTorch does not check: see test_pooling.py.
    lengths = [d * (k - 1) + 1 for d, k in zip(dilation, as_each(size, ndim))]
    sizes = [n + draw(st.integers(0, 4)) for n in lengths]
    lead = draw(st.sampled_from([(2,), (2, 3), (0, 2), (1, 1)]))
    return pool(name, (*lead, *sizes), size, **settings)


@drawn("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_avg_pool1d", "adaptive_avg_pool2d")
def draw_adaptive(draw, name):
    ndim = int(name[-2])
    size = draw(st.sampled_from([draw(st.integers(1, 7)), (draw(st.integers(1, 5)),) * ndim]))
    if ndim == 2:
        kept = (draw(st.sampled_from([None, 1, 3])), draw(st.integers(1, 6)))
        size = draw(st.sampled_from([size, kept]))
    lead = draw(st.sampled_from([(2,), (2, 3), (0, 2), (1, 1)]))
    return pool(name, (*lead, *(draw(st.integers(1, 7)) for _ in range(ndim))), size)


# A layer in minifp.nn or torch.nn, and the shape of its input.
LAYERS = {
    "MaxPool1d": (lambda m: m.MaxPool1d(3, 2, 1), (2, 3, 7)),
    "MaxPool2d": (lambda m: m.MaxPool2d(3, 2, 1), (2, 3, 7, 6)),
    "MaxPool2d dilated": (lambda m: m.MaxPool2d(2, 1, 1, 2, ceil_mode=True), (3, 7, 6)),
    "AvgPool1d": (lambda m: m.AvgPool1d(2, 1, 1, True, False), (2, 3, 7)),
    "AvgPool2d": (lambda m: m.AvgPool2d(2), (2, 3, 7, 6)),
    "AvgPool2d divided": (lambda m: m.AvgPool2d(3, 2, 1, True, False, 5), (2, 3, 6, 6)),
    "AdaptiveAvgPool1d": (lambda m: m.AdaptiveAvgPool1d(3), (2, 3, 7)),
    "AdaptiveAvgPool2d": (lambda m: m.AdaptiveAvgPool2d((1, 1)), (2, 3, 7, 6)),
    "AdaptiveMaxPool1d": (lambda m: m.AdaptiveMaxPool1d(2), (2, 3, 7)),
    "AdaptiveMaxPool2d": (lambda m: m.AdaptiveMaxPool2d((None, 3)), (2, 3, 7, 6)),
}
