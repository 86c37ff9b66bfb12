"""A pickle read as data: an interpreter of its opcodes that makes plain values, and calls nothing
but what stands in a table of ours.

`pickle.Unpickler` with a narrow `find_class` still calls methods of what it finds (`__setstate__`,
`extend`, `__setitem__`), sets attributes, and takes as much memory and stack as a file asks for.
Here an opcode is a line of STEPS, and one that is not there is refused. `pickletools`, of the
standard library, splits the bytes.
"""

import pickletools
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

MOST = 5_000_000  # opcodes, each of which takes some 100 bytes
WIDEST = 2**64  # what integers that are keys are smaller than: of larger ones many hash alike
KEYS = {str, int, float, bool, bytes, type(None)}
ALIKE = 64  # tuples with one hash, which anybody can compute: a dict compares each with all others
COPIES = 8  # how often all that a pickle holds may be copied


class Call(NamedTuple):
    """A function of ours, in the place of one that a pickle calls."""

    function: Callable[..., Any]


class Names(Protocol):
    """What a pickle means by a name, and by what it keeps elsewhere."""

    def named(self, name: str) -> Any:
        """What a "module name" stands for: a value, a class whose objects may be made, a Call."""

    def stored(self, key: Any) -> Any:
        """What is kept outside of the pickle."""

    def new(self, kind: Any, arguments: tuple) -> Any:
        """An object of a class, with nothing set."""

    def is_object(self, value: Any) -> bool:
        """Whether a value is an object of such a class."""

    def build(self, target: Any, state: Any) -> None:
        """Set what is in an object."""


class Machine:
    """The stack, on which values are put together, and the memo of those that come again."""

    def __init__(self, names: Names, copied: int) -> None:
        self.names, self.stack, self.marked = names, list[Any](), list[list]()
        self.memo: dict[int, Any] = {}
        self.tuples: dict[int, list[tuple]] = {}  # which are keys, by hash
        self.left = copied  # how many bytes, or parts, calls may be given in all

    def push(self, value: Any) -> None:
        """An argument of an opcode, which is a value."""
        if type(value) is str:
            value.encode()  # raises for half a character
        self.stack.append(value)

    def take(self, count: int) -> list:
        """The last values, which go from the stack."""
        values = self.stack[len(self.stack) - count :]
        if len(values) < count or len(self.stack) < count:
            raise ValueError("an opcode without its arguments")
        del self.stack[len(self.stack) - count :]
        return values

    def mark(self, _: Any) -> None:
        """Begin a group."""
        self.marked.append(self.stack)
        self.stack = []

    def group(self) -> list:
        """The values since the last mark."""
        values, self.stack = self.stack, self.marked.pop()
        return values

    def remember(self, number: Any) -> None:
        """Let the last value come again by its number, or by the next one."""
        self.memo[len(self.memo) if number is None else number] = self.stack[-1]

    def append(self, items: list) -> None:
        """Put values at the end of a list."""
        if not isinstance(self.stack[-1], list):
            raise ValueError(f"appends to a {type(self.stack[-1]).__name__}: expected a list")
        list.extend(self.stack[-1], items)

    def set_items(self, items: list) -> None:
        """Put keys with their values, one after the other, into a dict."""
        target = self.stack[-1]
        kind = OrderedDict if isinstance(target, OrderedDict) else dict
        if not isinstance(target, dict) or len(items) % 2:
            raise ValueError(f"sets items of a {type(target).__name__}: expected a dict, and pairs")
        for key, value in zip(checked_keys(items[::2], self.tuples), items[1::2]):
            kind.__setitem__(target, key, value)

    def add(self, _: Any) -> None:
        """Put the values of a group into a set."""
        items = self.group()
        if type(self.stack[-1]) is not set:
            raise ValueError(f"adds to a {type(self.stack[-1]).__name__}: expected a set")
        self.stack[-1].update(checked_keys(items, self.tuples))

    def named(self, name: Any) -> None:
        """What a name stands for; one that is None is on the stack."""
        if name is None:
            module, own = self.take(2)
            if not type(module) is type(own) is str:
                raise ValueError("a name that is no text")
            name = f"{module} {own}"
        self.stack.append(self.names.named(name))

    def call(self, _: Any) -> None:
        """The result of a Call."""
        function, arguments = self.take(2)
        if type(function) is not Call or type(arguments) is not tuple:
            raise ValueError(f"calls a {type(function).__name__}: expected one of the known names")
        if any(map(self.names.is_object, arguments)):  # whose methods a function might run
            raise ValueError("a call with an object of a program: expected plain values")
        self.spend(arguments)
        self.stack.append(function.function(*arguments))

    def new(self, _: Any) -> None:
        """An object of a class."""
        kind, arguments = self.take(2)
        if type(arguments) is not tuple:
            raise ValueError("an object made of no arguments")
        self.stack.append(self.names.new(kind, arguments))

    def build(self, _: Any) -> None:
        """Set what is in the object before."""
        (state,) = self.take(1)
        self.spend([state, *state] if isinstance(state, tuple) else [state])
        self.names.build(self.stack[-1], state)

    def spend(self, values: Any) -> None:
        """Count what will be copied: the same long text may be an argument any number of times."""
        self.left -= sum(len(v) for v in values if isinstance(v, (str, bytes, list, dict, tuple)))
        if self.left < 0:
            raise ValueError("the same values are copied again and again")

    def result(self) -> Any:
        """The one value that is left."""
        if len(self.stack) != 1 or self.marked:
            raise ValueError("ends with other than one value")
        return self.stack[0]


def checked_key(key: Any) -> Any:
    """A key of a dict: a text, a number, None, bytes, or a tuple of such. Raises ValueError for
    others, whose hash may take the stack, or more time than there is."""
    parts = key if type(key) is tuple else (key,)
    for part in parts:
        if type(part) not in KEYS or (type(part) is int and abs(part) >= WIDEST):
            raise ValueError(f"a key that is a {type(part).__name__}: expected a text or a number")
    return key


def checked_keys(keys: Iterable[Any], tuples: dict[int, list[tuple]] | None = None) -> list:
    """Keys, all of which `checked_key` takes. Raises ValueError for more than ALIKE tuples with one
    hash, of these and of the `tuples` before."""
    keys, tuples = [checked_key(key) for key in keys], {} if tuples is None else tuples
    for key in keys:
        if type(key) is tuple:
            alike = tuples.setdefault(hash(key), [])
            if key not in alike:
                alike.append(key)
            if len(alike) > ALIKE:
                raise ValueError(f"more than {ALIKE} keys that are tuples with one hash")
    return keys


def _tuple_of(count):
    return lambda m, _: m.stack.append(tuple(m.take(count)))


def _new(kind):
    return lambda m, _: m.stack.append(kind())


def _of_group(kind):
    def step(m, _):
        items = m.group()
        m.stack.append(kind(items))

    return step


STEPS: dict[str, Callable[[Machine, Any], None]] = {  # by the name of an opcode
    **dict.fromkeys("PROTO FRAME STOP".split(), lambda m, _: None),
    **dict.fromkeys(
        "BININT BININT1 BININT2 LONG1 BINFLOAT BINUNICODE SHORT_BINUNICODE BINUNICODE8 BINBYTES "
        "SHORT_BINBYTES BINBYTES8 SHORT_BINSTRING BINSTRING".split(),
        Machine.push,
    ),
    "NONE": lambda m, _: m.stack.append(None),
    "NEWTRUE": lambda m, _: m.stack.append(True),
    "NEWFALSE": lambda m, _: m.stack.append(False),
    "MARK": Machine.mark,
    "EMPTY_TUPLE": _tuple_of(0),
    "TUPLE1": _tuple_of(1),
    "TUPLE2": _tuple_of(2),
    "TUPLE3": _tuple_of(3),
    "TUPLE": _of_group(tuple),
    "EMPTY_LIST": _new(list),
    "EMPTY_DICT": _new(dict),
    "EMPTY_SET": _new(set),
    "APPEND": lambda m, _: m.append(m.take(1)),
    "APPENDS": lambda m, _: m.append(m.group()),
    "SETITEM": lambda m, _: m.set_items(m.take(2)),
    "SETITEMS": lambda m, _: m.set_items(m.group()),
    "ADDITEMS": Machine.add,
    "FROZENSET": _of_group(lambda items: frozenset(checked_keys(items))),
    **dict.fromkeys("BINPUT LONG_BINPUT MEMOIZE".split(), Machine.remember),
    **dict.fromkeys("BINGET LONG_BINGET".split(), lambda m, n: m.stack.append(m.memo[n])),
    "BINPERSID": lambda m, _: m.stack.append(m.names.stored(*m.take(1))),
    "GLOBAL": Machine.named,
    "STACK_GLOBAL": Machine.named,
    "REDUCE": Machine.call,
    "NEWOBJ": Machine.new,
    "BUILD": Machine.build,
}


def unpickled(data: bytes, names: Names) -> Any:
    """The value that a pickle holds. Raises ValueError, or what `names` raises, for one that is
    damaged, has opcodes that are not in STEPS, more than MOST, or keys that are no plain values;
    and what Python's own containers raise."""
    machine = Machine(names, COPIES * len(data) + 1000)
    for count, (opcode, argument, _) in enumerate(pickletools.genops(data)):
        if count >= MOST:
            raise ValueError(f"more than {MOST:,} opcodes")
        if opcode.name not in STEPS:
            raise ValueError(f"the opcode {opcode.name}, which PyTorch does not write")
        STEPS[opcode.name](machine, argument)
    return machine.result()
