"""Whether operations are recorded: on this thread, until it is said otherwise or a block ends."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, overload

from minifp.runtime.contexts import Context, Entry
from minifp.typing import F

OUTSIDE = Entry(True, None, None)
recording: ContextVar[Entry] = ContextVar("set_grad_enabled", default=OUTSIDE)


class set_grad_enabled(Context[bool]):
    """Record operations, or do not, on this thread: from now on, or in a `with` block.

    Also a decorator. A block that is entered again sets it again.
    """

    def __init__(self, mode: bool) -> None:
        super().__init__(recording, bool(mode))
        self.before = recording.get()
        self.since = self.before._replace(value=bool(mode))
        recording.set(self.since)

    def _take_back(self) -> None:
        """What was set when it was made is meant for the block, if it is one."""
        if recording.get() is self.since:
            recording.set(self.before)

    def __enter__(self) -> bool:
        self._take_back()
        return super().__enter__()

    def __call__(self, fn: F) -> F:
        self._take_back()
        return super().__call__(fn)


@overload
def no_grad() -> Context[bool]: ...
@overload
def no_grad(fn: F) -> F: ...
def no_grad(fn: Callable | None = None) -> Any:
    """Run operations without recording them, on this thread. Also a decorator."""
    context = Context(recording, False)
    return context if fn is None else context(fn)


@overload
def enable_grad() -> Context[bool]: ...
@overload
def enable_grad(fn: F) -> F: ...
def enable_grad(fn: Callable | None = None) -> Any:
    """Record operations again, inside of `no_grad`, on this thread. Also a decorator."""
    context = Context(recording, True)
    return context if fn is None else context(fn)


def inference_mode(mode: Any = True) -> Any:
    """PyTorch's, which is `no_grad` here, and with mode=False `enable_grad`. Also a decorator."""
    return no_grad(mode) if callable(mode) else Context(recording, not mode)


def is_recording() -> bool:
    """Whether operations are recorded here, on this thread."""
    return recording.get().value
