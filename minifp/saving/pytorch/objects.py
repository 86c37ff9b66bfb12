"""Objects of classes that whoever reads or writes a file allows: modules of minifp's, and those of
a program's own.

One is made by the `__new__` of the class of Python's, or of Module, from which its class comes, and
its dictionary is set. No `__init__`, no `__setstate__`, no attribute and no other method runs.
"""

import re
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable, Mapping
from importlib import import_module
from types import FunctionType
from typing import Any

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.derive.dtypes import dtype as Dtype
from minifp.nn.module import Module
from minifp.numerics.policy import Precision, as_precision
from minifp.runtime.shapes import Size
from minifp.saving.pytorch.opcodes import Call

BASES: tuple[Any, ...] = (Module, OrderedDict, dict, list, tuple, object)
OWN = re.compile(r"minifp\.(nn|models)\.[a-z0-9_.]*[a-z0-9_]")  # modules that have Modules
FUNCTIONS = "minifp.nn.functional", "minifp.ops"  # modules that have functions on tensors
PRECISION = "minifp.numerics.policy Precision"
Classes = Mapping[str, Any]  # by dotted name: classes, and functions that objects may refer to


def dotted_name(of: Any) -> str:
    """The name of a class or function, as files have it."""
    return f"{getattr(of, '__module__', '')}.{getattr(of, '__qualname__', '')}"


class Allowed:
    """What a file may name beside tensors and plain values. classes: None for nothing."""

    def __init__(self, classes: Classes | None) -> None:
        self.classes = classes

    def named(self, dotted: str) -> Any:
        """The class or function of this name; None for one that is not allowed."""
        if self.classes is None:
            return None
        return self.classes.get(dotted) or own(*dotted.rpartition(".")[::2])

    def name_of(self, value: Any) -> str | None:
        """The name by which `named` returns a class or function; None where there is none."""
        names = [f"{module}.{getattr(value, '__name__', '')}" for module in FUNCTIONS]
        names.insert(0, dotted_name(value))
        return next((name for name in names if self.named(name) is value), None)

    def new(self, kind: Any, arguments: tuple) -> Any:
        """An object with nothing set. Raises ValueError for one of a class that is not allowed, or
        comes from another class of Python's than BASES."""
        if not isinstance(kind, type) or self.name_of(kind) is None:
            raise ValueError(f"makes an object of a {type(kind).__name__}: expected a known class")
        base = base_of(kind)
        if base is tuple:
            return tuple.__new__(kind, arguments)
        if arguments:
            raise ValueError(f"a {kind.__name__} that is made of arguments")
        return base.__new__(kind)

    def is_object(self, value: Any) -> bool:
        """Whether a value is an object of such a class."""
        return self.name_of(type(value)) is not None


def own(module: str, name: str) -> Any:
    """A class of modules, or a function on tensors, of minifp's; None for what is neither."""
    if module in FUNCTIONS:
        function = vars(import_module(module)).get(name)
        return function if isinstance(function, FunctionType) else None
    if not OWN.fullmatch(module):
        return None
    try:
        kind = vars(import_module(module)).get(name)
    except ImportError:
        return None
    is_module = isinstance(kind, type) and issubclass(kind, Module)
    return kind if is_module and kind.__module__ == module else None


def can_be_made(kind: type) -> bool:
    """Whether objects of a class are made by one of BASES, and all that they have is in their
    dictionary."""
    try:
        object.__new__(kind) if base_of(kind) is object else None
    except TypeError:  # it comes from another class of Python's
        return False
    return not any(vars(c).get("__slots__") for c in kind.__mro__)


def base_of(kind: type) -> Any:
    """The class of BASES from which a class comes."""
    return next(base for base in BASES if issubclass(kind, base))


def set_state(value: Any, state: Any) -> None:
    """Set the dictionary of an object. Raises ValueError for a state that is none."""
    if type(state) is not dict or not all(type(name) is str for name in state):
        raise ValueError(f"the state of a {type(value).__name__} that is no dict of attributes")
    vars(value).update(state)


def as_written(text: Any, place: Any) -> Precision:
    """The Precision that a file tells: its text, and which part of it, or None."""
    if type(text) is not str or not (place is None or {*map(type, place)} == {int}):
        raise ValueError("a precision that is no text, or a part of it that is no numbers")
    whole = as_precision(text)
    return whole if place is None else whole.at(place)


NAMES = {PRECISION: Call(as_written)}

# ---- what is nested in what ----------------------------------------------------------------------

ITEMS = {list, tuple, set, frozenset, Size}
DICTS = {dict, OrderedDict, Counter, defaultdict}
LEAVES = Tensor, np.ndarray, np.generic, np.dtype, Dtype, str, Precision, type, FunctionType


def is_object(value: Any) -> bool:
    """Whether a value is none of Python's own containers."""
    return type(value) not in ITEMS and type(value) not in DICTS


def inside(value: Any) -> Iterable[Any] | None:
    """What a value holds, for `check_nesting`; None for one that is no container and no object."""
    kind = type(value)
    if kind in ITEMS:
        return value
    if kind in DICTS:
        return [*value.values(), *getattr(value, "__dict__", {}).values()]
    if isinstance(value, LEAVES) or not hasattr(value, "__dict__"):
        return None
    base = base_of(kind)
    items = base.values(value) if base in DICTS else base.__iter__(value) if base in ITEMS else ()
    return [*items, vars(value)]
