"""What a step cannot do without: its products, and the bytes that its other kernels move.

Read off one step while it runs: products from the operations on the tape, by their shapes; bytes
from the kernels, which read each argument once and write each result once.
"""

from collections import Counter
from math import prod

import numpy as np

from minifp.autograd import tape
from minifp.autograd.tape import Tensor
from minifp.numerics import kernels


class Trace:
    """An observer of tape and kernels.

    products: (M, N, K) in one orientation or several -> how often. moved: bytes of a call -> how
    often. unknown: operations that have products of which nothing is known here.
    """

    def __init__(self):
        self.products, self.moved, self.unknown = Counter(), Counter(), set()
        self.families = set()

    def __enter__(self):
        tape.observers.append(self)
        kernels.observers.append(self)
        return self

    def __exit__(self, *_):
        tape.observers.remove(self)
        kernels.observers.remove(self)
        self.unknown |= {f for f in self.families if f not in KNOWN_FAMILIES}

    def on_record(self, node, outputs):
        """An operation was done; what backward will do is known as well."""
        if node.op in PRODUCTS:
            for shapes, times in PRODUCTS[node.op](node):
                self.products[shapes] += times

    def on_gradient(self, node, gradient):
        """Nothing to do."""

    def on_release(self, node):
        """Nothing to do."""

    def on_kernel(self, kernel, args, results, formats):
        """A kernel was called. What products read and write is part of their measured rate; what an
        optimizer does, kernels or not, it says itself.
        """
        if ".optim." in kernel.reference.__module__:
            return
        if kernel.rule.role == "dot":
            self.families.add(kernel.name.partition(".")[0])
            return
        arrays = [a for a in (*args, *results) if isinstance(a, np.ndarray) and a.ndim]
        self.moved[sum(a.nbytes for a in arrays)] += 1

    def update(self, moved):
        """An optimizer moves so many bytes."""
        self.moved[moved] += 1

    def found(self):
        """As JSON takes it."""
        return {
            "products": [[list(map(list, s)), n] for s, n in sorted(self.products.items())],
            "moved": sorted(self.moved.items()),
            "unknown": sorted(self.unknown),
        }


def _shape(parent):
    node, index = parent
    return node.shape if isinstance(node, Tensor) else node.shapes[index]


def _wants(parent):
    return parent[0] is not None


def _linear(node):
    x, w = node.parents[:2]
    (rows, outputs), inputs = node.shapes[0], _shape(w)[1]
    yield ((rows, outputs, inputs),), 1
    if _wants(x):
        yield ((rows, inputs, outputs),), 1
    if _wants(w):
        yield ((outputs, inputs, rows),), 1


def _both(m, n, k):
    """A product and its transpose."""
    return ((m, n, k), (n, m, k))


def _conv(node):
    """Of the unfolded input, for each group; backward by folding back, or by unfolding dy."""
    x, w = node.parents[:2]
    (n, _, *counts), (outputs, *patch) = node.shapes[0], _shape(w)
    groups = node.params["groups"]
    inputs, patch, outputs = patch[0], prod(patch), outputs // groups
    pixels = n * prod(counts)
    yield _both(pixels, outputs, patch), groups
    if _wants(x):
        ways = _both(pixels, patch, outputs)
        if set(node.params["stride"]) == {1}:  # a convolution of dy, with w turned
            ways += _both(pixels, inputs, outputs * patch // inputs)
        yield ways, groups
    if _wants(w):
        yield _both(outputs, patch, pixels), groups


def _recurrent(first_weight):
    def products(node):
        x, (w_ih, w_hh) = node.parents[0], node.parents[first_weight : first_weight + 2]
        if node.params["batch_sizes"] is not None:
            raise NotImplementedError("packed sequences")
        t, b, _ = node.shapes[0]
        (rows, inputs), size = _shape(w_ih), _shape(w_hh)[1]
        yield ((t * b, rows, inputs),), 1
        yield ((b, rows, size),), t
        yield ((b, size, rows),), t
        yield ((rows, inputs, t * b),), 1
        yield ((rows, size, t * b),), 1
        if _wants(x):
            yield ((t * b, inputs, rows),), 1

    return products


def _attention(node):
    """Scores and their sums of values, for each head."""
    q, k, v = node.parents[:3]
    (*heads, steps, size), (*_, others, _), (*_, values) = map(_shape, (q, k, v))
    times = prod(heads)
    yield ((steps, others, size),), times
    yield ((steps, values, others),), times
    if _wants(v):
        yield ((others, values, steps),), times
    if _wants(q) or _wants(k):
        yield ((steps, others, values),), times
    if _wants(q):
        yield ((steps, size, others),), times
    if _wants(k):
        yield ((others, size, steps),), times


def _matmul(node):
    """Of each pair of matrices; a row or a column is a matrix of one."""
    left, right = node.parents[:2]
    x, y = _shape(left), _shape(right)
    inner, rows = x[-1], x[-2] if len(x) > 1 else 1
    columns = y[-1] if len(y) > 1 else 1
    times = prod(node.shapes[0]) // (rows * columns)
    yield ((rows, columns, inner),), times
    if _wants(left):
        yield ((rows, inner, columns),), times
    if _wants(right):
        yield ((inner, columns, rows),), times


PRODUCTS = {
    "matmul": _matmul,
    "scaled_dot_product_attention": _attention,
    "linear": _linear,
    "conv1d": _conv,
    "conv2d": _conv,
    "lstm": _recurrent(3),
    "gru": _recurrent(2),
}
KNOWN_FAMILIES = {"linear", "conv", "lstm", "gru", "attention", "matmul"}
