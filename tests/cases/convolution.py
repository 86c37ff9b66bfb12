"""Convolutions and their transposes."""

import numpy as np
from bounds import magnitude
from hypothesis import strategies as st

from cases.case import drawn, functional
from minifp.ops.convolution import conv as straight
from minifp.ops.convolution import conv_transpose as back


def conv(name, *shapes, bias=True, transposed=False, **settings):
    groups = settings.get("groups", 1)
    out = shapes[1][1] * groups if transposed else shapes[1][0]
    arguments = (*shapes, (out,)) if bias else shapes
    return functional(name, lambda f, *a: getattr(f, name)(*a, **settings), *arguments)


def transposed(name, *shapes, **settings):
    return conv(name, *shapes, transposed=True, **settings)


CASES = [
    conv("conv1d", (2, 3, 9), (4, 3, 3)),
    conv("conv1d", (4, 8), (6, 2, 2), stride=2, padding=1, dilation=3, groups=2),
    conv("conv1d", (2, 4, 8), (2, 4, 2), bias=False, stride=3),
    conv("conv1d", (2, 3, 6), (4, 3, 4), padding="same", dilation=2),
    *(conv("conv1d", (1, 1, 1), (1, 1, 1)), conv("conv1d", (0, 2, 4), (3, 2, 3), padding="valid")),
    conv("conv2d", (2, 3, 6, 5), (4, 3, 3, 3)),
    conv("conv2d", (2, 3, 6, 5), (4, 3, 3, 2), stride=2, padding=1),
    conv("conv2d", (1, 4, 7, 7), (6, 2, 3, 3), stride=(3, 2), padding=(0, 2), groups=2),
    conv("conv2d", (2, 2, 9, 8), (2, 2, 3, 3), bias=False, dilation=2, padding=1),
    conv("conv2d", (1, 1, 1, 1), (1, 1, 1, 1)),
    conv("conv2d", (2, 3, 4, 4), (5, 3, 1, 1), padding=1),
    conv("conv2d", (2, 1, 8, 8), (3, 1, 5, 5), stride=4, padding=2),
    conv("conv2d", (1, 1, 4, 4), (1, 1, 3, 3), stride=2**30),
    conv("conv2d", (0, 2, 4, 4), (3, 2, 3, 3)),
    conv("conv2d", (2, 5, 4), (3, 2, 3, 2), padding="same", dilation=(1, 4)),
    conv("conv2d", (2, 3, 5, 5), (3, 1, 3, 3), groups=3, padding=1),
    transposed("conv_transpose1d", (2, 3, 5), (3, 4, 3)),
    transposed("conv_transpose1d", (4, 3), (4, 2, 2), stride=3, padding=1, output_padding=2),
    transposed("conv_transpose1d", (2, 4, 3), (4, 3, 3), groups=2, dilation=2, bias=False),
    transposed("conv_transpose1d", (0, 2, 4), (2, 3, 3)),
    transposed("conv_transpose2d", (2, 3, 4, 3), (3, 4, 3, 2)),
    transposed(
        *("conv_transpose2d", (2, 4, 3, 4), (4, 3, 3, 2)),
        **{"stride": (2, 3), "padding": (1, 0), "output_padding": (1, 2), "groups": 2},
    ),
    transposed("conv_transpose2d", (3, 2, 4), (3, 2, 2, 3), dilation=(3, 1), padding=2),
    transposed("conv_transpose2d", (1, 1, 1, 1), (1, 1, 1, 1)),
]


@drawn("conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d")
def draw_conv(draw, name):
    ndim, back = int(name[-2]), "transpose" in name

    def pick(low, high):
        one = draw(st.integers(low, high))
        return draw(st.sampled_from([one, draw(st.tuples(*[st.integers(low, high)] * ndim))]))

    def each(value):
        return (value,) * ndim if isinstance(value, int) else value

    groups, c, o = (draw(st.integers(1, n)) for n in (2, 2, 3))
    kernel = draw(st.tuples(*[st.integers(1, 3)] * ndim))
    settings = {"stride": pick(1, 3), "padding": pick(0, 2), "dilation": pick(1, 3)}
    settings["groups"] = groups
    if back:
        room = [max(s, d) - 1 for s, d in zip(each(settings["stride"]), each(settings["dilation"]))]
        settings["output_padding"] = tuple(draw(st.integers(0, r)) for r in room)
        taken = zip(kernel, *(each(settings[k]) for k in ("stride", "padding", "dilation")))
        least = [max(1, 1 + -(-(2 * p - d * (k - 1)) // s)) for k, s, p, d in taken]
    else:
        settings["padding"] = draw(st.sampled_from([settings["padding"], "same", "valid"]))
        if settings["padding"] == "same":  # of even kernels PyTorch warns: see test_convolution.py
            settings["stride"], kernel = 1, tuple(2 * (k // 2) + 1 for k in kernel)
        added = 0 if isinstance(settings["padding"], str) else settings["padding"]
        taken = zip(kernel, each(added), each(settings["dilation"]))
        least = [max(1, d * (k - 1) + 1 - 2 * p) for k, p, d in taken]
    sizes = [n + draw(st.integers(0, 3)) for n in least]
    batch = draw(st.sampled_from([(), (0,), (1,), (2,)]))
    weight = (c * groups, o, *kernel) if back else (o * groups, c, *kernel)
    bias = [(o * groups,)] if draw(st.booleans()) else []
    return functional(
        *(name, lambda f, *a: getattr(f, name)(*a, **settings)),
        *((*batch, c * groups, *sizes), weight, *bias),
    )


#
# A sum of products that something is added to: what partial sums are bounded by, and the rest.


def of_absolute(kernel, *arrays, **geometry):
    """A kernel's reference of absolute values: what bounds its partial sums."""
    arrays = [a if a is None else np.abs(a) for a in arrays]
    return kernel.reference(*arrays, dot=np.matmul, accumulate=lambda y: y, **geometry)


@magnitude
def conv_forward(x, w, b, *, exact, **geometry):
    return of_absolute(straight.conv_forward, x, w, b, **geometry)


@magnitude
def conv_transpose_forward(x, w, b, *, exact, **geometry):
    return of_absolute(back.conv_transpose_forward, x, w, b, **geometry)


# A layer in minifp.nn or torch.nn, and the shape of its input.
LAYERS = {
    "Conv1d": (lambda m: m.Conv1d(3, 4, 3, 2, 1), (2, 3, 7)),
    "Conv1d of groups": (lambda m: m.Conv1d(4, 6, 2, groups=2, dilation=2), (4, 7)),
    "Conv1d that keeps sizes": (lambda m: m.Conv1d(3, 4, 3, padding="same"), (2, 3, 7)),
    "Conv2d": (lambda m: m.Conv2d(3, 4, 3, 2, 1), (2, 3, 7, 6)),
    "Conv2d of groups": (lambda m: m.Conv2d(4, 6, (3, 2), groups=2, dilation=2), (2, 4, 7, 6)),
    "Conv2d without bias": (lambda m: m.Conv2d(3, 4, 1, bias=False), (2, 3, 5, 5)),
    "Conv2d without padding": (lambda m: m.Conv2d(3, 4, 2, padding="valid"), (3, 5, 5)),
    "ConvTranspose1d": (lambda m: m.ConvTranspose1d(3, 4, 3, 2, 1, 1), (2, 3, 5)),
    "ConvTranspose2d": (lambda m: m.ConvTranspose2d(3, 4, (3, 2), 2, 1), (2, 3, 4, 5)),
    "ConvTranspose2d of groups": (
        lambda m: m.ConvTranspose2d(4, 6, 3, 2, groups=2, bias=False, dilation=2),
        (4, 3, 4),
    ),
}
