"""Numbers of the host: what a call's settings alone give, in Python's own floats."""

import math
from collections.abc import Callable
from typing import Any

from minifp.derive.graph import Node

SPELLED = {
    **{"add": "({} + {})", "sub": "({} - {})", "mul": "({} * {})", "div": "({} / {})"},
    **{"neg": "(-{})", "abs": "abs({})", "pow": "({} ** {})", "sqrt": "sqrt({})"},
    **{"eq": "({} == {})", "ne": "({} != {})", "lt": "({} < {})", "le": "({} <= {})"},
    "floordiv": "({} // {})",
    **{"gt": "({} > {})", "ge": "({} >= {})", "max": "max({}, {})", "min": "min({}, {})"},
}
NAMES = {"inf": math.inf, "nan": math.nan, "sqrt": math.sqrt}  # those that are not builtin
# What each operation of the host computes.
HOST: dict[str, Callable[..., Any]] = {
    op: eval(f"lambda x, y=None: {text.format('x', 'y')}", dict(NAMES))
    for op, text in SPELLED.items()
}


def spelled(node: Node) -> str:
    """A node of the host in Python, of a call's settings s."""
    if node.op == "python":
        return repr(float(node.value))
    if node.op == "size":
        return "s[''][{!r}][{}]".format(*node.value)
    if node.op == "setting":
        name, *places = node.value
        return f"s[{name!r}]" + "".join(f"[{i}]" for i in places)
    return SPELLED[node.op].format(*map(spelled, node.args))


def host_function(nodes: list[Node], each: str = "{}, ") -> Callable[[dict[str, Any]], tuple]:
    """What computes nodes of the host from a call's settings, in Python's own floats."""
    text = "".join(each.format(spelled(n)) for n in nodes)
    return eval(f"lambda s: ({text})", dict(NAMES))


def host_condition(guards: dict[Node, Any]) -> Callable[[dict[str, Any]], bool]:
    """Whether a call's settings give these answers."""
    asked = [f"{spelled(n)} == {answer!r}" for n, answer in guards.items()]
    return eval(f"lambda s: {' and '.join(asked) or True}", dict(NAMES))
