"""Where activations became wide: the operation in which a wider array met them."""

from minifp.autograd.tape import Node
from minifp.numerics.formats import is_float
from minifp.runtime.device import is_array

MOST = 64  # operations that are looked at: each time, where nothing is wrong


def where_promoted(node: Node) -> Node | None:
    """The node before (or at) a wide one that made a wide value of a narrow one and another wide.

    None where wide numbers were wide from the beginning, or were widened on purpose, by a cast or
    in an operation that sums. What is narrow has the shape of the result, as activations have, and
    parameters have not; numbers without dimensions make nothing wide.
    """
    waiting, seen = [node], {node}
    while waiting and len(seen) < MOST:
        node = waiting.pop()
        wide = node.formats[0].itemsize
        parents = [(v, i) for v, i in node.parents if type(v) is Node]
        values = [(v, v.formats[i].itemsize, v.shapes[i]) for v, i in parents]
        if any(size < wide and shape == node.shapes[0] for _, size, shape in values):
            constants = node.call[1] if node.call else ()
            is_beside = any(size == wide for _, size, shape in values if shape)
            return node if is_beside or any(_is_wide(a, wide) for a in constants) else None
        before = [v for v, size, _ in values if size == wide and v not in seen]
        waiting += before
        seen.update(before)
    return None


def _is_wide(a, wide):
    return is_array(a) and a.ndim > 0 and is_float(a.dtype) and a.dtype.itemsize >= wide
