"""Graphs in LLVM's terms: a row for each operation, for one number or a vector of them.

`contract` lets LLVM join a product with the sum that takes it, which rounds once less; nothing
allows what NaN, Inf or -0 forbid.
"""

import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from minifp.derive.graph import Node
from minifp.derive.trace import Formula

F32, F64, I32 = ir.FloatType(), ir.DoubleType(), ir.IntType(32)


def intrinsic(name: str, **options: Any) -> Callable[..., Any]:
    """A function that LLVM knows, of float32 numbers."""

    def emit(builder, *operands):
        return called(builder, f"llvm.{name}.f32", operands, **options)

    return emit


def called(builder: ir.IRBuilder, name: str, operands: Any, **options: Any) -> Any:
    """The result of a function of numbers of one type, declared where it is not yet."""
    type = operands[0].type
    kind = ir.FunctionType(type, [type] * len(operands))
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    return builder.call(function, operands, **options)


def fmod(b: ir.IRBuilder, x: Any, y: Any) -> Any:
    """What is left of x by y, exact: in double where the quotient has few bits, or else C's."""
    wide, by = b.fpext(x, F64), b.fpext(y, F64)
    q = called(b, "llvm.trunc.f64", [b.fdiv(wide, by)])
    rest = b.fsub(wide, b.fmul(q, by))
    back = b.fadd(rest, called(b, "llvm.copysign.f64", [by, wide]))  # q was rounded up
    rest = b.select(b.fcmp_ordered("<", b.fmul(rest, wide), ir.Constant(F64, 0.0)), back, rest)
    near = called(b, "llvm.copysign.f32", [b.fptrunc(rest, F32), x])
    few = b.fcmp_ordered("<", called(b, "llvm.fabs.f64", [q]), ir.Constant(F64, 2.0**29))
    finite = b.fcmp_ordered("<", called(b, "llvm.fabs.f32", [y]), ir.Constant(F32, math.inf))
    before = b.block
    with b.if_then(b.not_(b.and_(few, finite))):
        far, after = called(b, "fmodf", [x, y]), b.block
    result = b.phi(F32)
    result.add_incoming(near, before)
    result.add_incoming(far, after)
    return result


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
    "fmod": fmod,
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
    """Writes nodes where a builder stands. known: the values there are; flags: of arithmetic; read:
    what gives those that are no operations."""

    def __init__(
        self, builder: ir.IRBuilder, known: dict[Node, Any], flags: tuple = ("contract",), read=None
    ):
        self.builder, self.known, self.flags, self.read = builder, known, flags, read

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
        if node.op not in ROWS and node.op != "call":
            return self.read(node)
        operands = [self.value(a) for a in node.args]
        if node.op == "call":
            return called(self.builder, node.value, operands)
        if node.op in FLAGGED:
            return ROWS[node.op](self.builder, *operands, self.flags)
        return ROWS[node.op](self.builder, *operands)


def emitter_of(formula: Formula, builder: ir.IRBuilder, known: dict[Node, Any]) -> Emitter:
    """What writes the nodes of a formula, as fused as it is."""
    return Emitter(builder, known, ("contract",) if formula.is_fused else ())
