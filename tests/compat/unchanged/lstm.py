"""An LSTM that reads digits row by row; see cnn.py for its small gradients."""

import minifp as fp
from minifp import nn, optim
from minifp.nn import functional as F

SMALL = 2.0**-20
fp.manual_seed(0)
train, test = fp.data.digits()


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 32, batch_first=True)
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        out, _ = self.lstm(x.reshape(x.shape[0], 8, 8))
        return self.head(out[:, -1])


model = Reader()
optimizer = optim.SGD(model.parameters(), lr=0.5 / SMALL, momentum=0.9)
for _ in range(6):
    for x, t in fp.data.DataLoader(train, batch_size=64, shuffle=True):
        loss = SMALL * F.cross_entropy(model(x), t)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

right = total = 0
with fp.no_grad():
    for x, t in fp.data.DataLoader(test, batch_size=256):
        right += (model(x).argmax(1) == t).sum().item()
        total += len(t)
print(f"score={right / total:.4f}")
