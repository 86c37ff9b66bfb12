"""What a reference reads beside its arguments: a kernel is made once, and would not see it change.

Numbers in globals and in closures are looked at before each call, of references outside of minifp,
whose own are constants. What is random shows when a reference is traced twice.
"""

from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from minifp.derive.graph import Node, in_order
from minifp.derive.symbol import Untraceable


def is_ours(reference: Callable[..., Any]) -> bool:
    """Whether a reference is one of minifp's own."""
    return (getattr(reference, "__module__", None) or "").partition(".")[0] == "minifp"


def numbers_read_by(reference: Callable[..., Any]) -> Callable[[], tuple] | None:
    """What gives the numbers that a reference, or a function that it calls, reads from globals and
    closures; None where there are none."""
    places: list[tuple[Any, Any]] = []
    seen: set = set()

    def visit(function):
        if not isinstance(function, FunctionType) or function in seen or is_ours(function):
            return
        seen.add(function)
        known, names = function.__globals__, sorted(names_in(function.__code__))
        read: list[tuple] = [(known, name, known[name]) for name in names if name in known]
        for cell in function.__closure__ or ():
            read.append((cell, None, _content(cell)))
        for holder, name, value in read:
            if isinstance(value, (bool, int, float, np.number)):
                places.append((holder, name))
            visit(value)

    visit(reference)
    if not places:
        return None
    return lambda: tuple([_content(h) if name is None else h.get(name) for h, name in places])


def names_in(code: CodeType) -> set[str]:
    """The names that a function's code reads, and that of functions within it."""
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    return {*code.co_names}.union(*map(names_in, inner))


def _content(cell):
    try:
        return cell.cell_contents
    except ValueError:  # it is set later
        return None


def watched(make: Callable[[], Any], reference: Callable[..., Any]) -> Any:
    """What `make` makes of a reference; made anew when a number changes that the reference reads
    beside its arguments."""
    numbers = None if is_ours(reference) else numbers_read_by(reference)
    if numbers is None:
        return make()
    made = {numbers(): make()}

    def compiled(*args: Any, **settings: Any) -> Any:
        now = numbers()
        if now not in made:
            made[now] = make()
        return made[now](*args, **settings)

    vars(compiled).update(formulas=next(iter(made.values())).formulas)
    return compiled


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
