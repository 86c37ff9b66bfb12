"""GradScaler's habit: the loss multiplied by the scale, and then a plain backward."""

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim

# warns: MisuseWarning: Of a loss that you multiplied by S yourself

fp.manual_seed(0)
with fp.precision("mixed"):
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=1e-6))

x, t = fp.randn(32, 8), fp.arange(32) % 3
loss = F.cross_entropy(model(x), t)
(loss * optimizer.scale).backward()
optimizer.step()
