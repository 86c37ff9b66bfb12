"""Calls with an argument that a function does not have, or cannot use, refused with what to write.

A call that succeeds pays for a `try`; what to say is found when one has failed: of an argument of
the wrong kind by minifp/runtime/wrong_arguments.py. What is said of PyTorch's arguments is in
minifp/compat/advice.py, which fills ADVICE. Those that change nothing here are taken: which they
are is in minifp/compat/arguments.py, which fills MEANING and POSITIONS.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from inspect import Parameter
from typing import Any, cast

from minifp.errors import ArgumentError, UnknownArgumentError
from minifp.runtime.nearest import nearest
from minifp.runtime.wrong_arguments import FOREIGN, blame
from minifp.typing import F

BY_POSITION = Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD
ADVICE: dict[str, str] = {}  # by an argument's name, or "function.argument": what to write instead
# By the name of a function or a class: the arguments that PyTorch has after those by position here.
POSITIONS: dict[str, list[str]] = {}


@dataclass
class Call:
    """A call with arguments that the signature lacks, which are in `settings` by their names.

    known: the arguments that the function has. finish: what is done with its result.
    """

    function: Callable[..., Any]
    args: tuple
    settings: dict[str, Any]
    known: list[str]
    finish: Callable[[Any], Any] = lambda result: result


# By an argument's name: takes it out of a call's settings, or changes these, where it is taken.
MEANING: dict[str, Callable[[Call, str], None]] = {}


def answering(function: F, meant: Callable[[dict], dict | None] = lambda settings: None) -> F:
    """The function, whose unknown arguments raise UnknownArgumentError with what to write, unless
    MEANING takes them, and those for which Python's or NumPy's own error says nothing,
    ArgumentError.

    meant: of settings that were refused, those that it is called with then; None for no others.
    """

    @wraps(function)
    def call(*args: Any, **settings: Any) -> Any:
        try:
            return function(*args, **settings)
        except FOREIGN as error:
            others = meant(settings) if isinstance(error, TypeError) else None
            again = None if others is None else Call(function, args, others, [])
            if others is None and type(error) is TypeError:
                again = taken(function, args, settings)
            if again is None:
                refuse(function, args, settings, error)
                raise
        return again.finish(call(*again.args, **again.settings))

    call.__dict__["answers"] = True
    return cast(F, call)


def refuse(function: Callable, args: tuple, settings: dict[str, Any], error: Exception) -> None:
    """Raise what is to say of a call that failed; nothing where Python's own error says enough."""
    answer = answer_to(function, args, settings) if type(error) is TypeError else None
    if answer is not None:
        raise UnknownArgumentError(answer) from error.__cause__
    wrong = blame(function, args, settings, error)
    if wrong:
        raise ArgumentError(f"{title(function, args)}: {wrong}") from error


def taken(function: Callable, args: tuple, settings: dict[str, Any]) -> Call | None:
    """The call without those of its unknown arguments that MEANING takes; None for none of them."""
    signature = signature_of(function, args)
    if binds(signature, args, settings):
        return None
    known, kinds = list(signature.parameters), [p.kind for p in signature.parameters.values()]
    takes_all = Parameter.VAR_POSITIONAL in kinds
    own = len(args) if takes_all else sum(kind in BY_POSITION for kind in kinds)
    beyond = dict(zip(positions(function, args), args[own:]))
    if len(beyond) < len(args[own:]) or not beyond.keys().isdisjoint(settings):
        return None
    call = Call(function, args[:own], {**settings, **beyond}, known)
    for name in [n for n in call.settings if n not in known and n in MEANING]:
        if name in call.settings:
            MEANING[name](call, name)
    is_same = len(call.args) == len(args) and call.settings.keys() == settings.keys()
    return None if is_same else call


def positions(function: Callable[..., Any], args: tuple) -> list[str]:
    """What PyTorch's function, or class, has after the arguments by position here."""
    names = [function.__name__]
    if names == ["__init__"]:
        names = [kind.__name__ for kind in type(args[0]).__mro__]
    return next((POSITIONS[name] for name in names if name in POSITIONS), [])


@cache
def own_signature(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of a function, which takes long to find."""
    return inspect.signature(function)


def signature_of(function: Callable[..., Any], args: tuple) -> inspect.Signature:
    """The signature of a function; of a constructor that of its class, where this states one."""
    signature = own_signature(function)
    stated = getattr(type(args[0]), "__signature__", None) if args else None
    if stated is None or function.__name__ != "__init__":
        return signature
    own = next(iter(signature.parameters.values()))
    return stated.replace(parameters=[own, *stated.parameters.values()])


def binds(signature: inspect.Signature, args: tuple, settings: dict[str, Any]) -> bool:
    """Whether a signature has these arguments."""
    try:
        signature.bind(*args, **settings)
    except TypeError:
        return False
    return True


def answer_to(function: Callable[..., Any], args: tuple, settings: dict[str, Any]) -> str | None:
    """What to say of a call that failed; None where its arguments are not the reason."""
    signature = signature_of(function, args)
    if not binds(signature, args, settings):
        name = title(function, args)
        own = [p for n, p in signature.parameters.items() if n not in ("self", "cls")]
        plain = [p.replace(default=p.empty, annotation=p.empty) for p in own]
        known, told = [p.name for p in plain], f"{name}{inspect.Signature(plain)}"
        for argument in settings:
            if argument not in known:
                return f"{name}: no argument {argument!r}: {advice(name, argument, known)}; {told}"
        positional = [p for p in signature.parameters.values() if p.kind in BY_POSITION]
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
