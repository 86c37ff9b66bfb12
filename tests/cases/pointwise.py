"""Element by element: arithmetic, activations, dropout."""

import numpy as np

import minifp as fp
import minifp.nn.functional as F
from cases.case import BASIC, Case, alike, broadcast_shapes, drawn, shapes


def unary(name, low=-2.0, high=2.0):
    return [alike(name, lambda m, x: getattr(m, name)(x), s, low=low, high=high) for s in BASIC]


def binary(name, low=-2.0, high=2.0):
    pairs = [((3, 5), (3, 5)), ((3, 5), (5,)), ((4, 1, 3), (2, 1)), ((), (2, 3)), ((0, 3), (1, 3))]
    return [
        alike(name, lambda m, x, y: getattr(m, name)(x, y), *s, low=low, high=high) for s in pairs
    ]


def dropped(x):
    fp.manual_seed(3)
    return F.dropout(x, 0.3)


MASK = np.array([True, False, True])

CASES = [
    *(c for name in ("neg", "exp", "abs", "square", "sin", "cos") for c in unary(name)),
    *(c for name in ("tanh", "sigmoid", "relu") for c in unary(name)),
    *(c for name in ("log", "sqrt") for c in unary(name, 0.1, 3.0)),
    *(c for name in ("add", "sub", "mul", "maximum", "minimum") for c in binary(name)),
    *(c for name in ("div", "pow") for c in binary(name, 0.5, 2.0)),
    alike("clamp", lambda m, x: m.clamp(x, min=-1, max=0.5), (3, 5)),
    alike("clamp below", lambda m, x: x.clamp(min=0.25), (3, 5)),
    Case(
        *("where", lambda x, y: fp.where(fp.tensor(MASK), x, y), ((2, 3), (3,))),
        torch=lambda t, x, y: t.where(t.tensor(MASK), x, y),
    ),
    alike("mul numbers", lambda m, x: 2 - 3.5 * x / 4 + x**2, (3, 2)),
    alike("div number", lambda m, x: 1 / x, (3, 2), low=0.5),
    alike("pow number", lambda m, x: 2.0**x, (3, 2)),
    alike("mul diamond", lambda m, x: x * x + x.tanh() * x, (3, 2)),
    alike("clone", lambda m, x: x.clone(), (3, 2)),
    Case("dropout", dropped, ((6, 5),)),
]


POSITIVE = {"log": (0.1, 3.0), "sqrt": (0.1, 3.0), "div": (0.5, 2.0), "pow": (0.5, 2.0)}


@drawn("neg", "exp", "abs", "square", "sin", "cos", "tanh", "sigmoid", "relu", "log", "sqrt")
def draw_unary(draw, name):
    low, high = POSITIVE.get(name, (-2.0, 2.0))
    return alike(name, lambda m, x: getattr(m, name)(x), draw(shapes()), low=low, high=high)


@drawn("add", "sub", "mul", "maximum", "minimum", "div", "pow")
def draw_binary(draw, name):
    low, high = POSITIVE.get(name, (-2.0, 2.0))
    pair = draw(broadcast_shapes(2))
    return alike(name, lambda m, x, y: getattr(m, name)(x, y), *pair, low=low, high=high)


# A layer in minifp.nn or torch.nn, and the shape of its input.
LAYERS = {
    "ReLU": (lambda m: m.ReLU(), (3, 4)),
    "Tanh": (lambda m: m.Tanh(), (3, 4)),
    "Sigmoid": (lambda m: m.Sigmoid(), (3, 4)),
}
