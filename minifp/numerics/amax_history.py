"""Delayed scaling: the scale of an operand from the largest magnitudes it had in earlier steps.

    s_t = 2^floor(log2(largest / max(amax_{t-1}, ..., amax_{t-n})))

The amax is that of Transformer Engine's DelayedScaling, with amax_history_len = n,
amax_compute_algo = "max" and margin = 0. Its scale is largest / amax, as ours with factor=exact;
without that it is the power of two at or below (why: operands.py), so that after an amax of 1 E4M3
saturates above 448/256 = 1.75 and not above 1. On a GPU the numbers need then be read once and not
twice. What it risks: what exceeds its history by more than the scale leaves room for saturates,
until the history knows of it.

A product is found again in the next step by the parameter that it multiplies, which has its
histories (`Storage.histories`): of each kernel, of each call of it inside of one operation, of each
operand one. Products with one parameter at several places of a model share them.

A step is what lies between two changes of the parameter's numbers. So micro-batches whose gradients
add up, and a parameter that is used twice, have one amax, the largest; and so has a step that was
skipped with the one after it. What a forward pass has seen counts once backward goes through it:
evaluation leaves nothing behind. Inf, NaN and nothing but zeros tell no magnitude, and are left
out. Where there is no history yet, as in the first step, the scale is that of the current amax.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import isfinite
from threading import Lock
from typing import Any

from minifp.runtime.callers import warn_once

Key = tuple[str, int, str]  # a kernel, which of its calls in an operation, an operand of it
writing = Lock()  # threads may share a model


class History:
    """amaxes: of earlier steps, the last one last. amax: the largest of them, 0 without any.
    pending: the largest of this step so far, or 0. saturated: how many arrays had numbers beyond
    the format's largest."""

    def __init__(self) -> None:
        self.amaxes: list[float] = []
        self.amax, self.pending, self.saturated = 0.0, 0.0, 0

    def end_step(self, steps: int) -> None:
        """Let what is pending be of an earlier step; keep as many as `steps`."""
        if self.pending:
            self.amaxes = [*self.amaxes, self.pending][-steps:]
            self.amax, self.pending = max(self.amaxes), 0.0


class Histories:
    """Those of the products of one parameter.

    version: that of the parameter's numbers for which maxima are pending, or None before any was
    seen. steps: how many are kept.
    """

    def __init__(self) -> None:
        self.of: dict[Key, History] = {}
        self.version: int | None = None
        self.steps = 1

    def begin(self, version: int, steps: int) -> None:
        """Take note of the version of the parameter's numbers: of another, a step has ended."""
        with writing:
            if self.version not in (None, version):
                for history in self.of.values():
                    history.end_step(steps)
            self.version, self.steps = version, steps

    def note(self, key: Key, amax: float, saturates: bool) -> None:
        """Take note of what an operand's amax is, and whether the scale was too large for it."""
        if 0 < amax and isfinite(amax):
            with writing:
                history = self.of.setdefault(key, History())
                history.pending = max(history.pending, amax)
                history.saturated += saturates

    def state(self, version: int) -> dict[str, Any]:
        """All that is known, as `load` takes it; {} where nothing is. "operands": [*key, amaxes,
        pending, saturated] of each. version: of the parameter's numbers."""
        if self.version is not None:
            self.begin(version, self.steps)
        with writing:
            rows = [[*k, list(h.amaxes), h.pending, h.saturated] for k, h in self.of.items()]
        return {"steps": self.steps, "operands": rows} if rows else {}

    def load(self, state: dict[str, Any], version: int) -> None:
        """Know what `state` has told, and nothing else. version: of the parameter's numbers now."""
        histories = {}
        for kernel, call, operand, amaxes, pending, saturated in state.get("operands", ()):
            history = histories[str(kernel), int(call), str(operand)] = History()
            history.amaxes = [float(a) for a in amaxes]
            history.amax = max(history.amaxes, default=0.0)
            history.pending, history.saturated = float(pending), int(saturated)
        self.of, self.version, self.steps = histories, version, int(state.get("steps", 1))


class Site:
    """One call of an operation, and its backward, where operands find their histories.

    op: its name. storage: of the parameter that it multiplies, or None. steps: how many count.
    is_recorded: whether there will be a backward.
    """

    def __init__(self, op: str, storage: Any, steps: int, is_recorded: bool) -> None:
        self.op, self.storage, self.steps = op, storage, steps
        self.is_recorded = is_recorded and storage is not None
        self.noted: list[tuple] | None = []  # by forward; None once backward is here
        self.calls: Counter = Counter()

    @property
    def notes(self) -> bool:
        """Whether histories are to know what is computed here."""
        return self.is_recorded and not looks_only.get()

    def forward(self, fn: Callable, *args: Any, **settings: Any) -> Any:
        """What a function returns whose kernels are called here."""
        if self.storage is not None and not looks_only.get():
            self.storage.histories.begin(self.storage.version, self.steps)
        self.calls.clear()
        token = here.set(self)
        try:
            return fn(*args, **settings)
        finally:
            here.reset(token)

    def backward(self, fn: Callable, *args: Any, **settings: Any) -> Any:
        """The same of backward, after which what forward has seen is noted."""
        if self.notes:
            noted, self.noted = self.noted, None
            for note in noted or ():
                self.storage.histories.note(*note)
        return self.forward(fn, *args, **settings)

    def before(self, key: Key) -> float:
        """The largest amax of the steps before, 0 where none is known."""
        history = None if self.storage is None else self.storage.histories.of.get(key)
        return 0.0 if history is None else history.amax

    def note(self, key: Key, amax: float, saturates: bool) -> None:
        """Take note of an operand, now or with backward."""
        if self.noted is None:
            self.storage.histories.note(key, amax, saturates)
        else:
            self.noted.append((key, amax, saturates))


here: ContextVar[Site | None] = ContextVar("site", default=None)
looks_only: ContextVar[bool] = ContextVar("looks_only", default=False)


@contextmanager
def unchanged() -> Iterator[None]:
    """Let no history know of what is computed in the `with` block, such as a step done again."""
    token = looks_only.set(True)
    try:
        yield
    finally:
        looks_only.reset(token)


def call_of(kernel: str) -> tuple[str, int]:
    """A kernel's name, and which of its calls in this operation is made now."""
    site = here.get()
    if site is None:
        return kernel, 0
    site.calls[kernel] += 1
    return kernel, site.calls[kernel] - 1


def delayed_amax(
    key: Key, current: Callable[[], float], exceeds: Callable[[float, float], bool]
) -> float:
    """The amax by which an operand is scaled: of earlier steps, or the current one without any.

    current: computes that. exceeds(current, earlier): whether numbers saturate. Warns, once for
    each operation, where there is no parameter to have a history.
    """
    site = here.get()
    if site is None or site.storage is None:
        warn_of_current(key[0] if site is None else site.op)
        return current()
    before = site.before(key)
    if before and not site.notes:
        return before
    now = current()
    if site.notes:
        site.note(key, now, bool(before) and exceeds(now, before))
    return before or now


def warn_of_current(name: str) -> None:
    """Warn, once for each name, that delayed scaling does not reach a product."""
    warn_once(
        f"delayed {name}",
        f"{name} under operand_scale=delayed: the maxima of earlier steps are recorded with a "
        "trained nn.Parameter, and this product has none: its operands are scaled by their "
        "current maximum, as under operand_scale=current",
    )
