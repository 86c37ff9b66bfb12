"""Which argument was to blame for an error of Python's or NumPy's, by what the signature says.

A call that succeeds is not looked at, so that nothing which works is refused: only when one has
failed, each of its arguments is held against its annotation. An error that passed through other
code than minifp's, NumPy's and Python's own is that code's, and goes on as it is.
"""

import inspect
import operator
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextlib import suppress
from dataclasses import InitVar
from itertools import islice
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import numpy as np

from minifp.checks import shown
from minifp.errors import MinifpError

OURS = {"minifp", "numpy", *sys.stdlib_module_names}
FOREIGN = TypeError, ValueError, ArithmeticError, AttributeError, LookupError
PLAIN = tuple, list, range, str, bytes, set, frozenset, np.ndarray  # whose items are looked at
LOOKED_AT = 10_000  # items of an argument
LONGEST = 80  # characters of a value that are shown
BITS = 64  # what integers have at most
WORDS = {
    NoneType: "None", bool: "True or False", int: "an integer",
    float: "a number", str: "a text", dict: "a dict", type: "a class", np.dtype: "a dtype",
    os.PathLike: "a path", np.ndarray: "an array", np.generic: "a number", Callable: "a function",
    Sized: "what has a length",
}  # fmt: skip
PLURALS = {int: "integers", float: "numbers", str: "texts", np.ndarray: "arrays"}


def blame(function: Callable[..., Any], args: tuple, settings: dict, error: Exception) -> str:
    """What to say of the first argument that is not as annotated; "" where none was to blame."""
    if isinstance(error, MinifpError) or not is_from_inside(error):
        return ""
    for name, value, annotation in annotated(function, args, settings):
        is_said = annotation not in (inspect.Parameter.empty, Any)
        if name != "self" and not (is_written(value) and (not is_said or fits(value, annotation))):
            words = in_words(annotation) if is_said else "integers"
            if is_large(value) and ("integer" in words or "number" in words):
                words += f", of at most {BITS} bits"
            return f"{name}={cut(shown(value))}: expected {words}"
    return ""


def annotated(
    function: Callable[..., Any], args: tuple, settings: dict
) -> Iterator[tuple[str, Any, Any]]:
    """(name, value, annotation) of each argument of a call that the signature allows."""
    signature = inspect.signature(function)
    with suppress(NameError, TypeError, SyntaxError):  # an annotation for type checkers alone
        signature = inspect.signature(function, eval_str=True)
    with suppress(TypeError):
        for name, value in signature.bind(*args, **settings).arguments.items():
            parameter = signature.parameters[name]
            if parameter.kind == parameter.VAR_POSITIONAL:
                yield from ((f"{name}[{i}]", v, parameter.annotation) for i, v in enumerate(value))
            elif parameter.kind != parameter.VAR_KEYWORD:  # which are named where they are read
                yield name, value, parameter.annotation


def is_from_inside(error: Exception) -> bool:
    """Whether an error passed through no code but minifp's, NumPy's and Python's own."""
    traceback, cause = error.__traceback__, error.__cause__
    if cause is not None and not type(cause).__module__.startswith("numpy."):
        return False  # which somebody meant to say, or another process
    while traceback is not None:
        if traceback.tb_frame.f_globals.get("__name__", "").partition(".")[0] not in OURS:
            return False
        traceback = traceback.tb_next
    return True


def fits(value: Any, annotation: Any) -> bool:
    """Whether a value is as an annotation says; True where it says what cannot be asked."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, InitVar):
        return fits(value, annotation.type)
    if origin in (Union, UnionType):
        return any(fits(value, part) for part in parts)
    if origin is Callable or annotation is Callable:
        return callable(value)
    kind = NoneType if annotation is None else origin or annotation
    if kind in ASKED:
        return ASKED[kind](value)
    if kind is Any or kind is object or not isinstance(kind, type):
        return True
    if getattr(kind, "_is_protocol", False):
        return not isinstance(value, type) and all(hasattr(value, name) for name in members(kind))
    if parts and issubclass(kind, Iterable) and not issubclass(kind, Mapping):
        return fits_several(value, kind, parts)
    return isinstance(value, kind)


def fits_several(value: Any, kind: type, parts: tuple) -> bool:
    """Whether a value has items, which are as `parts` say. Those of an iterator are not taken."""
    try:
        iter(value)
        count = len(value)
    except TypeError:
        return kind is Iterable and hasattr(value, "__next__")
    if count == 0 or not (isinstance(value, PLAIN) or hasattr(value, "dtype")):
        return True
    if isinstance(value, bytes):  # whose items are integers, which nobody means
        return bytes in parts
    if is_fixed(kind, parts):
        return count == len(parts) and all(map(fits, value, parts))
    return all(fits(item, parts[0]) for item in islice(value, LOOKED_AT))


def is_integer(value: Any) -> bool:
    """Whether it can be an index, and 64 bits hold it."""
    with suppress(TypeError):
        return kind_of(value) in "biu" and operator.index(value).bit_length() < BITS
    return False


def is_flag(value: Any) -> bool:
    """Whether it is True or False, or 1 or 0."""
    return isinstance(value, (int, np.integer, np.bool_)) and value in (0, 1)


def is_large(value: Any) -> bool:
    """Whether it is an integer, or holds one, that is larger than all that is computed with."""
    return not is_written(value) or (type(value) is int and not is_integer(value))


def is_written(value: Any) -> bool:
    """Whether Python writes it, which it refuses for integers of thousands of digits."""
    with suppress(Exception):
        repr(value)
        return True
    return False


def is_number(value: Any) -> bool:
    """Whether it is one number, which a float can hold."""
    with suppress(TypeError, ValueError, OverflowError):
        return kind_of(value) in "biuf" and np.ndim(value) == 0 and float(value) <= np.inf
    return False


def has_length(value: Any) -> bool:
    """Whether `len` answers: an array of no axes has the method, and no length."""
    with suppress(TypeError):
        return len(value) >= 0
    return False


def kind_of(value: Any) -> str:
    """The letter by which NumPy knows the kind of an array's numbers; "i" for what is no array."""
    letter = getattr(getattr(value, "dtype", None), "kind", "i")
    return "S" if isinstance(value, (str, bytes)) else letter


ASKED: dict[Any, Callable[[Any], bool]] = {
    bool: is_flag,
    int: is_integer,
    float: is_number,
    type: lambda value: isinstance(value, type),
    Sized: has_length,
    np.ndarray: lambda value: (
        not isinstance(value, (type, np.generic))
        and (hasattr(value, "__array__") or isinstance(value, (list, tuple)))
    ),
}


def members(protocol: type) -> list[str]:
    """The names of what an object that counts as one has."""
    said = {*vars(protocol), *vars(protocol).get("__annotations__", ())}
    return [n for n in said if n in ("__array__", "__len__", "__getitem__") or n[0] != "_"]


# ---- words ---------------------------------------------------------------------------------------


def cut(text: str) -> str:
    """A text on one line, and not long."""
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def in_words(annotation: Any) -> str:
    """What an annotation asks for."""
    if isinstance(annotation, InitVar):
        return in_words(annotation.type)
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        *others, last = dict.fromkeys(map(in_words, parts))
        return f"{', '.join(others)} or {last}" if others else last
    kind = NoneType if annotation is None else origin or annotation
    if isinstance(kind, type) and issubclass(kind, Iterable) and kind not in (str, dict):
        if parts:
            return f"{len(parts) if is_fixed(kind, parts) else 'several'} {plural(parts[0])}"
    name = getattr(kind, "__name__", str(kind))
    return WORDS.get(kind) or f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def is_fixed(kind: type, parts: tuple) -> bool:
    """Whether an annotation says how many items there are."""
    return kind is tuple and parts[-1] is not ...


def plural(annotation: Any) -> str:
    """What an annotation asks of several."""
    return PLURALS.get(annotation) or f"values, each {in_words(annotation)}"
