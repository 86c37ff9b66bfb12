"""Pooling."""

from cases.case import functional


def pool(name, shape, *args):
    return functional(name, lambda f, x: getattr(f, name)(x, *args), shape)


CASES = [
    *(pool("max_pool2d", (2, 3, 6, 7), 2), pool("max_pool2d", (2, 3, 6, 7), 3, 2, 1)),
    *(pool("max_pool2d", (1, 1, 5, 5), (2, 3), (1, 2)), pool("max_pool2d", (0, 2, 4, 4), 2)),
    *(pool("avg_pool2d", (2, 3, 6, 7), 2), pool("avg_pool2d", (2, 3, 6, 7), 3, 2, 1)),
    *(pool("avg_pool2d", (1, 2, 4, 4), (1, 4), 1), pool("avg_pool2d", (0, 2, 4, 4), 2)),
]

# A layer in minifp.nn or torch.nn, and the shape of its input.
LAYERS = {
    "MaxPool2d": (lambda m: m.MaxPool2d(3, 2, 1), (2, 3, 7, 6)),
    "AvgPool2d": (lambda m: m.AvgPool2d(2), (2, 3, 7, 6)),
}
