"""A small CNN on digits, as somebody wrote it who never heard of mixed precision.

Its loss is a mean over 2^20 times as many terms as there are (and its rate as much larger), so that
gradients are as small as those of a large model: in float16 they need a loss scale.
"""

import minifp as fp
from minifp import nn, optim
from minifp.nn import functional as F

SMALL = 2.0**-20
fp.manual_seed(0)
train, test = fp.data.digits()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16 * 2 * 2, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


model = Net()
optimizer = optim.SGD(model.parameters(), lr=0.1 / SMALL, momentum=0.9)
for _ in range(3):
    for x, t in fp.data.DataLoader(train, batch_size=64, shuffle=True):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), t) * SMALL
        loss.backward()
        optimizer.step()

model.eval()
x, t = map(fp.tensor, test[:])
with fp.no_grad():
    right = (model(x).argmax(1) == t).sum().item()
print(f"score={right / len(t):.4f}")
