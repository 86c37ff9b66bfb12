"""Reductions in LLVM's terms: of two numbers, and of many, in blocks."""

from typing import Any

from llvmlite import ir

from minifp.derive.llvm import ROWS as OPERATIONS
from minifp.runtime.cpu.loops import Code
from minifp.runtime.cpu.machine import F32, F64, I64

BLOCK = 512  # numbers that are added up in float32
IDENTITY = {"sum": 0.0, "largest": float("-inf"), "least": float("inf")}
FLAGS = ("reassoc", "contract")  # sums in any order: as many beside each other as a vector holds


def combined(b: ir.IRBuilder, op: str, x: Any, y: Any) -> Any:
    """A reduction of two numbers."""
    if op == "sum":
        return b.fadd(x, y, flags=FLAGS if x.type == F32 else ())
    if x.type == F32:
        return OPERATIONS["max" if op == "largest" else "min"](b, x, y)
    of_two = b.select(b.fcmp_unordered(">" if op == "largest" else "<", x, y), x, y)
    return b.select(b.fcmp_unordered("uno", y, y), y, of_two)  # NaN if one is


class Blocks:
    """A loop that reduces: in float32 slots, whose sums, of a block each, are added in float64."""

    def __init__(self, code: Code, sums: list, start: Any, stop: Any, known: dict,
                 in_double: bool = False) -> None:  # fmt: skip
        self.code, self.b, self.sums = code, code.b, sums
        self.start, self.stop, self.known, self.in_double = start, stop, known, in_double

    def __enter__(self):
        b, code = self.b, self.code
        self.slots = {n: code.slot(F32) for n in self.sums}
        self.totals = {n: code.slot(F64) for n in self.sums if n.op == "sum"}
        for n in self.sums:
            b.store(ir.Constant(F32, IDENTITY[n.op]), self.slots[n])
        for slot in self.totals.values():
            b.store(ir.Constant(F64, 0.0), slot)
        self.outer = code.loop(self.start, self.stop, I64(BLOCK))
        first = self.outer.__enter__()
        for n in self.totals:
            b.store(ir.Constant(F32, 0.0), self.slots[n])
        self.inner = code.loop(first, code.least(b.add(first, I64(BLOCK)), self.stop))
        return self.inner.__enter__(), self.slots

    def __exit__(self, *error):
        b = self.b
        self.inner.__exit__(*error)
        for n, total in self.totals.items():
            x = b.fpext(b.load(self.slots[n]), F64)
            b.store(b.fadd(b.load(total), x), total)
        self.outer.__exit__(*error)
        for n in self.sums:
            if n in self.totals:
                x = b.load(self.totals[n])
                self.known[n] = x if self.in_double else b.fptrunc(x, F32)
            else:
                x = b.load(self.slots[n])
                self.known[n] = b.fpext(x, F64) if self.in_double else x
