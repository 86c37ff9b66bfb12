"""Lists of observers, each of which is told of what is done where it looks.

That is the thread on which it was added, and what goes on in its context elsewhere: minifp's own
threads, and asyncio's. Of what other threads do it is told nothing.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from threading import get_ident
from typing import Any

_looking: ContextVar[tuple] = ContextVar("observers", default=())
_unobserved: ContextVar[int] = ContextVar("unobserved", default=0)
_numbers = count(1)  # of observers, in the order in which they were added


class Here:
    """An observer, whose methods do nothing elsewhere."""

    __slots__ = ("observer", "thread", "number", "__weakref__")

    def __init__(self, observer: Any) -> None:
        self.observer, self.thread, self.number = observer, get_ident(), next(_numbers)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.observer, name)
        return method if self._looks() else _nothing

    def _looks(self):
        is_here = self.thread == get_ident() or any(self is one for one in _looking.get())
        return is_here and self.number > _unobserved.get()

    def __eq__(self, other: object) -> bool:
        return self.observer is other or self is other

    __hash__ = object.__hash__


class Observers(list):
    """Observers, empty unless somebody looks; iterating over none costs what it does of a list."""

    def append(self, observer: Any) -> None:
        """Let one be told, from now on, of what is done here."""
        here = observer if isinstance(observer, Here) else Here(observer)
        _looking.set((*_looking.get(), here))
        super().append(here)

    def __iadd__(self, observers: Iterable) -> "Observers":  # type: ignore[misc]
        for observer in observers:
            self.append(observer)
        return self

    def remove(self, observer: Any) -> None:
        """Let it be told no more. Raises ValueError where it is not there."""
        here = self[self.index(observer)]
        super().remove(observer)
        _looking.set(tuple([one for one in _looking.get() if one is not here]))


@contextmanager
def unobserved(*lists: list) -> Iterator[None]:
    """Let no observer be told of what is done here, in the `with` block, but those added in it, who
    leave these lists at its end."""
    number = next(_numbers)
    token = _unobserved.set(number)
    try:
        yield
    finally:
        _unobserved.reset(token)
        for observers in lists:
            for here in [*observers]:
                if isinstance(here, Here) and here.number > number and here.thread == get_ident():
                    observers.remove(here)


def _nothing(*args: Any) -> None:
    pass
