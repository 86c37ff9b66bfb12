"""Lists of observers, each of which is told of what is done where it looks.

That is the thread on which it was added, and what goes on in its context elsewhere: minifp's own
threads, and asyncio's. Of what other threads do it is told nothing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import get_ident
from typing import Any

_looking: ContextVar[tuple] = ContextVar("observers", default=())
_hidden: ContextVar[bool] = ContextVar("unobserved", default=False)


class Here:
    """An observer, whose methods do nothing elsewhere."""

    __slots__ = ("observer", "thread", "__weakref__")

    def __init__(self, observer: Any) -> None:
        self.observer, self.thread = observer, get_ident()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.observer, name)
        return method if self._looks() else _nothing

    def _looks(self):
        is_here = self.thread == get_ident() or any(self is one for one in _looking.get())
        return is_here and not _hidden.get()

    def __eq__(self, other: object) -> bool:
        return self.observer is other or self is other

    __hash__ = object.__hash__


class Observers(list):
    """Observers, empty unless somebody looks; iterating over none costs what it does of a list."""

    def append(self, observer: Any) -> None:
        """Let one be told, from now on, of what is done here."""
        here = Here(observer)
        _looking.set((*_looking.get(), here))
        super().append(here)

    def remove(self, observer: Any) -> None:
        """Let it be told no more. Raises ValueError where it is not there."""
        here = self[self.index(observer)]
        super().remove(observer)
        _looking.set(tuple([one for one in _looking.get() if one is not here]))


@contextmanager
def unobserved() -> Iterator[None]:
    """Let no observer be told of what is done here, in the `with` block."""
    token = _hidden.set(True)
    try:
        yield
    finally:
        _hidden.reset(token)


def _nothing(*args: Any) -> None:
    pass
