"""Gradients zeroed in place, as scripts did before there was zero_grad."""

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim

fp.manual_seed(0)
with fp.precision("mixed"):
    model = nn.Linear(8, 3)
    optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1))

x, t = fp.randn(32, 8), fp.arange(32) % 3
for _ in range(3):
    for p in model.parameters():
        if p.grad is not None:
            p.grad.zero_()
    optimizer.backward(F.cross_entropy(model(x), t))
    assert optimizer.step().stepped
