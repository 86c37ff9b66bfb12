"""Graphs in LLVM's terms: a row for each operation, for one number or a vector of them.

`contract` lets LLVM join a product with the sum that takes it, which rounds once less; nothing
allows what NaN, Inf or -0 forbid.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from minifp.derive.graph import Node

F32, I1, I32 = ir.FloatType(), ir.IntType(1), ir.IntType(32)


def intrinsic(name: str, **options: Any) -> Callable[..., Any]:
    """A function that LLVM knows, of float32 numbers."""

    def emit(builder, *operands):
        return called(builder, f"llvm.{name}.f32", operands, **options)

    return emit


def called(builder: ir.IRBuilder, name: str, operands: Any, **options: Any) -> Any:
    """The result of a function of float32 numbers, declared where it is not yet."""
    kind = ir.FunctionType(F32, [F32] * len(operands))
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    return builder.call(function, operands, **options)


def ordered(sign: str) -> Callable[..., Any]:
    """A comparison that is false of NaN."""
    return lambda builder, x, y: builder.fcmp_ordered(sign, x, y)


ROWS: dict[str, Callable[..., Any]] = {
    "add": lambda b, x, y, flags: b.fadd(x, y, flags=flags),
    "sub": lambda b, x, y, flags: b.fsub(x, y, flags=flags),
    "mul": lambda b, x, y, flags: b.fmul(x, y, flags=flags),
    "div": lambda b, x, y, flags: b.fdiv(x, y, flags=flags),
    "neg": lambda b, x: b.fneg(x),
    "pow": lambda b, x, y: called(b, "powf", (x, y)),
    **{"abs": intrinsic("fabs"), "sqrt": intrinsic("sqrt"), "floor": intrinsic("floor")},
    **{"ceil": intrinsic("ceil"), "trunc": intrinsic("trunc"), "rint": intrinsic("rint")},
    "max": intrinsic("maximum", fastmath=("nsz",)),  # NaN if one is; which 0 does not matter
    "min": intrinsic("minimum", fastmath=("nsz",)),
    "select": lambda b, c, x, y: b.select(c, x, y),
    **{"lt": ordered("<"), "le": ordered("<="), "gt": ordered(">"), "ge": ordered(">=")},
    "eq": ordered("=="),
    "ne": lambda b, x, y: b.fcmp_unordered("!=", x, y),
    **{"and": lambda b, x, y: b.and_(x, y), "or": lambda b, x, y: b.or_(x, y)},
    "not": lambda b, x: b.not_(x),
    "bits": lambda b, x: b.bitcast(x, I32),
    "float": lambda b, x: b.bitcast(x, F32),
    "tofloat": lambda b, x: b.sitofp(x, F32),
    **{"iadd": lambda b, x, y: b.add(x, y), "isub": lambda b, x, y: b.sub(x, y)},
    **{"iand": lambda b, x, y: b.and_(x, y), "ior": lambda b, x, y: b.or_(x, y)},
    **{"shl": lambda b, x, y: b.shl(x, y), "ashr": lambda b, x, y: b.ashr(x, y)},
    "ine": lambda b, x, y: b.icmp_signed("!=", x, y),
}
FLAGGED = {"add", "sub", "mul", "div"}


class Emitter:
    """Writes nodes where a builder stands. known: the values there are; flags: of arithmetic."""

    def __init__(self, builder: ir.IRBuilder, known: dict[Node, Any], flags: tuple = ("contract",)):
        self.builder, self.known, self.flags = builder, known, flags

    def value(self, node: Node) -> Any:
        """The value of a node, computed here if it is not known."""
        if node not in self.known:
            self.known[node] = self._new(node)
        return self.known[node]

    def _new(self, node):
        if node.op == "const":
            return ir.Constant(F32, float(node.value))
        if node.op == "int":
            return ir.Constant(I32, node.value)
        operands = [self.value(a) for a in node.args]
        if node.op == "call":
            return called(self.builder, node.value, operands)
        if node.op in FLAGGED:
            return ROWS[node.op](self.builder, *operands, self.flags)
        return ROWS[node.op](self.builder, *operands)
