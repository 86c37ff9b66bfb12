"""Which dimensions of products tensor cores cannot use as they are.

Tensor cores multiply float16 matrices whose rows begin at multiples of 16 bytes: M, N and K should
be multiples of 8, of 16 for INT8 (NVIDIA, "Matrix Multiplication Background User's Guide", on the
requirements of tensor cores). For convolutions that is said of the channels; the pixels of a batch
are padded by the library. What is padded is multiplied too: from n to m costs m / n of the work.
"""

from ast import literal_eval
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

from minifp.report.content import Columns, Document, Section, Table
from minifp.report.documented import Shown

HALF, INT8 = 8, 16  # elements: 16 bytes of each

# What M, N and K of a kernel's products are in its layer.
OF_LINEAR = {
    "linear_forward": ("rows", "outputs", "inputs"),
    "linear_dx": ("rows", "inputs", "outputs"),
    "linear_dw": ("outputs", "inputs", "rows"),
}
RECURRENT = ("lstm", "gru", "rnn")
PLAIN = ("M", "N", "K")
HIDDEN = "hidden units"


@dataclass(frozen=True)
class Padding:
    """A dimension of a layer that is no multiple of 16.

    module, operation: the layer. dimension: which, in words. size: of it. flops: of the products in
    which it is, forward and backward. share: of all the step's products, from 0 to 1.
    """

    module: str
    operation: str
    dimension: str
    size: int
    flops: int
    share: float

    def padded(self, multiple: int = HALF) -> int:
        """The next size that is a multiple."""
        return -(-self.size // multiple) * multiple

    def extra(self, multiple: int = HALF) -> float:
        """By how much padding adds to the work of these products, in percent."""
        return 100 * (self.padded(multiple) / self.size - 1)

    def cell(self, multiple: int) -> str:
        """What to pad it to, and the extra work."""
        if self.size % multiple == 0:
            return "-"
        extra = self.extra(multiple)
        return f"{self.padded(multiple)} (+{extra:.{0 if extra >= 10 else 1}f}%)"

    @property
    def fits(self) -> bool:
        """Whether float16 tensor cores take it as it is."""
        return self.size % HALF == 0


@dataclass(frozen=True, repr=False)
class ShapeAdvice(Shown):
    """The dimensions of a step's products that are no multiples, the most work first.

    paddings: first those that float16 tensor cores cannot use, then those that only INT8 ones
    cannot. flops: of all products of the step.
    """

    paddings: list[Padding]
    flops: int

    @property
    def unfit(self) -> list[Padding]:
        """Those that are no multiple of 8."""
        return [p for p in self.paddings if not p.fits]

    def document(self) -> Document:
        """What to pad."""
        return Document(sections=[Section("", [paddings_part(self.paddings)])])


def paddings_part(paddings: list[Padding]) -> Table | str:
    """These dimensions as a table, or a sentence where there is none."""
    columns: Columns = {
        "layer": lambda p: p.module or p.operation,
        "operation": lambda p: p.operation,
        "dimension": lambda p: p.dimension,
        "size": lambda p: str(p.size),
        "float16: to": lambda p: p.cell(HALF),
        "INT8: to": lambda p: p.cell(INT8),
        "flops": lambda p: f"{p.share:.1%}",
    }
    if not paddings:
        return "Every dimension of every product is a multiple of 16: nothing to pad."
    caption = "Dimensions that tensor cores would pad, and the share of the step's flop"
    return Table.of(caption, paddings, columns, text_columns=(1, 2))


def shape_advice(rows: Iterable[Any]) -> ShapeAdvice:
    """What to pad, from the rows of a trace (see trace.py)."""
    rows = list(rows)
    total = sum(flops_of(row) for row in rows)
    work: dict[tuple, list] = {}
    for row in rows:
        module = row.module.partition(".")[2]  # without the model's name
        for flops, sizes in dimensions(row):
            keys = [(module, name, size) for name, size in sizes if size % INT8]
            for key in {named(key, work) for key in keys}:
                work.setdefault(key, [row.operation]).append(flops)
    paddings = [
        Padding(module, operation, name, size, sum(flops), sum(flops) / total)
        for (module, name, size), (operation, *flops) in work.items()
    ]
    return ShapeAdvice(sorted(paddings, key=lambda p: (p.fits, -p.flops)), total)


def named(key: tuple, work: dict) -> tuple:
    """Of a recurrent layer, what enters a product backward may be its inputs or its last state."""
    units = (key[0], HIDDEN, key[2])
    return units if units in work else key


def flops_of(row: Any) -> int:
    """Of a row's products."""
    return sum(2 * m * n * k * times for m, n, k, times in row.products)


def dimensions(row: Any) -> Iterator[tuple[int, list[tuple[str, int]]]]:
    """Of each product of a row its flops, and its dimensions in the words of the layer."""
    kernel = row.kernel.rpartition(".")[2]
    if kernel.startswith("conv_"):
        if row.products:
            yield flops_of(row), of_convolution(row, kernel)
        return
    for *shape, times in row.products:
        yield 2 * prod(shape) * times, list(zip(names_of(row, kernel, shape), shape))


def names_of(row: Any, kernel: str, shape: list[int]) -> tuple[str, ...]:
    """What M, N and K are called."""
    if row.operation.startswith(RECURRENT):
        return of_recurrent(row, kernel, shape)
    return OF_LINEAR.get(kernel, PLAIN)


def of_recurrent(row, kernel, shape):
    """The gates are hidden units, four or three times: they are padded where these are."""
    gates = HIDDEN if row.operation.startswith("rnn") else "gates"
    names = OF_LINEAR.get(kernel)
    if names is not None:
        return tuple(gates if name == "outputs" else name for name in names)
    if kernel.endswith(("_forward", "_projected")):
        inputs = shape_of(row.inputs[0])[1]
        recurrent = shape[2] != inputs or shape[0] == shape_of(row.inputs[1])[0]
        return ("batch", gates, HIDDEN) if recurrent else ("rows", gates, "inputs")
    return "batch", HIDDEN, gates


def of_convolution(row, kernel):
    """Channels: of the weights (O, C, ...), which are the second thing read, or what is made."""
    weights = shape_of(row.outputs[0] if kernel.endswith("dw") else row.inputs[1])
    names = ["output channels", "input channels"]
    if "transpose" in row.operation:
        names.reverse()
    return list(zip(names, weights))


def shape_of(text: str) -> tuple[int, ...]:
    """(64, 128) of "float16 (64, 128)"."""
    return literal_eval(text.partition(" ")[2])
