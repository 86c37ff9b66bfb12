"""Reading pickled data without `pickle`, which runs whatever a file tells it to.

A pickle is a program for a machine with a stack. This machine knows the instructions that build
dicts, lists, tuples, bytes, text and numbers, as protocol 2 (Python 2) and later ones write them;
`pickled_arrays` adds arrays. It looks nothing up and calls nothing in a file's name, and refuses
whatever else is asked for. What it makes is at most a small multiple of the file. Source: CPython's
pickletools.py.
"""

import struct

from minifp.data.pickled_arrays import Arrays, refuse
from minifp.errors import DataError

MOST_INSTRUCTIONS = 1_000_000  # a batch of CIFAR-10 has 40,000
LONGEST_INTEGER = 8  # bytes

NUMBERS = {b"K": "<B", b"M": "<H", b"J": "<i", b"G": ">d"}
CONSTANTS = {b"N": None, b"\x88": True, b"\x89": False}
EMPTY = {b"}": dict, b"]": list, b")": tuple}
TUPLES = {b"\x85": 1, b"\x86": 2, b"\x87": 3}
# The length that comes first, and what the bytes after it are.
SIZED = {
    **{b"U": ("<B", bytes), b"T": ("<i", bytes), b"C": ("<B", bytes), b"B": ("<I", bytes)},
    **{b"\x8e": ("<Q", bytes), b"\x96": ("<Q", bytes), b"\x8a": ("<B", int), b"\x8b": ("<i", int)},
    **{b"X": ("<I", str), b"\x8c": ("<B", str), b"\x8d": ("<Q", str)},
}
REFUSED = {
    **dict.fromkeys([b"P", b"Q"], "an object by a persistent id"),
    **dict.fromkeys([b"o", b"\x81", b"\x92"], "an object of a class"),
    **dict.fromkeys([b"\x82", b"\x83", b"\x84"], "an object by a registered number"),
    **dict.fromkeys([b"\x97", b"\x98"], "a buffer outside the file"),
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
    except (ArithmeticError, LookupError, TypeError, ValueError, struct.error) as error:
        raise DataError(
            f"{name} is no pickle of plain data, or is damaged or cut off "
            f"({type(error).__name__}): get it again."
        ) from error


class _Machine:
    def __init__(self, content, name):
        self.content, self.name, self.position = content, name, 0
        self.stack, self.below, self.memo = [], [], {}
        self.arrays = Arrays(name, len(content))

    def run(self):
        for _ in range(MOST_INSTRUCTIONS):
            code = self.take(1)
            if code == b".":
                return self.stack.pop()
            self.step(code)
        refuse(self.name, f"more than {MOST_INSTRUCTIONS} instructions")

    def step(self, code):
        if code in NUMBERS:
            self.stack.append(self.number(NUMBERS[code]))
        elif code in SIZED:
            self.stack.append(self.sized(*SIZED[code]))
        elif code in CONSTANTS:
            self.stack.append(CONSTANTS[code])
        elif code in EMPTY:
            self.stack.append(EMPTY[code]())
        elif code in TUPLES:
            items = [self.stack.pop() for _ in range(TUPLES[code])]
            self.stack.append(tuple(items[::-1]))
        elif code in STEPS:
            STEPS[code](self)
        else:
            refuse(self.name, f"{REFUSED.get(code, OTHER)} (code 0x{code.hex()})")

    # ---- reading --------------------------------------------------------------------------------

    def take(self, count):
        taken = self.content[self.position : self.position + count]
        if not 0 <= count == len(taken):
            raise ValueError("cut off")
        self.position += count
        return taken

    def number(self, form):
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def sized(self, form, kind):
        size = self.number(form)
        if kind is int and size > LONGEST_INTEGER:
            refuse(self.name, f"an integer of {size} bytes")
        taken = self.take(size)
        if kind is int:
            return int.from_bytes(taken, "little", signed=True)
        return str(taken, "utf-8") if kind is str else taken

    def line(self):
        end = self.content.index(b"\n", self.position, self.position + 200)
        taken = str(self.take(end - self.position), "utf-8")
        self.position += 1
        return taken

    # ---- the stack ------------------------------------------------------------------------------

    def pop_two(self):
        last = self.stack.pop()
        return self.stack.pop(), last

    def mark(self):
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

    def close_tuple(self):
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

    def look_up(self, module, name):
        self.stack.append(self.arrays.look_up(module, name))

    def instance(self):
        self.look_up(self.line(), self.line())  # refused by name, if it is another's
        refuse(self.name, REFUSED[b"o"])

    def call(self):
        self.stack.append(self.arrays.call(*self.pop_two()))

    def build(self):
        state = self.stack.pop()
        self.arrays.build(self.stack[-1], state)


STEPS = {
    b"\x80": lambda m: m.take(1),  # the protocol
    b"\x95": lambda m: m.take(8),  # the size of a frame
    b"(": _Machine.mark,
    b"t": _Machine.close_tuple,
    b"a": lambda m: m.append([m.stack.pop()]),
    b"e": lambda m: m.append(m.items()),
    b"s": lambda m: m.set_items(m.pop_two()),
    b"u": lambda m: m.set_items(m.items()),
    b"q": lambda m: m.put(m.number("<B")),
    b"r": lambda m: m.put(m.number("<I")),
    b"\x94": lambda m: m.put(len(m.memo)),
    b"h": lambda m: m.get(m.number("<B")),
    b"j": lambda m: m.get(m.number("<I")),
    b"c": lambda m: m.look_up(m.line(), m.line()),
    b"\x93": lambda m: m.look_up(*m.pop_two()),
    b"i": _Machine.instance,
    b"R": _Machine.call,
    b"b": _Machine.build,
}
