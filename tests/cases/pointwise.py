"""Element by element: arithmetic, elementary functions, clamp, dropout."""

import operator

import numpy as np
from bounds import magnitude
from hypothesis import strategies as st

import minifp as fp
import minifp.nn.functional as F
from cases.case import BASIC, Case, alike, broadcast_shapes, drawn, shapes

PAIRS = [((3, 5), (3, 5)), ((3, 5), (5,)), ((4, 1, 3), (2, 1)), ((), (2, 3)), ((0, 3), (1, 3))]


def unary(name, low=-2.0, high=2.0):
    return [alike(name, lambda m, x: getattr(m, name)(x), s, low=low, high=high) for s in BASIC]


def binary(name, low=-2.0, high=2.0):
    return [
        alike(name, lambda m, x, y: getattr(m, name)(x, y), *s, low=low, high=high) for s in PAIRS
    ]


def divided(name, pair):
    """PyTorch's floor_divide has no gradient; that of its div is 0."""
    return Case(
        *(name, lambda x, y: fp.floor_divide(x, y), pair, 0.5, 2.0),
        torch=lambda t, x, y: t.div(x, y, rounding_mode="floor"),
    )


def dropped(x, drop=F.dropout):
    fp.manual_seed(3)
    return drop(x, 0.3)


ANY = (
    *("neg", "exp", "expm1", "abs", "square", "sin", "cos", "atan", "sinh", "cosh", "tanh"),
    *("sigmoid", "relu", "erf"),
)
STEPS = ("sign", "floor", "ceil", "trunc", "round")
LIMITED = {
    **dict.fromkeys(("log", "log2", "log10", "sqrt", "rsqrt", "reciprocal"), (0.1, 3.0)),
    **dict.fromkeys(("asin", "acos"), (-0.9, 0.9)),
    **{"log1p": (-0.75, 3.0), "tan": (-1.25, 1.25)},
}
POSITIVE = ("div", "pow", "remainder")

CASES = [
    *(c for name in (*ANY, *STEPS) for c in unary(name)),
    *(c for name, limits in LIMITED.items() for c in unary(name, *limits)),
    *(c for name in ("add", "sub", "mul", "maximum", "minimum") for c in binary(name)),
    *(c for name in POSITIVE for c in binary(name, 0.5, 2.0)),
    *(divided("floor_divide", pair) for pair in PAIRS),
    alike("add alpha", lambda m, x, y: m.add(x, y, alpha=-2.5), (2, 3), (3,)),
    alike("sub alpha", lambda m, x, y: m.sub(x, y, alpha=3), (2, 1), (2, 3)),
    alike("div trunc", lambda m, x, y: m.div(x, y, rounding_mode="trunc"), (3, 4), (4,), low=0.25),
    alike("clamp", lambda m, x: m.clamp(x, min=-1, max=0.5), (3, 5)),
    alike("clamp below", lambda m, x: x.clamp(min=0.25), (3, 5)),
    alike("clamp by position", lambda m, x: m.clamp(x, -1, 1), ()),
    alike("clamp between", lambda m, x, a, b: m.clamp(x, a, b), (3, 5), (5,), (3, 1)),
    Case("clamp stretched", lambda x, a, b: fp.clamp(x, a, b), ((3,), (2, 3), (2, 1))),
    alike("clamp above", lambda m, x, b: x.clamp(max=b), (2, 3), (3,)),
    alike("clip", lambda m, x: m.clip(x, -1, 0.5), (3, 5)),
    alike("addcmul", lambda m, x, a, b: m.addcmul(x, a, b, value=-0.5), (3, 5), (5,), (3, 1)),
    alike("addcdiv", lambda m, x, a, b: x.addcdiv(a, b), (3, 5), (5,), (3, 1), low=0.5),
    alike("mul numbers", lambda m, x: 2 - 3.5 * x / 4 + x**2, (3, 2)),
    alike("div number", lambda m, x: 1 / x, (3, 2), low=0.5),
    alike("pow number", lambda m, x: 2.0**x, (3, 2)),
    alike("mul diamond", lambda m, x: x * x + x.tanh() * x, (3, 2)),
    *(alike("clone", lambda m, x: x.clone(), (3, 2)), Case("dropout", dropped, ((6, 5),))),
    Case("dropout1d", lambda x: dropped(x, F.dropout1d), ((6, 5, 2),)),
    Case("dropout2d", lambda x: dropped(x, F.dropout2d), ((3, 5, 2, 0),)),
    Case("dropout2d", lambda x: dropped(x, F.dropout2d), ((3, 5, 2, 3),)),
]


@drawn(*ANY, *STEPS, *LIMITED)
def draw_unary(draw, name):
    low, high = LIMITED.get(name, (-2.0, 2.0))
    return alike(name, lambda m, x: getattr(m, name)(x), draw(shapes()), low=low, high=high)


@drawn("mul", "maximum", "minimum", "pow")
def draw_binary(draw, name):
    low = 0.5 if name in POSITIVE else -2.0
    pair = draw(broadcast_shapes(2))
    return alike(name, lambda m, x, y: getattr(m, name)(x, y), *pair, low=low)


@drawn("floor_divide")
def draw_floor_divide(draw, name):
    return divided(name, draw(broadcast_shapes(2)))


@drawn("remainder")
def draw_remainder(draw, name):
    if draw(st.booleans()):
        number = draw(st.sampled_from([1, -2, 0.75, -0.5]))
        return alike(name, lambda m, x: m.remainder(x, number), draw(shapes()))
    pair = draw(broadcast_shapes(2))
    return alike(name, lambda m, x, y: m.remainder(x, y), *pair, low=0.25)


@drawn("add", "sub")
def draw_sum(draw, name):
    alpha = draw(st.sampled_from([1, 2, -3, 0, 0.1]))
    if draw(st.booleans()):
        number = draw(st.sampled_from([2, -0.3, 1e-3]))
        return alike(name, lambda m, x: getattr(m, name)(x, number, alpha=alpha), draw(shapes()))
    pair = draw(broadcast_shapes(2))
    return alike(name, lambda m, x, y: getattr(m, name)(x, y, alpha=alpha), *pair)


@drawn("div")
def draw_div(draw, name):
    mode, pair = draw(st.sampled_from([None, "floor", "trunc"])), draw(broadcast_shapes(2))
    return alike(name, lambda m, x, y: m.div(x, y, rounding_mode=mode), *pair, low=0.25)


OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]


@drawn("operators with numbers")
def draw_operator(draw, name):
    operation, number = draw(st.sampled_from(OPERATORS)), draw(st.sampled_from([2, 3, 0.5, 1.75]))
    if draw(st.booleans()):
        return alike(name, lambda m, x: operation(number, x), draw(shapes()), low=0.25)
    return alike(name, lambda m, x: operation(x, number), draw(shapes()), low=0.25)


@drawn("addcmul", "addcdiv")
def draw_added_product(draw, name):
    value, three = draw(st.sampled_from([1, -0.5, 3])), draw(broadcast_shapes(3))
    return alike(name, lambda m, *a: getattr(m, name)(*a, value=value), *three, low=0.5)


@drawn("clamp", "clip")
def draw_clamp(draw, name):
    if draw(st.booleans()):
        trio = draw(broadcast_shapes(3))
        trio = np.broadcast_shapes(*trio), *trio[1:]  # PyTorch fails where x itself is stretched
        if draw(st.booleans()):
            return alike(name, lambda m, x, a, b: getattr(m, name)(x, a, b), *trio)
        side = draw(st.sampled_from(["min", "max"]))
        return alike(name, lambda m, x, a: getattr(x, name)(**{side: a}), *trio[:2])
    low, high = draw(st.sampled_from([(-1, 0.5), (None, 0.1), (0.3, None), (1, -1), (0, 0)]))
    shape = draw(shapes())
    if draw(st.booleans()):
        return alike(name, lambda m, x: getattr(m, name)(x, low, high), shape)
    return alike(name, lambda m, x: getattr(x, name)(max=high, min=low), shape)


@drawn("clone")
def draw_clone(draw, name):
    return alike(name, lambda m, x: x.clone(), draw(shapes()))


@magnitude
def add_forward(x, y, *, exact, alpha):
    """alpha y is rounded before x is added, and so is alpha itself."""
    return np.abs(exact[0]) + (alpha != 1) * np.abs(alpha * y)


magnitude(add_forward, "sub_forward")
