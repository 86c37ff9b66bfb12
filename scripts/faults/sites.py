"""The places of Python sources where a fault can be planted, and what each becomes.

A site is one edit within one line. What is no arithmetic is left out: docstrings, annotations,
decorators, what is raised or warned, and how things are shown.
"""

import ast
import re
from typing import NamedTuple

SHOWN = re.compile(r"__(repr|str|format|dir)__|.*(warn|summary|describe|message|told|shown)")
TYPES = {*"dict list tuple set type Callable Iterable Iterator Sequence Mapping Literal".split()}
GRADIENTS = re.compile(r".*(backward|grad|_d[a-z]\b)")
WARNS = re.compile(r".*(warn|error|Error|Warning|log|print)")
LOCKED = re.compile(r".*(lock|LOCK|uninterrupted)")
WAITS = {"synchronize", "wait", "wait_event", "join", "record", "set", "acquire", "release"}
REST = re.compile(r"(tail|rest|left|remainder|remaining|last)\w*")
ROUNDS = {"astype", "downcast", "upcast", "rounded"}
FORMATS = {
    "float16": "float32",
    "float32": "float16",
    "float64": "float32",
    "bfloat16": "float16",
}
LESS_OR_EQUAL = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
LETTERS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
EXTREMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}


class Site(NamedTuple):
    """An edit: the text of one line, from column start to stop, becomes `new`."""

    line: int  # from 1
    start: int
    stop: int
    operator: str
    new: str
    inside: str  # the function that it is in, or ""


class Finder(ast.NodeVisitor):
    """Collects the sites of a file."""

    def __init__(self, text, in_loops, any_pair):
        self.lines, self.in_loops, self.any_pair = text.splitlines(), in_loops, any_pair
        self.sites, self.functions = [], []

    # ---- where edits are ------------------------------------------------------------------------

    def put(self, node, operator, new, until=None):
        """An edit of a node, or of what lies from it to before another's end."""
        end = until or node
        if node.lineno == end.end_lineno:
            self.edit(node.lineno, node.col_offset, end.end_col_offset, operator, new)

    def between(self, left, right, operator, old, new):
        """An edit of the letters that stand between two nodes."""
        if left.end_lineno != right.lineno:
            return
        start = self.lines[left.end_lineno - 1].find(old, left.end_col_offset, right.col_offset)
        if start >= 0:
            self.edit(left.end_lineno, start, start + len(old), operator, new)

    def edit(self, line, start, stop, operator, new):
        if self.lines[line - 1].isascii() and self.lines[line - 1][start:stop] != new:
            inside = self.functions[-1] if self.functions else ""
            self.sites.append(Site(line, start, stop, operator, new, inside))

    def operand(self, node):
        """The same, in brackets where it has parts."""
        compound = isinstance(node, ast.BinOp | ast.BoolOp | ast.IfExp | ast.Compare)
        return f"({self.text(node)})" if compound and self.text(node) else self.text(node)

    def text(self, node):
        """A node as it is written, None where it is longer than a line."""
        if node.lineno == node.end_lineno:
            return self.lines[node.lineno - 1][node.col_offset : node.end_col_offset]
        return None

    # ---- what is left out -----------------------------------------------------------------------

    def visit_FunctionDef(self, node):
        if SHOWN.fullmatch(node.name):
            return
        self.functions.append(node.name)
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        for statement in node.body:
            self.visit(statement)
        self.functions.pop()

    def visit_ClassDef(self, node):
        for statement in node.body:
            self.visit(statement)

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.visit(node.value)

    def visit_Raise(self, node):
        pass

    visit_Assert = visit_JoinedStr = visit_Import = visit_ImportFrom = visit_Raise

    def visit_If(self, node):
        if self.text(node.test) == "TYPE_CHECKING":
            return
        words = {n.id for n in ast.walk(node.test) if isinstance(n, ast.Name)}
        if any(map(REST.fullmatch, words)):
            self.put(node.test, "tail", "False")
        self.generic_visit(node)

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Constant):
            return
        call = node.value
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") in WAITS:
            self.put(node, "barrier", "pass")
        self.generic_visit(node)

    # ---- operators ------------------------------------------------------------------------------

    def visit_With(self, node):
        first = node.items[0].context_expr
        if len(node.items) == 1 and LOCKED.match(self.text(first) or ""):
            start = node.col_offset
            self.edit(node.lineno, start, first.end_col_offset, "barrier", "if True")
        self.generic_visit(node)

    def visit_Compare(self, node):
        if len(node.ops) == 1 and type(node.ops[0]) in LESS_OR_EQUAL:
            new = LESS_OR_EQUAL[type(node.ops[0])]
            old = new[0] if len(new) == 2 else new + "="
            self.between(node.left, node.comparators[0], "bound", old, new)
        self.generic_visit(node)

    def visit_Call(self, node):
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if WARNS.match(name):
            return
        if name in EXTREMES and len(node.args) > 1:
            end = node.func.end_col_offset
            self.edit(node.func.end_lineno, end - len(name), end, "bound", EXTREMES[name])
        if name in ("range", "prange") and node.args:
            self.visit_range(node)
        if name in ROUNDS:
            value = node.func.value if name == "astype" else node.args[0] if node.args else None
            if value is not None and self.text(value):
                self.put(node, "format", self.text(value))
        for word in node.keywords:
            if word.arg in ("axis", "dim") and self.number(word.value) is not None:
                self.put(word.value, "stride", "0" if self.number(word.value) else "-1")
        self.generic_visit(node)

    def visit_range(self, node):
        stop = node.args[min(1, len(node.args) - 1)]
        if not self.text(stop):
            return
        self.put(stop, "bound", f"{self.text(stop)} - 1")
        if len(node.args) > 1 and not isinstance(node.args[0], ast.Constant):
            self.put(node.args[0], "tail", self.text(stop))

    def visit_BinOp(self, node):
        if any(isinstance(n, ast.Constant | ast.JoinedStr) and not self.is_number(n)
               for n in (node.left, node.right)):  # fmt: skip
            return
        kind, left, right = type(node.op), self.operand(node.left), self.operand(node.right)
        if left and right and kind in LETTERS:
            self.put(node, "term", left)
            if kind in (ast.Add, ast.Sub):
                other = "-" if kind is ast.Add else "+"
                self.between(node.left, node.right, "term", LETTERS[kind], other)
            if kind is ast.Add and not isinstance(node.right, ast.BinOp):
                self.put(node, "term", f"{left} + 2 * {right}")
        if left and right and kind is ast.Mod:
            self.put(node, "tail", "0")
        if kind is ast.FloorDiv and left and right and left.endswith(" - 1)"):
            if isinstance(node.left.left, ast.BinOp):
                whole = self.operand(node.left.left.left)
                self.put(node, "tail", f"{whole} // {right}")
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        inner = node.operand
        if isinstance(node.op, ast.USub) and self.text(inner):
            if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.FloorDiv):
                divided = inner.left
                if isinstance(divided, ast.UnaryOp) and self.text(divided.operand):
                    whole = f"{self.operand(divided.operand)} // {self.operand(inner.right)}"
                    self.put(node, "tail", f"({whole})")
                    self.visit(divided.operand)
                    return
            if not isinstance(inner, ast.Constant):  # -1 is mostly an axis, or a place
                self.put(node, "sign", self.operand(inner))
        self.generic_visit(node)

    def visit_AugAssign(self, node):
        if isinstance(node.op, ast.Add | ast.Sub) and self.text(node.value) != "1":
            old = "+=" if isinstance(node.op, ast.Add) else "-="
            new = "-=" if isinstance(node.op, ast.Add) else "+="
            self.between(node.target, node.value, "sign", old, new)
        self.generic_visit(node)

    def visit_Return(self, node):
        value = node.value
        if isinstance(value, ast.BinOp) and type(value.op) in LETTERS and self.text(value):
            texts = [n for n in ast.walk(value) if isinstance(n, ast.Tuple | ast.List | ast.Set)]
            strings = [n for n in ast.walk(value) if isinstance(n, ast.Constant | ast.JoinedStr)
                       and not self.is_number(n)]  # fmt: skip
            if not texts and not strings:
                self.put(value, "sign", f"-({self.text(value)})")
        if isinstance(value, ast.Tuple) and (self.any_pair or GRADIENTS.match(self.functions[-1])):
            self.swap(value.elts, "swap")
        if value is not None:
            self.visit(value)

    def visit_Subscript(self, node):
        place = node.slice
        if getattr(node.value, "id", "") in TYPES:
            return
        if isinstance(place, ast.Tuple):
            self.swap([e for e in place.elts if isinstance(e, ast.Name | ast.BinOp)], "stride")
        elif self.number(place) is not None:
            number = self.number(place)
            self.put(place, "stride", str(number - 1 if number else 1))
        elif isinstance(place, ast.Slice):
            self.visit_slice(place)
        elif self.in_loops and isinstance(place, ast.Name | ast.BinOp) and self.text(place):
            self.put(place, "stride", f"{self.text(place)} + 1")
        self.visit(node.value)
        if self.number(place) is None:
            self.visit(place)

    def visit_slice(self, place):
        if place.lower is not None and (self.number(place.lower) or 0) > 0:
            self.put(place.lower, "bound", str(self.number(place.lower) + 1))
        elif isinstance(place.lower, ast.Name) and place.upper is None:
            self.put(place.lower, "tail", f"{place.lower.id} + 1")
        if isinstance(place.upper, ast.Name | ast.BinOp) and self.text(place.upper):
            self.put(place.upper, "bound", f"{self.text(place.upper)} - 1")

    def swap(self, nodes, operator):
        """The first two of some nodes, if they differ, in the other order."""
        if len(nodes) < 2 or any(isinstance(n, ast.Starred | ast.JoinedStr) for n in nodes[:2]):
            return
        first, second = nodes[:2]
        texts = self.text(first), self.text(second)
        told = any(isinstance(n, ast.Constant) and isinstance(n.value, str) for n in nodes[:2])
        if all(texts) and not told and texts[0] != texts[1] and first.lineno == second.lineno:
            line = self.lines[first.lineno - 1]
            middle = line[first.end_col_offset : second.col_offset]
            self.put(first, operator, texts[1] + middle + texts[0], second)

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load) and node.id in FORMATS:
            self.put(node, "format", FORMATS[node.id])

    def visit_Attribute(self, node):
        if node.attr in FORMATS and node.lineno == node.end_lineno:
            end = node.end_col_offset
            self.edit(node.lineno, end - len(node.attr), end, "format", FORMATS[node.attr])
        self.visit(node.value)

    def visit_Constant(self, node):
        if node.value in FORMATS and self.text(node):
            self.put(node, "format", self.text(node).replace(node.value, FORMATS[node.value]))

    # ---- numbers --------------------------------------------------------------------------------

    @staticmethod
    def is_number(node):
        return isinstance(node, ast.Constant) and type(node.value) in (int, float)

    @staticmethod
    def number(node):
        """A whole number that is written there, with its sign, or None."""
        negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
        inner = node.operand if negative else node
        if isinstance(inner, ast.Constant) and type(inner.value) is int:
            return -inner.value if negative else inner.value
        return None


def sites_of(text, in_loops=False, only_gradients=False):
    """All sites of a Python text.

    in_loops: whether its functions are loops over elements. only_gradients: whether of all pairs
    that are returned only gradients are to be swapped.
    """
    finder = Finder(text, in_loops, not only_gradients)
    finder.visit(ast.parse(text))
    return sorted(set(finder.sites))
