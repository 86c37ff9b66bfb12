"""Calls with an argument that a function does not have, or cannot use, refused with what to write.

A call that succeeds pays for a `try`; what to say is found when one has failed: of an argument of
the wrong kind by minifp/runtime/wrong_arguments.py. What is said of PyTorch's arguments is in
minifp/compat/advice.py, which fills ADVICE.
"""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from minifp.errors import ArgumentError, UnknownArgumentError
from minifp.runtime.nearest import nearest
from minifp.runtime.wrong_arguments import FOREIGN, blame
from minifp.typing import F

ADVICE: dict[str, str] = {}  # by an argument's name, or "function.argument": what to write instead


def answering(function: F, meant: Callable[[dict], dict | None] = lambda settings: None) -> F:
    """The function, whose unknown arguments raise UnknownArgumentError with what to write, and
    those for which Python's or NumPy's own error says nothing, ArgumentError.

    meant: of settings that were refused, those that it is called with then; None for no others.
    """

    @wraps(function)
    def call(*args: Any, **settings: Any) -> Any:
        try:
            return function(*args, **settings)
        except FOREIGN as error:
            others = meant(settings) if isinstance(error, TypeError) else None
            answer = answer_to(function, args, settings) if type(error) is TypeError else None
            wrong = "" if others or answer else blame(function, args, settings, error)
            if others is None and answer is None and not wrong:
                raise
            if wrong:
                raise ArgumentError(f"{title(function, args)}: {wrong}") from error
            if others is None:
                raise UnknownArgumentError(answer) from error.__cause__
        return call(*args, **others)

    call.__dict__["answers"] = True
    return cast(F, call)


def answer_to(function: Callable[..., Any], args: tuple, settings: dict[str, Any]) -> str | None:
    """What to say of a call that failed; None where its arguments are not the reason."""
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **settings)
    except TypeError:
        name = title(function, args)
        known = [n for n in signature.parameters if n not in ("self", "cls")]
        told = f"{name}({', '.join(known)})"
        for argument in settings:
            if argument not in known:
                return f"{name}: no argument {argument!r}: {advice(name, argument, known)}; {told}"
        positional = [p for p in signature.parameters.values() if p.kind in (0, 1)]
        if len(args) > len(positional):
            count = len(args) - ("self" in signature.parameters)
            return f"{name}: {count} positional arguments, expected {told}"
    return None


def title(function: Callable[..., Any], args: tuple) -> str:
    """What a call is called: the function's name, or the class whose constructor it is."""
    *_, name = function.__qualname__.split(".")
    return type(args[0]).__name__ if name == "__init__" else name


def advice(name: str, argument: str, known: list[str]) -> str:
    """What to write instead of an argument."""
    said = ADVICE.get(f"{name}.{argument}") or ADVICE.get(argument)
    if said is None:
        near = nearest(argument, known)
        said = f"the nearest: {', '.join(near)}" if near else "nothing here is like it"
    return said
