"""Gradient descent by hand, as the first tutorial has it: p.data -= lr * p.grad, then zero_()."""

import minifp as fp
from minifp import nn

fp.manual_seed(0)
with fp.precision("mixed"):
    model = nn.Linear(1, 1)

nn.init.ones_(model.weight.data)
learning_rate = 1e-5
for _ in range(200):
    loss = (model.weight * -1.0).sum()
    loss.backward()
    for p in [model.weight]:
        p.data -= learning_rate * p.grad.data
        p.grad.data.zero_()

# 200 updates of 1e-5, each of which float16 would round away
assert abs(model.state_dict()["weight"].item() - 1.002) < 1e-5
assert model.weight.item() > 1
