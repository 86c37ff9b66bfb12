"""Print the types that kernels are called with, by networks and operations in each precision."""

import json
import sys
from pathlib import Path

import numpy as np

import minifp as fp
import minifp.nn.functional as F
from minifp import models, nn, optim
from minifp.runtime.cpu.compile import decorators, shipped

from . import archives

PRECISIONS = (
    *("float32", "mixed", "autocast", "float16", "bfloat16", "float8", "autocast-bfloat16"),
    "bfloat16,master_weights=off,update_rounding=stochastic",
)
CALLS: dict = {}
ROOT = Path(compile.__file__).resolve().parents[2]
shipped.index = lambda path: {}  # as if there were none


def listen():
    """Note the types of every call of a kernel."""
    call = decorators.Kernel.__call__

    def noted(kernel, *args):
        note(kernel.path, kernel.py_func.__qualname__, kernel.types_of(args))
        return call(kernel, *args)

    decorators.Kernel.__call__ = noted


def note(path, name, types):
    """One call; not of what has no name in a file, nor of arguments that entries do not take."""
    if types and Path(path).is_relative_to(ROOT):
        known = CALLS.setdefault(Path(path).relative_to(ROOT).as_posix(), {}).setdefault(name, [])
        known += [types] if types not in known else []


class BatchNormed(nn.Sequential):
    """A small network with batch normalisation."""

    def __init__(self):
        super().__init__(
            *(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()),
            *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)),
        )


def train(model, x, t, optimizer):
    """A step, and a loss without one."""
    wrapped = fp.MixedOptimizer(optimizer(model.parameters(), lr=1e-3))
    for _ in range(2):
        z = model(fp.tensor(x))
        z = z[0] if isinstance(z, tuple) else z
        wrapped.minimize(F.cross_entropy(z, fp.tensor(t)))
    model.eval()
    with fp.no_grad():
        model(fp.tensor(x))


def networks():
    """Networks of the package, and one with batch normalisation."""
    rng = np.random.default_rng(0)

    def images(n, channels, side):
        return rng.normal(size=(n, channels, side, side)).astype("f4"), rng.integers(0, 10, n)

    text = rng.integers(0, 65, (16, 33))
    train(
        models.MLP(784, 64, 10),
        images(64, 1, 28)[0].reshape(64, -1),
        rng.integers(0, 10, 64),
        optim.SGD,
    )
    train(models.LeNet(), *images(64, 1, 28), optim.Adam)
    train(models.LeNet(10, 8), *images(64, 1, 8), optim.Adam)
    train(BatchNormed(), *images(64, 1, 28), optim.Adam)
    train(models.CIFARResNet(10, 20), *images(16, 3, 32), optim.SGD)
    train(models.VGG(10, 32), *images(8, 3, 32), optim.SGD)
    for network in (models.AlexNet, models.MobileNetV2, models.InceptionV2, models.ViTTiny):
        train(network(10, stem="smaller", width=1 / 8), *images(4, 3, 32), optim.SGD)
    for model in (models.CharLSTM(65, 64, 64, 2), models.CharGRU(65, 64, 64, 2)):
        train(model, text[:, :-1], text[:, 1:], optim.Adam)


def operations():
    """Operations that none of the networks has."""
    random = np.random.default_rng(1)
    x, w, rows = (
        fp.tensor(random.normal(size=shape), requires_grad=True)
        for shape in ((2, 8, 12, 12), (8, 8, 3, 3), (16, 144))
    )
    places = fp.tensor(np.arange(16) % 3)
    boxes = fp.tensor([[1.0, 2, 6, 7], [0, 1, 3, 9]], dtype="float32")
    F.batched_nms(boxes, fp.tensor([0.3, 0.7]), places[:2], 0.5)
    for y in (
        *(F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 3), F.max_pool2d(x, 3, 2, padding=1)),
        *(F.conv2d(x, w), F.conv2d(x, w, stride=2), F.conv_transpose2d(x, w)),
        *(F.interpolate(x, scale_factor=2), F.interpolate(x, scale_factor=2, mode="bilinear")),
        *(x @ x.transpose(-1, -2), rows @ rows.T, rows[:3], rows[[0, 2, 2]], rows.sum(0)),
        *(x.sum((0, 2, 3)), x.sum(-1), F.embedding(places, rows), F.local_response_norm(x, 5)),
        *(F.roi_align(x, [boxes, boxes], 3), F.roi_pool(x, [boxes, boxes], 3)),
    ):
        y.sum().backward()
        x.grad = w.grad = rows.grad = None


if __name__ == "__main__":
    output, sys.stdout = sys.stdout, sys.stderr
    listen()
    for precision in PRECISIONS:
        with fp.precision(precision):
            operations()
            networks()
    for native in decorators.NATIVES.values():
        note(native.path, native.symbol, native.signature)
    for path, kernels in CALLS.items():
        CALLS[path] = {n: types for n, types in kernels.items() if archives.kernel_of(path, n)}
    json.dump({path: kernels for path, kernels in CALLS.items() if kernels}, output)
