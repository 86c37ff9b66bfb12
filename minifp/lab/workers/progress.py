"""How far runs are, and how long the others will take: from runs that are finished, and from the
steps of those under way.

An arm may take much longer than another, so each is expected to take what its own finished runs
took; one that has none yet, the mean of what is known.
"""

import time
from collections.abc import Sequence
from statistics import mean
from typing import Any

from minifp.lab.workers.wanted import Wanted

LEAST_SHARE = 0.05  # of a run that is needed to tell from it how long it will take
FORMAT = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} steps [{elapsed}{postfix}]"


class Progress:
    """The line that shows it. It is entered as a `with` block.

    lanes: how many runs are under way at a time.
    """

    def __init__(self, title: str, wanted: Sequence[Wanted], lanes: int, shown: bool) -> None:
        self.title, self.lanes, self.shown = title, lanes, shown
        self.left = {id(one): one.steps for one in wanted}
        self.wanted, self.finished = list(wanted), 0
        self.begun: dict[int, float] = {}
        self.seconds: dict[tuple, list[float]] = {}  # of the finished runs of each kind
        self.bar: Any = None

    def __enter__(self) -> "Progress":
        from minifp.runtime.bars import tqdm

        total = sum(self.left.values())
        settings = {"unit": "step", "mininterval": 0.5, "bar_format": FORMAT}
        self.bar = tqdm(total=total, desc=self.title, disable=not self.shown, **settings)
        return self

    def __exit__(self, *raised: object) -> None:
        self.bar.close()

    def begin(self, one: Wanted) -> None:
        """A run begins, for the first time or once more."""
        self.begun[id(one)] = time.perf_counter()
        self.bar.update(self.left.get(id(one), 0) - one.steps)
        self.left[id(one)] = one.steps
        self._tell()

    def reached(self, one: Wanted, steps: int) -> None:
        """A run has done so many steps."""
        if id(one) in self.begun and one.steps - steps < self.left[id(one)]:
            self.bar.update(self.left[id(one)] - one.steps + steps)
            self.left[id(one)] = one.steps - steps
            if self.lanes > 1 or steps % 16 == 0:
                self._tell()

    def end(self, one: Wanted) -> None:
        """A run is finished, or was stopped."""
        self.finished += 1
        self.bar.update(self.left.pop(id(one)))
        seconds = time.perf_counter() - self.begun.pop(id(one))
        self.seconds.setdefault(kind(one), []).append(seconds)
        self._tell()

    def remaining(self) -> float | None:
        """Seconds until all are finished, about; None while nothing is known."""
        now, partly = time.perf_counter(), {}
        for one in self.wanted:
            if id(one) in self.begun:
                done = one.steps - self.left[id(one)]
                if done > LEAST_SHARE * one.steps:
                    partly[id(one)] = (now - self.begun[id(one)]) * one.steps / done
        whole = {k: mean(s) for k, s in self.seconds.items()}
        known = [*whole.values()] or [*partly.values()]
        if not known:
            return None
        rest = []
        for one in self.wanted:
            if id(one) in self.left:
                takes = partly.get(id(one), whole.get(kind(one), mean(known)))
                rest.append(takes * self.left[id(one)] / one.steps)
        return max(sum(rest) / self.lanes, max(rest, default=0.0))

    def _tell(self):
        seconds = self.remaining()
        left = f", about {spoken(seconds)} left" if seconds else ""
        running = [one for one in self.wanted if id(one) in self.begun]
        now = f", {running[0]}" if self.lanes == 1 and running else ""
        told = f"{self.finished} of {len(self.wanted)} runs{now}{left}"
        self.bar.set_postfix_str(told, refresh=False)


def kind(one: Wanted) -> tuple:
    """What takes equally long: one arm of one comparison."""
    return id(one.comparison), one.arm


def spoken(seconds: float) -> str:
    """A time in words: "40 s", "12 min", "3.5 h"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"
