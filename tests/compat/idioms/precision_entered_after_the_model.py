"""The model is made first, and mixed precision is meant to begin where training does."""

# warns: MisuseWarning: made under "float32": it computes and trains in "float32"

import minifp as fp
from minifp import nn, optim

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
with fp.precision("mixed"):
    for _ in range(2):
        optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1))
    assert optimizer.scale == 1

with fp.precision("mixed"):
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1))  # the right way: no warning
assert 'precision "mixed": parameters in float16, masters in float32' in repr(model)
assert 'precision="mixed", parameters=float16, masters=float32' in repr(optimizer)
