"""How far runs are: a bar of tqdm's over the steps of all of them, which says how long the others
take at the mean rate so far.
"""

from collections.abc import Callable, Sequence
from typing import Any

from minifp.lab.workers.request import Request

TIMES = "[{elapsed}<{remaining}{postfix}]"
FORMAT = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} steps " + TIMES


class Progress:
    """The bar. It is entered as a `with` block."""

    def __init__(self, title: str, requests: Sequence[Request], is_visible: bool) -> None:
        self.title, self.is_visible, self.runs, self.finished = title, is_visible, len(requests), 0
        self.left = {id(one): one.steps for one in requests}
        self.under_way: dict[int, Request] = {}
        self.bar: Any = None

    def __enter__(self) -> "Progress":
        from minifp.runtime.bars import tqdm

        settings = {"mininterval": 0.5, "smoothing": 0, "bar_format": FORMAT}
        total = sum(self.left.values())
        self.bar = tqdm(total=total, desc=self.title, disable=not self.is_visible, **settings)
        return self

    def __exit__(self, *raised: object) -> None:
        self.bar.close()

    def begin(self, one: Request) -> None:
        """A run begins, for the first time or once more."""
        self.under_way[id(one)] = one
        self._put(one, one.steps)
        self._tell()

    def reached(self, one: Request, steps: int) -> None:
        """A run has done so many steps."""
        self._put(one, min(one.steps - steps, self.left[id(one)]))

    def follower(self, one: Request) -> Callable[[Any], None]:
        """A function of a Run that is told after each step."""
        return lambda run: self.reached(one, run.steps)

    def end(self, one: Request) -> None:
        """A run is finished, or was stopped."""
        self.finished += 1
        self._put(one, 0)
        self.under_way.pop(id(one), None)
        self._tell()

    def _put(self, one, left):
        """So many steps of a run are left."""
        self.bar.update(self.left[id(one)] - left)
        self.left[id(one)] = left

    def _tell(self):
        names = [str(run) for run in self.under_way.values()]
        now = f", {names[0]}" if len(names) == 1 else ""
        self.bar.set_postfix_str(f"{self.finished} of {self.runs} runs{now}", refresh=False)


def spoken(seconds: float) -> str:
    """A time in words: "40 s", "12 min", "3.5 h"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"
