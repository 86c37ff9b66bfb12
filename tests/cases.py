"""One row for each operation: how to call it, and on which shapes that hurt.

`Case(name, fn, shapes)` : fn takes float64/float32/float16 tensors of these shapes. Every test that
ranges over operations ranges over CASES, so a new operation is tested by adding its rows here.
"""

from dataclasses import dataclass
from typing import Callable

import numpy as np

import minifp as fp
import minifp.nn.functional as F

BASIC = [(3, 5), (1,), (), (4, 1, 3), (0, 3)]


@dataclass(frozen=True)
class Case:
    """name: of the operation in `fp` or `F`. fn: on tensors. shapes: of them. torch: the same there."""

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

    def __str__(self):
        return f"{self.name}{list(self.shapes)}".replace(" ", "")


def unary(name, low=-2.0, high=2.0):
    return [
        Case(name, lambda x, f=getattr(fp, name): f(x), (s,), low, high, lambda t, x, n=name: getattr(t, n)(x))
        for s in BASIC
    ]


def binary(name, low=-2.0, high=2.0, torch_name=None):
    pairs = [((3, 5), (3, 5)), ((3, 5), (5,)), ((4, 1, 3), (2, 1)), ((), (2, 3)), ((0, 3), (1, 3))]
    return [
        Case(name, getattr(fp, name), p, low, high, lambda t, x, y, n=torch_name or name: getattr(t, n)(x, y))
        for p in pairs
    ]


def reduction(name):
    settings = [
        *({"dim": None}, {"dim": 0}, {"dim": -1}, {"dim": (0, 2)}, {"dim": 1, "keepdim": True}),
    ]

    def torch_fn(t, x, n=name, s=None):
        s = {k: v for k, v in s.items() if v is not None}
        if n in ("amax", "amin"):
            s.setdefault("dim", ())
        return getattr(t, n)(x, **s)

    return [
        Case(
            name, lambda x, f=getattr(fp, name), s=s: f(x, **s), ((4, 3, 5),),
            torch=lambda t, x, s=s: torch_fn(t, x, s=s),
        )
        for s in settings
    ]  # fmt: skip


def conv(x, w, b=True, **settings):
    shapes = (x, w, w[:1]) if b else (x, w)
    return Case(
        "conv2d", lambda *a: F.conv2d(*a, **settings), shapes,
        torch=lambda t, *a: t.nn.functional.conv2d(*a, **settings),
    )  # fmt: skip


def pool(name, shape, *args, **settings):
    return Case(
        name, lambda x: getattr(F, name)(x, *args, **settings), (shape,),
        torch=lambda t, x: getattr(t.nn.functional, name)(x, *args, **settings),
    )  # fmt: skip


TARGETS = np.array([0, 2, 1, -100, 2, 0, 1])
INDEX = np.array([[0, 3, 3], [1, 3, 0]])


def index(description, i, shape=(4, 3, 2)):
    return Case(f"getitem {description}", lambda x: x[i], (shape,), torch=lambda t, x: x[i])


def loss(name, shapes, **settings):
    def call(module, *tensors):
        return getattr(module, name)(*tensors, **settings)

    return Case(name, lambda *a: call(F, *a), shapes, torch=lambda t, *a: call(t.nn.functional, *a))


def entropy(shape, **settings):
    n = int(np.prod(shape)) // shape[1]
    target = np.resize(TARGETS, n).reshape(shape[:1] + shape[2:])
    if "ignore_index" in settings:
        target = np.where(target < 0, 0, target)
    return Case(
        "cross_entropy", lambda z: F.cross_entropy(z, target, **settings), (shape,), -8.0, 8.0,
        torch=lambda t, z: t.nn.functional.cross_entropy(z, t.tensor(target), **settings),
    )  # fmt: skip


def lstm_torch(t, x, h, c, w_ih, w_hh, b_ih, b_hh):
    y, (_, c_n) = t._VF.lstm(x, (h[None], c[None]), [w_ih, w_hh, b_ih, b_hh], True, 1, 0.0, False, False, False)[0], (
        None,
        None,
    )
    return y


def batch_norm(shape, training):
    def call(module, x, w, b, mean, var):
        return module.batch_norm(x, mean, var, w, b, training, 0.1, 1e-3)

    def ours(x, w, b):
        return call(F, x, w, b, fp.Tensor(np.full(shape[1], 0.3)), fp.Tensor(np.full(shape[1], 1.7)))

    def theirs(t, x, w, b):
        mean, var = t.full((shape[1],), 0.3, dtype=x.dtype), t.full((shape[1],), 1.7, dtype=x.dtype)
        return call(t.nn.functional, x, w, b, mean, var)

    return Case(f"batch_norm training={training}", ours, (shape, shape[1:2], shape[1:2]), torch=theirs)


CASES = [
    *unary("neg"), *unary("exp"), *unary("log", 0.1, 3.0), *unary("sqrt", 0.1, 3.0), *unary("abs"),
    *unary("square"), *unary("sin"), *unary("cos"), *unary("tanh"), *unary("sigmoid"), *unary("relu"),
    *binary("add"), *binary("sub"), *binary("mul"), *binary("div", 0.5, 2.0), *binary("pow", 0.5, 2.0),
    *binary("maximum"), *binary("minimum"),
    *reduction("sum"), *reduction("mean"), *reduction("var"), *reduction("amax"), *reduction("amin"),
    Case("clamp", lambda x: fp.clamp(x, min=-1, max=0.5), ((3, 5),), torch=lambda t, x: t.clamp(x, -1, 0.5)),
    Case(
        "where", lambda x, y: fp.where(fp.tensor([True, False, True]), x, y), ((2, 3), (3,)),
        torch=lambda t, x, y: t.where(t.tensor([True, False, True]), x, y),
    ),
    Case("scalar", lambda x: 2 - 3.5 * x / 4 + x**2, ((3, 2),), torch=lambda t, x: 2 - 3.5 * x / 4 + x**2),
    Case("rdiv", lambda x: 1 / x, ((3, 2),), 0.5, torch=lambda t, x: 1 / x),
    Case("diamond", lambda x: x * x + x.tanh() * x, ((3, 2),), torch=lambda t, x: x * x + x.tanh() * x),
    Case("reshape", lambda x: x.reshape(3, -1), ((2, 3, 2),), torch=lambda t, x: x.reshape(3, -1)),
    Case("flatten", lambda x: x.flatten(1), ((2, 3, 2),), torch=lambda t, x: x.flatten(1)),
    Case("squeeze", lambda x: x.squeeze(1), ((2, 1, 1),), torch=lambda t, x: x.squeeze(1)),
    Case("unsqueeze", lambda x: x.unsqueeze(-1), ((2, 3),), torch=lambda t, x: x.unsqueeze(-1)),
    Case("permute", lambda x: x.permute(2, 0, 1) * 1.5, ((2, 3, 4),), torch=lambda t, x: x.permute(2, 0, 1) * 1.5),
    Case("transpose", lambda x: x.transpose(0, -1), ((2, 3, 4),), torch=lambda t, x: x.transpose(0, -1)),
    Case("T", lambda x: x.T.exp(), ((2, 3),), torch=lambda t, x: x.T.exp()),
    Case("expand", lambda x: x.expand(4, -1, 3), ((2, 1),), torch=lambda t, x: x.expand(4, -1, 3)),
    Case("cat", lambda x, y: fp.cat([x, y], 1), ((2, 3), (2, 1)), torch=lambda t, x, y: t.cat([x, y], 1)),
    Case("stack", lambda x, y: fp.stack([x, y], -1), ((2, 3), (2, 3)), torch=lambda t, x, y: t.stack([x, y], -1)),
    Case("split", lambda x: fp.split(x, [1, 2], 1)[1], ((2, 3),), torch=lambda t, x: t.split(x, [1, 2], 1)[1]),
    Case("chunk", lambda x: x.chunk(2, 0)[0], ((5, 3),), torch=lambda t, x: x.chunk(2, 0)[0]),
    index("int", 1), index("slice", (slice(1, 3), slice(None, None, 2))), index("ellipsis", (..., 0)),
    index("None", (None, 1, slice(None), None)), index("mask", np.array([True, False, True, True])),
    index("array", INDEX), index("pairs", (np.array([0, 3, 3]), np.array([1, 2, 2]))),
    index("mixed", (slice(None), np.array([2, 2, 0]))), index("negative", np.array([-1, 3, 0])),
    *(
        Case("matmul", fp.matmul, s, torch=lambda t, x, y: t.matmul(x, y))
        for s in [
            *(((3, 4), (4, 5)), ((1, 1), (1, 1)), ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2))),
            *(((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((3, 0), (0, 2)), ((0, 3), (3, 2))),
        ]
    ),
    *(
        Case("linear", F.linear, s, torch=lambda t, *a: t.nn.functional.linear(*a))
        for s in [((3, 4), (5, 4), (5,)), ((2, 3, 4), (5, 4)), ((4,), (5, 4), (5,)), ((0, 4), (5, 4), (5,))]
    ),
    conv((2, 3, 6, 5), (4, 3, 3, 3)), conv((2, 3, 6, 5), (4, 3, 3, 2), stride=2, padding=1),
    conv((1, 4, 7, 7), (6, 2, 3, 3), stride=(3, 2), padding=(0, 2), groups=2),
    conv((2, 2, 9, 8), (2, 2, 3, 3), dilation=2, padding=1, b=False), conv((1, 1, 1, 1), (1, 1, 1, 1)),
    conv((2, 3, 4, 4), (5, 3, 1, 1), padding=1), conv((2, 1, 8, 8), (3, 1, 5, 5), stride=4, padding=2),
    pool("max_pool2d", (2, 3, 6, 7), 2), pool("max_pool2d", (2, 3, 6, 7), 3, 2, 1),
    pool("max_pool2d", (1, 1, 5, 5), (2, 3), (1, 2)), pool("avg_pool2d", (2, 3, 6, 7), 2),
    pool("avg_pool2d", (2, 3, 6, 7), 3, 2, 1), pool("avg_pool2d", (1, 2, 4, 4), (1, 4), 1),
    batch_norm((6, 3), True), batch_norm((6, 3), False), batch_norm((4, 3, 2, 5), True),
    batch_norm((4, 3, 2, 5), False),
    Case(
        "layer_norm", lambda x, w, b: F.layer_norm(x, (2, 4), w, b), ((3, 2, 4), (2, 4), (2, 4)),
        torch=lambda t, x, w, b: t.nn.functional.layer_norm(x, (2, 4), w, b),
    ),
    Case("layer_norm", lambda x: F.layer_norm(x, 4), ((3, 4),), torch=lambda t, x: t.nn.functional.layer_norm(x, (4,))),
    *(
        Case(n, lambda x, n=n, d=d: getattr(F, n)(x, d), ((3, 4, 2),), -9.0, 9.0, lambda t, x, n=n, d=d: getattr(t, n)(x, d))
        for n in ("softmax", "log_softmax") for d in (-1, 1)
    ),
    entropy((7, 3)), entropy((7, 3), reduction="sum"), entropy((7, 3), reduction="none"),
    entropy((2, 3, 4)), entropy((2, 3, 2, 3), reduction="none"), entropy((7, 3), ignore_index=1),
    *(loss("mse_loss", ((3, 4), (3, 4)), reduction=r) for r in ("mean", "sum", "none")),
    Case("embedding", lambda w: F.embedding(INDEX, w), ((4, 3),), torch=lambda t, w: w[t.tensor(INDEX)]),
    Case(
        "lstm", lambda *a: fp.ops.lstm(*a)[0],
        ((5, 2, 3), (2, 4), (2, 4), (16, 3), (16, 4), (16,), (16,)), -1.0, 1.0, lstm_torch,
    ),
    Case("lstm c", lambda *a: fp.ops.lstm(*a)[1], ((2, 2, 3), (2, 1), (2, 1), (4, 3), (4, 1), (4,), (4,)), -1.0, 1.0),
]  # fmt: skip
