"""A fixed network that scores pictures of digits: what a GAN's are judged by, in place of eyes.

It was trained on the bundled digits to train with (`python scripts/write_digit_scorer.py`), in
float32; its weights lie beside this file. What it sees as features are the 32 numbers before its
last layer, each divided by its deviation on the digits it was trained on.
"""

from functools import cache
from pathlib import Path

import numpy as np

from minifp import Tensor, nn, no_grad, precision, tensor
from minifp.nn import functional as F

WEIGHTS = Path(__file__).with_name("digit_scorer.npz")
FEATURES = 32


class DigitScorer(nn.Module):
    """Two convolutions and two linear layers: pictures (N, 1, 8, 8) from 0 to 1 -> (N, 10)."""

    def __init__(self) -> None:
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc1 = nn.Linear(128, FEATURES)
        self.fc2 = nn.Linear(FEATURES, 10)
        self.deviation = nn.Buffer(np.ones(FEATURES, np.float32))

    def features(self, x: Tensor) -> Tensor:
        """What the last layer reads, (N, 32)."""
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return F.relu(self.fc1(x.flatten(1)))

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(self.features(x))


@cache
def scorer() -> DigitScorer:
    """The trained network, in float32 whatever the precision is."""
    with precision("float32"), np.load(WEIGHTS, allow_pickle=False) as arrays:
        network = DigitScorer()
        network.load_state_dict({name: arrays[name].astype(np.float32) for name in arrays.files})
    return network.eval()


def scored(pictures: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(features (N, 32), probabilities (N, 10)) of pictures (N, 1, 8, 8), whose pixels are 0 to 1:
    in float32. Those of pictures that are not finite are NaN."""
    network = scorer()
    x = np.ascontiguousarray(pictures, np.float32)
    with precision("float32"), no_grad():
        h = network.features(tensor(x, device="cpu"))
        p = F.softmax(network.fc2(h), 1)
        return h.numpy() / network.deviation.numpy(), p.numpy()
