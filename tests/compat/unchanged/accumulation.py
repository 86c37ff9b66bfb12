"""Gradients of four small batches, clipped, for one step; see cnn.py for their size."""

import minifp as fp
from minifp import nn, optim
from minifp.nn import functional as F

SMALL, PARTS = 2.0**-20, 4
fp.manual_seed(0)
train, test = fp.data.digits()
model = nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = optim.SGD(model.parameters(), lr=0.2 / SMALL, momentum=0.9)

for _ in range(4):
    for i, (x, t) in enumerate(fp.data.DataLoader(train, batch_size=32, shuffle=True)):
        loss = F.cross_entropy(model(x), t) * SMALL / PARTS
        loss.backward()
        if (i + 1) % PARTS == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0 * SMALL)
            optimizer.step()
            optimizer.zero_grad()

x, t = map(fp.tensor, test[:])
with fp.no_grad():
    right = (model(x).argmax(1) == t).sum().item()
print(f"score={right / len(t):.4f}")
