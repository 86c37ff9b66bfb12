"""Lesson 13: a policy that writes letters, computed in two ways, and trained by REINFORCE.

A letter earns 1 if it is the one that follows the letter before it (after the last comes the
first). All arrays are (B, T): texts by letters.
"""

from typing import Any

import numpy as np

from minifp import nn, optim
from minifp.autograd.grad_mode import no_grad
from minifp.numerics import policy as policies
from minifp.ops import gather, linear, log_softmax, sigmoid, tanh, tensor, zeros
from minifp.runtime.random import manual_seed
from minifp.training.mixed import MixedOptimizer

LETTERS, HIDDEN, LENGTH, BATCH = 8, 64, 16, 64


class Policy(nn.Module):
    """Which letter comes next: log-probabilities."""

    def __init__(self) -> None:
        self.embedding = nn.Embedding(LETTERS, 32)
        self.lstm = nn.LSTM(32, HIDDEN, batch_first=True)
        self.head = nn.Linear(HIDDEN, LETTERS)

    def forward(self, codes: Any) -> Any:
        """The trainer's way. codes: (B, T); returns (B, T, letters)."""
        h, _ = self.lstm(self.embedding(codes))
        return log_softmax(self.head(h), -1, dtype="float32")

    def one_step(self, codes: Any, h: Any, c: Any) -> tuple[Any, Any, Any]:
        """The sampler's way. codes: (B); returns (B, letters) and the next state."""
        x = self.embedding(codes)
        of: Any = self.lstm
        gates = linear(x, of.weight_ih_l0, of.bias_ih_l0)
        gates = gates + linear(h, of.weight_hh_l0, of.bias_hh_l0)
        i, f, g, o = (gates[:, k * HIDDEN : (k + 1) * HIDDEN] for k in range(4))
        c = sigmoid(f) * c + sigmoid(i) * tanh(g)
        h = sigmoid(o) * tanh(c)
        return log_softmax(self.head(h), -1, dtype="float32"), h, c


def write(policy: Any, rng: np.random.Generator, length: int = LENGTH) -> tuple[Any, Any]:
    """The sampler writes. Returns the letters (B, T + 1), and log p of each but the first."""
    codes, logs = [np.zeros(BATCH, np.int64)], []
    h = c = zeros(BATCH, HIDDEN, dtype=policy.head.weight.dtype)
    with no_grad():
        for _ in range(length):
            log_p, h, c = policy.one_step(tensor(codes[-1]), h, c)
            log_p = log_p.numpy()
            codes.append((log_p + rng.gumbel(size=log_p.shape)).argmax(1))  # a draw from p
            logs.append(log_p[np.arange(BATCH), codes[-1]])
    return np.stack(codes, 1), np.stack(logs, 1)


def read(policy: Any, codes: np.ndarray) -> Any:
    """The trainer's log p of each letter but the first."""
    return gather(policy(tensor(codes[:, :-1])), -1, tensor(codes[:, 1:, None]))[..., 0]


def reward_of(codes: np.ndarray) -> np.ndarray:
    """1 for each letter that follows the one before it."""
    return (codes[:, 1:] == (codes[:, :-1] + 1) % LETTERS).astype(np.float32)


def play(precision: str, seed: int, steps: int) -> tuple[Any, np.ndarray]:
    """Train. Returns the policy, and for each step the reward of a letter and the mismatch."""
    manual_seed(seed)
    rng, history = np.random.default_rng(seed), []
    with policies.precision(precision):
        policy = Policy()
        optimizer = MixedOptimizer(optim.Adam(policy.parameters(), lr=3e-3))
        for _ in range(steps):
            codes, log_sampler = write(policy, rng)
            reward = reward_of(codes)
            advantage = tensor(reward - reward.mean())
            log_trainer = read(policy, codes)
            mismatch = np.abs(log_trainer.numpy() - log_sampler).mean()
            optimizer.minimize(-(log_trainer * advantage).mean())
            history.append((reward.mean(), mismatch))
    return policy, np.array(history).T


def differences(trained: Any, format: str, length: int = LENGTH, seed: int = 1) -> np.ndarray:
    """log p by the trainer less log p by the sampler, of letters that the sampler wrote, with the
    weights of a trained policy rounded to a format."""
    with policies.precision(f"float32,storage={format}"):
        policy = Policy()
        policy.load_state_dict(trained.state_dict())
        codes, log_sampler = write(policy, np.random.default_rng(seed), length)
        with no_grad():
            return read(policy, codes).numpy().astype(np.float64) - log_sampler
