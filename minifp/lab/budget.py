"""A budget of time for runs, and the looks at verdicts that are planned before the first one."""

import math
import re
from dataclasses import dataclass

from minifp.errors import ArgumentError
from minifp.lab.settings import seed_list
from minifp.lab.statistics.looks import bounds, planned_looks
from minifp.lab.statistics.power import LEVEL
from minifp.lab.workers.progress import spoken
from minifp.report import words

MOST, MOST_LOOKED_AT = 32, 256  # seeds of an arm, where nothing else is said, and at all
UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True)
class Budget:
    """seconds: that all runs together may take, so many at a time as there are lanes. seeds: in
    the order in which they are spent; looks: after how many pairs of these verdicts are read."""

    seconds: float
    seeds: tuple[int, ...]
    looks: tuple[int, ...]

    def __post_init__(self):
        if not 3 <= self.looks[0] or [*self.looks] != sorted({*self.looks}):
            raise ArgumentError(f"looks at {list(self.looks)} pairs: expected more at each")

    def told(self) -> dict:
        """As plain numbers, as it is registered."""
        return {
            "seconds": self.seconds,
            "looks": [*self.looks],
            "level": LEVEL,
            "spending": "Pocock",
            "bounds": [*bounds(self.looks)],
        }

    def __str__(self) -> str:
        looks = words.listed(map(str, self.looks))
        return f"a budget of {spoken(self.seconds)}, looks at {looks} seeds"


def seeds_within(budget, seeds, usual: int) -> tuple[list[int], Budget | None]:
    """The seeds that are asked for, `usual` or MOST of them where None says so, and the Budget.

    budget: "2h", "90m", "45s", or so many seconds; None where there is none. Raises ArgumentError
    for what is no time, no seeds, or too few for a look.
    """
    if budget is None:
        return seed_list(usual if seeds is None else seeds), None
    match = re.fullmatch(r"([\d.]+(?:e-?\d+)?) ?(s|m|min|h|d)?", str(budget).strip())
    try:
        seconds = float(match[1]) * UNITS[match[2] or "s"] if match else 0.0
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < math.inf:
        raise ArgumentError(f"budget={budget!r}: expected a time, such as 2h, 90m or 45s")
    which = sorted(seed_list(MOST if seeds is None else seeds))
    if len(which) > MOST_LOOKED_AT:
        raise ArgumentError(
            f"{len(which):,} seeds with a budget: expected at most {MOST_LOOKED_AT}"
        )
    return which, Budget(seconds, tuple(which), planned_looks(len(which)))
