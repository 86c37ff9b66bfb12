"""Pictures of three channels for a model of one: which layer was it?"""

# raises: ShapeError: in Net.features.3 (Conv2d): conv2d: input

import minifp as fp
from minifp import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        first = nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2)
        self.features = nn.Sequential(*first, nn.Conv2d(16, 8, 3))

    def forward(self, x):
        return self.features(x).mean((2, 3))


Net()(fp.ones(2, 1, 16, 16))
