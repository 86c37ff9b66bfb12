"""Reductions of many numbers in LLVM's terms: what is added up where.

Sums are made of parts of a few numbers in float32, which are joined in float64; running sums are in
float64. A product is m 2^e with 1 <= |m| < 2 in float64, unless it is 0, Inf or NaN, so that no
partial product overflows.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from llvmlite import ir

from minifp.derive.graph import Node
from minifp.derive.llvm import ROWS as OPERATIONS
from minifp.runtime.cpu.compile.machine import F32, F64, I64
from minifp.runtime.cpu.emit.loops import Code

BLOCK = 512  # numbers that are added up in float32
IDENTITY = {"largest": float("-inf"), "least": float("inf"), "product": 1.0, "cumprod": 1.0}
PRODUCTS, EXTREMES = ("product", "cumprod"), {"largest": "max", "least": "min"}
FLAGS = ("reassoc", "contract")  # sums in any order: as many beside each other as a vector holds
FIELD, ONE, FAR = 2047 << 52, 1023, 1000  # a double's exponent; of 1; that no float32 has


def combined(b: ir.IRBuilder, op: str, x: Any, y: Any) -> Any:
    """A reduction of two numbers."""
    if op in EXTREMES:
        return OPERATIONS[EXTREMES[op]](b, x, y)
    return b.fadd(x, y, flags=FLAGS if x.type == F32 else ())


class Accumulators:
    """What is added up of a row; RowCode says where."""

    code: Code
    b: ir.IRBuilder
    place: Callable[..., Any]
    each: Callable[[], AbstractContextManager]
    block = BLOCK

    def start(self, nodes: list[Node]) -> None:
        """Nothing is added up yet."""
        for n in nodes:
            total = self.total(n)
            self.b.store(ir.Constant(total.type.pointee, IDENTITY.get(n.op, 0.0)), total)
            if n.op in PRODUCTS:
                self.b.store(I64(0), self.place(n, "exponent", I64))
            elif n.op == "sum":
                self.b.store(ir.Constant(F32, 0.0), self.place(n, "part"))

    def total(self, node: Node) -> Any:
        """Where it is added up: extremes in float32, what is added or multiplied in float64."""
        return self.place(node, "total", F32 if node.op in EXTREMES else F64)

    def as_type(self, x: Any, type: Any) -> Any:
        """A number as a float32 or float64."""
        if x.type == type:
            return x
        return self.b.fpext(x, type) if type == F64 else self.b.fptrunc(x, type)

    def join(self, node: Node, x: Any) -> None:
        """Add a number to the total."""
        total = self.total(node)
        x = self.as_type(x, total.type.pointee)
        self.b.store(combined(self.b, node.op, self.b.load(total), x), total)

    def add(self, node: Node, x: Any) -> None:
        """Add one of many numbers."""
        if node.op in PRODUCTS:
            self._multiply(node, self.b.fpext(x, F64))
        elif node.op == "sum":
            part = self.place(node, "part")
            self.b.store(combined(self.b, node.op, self.b.load(part), x), part)
        else:
            self.join(node, x)

    def _multiply(self, node, x):
        b, total, exponent = self.b, self.total(node), self.place(node, "exponent", I64)
        y = b.fmul(b.load(total), x)
        bits = b.bitcast(y, I64)
        more = b.and_(b.lshr(bits, I64(52)), I64(2047))
        is_usual = b.icmp_unsigned("<", b.sub(more, I64(1)), I64(2046))  # not 0, Inf or NaN
        alone = b.or_(b.and_(bits, I64(~FIELD)), I64(ONE << 52))
        b.store(b.select(is_usual, b.bitcast(alone, F64), y), total)
        more = b.select(is_usual, b.sub(more, I64(ONE)), I64(0))
        b.store(b.add(b.load(exponent), more), exponent)

    def reduce(self, nodes: list[Node], start: Any, stop: Any, numbers: Callable[..., Any]) -> None:
        """Add up, of each node, the numbers that `numbers(i)` gives for all of them."""
        b, code = self.b, self.code
        with code.loop(start, stop, I64(self.block)) as first:
            last = code.least(b.add(first, I64(self.block)), stop)
            with code.loop(first, last) as i, self.each():
                for n, x in zip(nodes, numbers(i)):
                    self.add(n, x)
            with self.each():
                for n in nodes:
                    if n.op == "sum":
                        part = self.place(n, "part")
                        self.join(n, b.load(part))
                        b.store(ir.Constant(F32, 0.0), part)

    def result(self, node: Node) -> Any:
        """What was added up, in float32."""
        b, y = self.b, self.b.load(self.total(node))
        if node.op in PRODUCTS:
            k = self.code.least(b.load(self.place(node, "exponent", I64)), I64(FAR))
            k = b.select(b.icmp_signed("<", k, I64(-FAR)), I64(-FAR), k)
            y = b.fmul(y, b.bitcast(b.shl(b.add(k, I64(ONE)), I64(52)), F64))
        return self.as_type(y, F32)
