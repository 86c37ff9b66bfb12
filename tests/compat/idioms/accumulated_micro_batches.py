"""Gradient accumulation as tutorials have it: the loss divided by how many, then one step."""

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim

fp.manual_seed(0)
with fp.precision("mixed"):
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1))

x, t = fp.randn(32, 8), fp.arange(32) % 3
accumulation_steps = 4
optimizer.zero_grad()
for i in range(8):
    rows = slice(4 * i, 4 * i + 4)
    loss = F.cross_entropy(model(x[rows]), t[rows]) / accumulation_steps
    optimizer.backward(loss)
    if (i + 1) % accumulation_steps == 0:
        result = optimizer.step()
        optimizer.zero_grad()
assert result.stepped
