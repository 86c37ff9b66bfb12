"""Lesson 8: sums whose partial sums are float16, float16 in chunks, or float32."""

import numpy as np

from minifp.numerics import policy
from minifp.ops import cross_entropy, tensor


def error(K: int, way: str) -> float:
    """The mean relative error of eight dot products of K numbers from 0 to 1. way: of a precision's
    `accumulate`."""
    random = np.random.default_rng(0)
    a = random.random((8, 1, K)).astype(np.float16)
    b = random.random((8, K, 1)).astype(np.float16)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    with policy.precision(f"mixed,accumulate={way}"):
        y = (tensor(a) @ tensor(b)).numpy().astype(np.float64)
    return float(np.mean(abs(y / exact - 1)))


def loss(words: int, way: str) -> float:
    """The cross entropy of an untrained model of so many words, whose logits are all 0. way: of a
    precision's `reduce`."""
    with policy.precision(f"mixed,reduce={way}"):
        logits = tensor(np.zeros((1, words), np.float16))
        return float(cross_entropy(logits, tensor([0])).item())
