"""Layers kept in a list, as Python programmers keep things."""

# warns: MisuseWarning: nn.ModuleList
# warns: MisuseWarning: nn.ModuleDict
# warns: MisuseWarning: nn.ParameterList

import minifp as fp
from minifp import nn, optim


class Tower(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.layers = []
        for _ in range(depth):
            self.layers.append(nn.Linear(4, 4))
        self.heads = {"a": [nn.Linear(4, 2)]}
        self.gains = [nn.Parameter(fp.ones(4))]
        self.words = ["of", "no", "interest"] * 1000
        self.last = nn.Linear(4, 2)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu() * self.gains[0]
        return self.last(x) + self.heads["a"][0](x)


class Listed(nn.Module):
    """What is in lists is in a Sequential too, or not to be trained: nothing to tell."""

    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(4, 4), nn.ReLU()]
        self.net = nn.Sequential(*self.layers)
        self.teacher = [nn.Linear(4, 4).requires_grad_(False)]

    def forward(self, x):
        return self.net(x)


for model in (Tower(3), Listed()):
    for _ in range(2):
        optimizer = optim.SGD(model.parameters(), lr=0.1)
    model(fp.ones(1, 4)).sum().backward()
    optimizer.step()
