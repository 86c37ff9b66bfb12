"""One row for each operation: how to call it, and on which shapes that hurt.

Every test that ranges over operations ranges over CASES, so a new operation is tested by adding its
rows here: gradients, formats, faithfulness, edges, and parity with PyTorch.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import minifp as fp
import minifp.nn.functional as F

BASIC = [(3, 5), (1,), (), (4, 1, 3), (0, 3)]


@dataclass(frozen=True)
class Case:
    """name: of the operation in `fp` or `F`, and what is special. fn: on tensors of these shapes.

    Its inputs lie between low and high. torch(t, *tensors): the same with PyTorch, `t`.
    """

    name: str
    fn: Callable
    shapes: tuple
    low: float = -2.0
    high: float = 2.0
    torch: Callable | None = None

    def arrays(self, seed=0):
        """Random float64 arrays whose values float16 holds exactly."""
        random = np.random.default_rng(seed)
        return [
            random.uniform(self.low, self.high, shape).astype("float16").astype("float64")
            for shape in self.shapes
        ]

    @property
    def operation(self):
        """The name of the operation alone."""
        return self.name.split()[0]

    def __str__(self):
        return f"{self.name} {list(self.shapes)}".replace(", ", ",").replace(" ", "-")


def alike(name, fn, *shapes, **limits):
    """A case that PyTorch writes in the same way: fn(module, *tensors)."""
    return Case(name, lambda *a: fn(fp, *a), shapes, torch=fn, **limits)


def functional(name, fn, *shapes, **limits):
    """The same for `F` and torch.nn.functional."""
    return Case(
        name, lambda *a: fn(F, *a), shapes, torch=lambda t, *a: fn(t.nn.functional, *a), **limits
    )


def unary(name, low=-2.0, high=2.0):
    return [alike(name, lambda m, x: getattr(m, name)(x), s, low=low, high=high) for s in BASIC]


def binary(name, low=-2.0, high=2.0):
    pairs = [((3, 5), (3, 5)), ((3, 5), (5,)), ((4, 1, 3), (2, 1)), ((), (2, 3)), ((0, 3), (1, 3))]
    return [
        alike(name, lambda m, x, y: getattr(m, name)(x, y), *s, low=low, high=high) for s in pairs
    ]


def reduction(name):
    settings = [{}, {"dim": 0}, {"dim": -1}, {"dim": (0, 2)}, {"dim": 1, "keepdim": True}]
    cases = [alike(name, lambda m, x, s=s: getattr(m, name)(x, **s), (4, 3, 5)) for s in settings]
    return [*cases, alike(name, lambda m, x: getattr(m, name)(x), ())][: 5 if name == "var" else 6]


def conv(*shapes, **settings):
    shapes = shapes if len(shapes) == 3 else (*shapes, shapes[1][:1])
    arguments = shapes[:2] if shapes[2] is None else shapes
    return functional("conv2d", lambda f, *a: f.conv2d(*a, **settings), *arguments)


def pool(name, shape, *args):
    return functional(name, lambda f, x: getattr(f, name)(x, *args), shape)


TARGETS = np.array([0, 2, 1, -100, 2, 0, 1])
INDEX = np.array([[0, 3, 3], [1, 3, 0]])


def index(description, i, shape=(4, 3, 2)):
    return alike(f"getitem {description}", lambda m, x: x[i], shape)


def entropy(shape, **settings):
    n = int(np.prod(shape)) // shape[1]
    target = np.resize(TARGETS, n).reshape(shape[:1] + shape[2:])
    if "ignore_index" in settings:
        target = np.where(target < 0, 0, target)
    return Case(
        "cross_entropy",
        lambda z: F.cross_entropy(z, target, **settings),
        (shape,),
        *(-8.0, 8.0),
        lambda t, z: t.nn.functional.cross_entropy(z, t.tensor(target), **settings),
    )


def lstm(steps, batch, inputs, hidden):
    def theirs(t, x, h, c, *weights):
        options = True, 1, 0.0, False, False, False  # bias, layers, dropout, train, both ways, ...
        y, _, c_n = t.lstm(x, (h[None], c[None]), list(weights), *options)
        return y, c_n[0]

    gates = 4 * hidden
    shapes = (steps, batch, inputs), *[(batch, hidden)] * 2, (gates, inputs), (gates, hidden)
    return Case("lstm", fp.ops.lstm, (*shapes, (gates,), (gates,)), -1.0, 1.0, theirs)


def batch_norm(shape, training):
    def call(module, x, w, b, mean, var):
        return module.batch_norm(x, mean, var, w, b, training, 0.1, 1e-3)

    def ours(x, w, b):
        mean, var = np.full(shape[1], 0.3), np.full(shape[1], 1.7)
        return call(F, x, w, b, *(fp.Tensor(v.astype("float32")) for v in (mean, var)))

    def theirs(t, x, w, b):
        mean, var = (t.full((shape[1],), v, dtype=t.float32).to(x.dtype) for v in (0.3, 1.7))
        return call(t.nn.functional, x, w, b, mean, var)

    channels = shape[1:2]
    return Case(f"batch_norm training={training}", ours, (shape, channels, channels), torch=theirs)


def dropped(x):
    fp.manual_seed(3)
    return F.dropout(x, 0.3)


MASK = np.array([True, False, True])

POINTWISE = [
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

REDUCTIONS = [c for n in ("sum", "mean", "var", "amax", "amin") for c in reduction(n)] + [
    alike("var biased", lambda m, x: m.var(x, dim=(0, 1), correction=0), (4, 3, 5)),
    alike("sum nothing", lambda m, x: m.sum(x, 0), (0, 3)),
]

SHAPES = [
    alike("reshape", lambda m, x: x.reshape(3, -1), (2, 3, 2)),
    alike("reshape empty", lambda m, x: x.reshape(2, 0), (0, 4)),
    alike("flatten", lambda m, x: x.flatten(1), (2, 3, 2)),
    alike("flatten empty", lambda m, x: x.flatten(1), (0, 3, 2)),
    alike("squeeze", lambda m, x: x.squeeze(1), (2, 1, 1)),
    alike("squeeze all", lambda m, x: x.squeeze(), (2, 1, 1)),
    alike("unsqueeze", lambda m, x: x.unsqueeze(-1), (2, 3)),
    alike("permute", lambda m, x: x.permute(2, 0, 1) * 1.5, (2, 3, 4)),
    alike("transpose", lambda m, x: x.transpose(0, -1), (2, 3, 4)),
    alike("T", lambda m, x: x.T.exp(), (2, 3)),
    alike("expand", lambda m, x: x.expand(4, -1, 3), (2, 1)),
    alike("expand nothing", lambda m, x: x.expand(0, 3), (1, 3)),
    alike("cat", lambda m, x, y: m.cat([x, y], 1), (2, 3), (2, 1)),
    alike("cat empty", lambda m, x, y: m.cat([x, y]), (0, 3), (2, 3)),
    alike("stack", lambda m, x, y: m.stack([x, y], -1), (2, 3), (2, 3)),
    alike("split", lambda m, x: m.split(x, [1, 2], 1)[1], (2, 3)),
    alike("chunk", lambda m, x: x.chunk(2, 0)[0], (5, 3)),
    *(index("int", 1), index("slice", (slice(1, 3), slice(None, None, 2)))),
    *(index("ellipsis", (..., 0)), index("None", (None, 1, slice(None), None))),
    *(index("all", (0, -1, 1)), index("mask", np.array([True, False, True, True]))),
    *(index("array", INDEX), index("pairs", (np.array([0, 3, 3]), np.array([1, 2, 2])))),
    *(index("mixed", (slice(None), np.array([2, 2, 0]))), index("negative", np.array([-1, 3, 0]))),
    index("nothing", np.zeros(0, int)),
]

PRODUCTS = [
    *(
        alike("matmul", lambda m, x, y: m.matmul(x, y), *s)
        for s in [
            *(((3, 4), (4, 5)), ((1, 1), (1, 1)), ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2))),
            *(((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((3, 0), (0, 2)), ((0, 3), (3, 2))),
        ]
    ),
    *(
        functional("linear", lambda f, *a: f.linear(*a), *s)
        for s in [((3, 4), (5, 4), (5,)), ((2, 3, 4), (5, 4)), ((4,), (5, 4), (5,))]
    ),
    functional("linear empty", lambda f, *a: f.linear(*a), (0, 4), (5, 4), (5,)),
    conv((2, 3, 6, 5), (4, 3, 3, 3)),
    conv((2, 3, 6, 5), (4, 3, 3, 2), stride=2, padding=1),
    conv((1, 4, 7, 7), (6, 2, 3, 3), stride=(3, 2), padding=(0, 2), groups=2),
    conv((2, 2, 9, 8), (2, 2, 3, 3), None, dilation=2, padding=1),
    conv((1, 1, 1, 1), (1, 1, 1, 1)),
    conv((2, 3, 4, 4), (5, 3, 1, 1), padding=1),
    conv((2, 1, 8, 8), (3, 1, 5, 5), stride=4, padding=2),
    conv((0, 2, 4, 4), (3, 2, 3, 3)),
]

LAYERS = [
    *(pool("max_pool2d", (2, 3, 6, 7), 2), pool("max_pool2d", (2, 3, 6, 7), 3, 2, 1)),
    *(pool("max_pool2d", (1, 1, 5, 5), (2, 3), (1, 2)), pool("max_pool2d", (0, 2, 4, 4), 2)),
    *(pool("avg_pool2d", (2, 3, 6, 7), 2), pool("avg_pool2d", (2, 3, 6, 7), 3, 2, 1)),
    *(pool("avg_pool2d", (1, 2, 4, 4), (1, 4), 1), pool("avg_pool2d", (0, 2, 4, 4), 2)),
    *(
        batch_norm(shape, training)
        for shape in ((6, 3), (4, 3, 2, 5))
        for training in (True, False)
    ),
    batch_norm((0, 3), False),
    functional(
        "layer_norm",
        lambda f, *a: f.layer_norm(a[0], (2, 4), *a[1:]),
        *[(3, 2, 4), (2, 4)] + [(2, 4)],
    ),
    functional("layer_norm", lambda f, x, w: f.layer_norm(x, (4,), w), (2, 3, 4), (4,)),
    functional("layer_norm", lambda f, x: f.layer_norm(x, (4,)), (3, 4)),
    functional("layer_norm empty", lambda f, x, w: f.layer_norm(x, (4,), w), (0, 4), (4,)),
    *(
        functional(n, lambda f, x, n=n, d=d: getattr(f, n)(x, d), (3, 4, 2), low=-9.0, high=9.0)
        for n in ("softmax", "log_softmax")
        for d in (-1, 1)
    ),
    *(entropy((7, 3)), entropy((7, 3), reduction="sum"), entropy((7, 3), reduction="none")),
    *(entropy((2, 3, 4)), entropy((2, 3, 2, 3), reduction="none"), entropy((7, 3), ignore_index=1)),
    *(
        functional("mse_loss", lambda f, x, y, r=r: f.mse_loss(x, y, reduction=r), (3, 4), (3, 4))
        for r in ("mean", "sum", "none")
    ),
    *(
        Case(
            *("embedding", lambda w, i=i: F.embedding(i, w), ((4, 3),)),
            torch=lambda t, w, i=i: t.nn.functional.embedding(t.tensor(i), w),
        )
        for i in (INDEX, np.array(2), np.zeros((2, 0), int))
    ),
    *(lstm(5, 2, 3, 4), lstm(2, 2, 3, 1), lstm(1, 1, 1, 2), lstm(3, 0, 2, 2)),
]

CASES = [*POINTWISE, *REDUCTIONS, *SHAPES, *PRODUCTS, *LAYERS]
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")  # of two tensors, without gradient
TESTS = ("isfinite", "isnan")  # of one
