"""What derived kernels trust, verified at each of their calls: MINIFP_KERNELS=checked.

A kernel's entry reads an array's address and takes the rest for granted: with another format, or
fewer numbers than it was told, it would read, or write, elsewhere in memory. Python plans each call
so that this cannot happen; here the plan is looked at once more, from the arrays alone. Results are
not compared with those of the reference: how far they may differ is known from an analysis of a
formula's errors, which the tests have (tests/bounds.py) and a user's formula has not.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from minifp.derive.dtypes import name_of
from minifp.errors import DTypeError, ShapeError
from minifp.runtime.cpu.emit.gather import BLOCK, WIDTH
from minifp.runtime.cpu.kernels.pool import NOTHING

# What Python's numbers are for parameters of these kinds.
NUMBERS: dict[str, Any] = {"i64": (int, np.integer), "f32": (int, float), "f64": (int, float)}


class Typed:
    """A kernel that looks at what its arguments are before it computes.

    name: of the reference. parameters: their kinds by name, as loops.Code has them; results are
    called y0, y1, ...
    """

    def __init__(self, kernel: Callable[..., Any], name: str, parameters: dict[str, str]) -> None:
        self.kernel, self.name, self.parameters = kernel, name, parameters

    def __call__(self, *args: Any) -> Any:
        expected = f"{len(self.parameters)} arguments"
        self.expect(len(args) == len(self.parameters), "the call", expected, f"{len(args)}")
        named = dict(zip(self.parameters, args))
        for name, a in named.items():
            kind = self.parameters[name]
            if kind in NUMBERS:
                self.expect(isinstance(a, NUMBERS[kind]), name, f"a number, {kind}", describe(a))
            elif name[0] == "y":
                others = [b for other, b in named.items() if other != name and other[0] in "xy"]
                self.check_result(name, a, kind, 0, others)
            elif a is not NOTHING:  # which stands for what a call does not need
                self.check_array(name, a, kind, 0)
        return self.kernel(*args)

    def expect(
        self, holds: Any, argument: str, expected: str, got: str, kind: Any = DTypeError
    ) -> None:
        """Raise an error that names the kernel and the argument, unless something holds."""
        if not holds:
            raise kind(
                f"compiled kernel {self.name}: {argument}: expected {expected}, got {got}: please "
                "report this; MINIFP_KERNELS=numpy computes without compiled kernels"
            )

    def check_array(self, argument: str, a: Any, dtype: str, size: int) -> None:
        """An array of this dtype, one element after the other, and at least so many."""
        self.check_dtype(argument, a, dtype)
        lies_well = a.flags.c_contiguous and a.flags.aligned and a.size >= size
        expected = f"{size} elements, contiguous and aligned"
        self.expect(lies_well, argument, expected, describe(a), ShapeError)

    def check_dtype(self, argument: str, a: Any, dtype: str) -> None:
        """An array of NumPy's own, of this dtype in this machine's order of bytes."""
        holds = type(a) is np.ndarray and name_of(a.dtype) == dtype
        self.expect(holds, argument, f"an array of {dtype}", describe(a))

    def check_result(self, argument: str, y: Any, dtype: str, size: int, others: list) -> None:
        """An array to write to, which no other argument lies in."""
        self.check_array(argument, y, dtype, size)
        overlaps = [a for a in others if type(a) is np.ndarray and np.may_share_memory(a, y)]
        writable = y.flags.writeable and not overlaps
        expected = "memory of its own that can be written"
        self.expect(writable, argument, expected, f"{describe(y)}, over others", ShapeError)


class Checked(Typed):
    """A kernel of pointwise.py that looks at its arguments before it computes.

    name: of the reference. reads: for each array that is read its name, dtype and form (see
    pointwise.py). outs: the dtypes of the results. numbers: how many numbers a call tells.
    """

    def __init__(
        self,
        kernel: Callable[..., Any],
        name: str,
        reads: list[tuple[str, str, str]],
        outs: tuple[str, ...],
        numbers: int,
    ) -> None:
        super().__init__(kernel, name, {})
        self.reads, self.outs, self.numbers = reads, outs, numbers

    def __call__(
        self, counter, count: int, scratch, length: int, total: int, places, *others
    ) -> Any:
        last_read, last_result = len(self.reads), len(self.reads) + len(self.outs)
        xs, ys = others[:last_read], others[last_read:last_result]
        self.check_chunks(count, length, total)
        self.check_array("the counter", counter, "int64", 1)
        gathered = [k for k, (*_, form) in enumerate(self.reads) if form == "g"]
        if gathered:
            self.check_array("the workspace", scratch, "float32", BLOCK * len(xs))
            self.check_array("the places", places, "int64", WIDTH * len(xs))
        for k, (x, (name, dtype, form)) in enumerate(zip(xs, self.reads)):
            if form == "n":
                self.expect(type(x) is float, name, "a number", describe(x))
            elif form == "a":
                self.check_array(name, x, dtype, total)
            else:
                self.check_places(name, x, dtype, places[k * WIDTH : (k + 1) * WIDTH], total)
        for k, (y, dtype) in enumerate(zip(ys, self.outs)):
            self.check_result(f"result {k}", y, dtype, total, [*xs, *ys[:k]])
        told = others[last_result:]
        are_numbers = all(type(n) in (int, float) for n in told)
        expected = f"{self.numbers} numbers of the call"
        self.expect(are_numbers and len(told) == self.numbers, "settings", expected, f"{told}")
        return self.kernel(counter, count, scratch, length, total, places, *others)

    def check_chunks(self, count: int, length: int, total: int) -> None:
        """All elements are in a chunk, and no chunk is empty."""
        got = f"{count} chunks of {length} for {total} elements"
        covers = count >= 1 and (count - 1) * length < total <= count * length
        self.expect(covers, "chunks", "as many as cover all elements", got, ShapeError)

    def check_places(self, argument: str, x: Any, dtype: str, places: Any, total: int) -> None:
        """As many places as elements, all of them in the array."""
        self.check_dtype(argument, x, dtype)
        axes = int(places[0])
        sizes, steps = places[1 : 1 + 2 * axes : 2], places[2 : 2 + 2 * axes : 2]
        farthest = sum((int(n) - 1) * int(s) for n, s in zip(sizes, steps)) * x.itemsize
        reach = sum((n - 1) * s for n, s in zip(x.shape, x.strides))
        forward = min([0, *x.strides, *steps]) == 0 and x.flags.aligned
        holds = forward and farthest <= reach and int(np.prod(sizes)) == total
        expected = f"{total} places within its memory"
        got = f"{describe(x)} at {sizes.tolist()} places in steps of {steps.tolist()}"
        self.expect(holds, argument, expected, got, ShapeError)


def describe(a: Any) -> str:
    """What an argument is, for an error."""
    if type(a) is not np.ndarray:
        return f"a {type(a).__name__}"
    return f"{name_of(a.dtype)} {a.shape} in steps of {a.strides} bytes"
