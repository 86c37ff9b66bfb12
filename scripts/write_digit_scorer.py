"""Train the network that scores the gallery's digits, and write its weights beside its source.

    python scripts/write_digit_scorer.py

In float32; weights are stored in float16. Prints how many of the digits to test with it names
right, and of how many it is sure.
"""

import argparse

import numpy as np
from minifp.exhibits.digit_scorer import DigitScorer

import minifp as fp
from minifp import data, optim
from minifp.data import DataLoader
from minifp.exhibits import digit_scorer
from minifp.nn import functional as F
from minifp.optim import lr_scheduler

EPOCHS = 40


def trained() -> DigitScorer:
    """The network after its training."""
    fp.manual_seed(0)
    network, (train, _) = DigitScorer(), data.digits()
    optimizer = optim.Adam(network.parameters(), lr=2e-3)
    loader = DataLoader(train, 32, shuffle=True)
    schedule = lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS * len(loader))
    for _ in range(EPOCHS):
        for x, t in loader:
            optimizer.zero_grad()
            F.cross_entropy(network(x), t).backward()
            optimizer.step()
            schedule.step()
    return network


def main() -> None:
    """Train, write, and say how good it is as it is read again."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    network = trained()
    state = {name: t.numpy().astype(np.float16) for name, t in network.state_dict().items()}
    (x, _), (y, t) = (part[np.arange(len(part))] for part in data.digits())
    features = network.features(fp.tensor(x)).numpy()
    state["deviation"] = np.maximum(features.std(0), 1e-3).astype(np.float16)
    path = digit_scorer.WEIGHTS
    np.savez_compressed(path, **state)
    _, p = digit_scorer.scored(y)
    right = 100 * np.mean(p.argmax(1) == t)
    sure = 100 * np.mean(p.max(1) > 0.9)
    print(f"{path.name}: {path.stat().st_size} bytes, {right:.1f}% right, {sure:.1f}% above 0.9")


if __name__ == "__main__":
    main()
