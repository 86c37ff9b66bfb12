"""Pictures and sequences in another size."""

from importlib import import_module
from unittest import mock

import numpy as np
from bounds import magnitude
from hypothesis import strategies as st

from cases.case import drawn, functional


def resized(shape, mode="nearest", **settings):
    return functional("interpolate", lambda f, x: f.interpolate(x, mode=mode, **settings), shape)


CASES = [
    *(resized((2, 3, 4), size=7), resized((2, 3, 4), scale_factor=2)),
    *(resized((2, 3, 5, 4), size=(3, 9)), resized((1, 2, 5, 4), scale_factor=(1.7, 0.6))),
    *(resized((2, 3, 5, 4), "nearest-exact", size=(3, 9)), resized((2, 3, 4), "linear", size=7)),
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
    sizes, settings = draw(st.tuples(*[st.integers(1, 6)] * ndim)), {}
    if draw(st.booleans()):
        settings["size"] = draw(st.integers(1, 9) | st.tuples(*[st.integers(1, 9)] * ndim))
    else:
        # None that gives twice the size, though it is not 2: PyTorch's gradient is then not that of
        # its value, for sequences.
        factor = max(draw(st.sampled_from([1, 2, 3, 0.5, 1.5, 0.75, 2.6])), 1 / min(sizes))
        settings["scale_factor"] = draw(st.sampled_from([factor, (factor,) * ndim]))
    if "linear" in mode:
        settings["align_corners"] = draw(st.sampled_from([None, False, True]))
    return resized((*draw(st.sampled_from([(2, 3), (0, 1)])), *sizes), mode, **settings)


# A layer in minifp.nn or torch.nn, and the shape of its input.
LAYERS = {
    "Upsample": (lambda m: m.Upsample(scale_factor=2), (2, 3, 4)),
    "UpsamplingNearest2d": (lambda m: m.UpsamplingNearest2d(5), (2, 3, 4, 2)),
    "UpsamplingBilinear2d": (lambda m: m.UpsamplingBilinear2d(scale_factor=2), (2, 3, 4, 2)),
    "Upsample bilinear": (
        lambda m: m.Upsample((5, 7), mode="bilinear", align_corners=True),
        (2, 3, 4, 6),
    ),
}


interpolation = import_module("minifp.ops.pooling.interpolate")  # the name is the function's in ops

#
# A weight is f or 1 - f, the fraction of a place up to n, the axis's size, that is a product and
# two sums: it errs by up to 3 n of 2^-24, however small it is. The bound grants 16 to what stands
# in M, so that a weight counts for itself and n / 4.


def with_doubtful_weights(kernel, v, settings):
    """The kernel's sum of absolute values, with weights that count for what they may err by."""
    taps = interpolation.taps

    def doubtful(n, count, *rest):
        found = taps(n, count, *rest)
        return [(i, None if w is None else w + n / 4) for i, w in found]

    with mock.patch.object(interpolation, "taps", doubtful):
        return kernel.reference(np.abs(v), sum=np.sum, **settings)


@magnitude
def interpolate_forward(x, *, exact, **settings):
    return with_doubtful_weights(interpolation.interpolate_forward, x, settings)


@magnitude
def interpolate_dx(dy, *, exact, **settings):
    return with_doubtful_weights(interpolation.interpolate_dx, dy, settings)
