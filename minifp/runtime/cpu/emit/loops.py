"""What kernels in LLVM's terms have beside arithmetic: functions, loops, variables, memory."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from minifp.runtime.cpu.compile.machine import F64, I8, I64, TRIPLE, VOID, add_entry
from minifp.runtime.cpu.emit.formats_ir import BYTES, FORMATS

NUMBERS = {"i64": I64, "f32": ir.FloatType(), "f64": F64}
UNCONVERTED = {"int64": I64, "float64": F64}  # formats that are read and written as they are

GROUP, LOOP = "accesses of lanes", "lanes"  # metadata that are themselves alone: see Code.text


def new_module(name: str) -> ir.Module:
    """An empty module for this machine."""
    module = ir.Module(name)
    module.triple = TRIPLE
    return module


def parameters(text: str) -> dict[str, str]:
    """Those of a function as Code takes them, of a text: "total i64, places int64"."""
    words = text.replace(",", "").split()
    return dict(zip(words[::2], words[1::2]))


CHUNKED = parameters("counter int64, count i64, scratch float32, length i64, total i64")  # pool.py


class Code:
    """The body of one function: a builder, with what LLVM's own lacks.

    parameters: name to kind: "i64", "f32" or "f64", or the dtype of what a pointer points to.
    """

    def __init__(self, module: ir.Module, name: str, parameters: dict[str, str]) -> None:
        kinds = [NUMBERS.get(k) or element(k).as_pointer() for k in parameters.values()]
        self.function = ir.Function(module, ir.FunctionType(VOID, kinds), name)
        self.function.attributes.add("nounwind")
        self.entry = self.function.append_basic_block("entry")
        self.b = ir.IRBuilder(self.function.append_basic_block("body"))
        self.p = dict(zip(parameters, self.function.args))
        for parameter, argument in self.p.items():
            argument.name = parameter  # for those who read the text
        self.dtypes = dict(parameters)

    def finish(self) -> None:
        """The function returns here."""
        self.b.ret_void()
        with self.b.goto_block(self.entry):
            self.b.branch(self.function.blocks[1])

    def slot(self, type: Any, count: int = 1) -> Any:
        """A variable, which LLVM puts into a register; or a small array."""
        at = self.b.block
        self.b.position_at_start(self.entry)
        place = self.b.alloca(type, count)
        self.b.position_at_end(at)
        return place

    @contextmanager
    def loop(self, start: Any, stop: Any, step: Any = None) -> Iterator[Any]:
        """`for i in range(start, stop, step)`, all of them i64."""
        b, at = self.b, self.slot(I64)
        b.store(start, at)
        head, body, after = (self.function.append_basic_block() for _ in range(3))
        b.branch(head)
        b.position_at_end(head)
        i = b.load(at)
        b.cbranch(b.icmp_signed("<", i, stop), body, after)
        b.position_at_end(body)
        yield i
        b.store(b.add(i, step or I64(1), flags=("nsw",)), at)
        self.last_branch = b.branch(head)
        b.position_at_end(after)

    @contextmanager
    def lanes(self, stop: Any) -> Iterator[Any]:
        """`for j in range(stop)`, where no turn reads what another writes: LLVM need not ask."""
        before = len(self.function.blocks)
        with self.loop(I64(0), stop) as j:
            yield j
        module = self.function.module
        group = module.add_metadata([ir.MetaDataString(module, GROUP)])
        for block in self.function.blocks[before:]:
            for instruction in block.instructions:
                if instruction.opname in ("load", "store"):
                    instruction.set_metadata("llvm.access.group", group)
        name = ir.MetaDataString(module, "llvm.loop.parallel_accesses")
        accesses = module.add_metadata([name, group])
        own = ir.MetaDataString(module, f"{LOOP} {before}")
        self.last_branch.set_metadata("llvm.loop", module.add_metadata([own, accesses]))

    @contextmanager
    def repeat(self, condition: Any) -> Iterator[None]:
        """`while condition():`"""
        b, (head, body, after) = self.b, (self.function.append_basic_block() for _ in range(3))
        b.branch(head)
        b.position_at_end(head)
        b.cbranch(condition(), body, after)
        b.position_at_end(body)
        yield
        b.branch(head)
        b.position_at_end(after)

    @contextmanager
    def chunks(self) -> Iterator[Any]:
        """For each chunk that is this thread's; counter, count: see pool.py. One alone is not
        counted."""
        b, chunk, count = self.b, self.slot(I64), self.p["count"]
        b.store(I64(0), chunk)
        many = b.icmp_signed(">", count, I64(1))

        def there_is_one():
            with b.if_then(many):
                b.store(b.atomic_rmw("add", self.p["counter"], I64(1), "seq_cst"), chunk)
            return b.icmp_signed("<", b.load(chunk), count)

        with self.repeat(there_is_one):
            yield b.load(chunk)
            with b.if_then(b.not_(many)):
                b.store(count, chunk)

    def least(self, x: Any, y: Any) -> Any:
        """The smaller of two i64s."""
        return self.b.select(self.b.icmp_signed("<", x, y), x, y)

    def load(self, pointer: Any, i: Any, dtype: str) -> Any:
        """The number at a place of an array of a dtype, in float32; a truth value as it is."""
        if dtype == "int64":
            return self.b.sitofp(self.b.load(self.b.gep(pointer, [i])), NUMBERS["f32"])
        form, upcast, _ = FORMATS[dtype]
        x = self.b.load(self.b.gep(pointer, [i]))
        x.align = BYTES[form]
        return self.b.icmp_unsigned("!=", x, I8(0)) if dtype == "bool" else upcast(self.b, x)

    def number(self, pointer: Any, i: Any, dtype: str) -> Any:
        """The same, but of a truth value 0 or 1."""
        x = self.load(pointer, i, dtype)
        return self.b.uitofp(x, NUMBERS["f32"]) if dtype == "bool" else x

    def text(self) -> str:
        """The whole module, with what Python calls of this function."""
        add_entry(self.function)
        text = str(self.function.module)
        text = text.replace(f'!{{ !"{GROUP}" }}', "distinct !{}")
        return re.sub(rf'(!\d+) = !{{ !"{LOOP} \d+", (!\d+) }}', r"\1 = distinct !{ \1, \2 }", text)

    def store(self, x: Any, pointer: Any, i: Any, dtype: str) -> None:
        """Write a number to a place of an array of a dtype, rounded once; or a truth value."""
        form, _, downcast = FORMATS[dtype]
        bits = self.b.zext(x, I8) if dtype == "bool" else downcast(self.b, x)
        self.b.store(bits, self.b.gep(pointer, [i])).align = BYTES[form]


def element(dtype: str) -> Any:
    """What lies in the memory of an array of a dtype."""
    return UNCONVERTED.get(dtype) or FORMATS[dtype][0]
