"""The ledger of bytes, against sums by hand."""

import numpy as np
import pytest

import minifp as fp
from minifp import nn, optim
from minifp.lab.memory import KINDS, buffer, measure_bytes
from minifp.nn import functional as F

B, I, H, C = 32, 20, 50, 10


def one_step(precision, model=None, backwards=1):
    """The bytes of one step of a two-layer perceptron, with gradients of several backwards."""
    with fp.precision(precision):
        layers = model or nn.Sequential(nn.Linear(I, H), nn.Tanh(), nn.Linear(H, C))
        optimizer = fp.MixedOptimizer(optim.SGD(layers.parameters(), lr=0.1))
        x = fp.tensor(np.ones((B, I), np.float32))
        t = fp.tensor(np.zeros(B, np.int64))
        with measure_bytes(layers, optimizer) as found:
            optimizer.zero_grad()
            for _ in range(backwards):
                optimizer.backward(F.cross_entropy(layers(x), t))
            optimizer.step()
    return found


NUMBERS = I * H + H + H * C + C


@pytest.mark.parametrize("precision, size", [("float32", 4), ("mixed", 2)])
def test_activations_are_what_backward_reads_and_no_weight_or_input(precision, size):
    """At least tanh's value and the logits' probabilities or logits; nothing is counted twice."""
    found = one_step(precision)
    assert set(found) == set(KINDS) and found["optimizer_state"] == 0
    assert size * B * H <= found["activations"] <= size * B * (2 * H) + 4 * B * (2 * C)
    assert size * NUMBERS <= found["gradients"] <= size * (NUMBERS + 2 * B * H)


@pytest.mark.parametrize("precision", ["float32", "mixed"])
def test_accumulated_gradients_are_held_once_however_many_were_added(precision):
    """Beside new ones there is their sum, in float32: no more after eight than after three."""
    one, *several = (one_step(precision, backwards=n)["gradients"] for n in (1, 3, 8))
    assert several == 2 * [one + 4 * NUMBERS]


def test_views_count_as_the_memory_they_look_at():
    whole = np.zeros((4, 6), np.float32)
    assert buffer(whole[1:].reshape(-1)[::2]) is whole
    assert buffer(np.frombuffer(b"12345678", np.uint8)[2:]).nbytes == 8
