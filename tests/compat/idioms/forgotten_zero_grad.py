"""A loop that never calls zero_grad: every step takes the gradients of all before along."""

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim

# warns: MisuseWarning: Call zero_grad() after each step, or before backward

fp.manual_seed(0)
model = nn.Linear(8, 3)
optimizer = optim.SGD(model.parameters(), lr=0.01)
x, t = fp.randn(32, 8), fp.arange(32) % 3
for _ in range(4):
    F.cross_entropy(model(x), t).backward()
    optimizer.step()
