"""model.half(), as it was done before there was autocast, then an optimizer with a loss scale."""

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).half()
optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1))
assert optimizer.master_weights and optimizer.scale == 2.0**16  # as under "mixed"
optimizer.backward(F.cross_entropy(model(fp.ones(4, 4).half()), fp.tensor([0, 1, 0, 1])))
assert optimizer.step().stepped

fixed = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1), loss_scale=128)
assert fixed.scale == 128
assert fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1), loss_scale=None).scale == 1
