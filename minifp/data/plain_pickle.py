"""Reading pickled data without `pickle`, which runs whatever a file tells it to.

A pickle is a program for a machine with a stack. `pickletools` of the standard library reads its
instructions and runs none. This machine knows those that build dicts, lists, tuples, bytes, text
and numbers, as protocol 2 (Python 2) and later ones write them; `pickled_arrays` adds arrays. It
looks nothing up and calls nothing in a file's name, and refuses whatever else is asked for. What it
makes is at most a small multiple of the file.
"""

import pickletools
from collections.abc import Callable
from typing import Any

from minifp.data.pickled_arrays import Arrays, refuse
from minifp.errors import DataError

MOST_INSTRUCTIONS = 1_000_000  # a batch of CIFAR-10 has 40,000
LONGEST_INTEGER = 64  # bits, with the sign

CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
EMPTY = {"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
# What is written in the instruction itself.
WRITTEN: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys("BININT BININT1 BININT2 BINFLOAT LONG1 LONG4".split(), lambda value: value),
    **dict.fromkeys("BINUNICODE SHORT_BINUNICODE BINUNICODE8".split(), str),
    **dict.fromkeys("BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8".split(), bytes),
    **dict.fromkeys("BINSTRING SHORT_BINSTRING".split(), lambda text: text.encode("latin1")),
}
REFUSED = {
    **dict.fromkeys("PERSID BINPERSID".split(), "an object by a persistent id"),
    **dict.fromkeys("INST OBJ NEWOBJ NEWOBJ_EX".split(), "an object of a class"),
    **dict.fromkeys("EXT1 EXT2 EXT4".split(), "an object by a registered number"),
    **dict.fromkeys("NEXT_BUFFER READONLY_BUFFER".split(), "a buffer outside the file"),
}
OTHER = "an instruction that plain data has not (or only in protocols 0 and 1)"


def loads(content: bytes, name: str):
    """Return what a pickle holds, `name` being how messages call it. Raises DataError.

    Bytes of Python 2 stay bytes. Arrays hold booleans, integers or floating numbers, and may be
    read-only.
    """
    try:
        return _Machine(content, name).run()
    except DataError:
        raise
    # A warning, where those are errors, is pickletools' of a backslash in what should be a name.
    except (ArithmeticError, LookupError, TypeError, ValueError, DeprecationWarning) as error:
        raise DataError(
            f"{name} is no pickle of plain data, or is damaged or cut off "
            f"({type(error).__name__}): get it again."
        ) from error


class _Machine:
    def __init__(self, content, name):
        self.content, self.name = content, name
        self.stack, self.below, self.memo = [], [], {}
        self.arrays = Arrays(name, len(content))

    def run(self):
        for count, (instruction, value, _) in enumerate(pickletools.genops(self.content)):
            if count == MOST_INSTRUCTIONS:
                refuse(self.name, f"more than {MOST_INSTRUCTIONS} instructions")
            self.step(instruction, value)
        return self.stack.pop()

    def step(self, instruction, value):
        code = instruction.name
        if code in WRITTEN:
            if isinstance(value, int) and value.bit_length() >= LONGEST_INTEGER + (value < 0):
                refuse(self.name, f"an integer of {value.bit_length()} bits")
            self.stack.append(WRITTEN[code](value))
        elif code in CONSTANTS:
            self.stack.append(CONSTANTS[code])
        elif code in EMPTY:
            self.stack.append(EMPTY[code]())
        elif code in TUPLES:
            items = [self.stack.pop() for _ in range(TUPLES[code])]
            self.stack.append(tuple(items[::-1]))
        elif code in STEPS:
            STEPS[code](self, value)
        else:
            if code == "INST":
                self.arrays.look_up(value)  # refused by name, if it is another's
            refuse(self.name, f"{REFUSED.get(code, OTHER)} (code {ord(instruction.code):#04x})")

    # ---- the stack ------------------------------------------------------------------------------

    def pop_two(self):
        last = self.stack.pop()
        return self.stack.pop(), last

    def mark(self, _):
        self.below.append(self.stack)
        self.stack = []

    def items(self):
        """What lies on the stack above the last mark, which goes."""
        items, self.stack = self.stack, self.below.pop()
        return items

    def put(self, index):
        self.memo[index] = self.stack[-1]

    def get(self, index):
        self.stack.append(self.memo[index])

    # ---- containers, names and calls ------------------------------------------------------------

    def close_tuple(self, _):
        items = self.items()
        self.stack.append(tuple(items))

    def append(self, items):
        if not isinstance(self.stack[-1], list):
            refuse(self.name, "items added to what is no list")
        self.stack[-1].extend(items)

    def set_items(self, items):
        keys, target = items[::2], self.stack[-1]
        # Of tuples the hash alone can take for ever.
        if not isinstance(target, dict) or not all(isinstance(key, (bytes, str)) for key in keys):
            refuse(self.name, "items set that are not those of a dict by bytes or text")
        target.update(zip(keys, items[1::2], strict=True))

    def look_up(self, asked):
        self.stack.append(self.arrays.look_up(asked))

    def call(self, _):
        self.stack.append(self.arrays.call(*self.pop_two()))

    def build(self, _):
        state = self.stack.pop()
        self.arrays.build(self.stack[-1], state)


STEPS = {
    **dict.fromkeys(["PROTO", "FRAME", "STOP"], lambda m, _: None),
    "MARK": _Machine.mark,
    "TUPLE": _Machine.close_tuple,
    "APPEND": lambda m, _: m.append([m.stack.pop()]),
    "APPENDS": lambda m, _: m.append(m.items()),
    "SETITEM": lambda m, _: m.set_items(m.pop_two()),
    "SETITEMS": lambda m, _: m.set_items(m.items()),
    "BINPUT": _Machine.put,
    "LONG_BINPUT": _Machine.put,
    "MEMOIZE": lambda m, _: m.put(len(m.memo)),
    "BINGET": _Machine.get,
    "LONG_BINGET": _Machine.get,
    "GLOBAL": _Machine.look_up,
    "STACK_GLOBAL": lambda m, _: m.look_up(" ".join(m.pop_two())),
    "REDUCE": _Machine.call,
    "BUILD": _Machine.build,
}
