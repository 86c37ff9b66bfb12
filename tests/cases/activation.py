"""Activations, in a range that reaches beyond their kinks."""

import numpy as np
from bounds import magnitude
from hypothesis import strategies as st

import minifp.nn.functional as F
from cases.case import BASIC, Case, drawn, functional, shapes

PLAIN = ("selu", "silu", "mish", "logsigmoid", "softsign", "relu6", "hardsigmoid", "hardswish")
SETTINGS = {  # operation -> keywords, and values worth trying
    "leaky_relu": {"negative_slope": [0.01, 0.3, 0.0, -0.5, 2]},
    **{"elu": {"alpha": [1.0, 0.3, 0.0, -1]}, "celu": {"alpha": [1.0, 0.5, 2]}},
    "gelu": {"approximate": ["none", "tanh"]},
    "softplus": {"beta": [1, 0.5, 2.0, -1], "threshold": [20, 1, 0.5]},
    "hardtanh": {"min_val": [-1.0, -2, 0], "max_val": [1.0, 0.1, 3]},
}
WIDE = {"low": -5.0, "high": 5.0}


def called(name, shape, **settings):
    if name == "hardsigmoid":  # PyTorch has its slope, 1/6, in float32 only
        other = lambda t, x: t.nn.functional.relu6(x + 3) / 6  # noqa: E731
        return Case(name, F.hardsigmoid, (shape,), **WIDE, torch=other)
    return functional(name, lambda m, x: getattr(m, name.split()[0])(x, **settings), shape, **WIDE)


CASES = [
    *(called(name, shape) for name in (*PLAIN, "tanhshrink", *SETTINGS) for shape in BASIC),
    called("leaky_relu steeper", (3, 5), negative_slope=1.5),
    *(called("elu larger", (3, 5), alpha=2.5), called("celu narrow", (3, 5), alpha=0.5)),
    *(called("gelu tanh", (3, 5), approximate="tanh"), called("gelu tanh", (), approximate="tanh")),
    called("softplus sharp", (3, 5), beta=2, threshold=3),
    called("hardtanh wider", (3, 5), min_val=-2, max_val=3),
    *(
        functional("prelu", lambda m, x, w: m.prelu(x, w), *pair)
        for pair in (
            *(((3, 5), (5,)), ((2, 3, 4), (3,)), ((2, 3, 2, 2), (1,)), ((5,), (1,))),
            *(((), (1,)), ((0, 3), (3,)), ((2, 1, 3), (1,))),
        )
    ),
    *(
        functional("glu", lambda m, x, d=d: m.glu(x, d), s, **WIDE)
        for s, d in (((3, 4), -1), ((2, 6, 3), 1), ((2,), 0), ((0, 2), 1))
    ),
]


@drawn(*PLAIN, "tanhshrink")
def draw_plain(draw, name):
    return called(name, draw(shapes()))


@drawn(*SETTINGS)
def draw_with_settings(draw, name):
    settings = {k: draw(st.sampled_from(v)) for k, v in SETTINGS[name].items()}
    return called(name, draw(shapes()), **settings)


@drawn("prelu")
def draw_prelu(draw, name):
    shape = draw(shapes())
    channels = shape[1:2] if len(shape) > 1 else (1,)
    weight = draw(st.sampled_from([(1,), channels]))
    return functional(name, lambda m, x, w: m.prelu(x, w), shape, weight)


@drawn("glu")
def draw_glu(draw, name):
    shape = draw(shapes(least=1))
    dim = draw(st.integers(-len(shape), len(shape) - 1))
    axis = dim % len(shape)
    even = (*shape[:axis], 2 * shape[axis], *shape[axis + 1 :])
    return functional(name, lambda m, x: m.glu(x, dim=dim), even, **WIDE)


#
# These slopes are sums of two terms of different sign where x is negative: each errs by itself.


def _sigmoid(z):
    return 1 / (1 + np.exp(-z))


@magnitude
def silu_dx(dy, x, *, exact):
    return np.abs(dy) * _sigmoid(x) * (1 + np.abs(x) * _sigmoid(-x))


@magnitude
def mish_dx(dy, x, *, exact):
    t = np.tanh(np.log1p(np.exp(x)))
    return np.abs(dy) * (t + np.abs(x) * _sigmoid(x) * (1 - t * t))


C = np.sqrt(2 / np.pi)


def _twice_u(x):
    return 2 * C * x * (1 + 0.044715 * x * x)


@magnitude
def gelu_forward(x, *, exact, approximate):
    """The sigmoid of v, which is rounded, errs by |v| s(-v) of itself."""
    v = _twice_u(x) if approximate == "tanh" else 0
    return np.abs(exact[0]) * (1 + np.abs(v) * _sigmoid(-v))


@magnitude
def gelu_dx(dy, x, *, exact, approximate):
    if approximate == "none":
        density = np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
        return exact[0] * np.sign(dy) + np.abs(dy) * (np.abs(x) - x) * density
    v = _twice_u(x)
    rise = 2 * C * (1 + 3 * 0.044715 * x * x) * _sigmoid(-v)
    return np.abs(dy) * (1 + np.abs(v)) * _sigmoid(v) * (1 + np.abs(x) * rise)


# A layer in minifp.nn or torch.nn, and the shape of its input.
LAYERS = {
    **{
        name: (lambda m, name=name: getattr(m, name)(), (3, 4))
        for name in (
            *("ReLU", "ReLU6", "LeakyReLU", "PReLU", "ELU", "CELU", "SELU", "GELU", "SiLU", "Mish"),
            *("Softplus", "Softsign", "Hardtanh", "Hardsigmoid", "Hardswish", "Tanh", "Sigmoid"),
            *("LogSigmoid", "GLU", "Tanhshrink"),
        )
    },
    "LeakyReLU steeper": (lambda m: m.LeakyReLU(0.3), (3, 4)),
    "PReLU of channels": (lambda m: m.PReLU(3, init=0.1), (2, 3, 4)),
    "ELU larger": (lambda m: m.ELU(2.0), (3, 4)),
    "CELU narrow": (lambda m: m.CELU(0.5), (3, 4)),
    "GELU by tanh": (lambda m: m.GELU("tanh"), (3, 4)),
    "Softplus sharp": (lambda m: m.Softplus(2, 1.5), (3, 4)),
    "Hardtanh wider": (lambda m: m.Hardtanh(-0.5, 1.5), (3, 4)),
    "GLU of channels": (lambda m: m.GLU(1), (2, 6, 3)),
    **{"Softmax": (lambda m: m.Softmax(-1), (3, 4)), "Softmin": (lambda m: m.Softmin(1), (3, 4))},
    "LogSoftmax": (lambda m: m.LogSoftmax(dim=0), (3, 4)),
}
