"""The text of an entry: what CPython calls of a kernel; see cpu/compile/entries.py."""

from typing import Any

from llvmlite import ir

from minifp.runtime.cpu.compile.entries import (
    DTYPES,
    FIELDS,
    FUNCTIONS,
    ITEMS,
    LENGTH,
    MEANINGS,
    NUMBER,
    ORDER,
    ORDERLY,
    PLACES,
)
from minifp.runtime.cpu.compile.machine import F32, F64, HEADER, I8, I32, I64, POINTER

FINE = (0, -2)  # what numba's functions return where nothing was raised: a result, or none


def parse(text: str) -> list:
    """The types in a signature: a name for each, a list for a tuple."""
    found: list = [[]]
    word = ""
    for letter in text + ",":
        if letter == "(":
            found.append([])
        elif letter in ",)":
            if word.strip():
                found[-1].append(word.strip())
            word = ""
            if letter == ")":
                inner = found.pop()
                found[-1].append(inner)
        else:
            word += letter
    return found[0]


def flattened(kind: Any) -> list:
    """What the kernel is given of an argument: LLVM's types."""
    if isinstance(kind, list):
        return [part for inner in kind for part in flattened(inner)]
    if "[" in kind:
        axes = axes_of(kind)
        return [POINTER, POINTER, I64, I64, POINTER, *[I64] * (2 * axes)]
    return [VALUES[kind]]


def axes_of(kind: str) -> int:
    """How many axes an array has as the kernel takes it: a row has one."""
    return int(kind.partition("[")[2][:-1] or 1)


VALUES = {
    "int": I64, "float": F64, "bool": I8, "None": POINTER, "numpy.float32": F32,
    "numpy.float64": F64, "numpy.int64": I64, "numpy.int32": I32,
}  # fmt: skip
RESULTS = {"none": POINTER, "int64": I64, "float64": F64, "float32": F32, "bool": I8}


# ---- the entry ----------------------------------------------------------------------------------


class Entry:
    """Builds entry(table, arguments, how many) of one kernel."""

    def __init__(self, module: ir.Module, name: str, kinds: list, result: str) -> None:
        form = ir.FunctionType(POINTER, [POINTER, POINTER.as_pointer(), I64])
        self.function = ir.Function(module, form, name)
        self.builder = ir.IRBuilder(self.function.append_basic_block())
        self.refused = self.function.append_basic_block("refused")
        self.failed = self.function.append_basic_block("failed")
        self.kernel = self._declared(module, kinds, result)
        self.known = self.at(self.function.args[0], HEADER, I64.as_pointer())
        self.build(kinds, result)

    @staticmethod
    def _declared(module, kinds, result):
        takes = [RESULTS[result].as_pointer(), POINTER.as_pointer(), *flattened(kinds)]
        return ir.Function(module, ir.FunctionType(I32, takes), "kernel")

    def at(self, pointer: Any, offset: int, kind: Any) -> Any:
        """What lies some bytes behind a pointer."""
        b = self.builder
        return b.load(b.bitcast(b.gep(pointer, [I64(offset)]), kind.as_pointer()))

    def object(self, name: str) -> Any:
        """The address, a number, of something in the table."""
        b = self.builder
        return b.load(b.gep(self.known, [I64(PLACES[name])]))

    def call(self, name: str, *args: Any) -> Any:
        """What a function of CPython returns."""
        result, takes = FUNCTIONS[name]
        kind = ir.FunctionType(result, takes).as_pointer()
        return self.builder.call(self.builder.inttoptr(self.object(name), kind), args)

    def expect(self, condition: Any, otherwise: Any = None) -> None:
        """Go on if something is so, and else to a block: that refuses the arguments."""
        block = self.function.append_basic_block()
        self.builder.cbranch(condition, block, otherwise or self.refused)
        self.builder.position_at_end(block)

    def expect_type(self, x: Any, name: str) -> None:
        """Go on if this is the type of an object."""
        self.expect(self.builder.icmp_signed("==", self.at(x, 8, I64), self.object(name)))

    def build(self, kinds: list, result: str) -> None:
        """All of it: checks first, as nothing is to be undone."""
        b, (_, arguments, count) = self.builder, self.function.args
        self.expect(b.icmp_signed("==", count, I64(len(kinds))))
        objects = [b.load(b.gep(arguments, [I64(k)])) for k in range(len(kinds))]
        for x, kind in zip(objects, kinds):
            self.check(x, kind)
        values = [v for x, kind in zip(objects, kinds) for v in self.take(x, kind)]
        space, error = b.alloca(RESULTS[result]), b.alloca(POINTER)
        state = self.call("PyEval_SaveThread")
        status = b.call(self.kernel, [space, error, *values])
        self.call("PyEval_RestoreThread", state)
        fine = [b.icmp_signed("==", status, I32(code)) for code in FINE]
        raised = self.function.append_basic_block("raised")
        self.expect(b.or_(*fine), raised)
        b.ret(self.boxed(b.load(space), result))
        self.end(raised)

    def end(self, raised: Any) -> None:
        """What happens where arguments are refused, cannot be read, or the kernel raises."""
        b = self.builder
        b.position_at_end(self.refused)
        b.ret(self.counted("NotImplemented"))
        b.position_at_end(raised)
        kind = b.inttoptr(self.object("RuntimeError"), POINTER)
        self.call("PyErr_SetString", kind, b.inttoptr(self.object("error"), POINTER))
        b.branch(self.failed)
        b.position_at_end(self.failed)
        b.ret(ir.Constant(POINTER, None))

    def check(self, x: Any, kind: Any) -> None:
        """Go on if an object is of a type."""
        b = self.builder
        if isinstance(kind, list):
            self.expect_type(x, "tuple")
            length = self.at(x, HEADER + LENGTH, I64)
            self.expect(b.icmp_signed("==", length, I64(len(kind))))
            for part, inner in zip(self.items(x, kind), kind):
                self.check(part, inner)
        elif "[" in kind:
            self.check_array(x, *kind[:-1].split("["))
        elif kind == "bool":
            here = b.ptrtoint(x, I64)
            same = [b.icmp_signed("==", here, self.object(name)) for name in ("True", "False")]
            self.expect(b.or_(*same))
        elif kind == "None":
            self.expect(b.icmp_signed("==", b.ptrtoint(x, I64), self.object(kind)))
        else:
            self.expect_type(x, kind)

    def check_array(self, x: Any, format: str, axes: str) -> None:
        """Go on if an object is an orderly array of a format and so many axes, or a row."""
        b = self.builder
        self.expect_type(x, "array")
        dtype, order = self.field(x, "format", POINTER), DTYPES[format].byteorder
        number = b.sext(self.at(dtype, HEADER + NUMBER, I32), I64)
        fits = b.and_(
            b.icmp_signed("==", number, self.object(f"{format}[")),
            b.icmp_signed("==", self.at(dtype, HEADER + ORDER, I8), I8(ord(order))),
        )
        if axes:
            self.expect(b.icmp_signed("==", self.field(x, "axes", I32), I32(int(axes))))
        elif format in MEANINGS:
            coded = self.object(f"coded {format}")
            fits = b.or_(fits, b.icmp_signed("==", b.ptrtoint(dtype, I64), coded))
        self.expect(fits)
        flags = b.and_(self.field(x, "flags", I32), I32(ORDERLY))
        self.expect(b.icmp_signed("==", flags, I32(ORDERLY)))

    def field(self, x: Any, name: str, kind: Any) -> Any:
        """What NumPy keeps of an array."""
        return self.at(x, HEADER + FIELDS[name], kind)

    def items(self, x: Any, kind: list) -> list:
        """The objects in a tuple."""
        return [self.at(x, HEADER + ITEMS + 8 * k, POINTER) for k in range(len(kind))]

    def take(self, x: Any, kind: Any) -> list:
        """What the kernel is given of an object."""
        b = self.builder
        if isinstance(kind, list):
            parts = zip(self.items(x, kind), kind)
            return [value for part, inner in parts for value in self.take(part, inner)]
        if "[" in kind:
            return self.take_array(x, *kind[:-1].split("["))
        if kind == "None":
            return [ir.Constant(POINTER, None)]
        if kind == "bool":
            true = b.icmp_signed("==", b.ptrtoint(x, I64), self.object("True"))
            return [b.zext(true, I8)]
        wanted = VALUES[kind]
        if wanted in (F32, F64):
            value = self.call("PyFloat_AsDouble", x)
            return [b.fptrunc(value, F32) if wanted == F32 else value]
        value = self.call("PyLong_AsLongLong", x)
        wrong = b.icmp_signed("==", value, I64(-1))
        with b.if_then(wrong, likely=False):
            null = ir.Constant(POINTER, None)
            after = b.icmp_unsigned("==", self.call("PyErr_Occurred"), null)
            self.expect(after, self.failed)
        return [b.trunc(value, I32) if wanted == I32 else value]

    def take_array(self, x: Any, format: str, axes: str) -> list:
        """numba's structure of an array: (owner, owner, size, bytes, data, shape, strides)."""
        b, n = self.builder, int(axes or 1)
        null, size = ir.Constant(POINTER, None), I64(1)
        shape, strides = (self.field(x, name, POINTER) for name in ("shape", "strides"))
        item = I64(DTYPES[format].itemsize)
        if not axes:
            size = self.size_of(x, shape)
            return [null, null, size, item, self.field(x, "data", POINTER), size, item]
        counts = [self.at(shape, 8 * k, I64) for k in range(n)]
        steps = [self.at(strides, 8 * k, I64) for k in range(n)]
        for count in counts:
            size = b.mul(size, count)
        return [null, null, size, item, self.field(x, "data", POINTER), *counts, *steps]

    def size_of(self, x: Any, shape: Any) -> Any:
        """How many numbers an array of whatever axes has."""
        b, before = self.builder, self.builder.block
        head, body, after = (self.function.append_basic_block() for _ in range(3))
        axes = b.sext(self.field(x, "axes", I32), I64)
        b.branch(head)
        b.position_at_end(head)
        axis, size = b.phi(I64), b.phi(I64)
        b.cbranch(b.icmp_signed("<", axis, axes), body, after)
        b.position_at_end(body)
        counts = b.bitcast(shape, I64.as_pointer())
        product, following = b.mul(size, b.load(b.gep(counts, [axis]))), b.add(axis, I64(1))
        b.branch(head)
        for phi, start, then in ((axis, I64(0), following), (size, I64(1), product)):
            phi.add_incoming(start, before)
            phi.add_incoming(then, body)
        b.position_at_end(after)
        return size

    def counted(self, name: str) -> Any:
        """One more reference to an object of the table."""
        x = self.builder.inttoptr(self.object(name), POINTER)
        self.call("Py_IncRef", x)
        return x

    def boxed(self, value: Any, result: str) -> Any:
        """The result as an object."""
        b = self.builder
        if result == "none":
            return self.counted("None")
        if result == "bool":
            return self.call("PyBool_FromLong", b.zext(value, I64))
        if result == "int64":
            return self.call("PyLong_FromLongLong", value)
        return self.call(
            "PyFloat_FromDouble", b.fpext(value, F64) if result == "float32" else value
        )


def entry_text(name: str, types: str, result: str) -> str:
    """The module of an entry that calls a function `kernel` of numba."""
    module = ir.Module()
    Entry(module, name, parse(types), result)
    return str(module)
