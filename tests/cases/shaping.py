"""Shapes and indices."""

import numpy as np

from cases.case import alike

INDEX = np.array([[0, 3, 3], [1, 3, 0]])


def index(description, i, shape=(4, 3, 2)):
    return alike(f"getitem {description}", lambda m, x: x[i], shape)


CASES = [
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
