"""One picture of a comparison."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Panel:
    """title: what it shows. draw: into axes. said: the same in words, if it has no labels: (name,
    text) of each of its rows, where it has one for each arm."""

    name: str
    title: str
    draw: Callable[[Any], None]
    said: str = ""
    labels: Sequence[tuple[str, str]] | None = None

    @property
    def description(self) -> str:
        """For those who cannot see it."""
        return self.said or "; ".join(f"{name} {text}" for name, text in self.labels or ()) + "."
