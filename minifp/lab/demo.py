"""The demonstration: each technique of mixed precision at work, on bundled data, in minutes.

The sizes are the smallest at which the effect is unmistakable with three seeds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from minifp.lab.comparison import Comparison, compare
from minifp.task import Task

SEEDS = 3


@dataclass(frozen=True)
class Part:
    """One comparison of the demonstration.

    key: its letter; name: its folder. claim: what it shows, in one sentence; look: where to see it;
    honest: what was arranged so that it shows at this size. task: builds its Task.
    """

    key: str
    name: str
    title: str
    claim: str
    look: str
    honest: str
    task: Callable[[], Task]
    precisions: tuple[str, ...]
    seeds: int = SEEDS

    def run(self, out, progress: bool = True, figures: str | None = None) -> Comparison:
        """Train what is missing of this part in `out`/name, and return its comparison."""
        folder = Path(out) / self.name
        return compare(
            self.task(), self.precisions, self.seeds, out=folder, figures=figures, progress=progress
        )
