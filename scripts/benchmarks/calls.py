"""What a call costs: small operations and steps in both libraries, in turn, in one process.

Of an operation, forward and backward from a gradient that is given; of a step, all of it. The
arrays are so small that arithmetic takes next to nothing: what is measured is the way of a call.
"""

import gc
from math import exp, log
from statistics import median
from time import process_time

import numpy as np
import torch
from torch import nn as their_nn
from torch.nn import functional as theirs

import minifp as fp
import minifp.nn.functional as ours
from minifp import models, nn, optim

ROWS, COLUMNS, SECONDS = 16, 32, 0.02

OPERATIONS = {  # name: (shapes of the arguments, the same function for both libraries)
    "add, with a bias": ([(ROWS, COLUMNS), (COLUMNS,)], lambda f, x, b: x + b),
    "mul": ([(ROWS, COLUMNS)] * 2, lambda f, x, y: x * y),
    "relu": ([(ROWS, COLUMNS)], lambda f, x: f.relu(x)),
    "reshape": ([(ROWS, COLUMNS)], lambda f, x: x.reshape(COLUMNS, ROWS)),
    "transpose": ([(ROWS, COLUMNS)], lambda f, x: x.transpose(0, 1)),
    "softmax": ([(ROWS, COLUMNS)], lambda f, x: f.softmax(x, -1)),
    "linear": (
        [(ROWS, COLUMNS), (COLUMNS, COLUMNS), (COLUMNS,)], lambda f, x, w, b: f.linear(x, w, b)
    ),
    "layer_norm": (
        [(ROWS, COLUMNS), (COLUMNS,), (COLUMNS,)],
        lambda f, x, w, b: f.layer_norm(x, (COLUMNS,), w, b),
    ),
    "cross_entropy": ([(ROWS, COLUMNS)], None),
}  # fmt: skip


def passes(name):
    """Forward and backward of an operation, as two functions without arguments."""
    shapes, call = OPERATIONS[name]
    random = np.random.default_rng(0)
    arrays = [random.normal(size=shape).astype(np.float32) for shape in shapes]
    classes = random.integers(0, COLUMNS, ROWS)
    ways = []
    for tensor, functional in ((fp.tensor, ours), (torch.tensor, theirs)):
        leaves = [tensor(a, requires_grad=True) for a in arrays]
        which = tensor(classes)
        way = call or (lambda f, x, which=which: f.cross_entropy(x, which))
        y = way(functional, *leaves)
        dy = tensor(random.normal(size=tuple(y.shape)).astype(np.float32))

        def both(way=way, functional=functional, leaves=leaves, dy=dy):
            for leaf in leaves:
                leaf.grad = None
            way(functional, *leaves).backward(dy)

        ways.append(both)
    return ways


def step_of(model, optimizer, loss_of):
    """A training step in PyTorch's order."""

    def step():
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        optimizer.step()

    return step


def steps(name):
    """A training step, as two functions without arguments."""
    x = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32)
    t = np.arange(64) % 10
    if name == "step of MLP(64, 128, 64, 10)":
        mine = models.MLP(64, 128, 64, 10)
        layers = their_nn.Linear(64, 128), their_nn.Linear(128, 64), their_nn.Linear(64, 10)
        relu = their_nn.ReLU
        other = their_nn.Sequential(layers[0], relu(), layers[1], relu(), layers[2])
    else:
        mine = nn.Sequential(*[nn.Linear(8, 8) for _ in range(24)], nn.Linear(8, 10))
        layers = [their_nn.Linear(8, 8) for _ in range(24)]
        other = their_nn.Sequential(*layers, their_nn.Linear(8, 10))
        x = x[:, :8]
    (u, v), (a, b) = ((torch.tensor(x), torch.tensor(t)), (fp.tensor(x), fp.tensor(t)))
    return [
        step_of(mine, optim.SGD(mine.parameters(), lr=1e-4),
                lambda model: ours.cross_entropy(model(a), b)),
        step_of(other, torch.optim.SGD(other.parameters(), lr=1e-4),
                lambda model: theirs.cross_entropy(model(u), v)),
    ]  # fmt: skip


STEPS = "step of 50 small parameters", "step of MLP(64, 128, 64, 10)"


def seconds(call, times):
    """Processor time of one of so many calls."""
    start = process_time()
    for _ in range(times):
        call()
    return (process_time() - start) / times


def measured(ways, repeat):
    """(seconds of ours, of theirs, the median of their ratios over rounds)."""
    times = []
    for way in ways:
        seconds(way, 20)
        times.append(max(1, round(SECONDS / seconds(way, 20))))
    rounds = []
    for i in range(repeat):
        order = (0, 1) if i % 2 else (1, 0)
        taken = {k: seconds(ways[k], times[k]) for k in order}
        rounds.append((taken[0], taken[1]))
    return *map(median, zip(*rounds)), median(a / b for a, b in rounds)


def table(repeat):
    """The table, as Markdown: what both take, and the ratio. On one thread."""
    torch.set_num_threads(1)
    rows = {name: measured(passes(name), repeat) for name in OPERATIONS}
    mean = exp(sum(log(ratio) for *_, ratio in rows.values()) / len(rows))
    gc.collect()
    rows |= {name: measured(steps(name), repeat) for name in STEPS}
    lines = ["| forward and backward | minifp, us | PyTorch, us | ratio |", "|---|---:|---:|---:|"]
    for name, (mine, other, ratio) in rows.items():
        lines.append(f"| {name} | {mine * 1e6:.1f} | {other * 1e6:.1f} | {ratio:.2f} |")
    return "\n".join([*lines, f"\nGeometric mean of the operations: {mean:.2f}."])
