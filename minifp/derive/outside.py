"""What a reference reads beside its arguments: a kernel is made once, and would not see it change.

Of references outside of minifp, whose own are constants, it is looked at before each call (see
numerics/guarded.py). What is random shows when a reference is traced twice.
"""

import dis
from collections.abc import Callable, Hashable
from functools import cache, partial
from operator import is_not
from types import CodeType, FunctionType, ModuleType
from typing import Any

from minifp.derive.graph import Node, Untraceable, in_order

CONSTANT = {"builtins", "numpy", "math", "cmath", "operator"}  # modules: what they have stays


def is_ours(reference: Callable[..., Any]) -> bool:
    """Whether a reference is one of minifp's own."""
    return (getattr(reference, "__module__", None) or "").partition(".")[0] == "minifp"


class Outside:
    """What a reference, and the functions that it calls, read from globals and closures."""

    def __init__(self, reference: Callable[..., Any]) -> None:
        self.reference = reference
        self.reads: list[Callable[[], Any]] = []  # what gives each of it
        self.last: Any = None

    def state(self) -> tuple:
        """All of it. Raises Untraceable where it may change unseen, as the items of a list do."""
        now = tuple([read() for read in self.reads])
        if self.last is None or any(map(is_not, now, self.last)):
            self.reads, self.seen, self.last = [], set[Any](), None
            self._visit(self.reference)
            self.last = now = tuple([read() for read in self.reads])
        return now

    def _visit(self, value):
        if not isinstance(value, FunctionType):
            module = getattr(value, "__module__", None) or type(value).__module__
            module = value.__name__ if isinstance(value, ModuleType) else module
            if module.partition(".")[0] not in CONSTANT or not isinstance(value, Hashable):
                raise Untraceable(f"it reads a {type(value).__name__} beside its arguments")
        elif value not in self.seen and not is_ours(value):
            self.seen.add(value)
            known = value.__globals__
            reads = [partial(known.get, name) for name in _globals_of(value.__code__)]
            reads += [partial(getattr, cell, "cell_contents") for cell in value.__closure__ or ()]
            self.reads += reads
            defaults = value.__defaults__ or (), (value.__kwdefaults__ or {}).values()
            for inner in (*[read() for read in reads], *defaults[0], *defaults[1]):
                self._visit(inner)


@cache
def _globals_of(code: CodeType) -> set[str]:
    """The names of globals that a function's code reads, and that of functions within it."""
    names = {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}
    return names.union(*[_globals_of(c) for c in code.co_consts if isinstance(c, CodeType)])


def check_repeats(reference: Callable[..., Any], trace: Callable[[], Any]) -> Any:
    """The formula that `trace` makes of a reference. Raises Untraceable where the next one would be
    another, as of random numbers."""
    formula = trace()
    if not is_ours(reference) and written(formula.results) != written(trace().results):
        raise Untraceable("it computes something else each time, as with random numbers")
    return formula


def written(results: list[Node]) -> list[tuple]:
    """A graph as what can be compared."""
    nodes = in_order(results)
    places = {node: k for k, node in enumerate(nodes)}
    return [(n.op, _plain(n.value), n.type, [places[a] for a in n.args]) for n in nodes]


def _plain(value):
    """What of a node's value is the same in each tracing: not the axes, which are new objects."""
    if isinstance(value, (tuple, list, frozenset)):
        return [_plain(v) for v in value]
    return value if isinstance(value, (int, float, str, type(None))) else type(value)
