"""Opcodes of a pickle, of protocol 2, for plain values and containers of them."""

import pickle
import struct
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from minifp.errors import ArgumentError
from minifp.runtime.device import device
from minifp.runtime.shapes import Size
from minifp.saving.pytorch.names import FACTORIES, METADATA
from minifp.saving.pytorch.opcodes import checked_key, checked_keys

EXPECTED = "tensors, arrays, numbers, texts and None, in lists, tuples, dicts and sets"
LONGEST = 255  # bytes of an integer
SMALL = 2**31


class Written(NamedTuple):
    """An argument of a call that is no value: a function that writes it."""

    write: Callable[[], None]


class Emitter:
    """The opcodes of a value, in `parts`. What comes again, by id, is written once."""

    def __init__(self) -> None:
        self.parts = [pickle.PROTO + b"\x02"]
        self.numbers: dict[Any, int] = {}  # of what is remembered: ids of values, and names
        self.remembered: list[Any] = []  # which stay, so that no other has their ids

    def put(self, value: Any, place: str) -> None:
        """Write a value. Raises ArgumentError, which names the place, for one that is none of
        EXPECTED."""
        if id(value) in self.numbers:
            self.recall(id(value))
        elif type(value) in PLAIN:
            PLAIN[type(value)](self, value, place)
        else:
            self.put_other(value, place)

    def put_other(self, value: Any, place: str) -> None:
        """Write what is no plain value, or refuse it."""
        refuse(value, place)

    def add(self, *parts: bytes) -> None:
        """Append opcodes."""
        self.parts += parts

    def remember(self, value: Any, key: Any = None) -> None:
        """Let what was written last be written again by its number: a value, by its id."""
        self.remembered.append(value)
        self.numbers[id(value) if key is None else key] = number = len(self.numbers)
        self.add(pickle.LONG_BINPUT + struct.pack("<I", number))

    def recall(self, key: Any) -> None:
        """Write what was remembered."""
        self.add(pickle.LONG_BINGET + struct.pack("<I", self.numbers[key]))

    def name(self, name: str) -> None:
        """Write a name, "module name"."""
        if name in self.numbers:
            self.recall(name)
            return
        self.add(pickle.GLOBAL + name.replace(" ", "\n", 1).encode() + b"\n")
        self.remember(name, name)

    def group(self, values: Iterable[Any], place: str, opcode: bytes) -> None:
        """Values, some of which may be Written, and the opcode that takes them all."""
        self.add(pickle.MARK)
        for i, value in enumerate(values):
            if type(value) is Written:
                value.write()
            else:
                self.put(value, f"{place}/{i}" if place else str(i))
        self.add(opcode)

    def call(self, name: str, *arguments: Any) -> None:
        """What a call of a name returns."""
        self.name(name)
        self.group(arguments, "", pickle.TUPLE)
        self.add(pickle.REDUCE)

    def items(self, value: dict, place: str) -> None:
        """What is in a dict, behind it."""
        self.add(pickle.MARK)
        for key, held in dict.items(value):
            inside = f"{place}/{key}" if place else str(key)
            self.put(checked_key(key), inside)
            self.put(held, inside)
        self.add(pickle.SETITEMS)


def refuse(value: Any, place: str, what: str = "") -> None:
    """Raise ArgumentError for a value that cannot be written."""
    what = what or f"a {type(value).__name__}"
    raise ArgumentError(f"cannot save {place or 'this'}, {what}: expected {EXPECTED}")


# ---- plain values --------------------------------------------------------------------------------


def _integer(e, value, place):
    if -SMALL <= value < SMALL:
        e.add(pickle.BININT + struct.pack("<i", value))
        return
    digits = pickle.encode_long(value)
    if len(digits) > LONGEST:
        refuse(value, place, f"an integer of {len(digits)} bytes")
    e.add(pickle.LONG1 + bytes([len(digits)]) + digits)


def _text(e, value, place):
    encoded = value.encode()
    e.add(pickle.BINUNICODE + struct.pack("<I", len(encoded)), encoded)


def _list(e, value, place):
    e.add(pickle.EMPTY_LIST)
    e.remember(value)
    e.group(value, place, pickle.APPENDS)


def _dict(e, value, place):
    e.add(pickle.EMPTY_DICT)
    e.remember(value)
    e.items(value, place)


def _ordered(e, value, place):
    if {*vars(value)} - {METADATA}:
        refuse(value, place, f"an OrderedDict with attributes ({', '.join(vars(value))})")
    e.call("collections OrderedDict")
    e.remember(value)
    e.items(value, place)
    if vars(value):
        _dict(e, vars(value), place)
        e.add(pickle.BUILD)


def _defaulting(e, value, place):
    factory = getattr(value.default_factory, "__name__", "")
    if FACTORIES.get(factory) is not value.default_factory:
        refuse(value, place, f"a defaultdict of {factory}")
    own = [Written(lambda: e.name(f"__builtin__ {factory}"))] * bool(factory)
    e.call("collections defaultdict", *own)
    e.remember(value)
    e.items(value, place)


def _call(e, value, name, content):
    e.call(name, content)
    e.remember(value)


PLAIN: dict[type, Callable[[Emitter, Any, str], None]] = {
    type(None): lambda e, value, place: e.add(pickle.NONE),
    bool: lambda e, value, place: e.add(pickle.NEWTRUE if value else pickle.NEWFALSE),
    int: _integer,
    float: lambda e, value, place: e.add(pickle.BINFLOAT + struct.pack(">d", value)),
    str: _text,
    bytes: lambda e, value, place: e.call("_codecs encode", value.decode("latin1"), "latin1"),
    bytearray: lambda e, value, place: _call(e, value, "__builtin__ bytearray", bytes(value)),
    tuple: lambda e, value, place: e.group(value, place, pickle.TUPLE),
    list: _list,
    dict: _dict,
    OrderedDict: _ordered,
    Counter: lambda e, value, place: _call(e, value, "collections Counter", dict(value)),
    defaultdict: _defaulting,
    set: lambda e, value, place: _call(e, value, "__builtin__ set", checked_keys(value)),
    frozenset: lambda e, value, place: e.call("__builtin__ frozenset", checked_keys(value)),
    Size: lambda e, value, place: e.call("torch Size", tuple(value)),
    type(Path()): lambda e, value, place: e.call(f"pathlib {type(value).__name__}", *value.parts),
    device: lambda e, value, place: e.call("torch device", str(value)),
}
