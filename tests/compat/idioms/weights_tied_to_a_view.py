"""Names of weights taken before the optimizer is made, used after: reads are fresh, writes land."""

import minifp as fp
from minifp import nn, optim

fp.manual_seed(0)
with fp.precision("mixed"):
    model = nn.Linear(3, 3, bias=False)
    diagonal_row, everything = model.weight.data[0], model.weight.detach()
    optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.5))

optimizer.backward(model(fp.ones(1, 3)).sum())
optimizer.step()
assert everything.equal(model.weight.data) and diagonal_row.equal(model.weight.data[0])

diagonal_row.zero_()
assert model.weight[0].tolist() == [0, 0, 0]
optimizer.zero_grad()
optimizer.backward(model(fp.ones(1, 3)).sum())
optimizer.step()
assert model.weight[0].tolist() == [-0.5, -0.5, -0.5]  # the step began from what was written
