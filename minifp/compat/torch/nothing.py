"""Calls and decorators of PyTorch's that change nothing here, and say so once."""

from collections.abc import Callable
from typing import Any

from minifp.runtime.callers import warn_once


def say_once(name: str, why: str) -> None:
    """Warn at the script's line, once for each name."""
    warn_once(f"torch.{name}", f"torch.{name} does nothing here: {why}")


def decorator(name: str, why: str) -> Callable[..., Any]:
    """A decorator that returns what it decorates, called with settings or without."""

    def decorate(function: Any = None, *args: Any, **settings: Any) -> Any:
        say_once(name, why)
        return function if callable(function) else lambda f: f

    decorate.__name__ = name.rpartition(".")[2]
    decorate.__doc__ = f"Returns what it decorates: {why}."
    return decorate


def call(name: str, why: str) -> Callable[..., None]:
    """A function that takes anything and does nothing."""

    def answer(*args: Any, **settings: Any) -> None:
        say_once(name, why)

    answer.__name__ = name.rpartition(".")[2]
    answer.__doc__ = f"Does nothing: {why}."
    return answer


def answers(value: Any) -> Callable[..., Any]:
    """A function that takes anything and returns one value."""
    return lambda *args, **settings: value
