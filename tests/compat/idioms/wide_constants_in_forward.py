"""Constants of NumPy's default format, and a mask made outside of the model's precision."""

# warns: MisuseWarning: mul of activations in float16 and an array in float32
# warns: MisuseWarning: add of activations in float16 and an array in float64

import numpy as np

import minifp as fp
import minifp.nn.functional as F
from minifp import nn

mask = fp.tensor([1.0, 0.0, 1.0, 1.0])
noise = np.random.default_rng(0).normal(size=4)


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.norm, self.last = nn.LayerNorm(4), nn.Linear(4, 2)

    def forward(self, x):
        x = self.norm(self.first(x)) * mask
        x = self.second(x.relu())
        x = x + noise
        x = self.last(x / np.sqrt(4.0))
        return (x.float() * fp.ones(2)).sum(1, keepdim=True) * 0.5 + x  # on purpose


class Quiet(nn.Module):
    """What is right, or makes nothing wide."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        x = (x - 0.5) * mask  # a float32 batch, rounded at the door
        x = self.first(x) * fp.tensor([1.0, 0.0, 1.0, 1.0]) * 0.5
        x = (x - x.mean()) / (x.var() + 1e-5).sqrt()
        x = x.float() * mask  # on purpose
        return self.last(x.softmax(1)).float() * mask[:2]


with fp.precision("mixed"):
    models = Masked(), Quiet()
for model in models:
    for _ in range(2):
        F.mse_loss(model(fp.ones(3, 4)), fp.zeros(3, 2)).backward()
