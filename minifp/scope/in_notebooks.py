"""How a Tensor shows itself in a notebook. Importing this module attaches it."""

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.derive.dtypes import name_of
from minifp.numerics.formats import format_of, is_float
from minifp.ops.methods import method, read

FEW = 100  # elements that are all shown
Rows = list[tuple[str, str]]


@method
def _repr_html_(self: Tensor) -> str:
    """A table: shape, format, device, values, and where the numbers lie in their format."""
    from markupsafe import Markup

    from minifp.report import rendering
    from minifp.report.content import Document, Facts, Section
    from minifp.report.markup import part

    array = read(self)
    rows = [*identity(self), *(of_floats(array) if is_float(self.dtype) else of_others(array))]
    numbers = Markup("<pre>{}</pre>").format(values(array))
    style = part("explanation.css", "minifp.scope.explaining")
    document = Document(sections=[Section("", [Facts(rows), numbers])], style=style)
    return rendering.inline(document, "explained tensor")


def identity(t: Tensor) -> Rows:
    """What it is, and where it comes from."""
    rows = [("shape", str(tuple(t.shape))), ("dtype", str(t.dtype)), ("device", t.device)]
    if t.node is not None:
        return [*rows, ("made by", t.node.op)]
    return [*rows, ("requires_grad", "True")] if t.requires_grad else rows


def values(array: np.ndarray) -> str:
    """The numbers, of large arrays only those at the edges."""
    return np.array2string(array, separator=", ", threshold=FEW, edgeitems=3, max_line_width=96)


def of_floats(array: np.ndarray) -> Rows:
    """The exact counts of each kind of number, the limits and the headroom."""
    from minifp.scope.histogram import Histogram

    h, format = Histogram.of(array), format_of(array.dtype.newbyteorder("="))
    small = h.subnormal(format=format)
    counts = h.zeros, small, h.nonzero - small, h.infs, h.nans
    kinds = zip(("zeros", "subnormals", "normals", "Inf", "NaN"), counts)
    rows = [(name, share(count, h.total)) for name, count in kinds]
    if not h.nonzero:
        return rows
    return [
        *rows,
        ("smallest magnitude", f"{h.smallest:.6g}"),
        ("largest magnitude", f"{h.largest:.6g}"),
        ("headroom", f"{h.headroom(format):.1f} bits to the largest {name_of(array.dtype)}"),
    ]


def share(count: int, size: int) -> str:
    """A count and what part of all it is."""
    return f"{count:,} ({100 * count / size:.3g}%)" if count and size else "0"


def of_others(array: np.ndarray) -> Rows:
    """Of booleans how many are True; of integers the least and the largest."""
    if array.dtype == np.bool_:
        return [("True", share(int(np.count_nonzero(array)), array.size))]
    rows = [("zeros", share(array.size - int(np.count_nonzero(array)), array.size))]
    if array.size:
        rows.append(("range", f"{array.min()} to {array.max()}"))
    return rows
