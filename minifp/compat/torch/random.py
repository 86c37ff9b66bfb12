"""Random numbers by PyTorch's names: one stream for each purpose, which one seed begins."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError
from minifp.runtime import random
from minifp.runtime.callers import warn_once

__all__ = ["Generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed"]
__all__ += ["set_rng_state"]


class Generator:
    """A generator: its seed is that of the process, and drawing from it is drawing from that."""

    is_of_process = True

    def __init__(self, device: Any = "cpu") -> None:
        self.device = device

    def manual_seed(self, seed: int) -> "Generator":
        """Set the seed of all random numbers, and say so once."""
        warn_once("Generator", "torch.Generator.manual_seed sets the seed of all random numbers")
        manual_seed(seed)
        return self

    def initial_seed(self) -> int:
        """The seed of the process."""
        return initial_seed()

    def seed(self) -> int:
        """Set a seed drawn by the system, and return it."""
        return seed()

    def get_state(self) -> Tensor:
        """As torch.get_rng_state()."""
        return get_rng_state()

    def set_state(self, state: Tensor) -> None:
        """As torch.set_rng_state(state)."""
        set_rng_state(state)


def manual_seed(seed: int) -> Generator:
    """Set the seed of all random numbers; PyTorch's negative seeds are taken modulo 2^64."""
    random.manual_seed(int(seed) % 2**64 if int(seed) < 0 else int(seed))
    return Generator()


def initial_seed() -> int:
    """The seed of the process."""
    return int(random.get_state()["seed"])


def seed() -> int:
    """Set a seed drawn by the system, and return it."""
    drawn = int(np.random.SeedSequence().generate_state(1)[0])
    manual_seed(drawn)
    return drawn


def get_rng_state() -> Tensor:
    """The state of all random streams, as JSON in a tensor of uint8."""
    return Tensor(np.array([*json.dumps(random.get_state()).encode()], np.uint8))


def set_rng_state(state: Tensor) -> None:
    """Go back to a state. Raises ArgumentError for one that `get_rng_state` has not returned, such
    as PyTorch's own."""
    try:
        states = json.loads(state.numpy().tobytes())
    except ValueError:
        raise ArgumentError("set_rng_state: expected what torch.get_rng_state() returns") from None
    random.set_state(states)


@contextmanager
def fork_rng(*args: Any, **settings: Any) -> Iterator[None]:
    """A context after which random streams go on as they would have before it."""
    state = random.get_state()
    try:
        yield
    finally:
        random.set_state(state)
