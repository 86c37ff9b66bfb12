"""Contexts that set something for what is called inside of them, on this thread.

One object may be entered as often as one likes, inside of itself too, and is a decorator. Who has
entered is a list in a ContextVar, innermost first: what is left out of order ends, and what was
entered after it does not.
"""

from contextlib import ContextDecorator
from contextvars import ContextVar
from functools import wraps
from inspect import iscoroutinefunction, isgeneratorfunction
from typing import Any, Generic, NamedTuple, TypeVar, cast

from minifp.errors import DTypeError
from minifp.runtime.callers import warn_once
from minifp.typing import F

V = TypeVar("V")


class Entry(NamedTuple):
    """What is set here, by which context, and what was before."""

    value: Any
    context: "Context | None"
    outer: Any  # an Entry, or Outside


class Outside:
    """What is there outside of all contexts: the default of their ContextVar. It has a `value`."""

    value: Any
    context = outer = None


class Context(ContextDecorator, Generic[V]):
    """`with` it, `variable` has an Entry with `value`, which the `with` names."""

    def __init__(self, variable: ContextVar[Any], value: V) -> None:
        self.variable, self.value = variable, value

    def __enter__(self) -> V:
        value = self.entering()
        self.variable.set(Entry(value, self, self.variable.get()))
        return value

    def entering(self) -> V:
        """What is set by entering now."""
        return self.value

    def __exit__(self, *error: object) -> None:
        entry = self.variable.get()
        if entry.context is self:
            self.variable.set(entry.outer)
        else:
            self._leave_out_of_order(entry)

    def __call__(self, fn: F) -> F:
        if not callable(fn):
            raise DTypeError(f"{self} as a decorator: expected a function, not {fn!r}")
        if isgeneratorfunction(fn):
            return cast(F, self._in_each_part(fn))
        if iscoroutinefunction(fn):
            return cast(F, self._awaited(fn))
        return super().__call__(fn)

    def _in_each_part(self, fn):
        """A generator that is run in this context, and its callers are not."""

        @wraps(fn)
        def generate(*args, **settings):
            generator = fn(*args, **settings)
            go_on, sent = generator.send, None
            while True:
                try:
                    with self:
                        value = go_on(sent)
                except StopIteration as stop:
                    return stop.value
                try:
                    go_on, sent = generator.send, (yield value)
                except GeneratorExit:
                    with self:
                        generator.close()
                    raise
                except BaseException as error:
                    go_on, sent = generator.throw, error

        return generate

    def _awaited(self, fn):
        @wraps(fn)
        async def wait(*args, **settings):
            with self:
                return await fn(*args, **settings)

        return wait

    def __repr__(self) -> str:
        value = self.value if isinstance(self.value, bool) else f'"{self.value}"'
        return f"fp.{self.variable.name}({value})"

    def _leave_out_of_order(self, entry):
        inner = []
        while entry is not None and entry.context is not self:
            inner.append(entry)
            entry = entry.outer
        if entry is None:
            where = "on a thread, or in a task, where it was not entered: nothing ends"
        else:
            where = f"before {inner[0].context}, which was entered after it and goes on"
            rest = entry.outer
            for between in reversed(inner):
                rest = between._replace(outer=rest)
            self.variable.set(rest)
        warn_once(
            "left out of order",
            f"{self} is left {where}; leave contexts in the reverse of the order in which they "
            "were entered, as nested `with` blocks do (a generator that yields inside of one "
            "leaves when it is closed)",
        )
