"""How a long chain of operations is freed where the stack is small, as in a browser.

CPython frees what a freed object held inside of the freeing of that object, so deep as the chain is
long, and stops in time where it knows how much stack there is. In WebAssembly it does not, and
50,000 operations end the process: there a node that is freed puts its parents aside, and the first
one frees them, one after the other.
"""

from typing import Any

_aside: list[Any] = []
_frees = False


def put_parents_aside(node: Any) -> None:
    """A node's `__del__`."""
    global _frees
    _aside.append(node.parents)
    node.parents = ()
    if not _frees:
        _frees = True
        try:
            while _aside:
                _aside.pop()
        finally:
            _frees = False
