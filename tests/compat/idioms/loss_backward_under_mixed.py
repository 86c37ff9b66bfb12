"""The float32 loop as everybody knows it, with a MixedOptimizer put in: the scale is passed by."""

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim

# warns: MisuseWarning: Write optimizer.backward(loss) instead

fp.manual_seed(0)
with fp.precision("mixed"):
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1))

x, t = fp.randn(32, 8), fp.arange(32) % 3
for _ in range(3):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), t)
    loss.backward()
    optimizer.step()
