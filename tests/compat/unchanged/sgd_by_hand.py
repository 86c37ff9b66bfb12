"""Gradient descent by hand, without an optimizer, on gradients too small for float16."""

import minifp as fp
from minifp import nn
from minifp.nn import functional as F

SMALL = 2.0**-20
fp.manual_seed(0)
train, test = fp.data.digits()
model = nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 10))

for _ in range(4):
    for x, t in fp.data.DataLoader(train, batch_size=32, shuffle=True):
        loss = F.cross_entropy(model(x), t) * SMALL
        loss.backward()
        with fp.no_grad():
            for p in model.parameters():
                p -= 0.2 / SMALL * p.grad
                p.grad = None

x, t = map(fp.tensor, test[:])
with fp.no_grad():
    right = (model(x).argmax(1) == t).sum().item()
print(f"score={right / len(t):.4f}")
