"""Formulas of one element, which are Python functions of float32 numbers, as CUDA C++.

The formulas are those that numba compiles for the CPU (see runtime/cpu/pointwise.py): so each is
written once. What they may consist of: arithmetic, comparisons, conditional expressions and
statements, assignments, constants of float32, the elementary functions of runtime/cpu/math.py, and
other such functions; no chained comparisons (a < b < c) and no augmented assignments (a += b). All
numbers are float; comparisons are bool.
"""

import ast
import inspect
import math
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

from minifp.errors import DeviceError

C: Any = None  # stands in formulas for what C has and Python has not: C.rint(x)
FUNCTIONS = {
    **{f"{name}32": f"{name}f" for name in ("exp", "log", "tanh", "erf", "sin", "cos")},
    **{f"{name}_32": f"{name}f" for name in ("expm1", "log1p", "log2", "log10")},
    **{name: f"{name}f" for name in ("sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh")},
    **{name: f"{name}f" for name in ("cosh", "exp", "log", "pow", "floor", "ceil", "trunc")},
    **{name: f"{name}f" for name in ("rint", "fma", "normcdf")},
    "sigmoid32": "sigmoidf",
    "copysign32": "copysignf",
    "abs": "fabsf",
}
# Of numbers that are computed once for a whole array, in double.
DOUBLE = {"sqrt": "sqrt", "abs": "fabs", "min": "fmin", "max": "fmax"}
OPERATORS: dict[type, str] = {
    **{ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"},
    **{ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="},
    **{ast.And: "&&", ast.Or: "||", ast.Not: "!", ast.USub: "-", ast.UAdd: "+"},
}
PRELUDE = """
__device__ inline float sigmoidf(float x) {
  float e = expf(-fabsf(x));
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}
"""


def translated(
    function: Callable[..., Any], absent: tuple[str, ...] = (), real: str = "float",
    pairs: dict[str, int] | None = None,
) -> tuple[str, int]:  # fmt: skip
    """(text, number of results) of a Python function as a C++ function, called its `symbol`.

    absent: parameters that are None, which the C++ function has not. pairs: parameters that are
    tuples, with their lengths: name_0, name_1, ... there. A function that returns a
    tuple, or whose `real` is double, writes its results to an array `results`, its last parameter.
    Raises DeviceError for what cannot be translated, with the line.
    """
    made = Translation(function, absent, real, pairs=pairs)
    text = made.own()
    return "".join([*made.needed.values(), text]), made.results


def symbol(function: Any) -> str:
    """What a Python function is called in C++, where its own name may be taken, as isfinite is."""
    return f"{getattr(function, 'py_func', function).__name__}_"


class Translation:
    """One function on its way to C++."""

    def __init__(self, function, absent=(), real="float", needed=None, pairs=None):
        self.pairs = pairs or {}
        function = getattr(function, "py_func", function)
        self.function, self.absent, self.real = function, frozenset(absent), real
        source = textwrap.dedent(inspect.getsource(function))
        (tree,) = ast.parse(source).body
        self.tree: Any = tree
        self.known = {**function.__globals__, **_closure(function)}
        self.needed = {} if needed is None else needed  # texts of the functions it calls, by name
        self.declared: set = set()

    def own(self):
        """Its text, without those of the functions it calls, which are in `needed` then."""
        parameters = self.tree.args
        names = [*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs]
        self.names = [
            name
            for p in names
            if p.arg not in self.absent
            for name in ([f"{p.arg}_{i}" for i in range(self.pairs[p.arg])]
                         if p.arg in self.pairs else [p.arg])
        ]  # fmt: skip
        self.declared = set(self.names)
        returns = [n.value for n in ast.walk(self.tree) if isinstance(n, ast.Return)]
        several = any(isinstance(value, ast.Tuple) for value in returns)
        self.results = max(len(v.elts) if isinstance(v, ast.Tuple) else 1 for v in returns)
        self.in_array = several or self.real == "double"
        given = [f"{self.real} {name}_" for name in self.names]
        given += [f"{self.real} *results"] if self.in_array else []
        kind = "void" if self.in_array else self.real
        self.late: list[str] = []
        lines = self._block(self.tree.body)
        head = f"__device__ inline {kind} {symbol(self.function)}({', '.join(given)}) {{"
        declared = [f"  {self.real} {name}_;" for name in self.late]
        return "\n".join([head, *declared, *(f"  {line}" for line in lines), "}\n"])

    # ---- statements ----

    def _block(self, statements, nested=False):
        lines = []
        for statement in statements:
            lines += self._statement(statement, nested)
            if lines and lines[-1].startswith("return") and not lines[-1].endswith("}"):
                break  # what follows is never reached, and may use what is None
        return lines

    def _statement(self, s, nested):
        if isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant):
            return []  # a docstring
        if isinstance(s, ast.Return):
            return self._return(s.value)
        if isinstance(s, ast.Assign):
            return self._assign(s, nested)
        if isinstance(s, ast.If):
            known = self._known_test(s.test)
            if known is not None:
                return self._block(s.body if known else s.orelse, nested)
            lines = [f"if ({self._expression(s.test)}) {{", *self._block(s.body, True), "}"]
            if s.orelse:
                lines[-1] = "} else {"
                lines += [*self._block(s.orelse, True), "}"]
            return lines
        raise self._refused(s)

    def _return(self, value):
        if not self.in_array:
            return [f"return {self._expression(value)};"]
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        return [f"results[{i}] = {self._expression(p)};" for i, p in enumerate(parts)] + ["return;"]

    def _assign(self, s, nested):
        first, *others = s.targets
        if isinstance(first, ast.Tuple):
            if others:
                raise self._refused(s)
            return self._unpacked(first, s.value)
        lines = [self._set(first.id, self._expression(s.value), nested)]
        return lines + [self._set(other.id, f"{first.id}_", nested) for other in others]

    def _unpacked(self, target, value):
        """Several names set at once: all values are computed before the first is set."""
        parts = self._parts(target, value)
        before = [f"{self.real} new_{name} = {text};" for name, text in parts]
        for name, _ in parts:
            if name not in self.declared:
                self.declared.add(name)
                self.late.append(name)
        return ["{", *before, *(f"{name}_ = new_{name};" for name, _ in parts), "}"]

    def _parts(self, target, value):
        """(name, text of its value) of each name of a target."""
        if isinstance(target, ast.Name):
            return [(target.id, self._expression(value))]
        if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
            pairs = zip(target.elts, value.elts)
            return [part for t, v in pairs for part in self._parts(t, v)]
        if isinstance(value, ast.Name) and self.pairs.get(value.id) == len(target.elts):
            return [(t.id, f"{value.id}_{i}_") for i, t in enumerate(target.elts)]
        if isinstance(value, ast.IfExp):
            test = self._expression(value.test)
            sides = self._parts(target, value.body), self._parts(target, value.orelse)
            return [(name, f"{test} ? {a} : {b}") for (name, a), (_, b) in zip(*sides)]
        raise self._refused(value)

    def _set(self, name, value, nested):
        if name in self.declared:
            return f"{name}_ = {value};"
        self.declared.add(name)
        if nested:
            self.late.append(name)
            return f"{name}_ = {value};"
        return f"auto {name}_ = {value};"

    # ---- expressions ----

    def _expression(self, e):
        if isinstance(e, ast.Name):
            return self._name(e)
        if isinstance(e, ast.Constant):
            return self._number(e.value, e)
        if isinstance(e, ast.BinOp):
            left, right = self._expression(e.left), self._expression(e.right)
            if isinstance(e.op, ast.Pow):
                return f"pow{'' if self.real == 'double' else 'f'}({left}, {right})"
            if type(e.op) in OPERATORS:
                return f"({left} {OPERATORS[type(e.op)]} {right})"
        if isinstance(e, ast.UnaryOp):
            return f"({OPERATORS[type(e.op)]}{self._expression(e.operand)})"
        if isinstance(e, ast.BoolOp):
            word = f" {OPERATORS[type(e.op)]} "
            return f"({word.join(self._expression(v) for v in e.values)})"
        if isinstance(e, ast.Compare) and len(e.ops) == 1 and type(e.ops[0]) in OPERATORS:
            sides = self._expression(e.left), self._expression(e.comparators[0])
            return f"({sides[0]} {OPERATORS[type(e.ops[0])]} {sides[1]})"
        if isinstance(e, ast.IfExp):
            known = self._known_test(e.test)
            if known is not None:
                return self._expression(e.body if known else e.orelse)
            parts = (self._expression(part) for part in (e.test, e.body, e.orelse))
            return "({} ? {} : {})".format(*parts)
        if isinstance(e, ast.Call):
            return self._call(e)
        raise self._refused(e)

    def _known_test(self, test):
        """Whether a test for None holds, which is known; None for any other test."""
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Is, ast.IsNot)):
            found = isinstance(test.left, ast.Name) and test.left.id in self.absent
            return found == isinstance(test.ops[0], ast.Is)
        return None

    def _name(self, e):
        if e.id in self.declared:
            return e.id + "_"  # so that no name is a word of C++
        value = self.known.get(e.id)
        if isinstance(value, (int, float, np.number)):
            return self._number(value, e)
        raise self._refused(e)

    def _number(self, value, e):
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
            raise self._refused(e)
        value = float(value)
        suffix = "" if self.real == "double" else "f"
        if math.isnan(value):
            return "NAN"
        if math.isinf(value):
            return "INFINITY" if value > 0 else "(-INFINITY)"
        text = repr(float(np.float32(value))) if suffix else repr(value)
        return f"({text}{suffix})" if value < 0 else text + suffix

    def _call(self, e):
        name = e.func.attr if isinstance(e.func, ast.Attribute) else e.func.id
        given = ", ".join(self._expression(a) for a in e.args)
        table = DOUBLE if self.real == "double" else FUNCTIONS
        if name in table:
            return f"{table[name]}({given})"
        called = self.known.get(name)
        if not callable(called) or e.keywords:
            raise self._refused(e)
        if name not in self.needed:
            text = Translation(called, (), self.real, self.needed).own()
            self.needed[name] = text  # after those that it calls itself
        return f"{symbol(called)}({given})"

    def _refused(self, node):
        line = ast.unparse(node)
        return DeviceError(
            f"{self.function.__module__}.{self.function.__name__}: {line!r} cannot be written in "
            "CUDA C++ by minifp/runtime/cuda/translate.py"
        )


def _closure(function):
    names, cells = function.__code__.co_freevars, function.__closure__ or ()
    return {name: cell.cell_contents for name, cell in zip(names, cells)}
