"""Where a precision meets numbers: the `Rule` of a kernel, a gradient, parameters that are trained.

A kernel says what it is (its role); a precision (policy.py) says what to do about it. Where they
meet, at the call, `resolve` turns both into formats: in which each argument enters, in which the
kernel works, in which it sums, and in which each result is stored. Nothing else in minifp decides a
format.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from minifp.errors import PrecisionError
from minifp.numerics import autocast, products
from minifp.numerics.formats import as_dtype, float32, float64, format_of, name_of, wider
from minifp.numerics.loss_scale_text import DYNAMIC
from minifp.numerics.operands import (
    OPERANDS,
    STATE,
    Operand,
    Rounding,
    rounding_of,
    rounds_operands,
)
from minifp.numerics.policy import Precision
from minifp.numerics.sum_format import SumFormat, sum_format

COMPUTE = "compute"  # a result that stays in the format the kernel works in: at least float32
GIVEN = "given"  # a result whose format the caller gives: gradients (the tape knows their format)

ROLES = {
    "map": "element by element: each result rounded once",
    "dot": "sums of products, summed in `accumulate`, each result rounded once",
    "reduce": "sums over axes, in `reduce`, rounded once; a result that is a scalar is not rounded",
    "norm": "normalisation: statistics in `reduce`; its parameters decide no format",
    "loss": "one number for many: never rounded to a storage format",
}


@dataclass(frozen=True)
class Rule:
    """The precision of one kernel.

    role: one of ROLES.
    out:  for each result, the arguments whose format it takes ("x"; "x y" is the wider one), or
          COMPUTE, or GIVEN. "The first one" would be wrong for `where(mask, x, y)`.
    operands: what enters products: arguments, and "enter", the state inside of a sequence.
    product: which of a layer's PRODUCTS it is (products.py); None if it is none, or does not say.
    """

    role: str
    out: tuple
    operands: tuple[Operand, ...] = ()
    product: str | None = None


# ---- where a rule meets a precision -------------------------------------------------------------


@dataclass(frozen=True)
class Formats:
    """What one call of a kernel works in, sums in, and stores its results in.

    operands: of each argument to what it is rounded as it enters a product, or None; () where
    none is and nobody asks, as saved=operands does. state: the same of what enters products inside
    of a sequence.
    """

    compute: np.dtype
    sum_in: SumFormat
    dot_in: SumFormat
    out: tuple
    operands: tuple[Rounding | None, ...] = ()
    state: Rounding | None = None


def promote(dtypes) -> np.dtype:
    """The narrowest format that holds the numbers of all: float16 with float32 gives float32."""
    return reduce(wider, dtypes)


def resolve(rule: Rule, names: tuple, kinds: tuple, p: Precision) -> Formats:
    """The formats of a call. kinds: for each argument None (not floating), or (dtype, is 0-d).

    Tensors without dimensions are weak, as in PyTorch: they decide only among themselves.
    """
    asked = p.saved == OPERANDS
    p = products.of_product(p, rule.product)
    dtypes = {name: kind[0] for name, kind in zip(names, kinds) if kind is not None}
    strong = {name for name, kind in zip(names, kinds) if kind is not None and not kind[1]}
    sums = sum_format(p.reduce), sum_format(p.accumulate)
    compute = promote([float32, *dtypes.values(), *(s.dtype for s in sums)])
    sum_in, dot_in = (s if compute == float32 else SumFormat(compute) for s in sums)

    def out(spec):
        if spec in (COMPUTE, GIVEN):
            return compute
        named = [n for n in spec.split() if n in dtypes] or list(dtypes)  # integers never decide
        return promote([dtypes[n] for n in named if n in strong] or [dtypes[n] for n in named])

    results = tuple(out(spec) for spec in rule.out)
    if not (rule.role == "dot" and rounds_operands(p)):
        return Formats(compute, sum_in, dot_in, results, (None,) * len(names) if asked else ())
    to = {o.name: rounding_of(o, p) for o in rule.operands}
    roundings = tuple(to.get(name) if name in dtypes else None for name in names)
    return Formats(compute, sum_in, dot_in, results, roundings, to.get(STATE))


def entry(dtypes: tuple, are_weights: tuple, p: Precision) -> np.dtype | None:
    """The format in which a product of activations with weights works, if an operand must change.

    A weight stored in the precision's weight format counts as one in its activation format; where
    the operands then differ, all enter in the activation format (a float32 batch fed to float16
    weights is rounded, once, at the door). dtypes: None for an argument that is not floating.
    """
    activations = as_dtype(p.activations)
    counted = {
        activations if weight and name_of(d) == p.weights else d
        for d, weight in zip(dtypes, are_weights)
        if d is not None
    }
    common = counted.pop() if len(counted) == 1 else activations
    return None if all(d is None or d == common for d in dtypes) else common


def autocast_format(operation: str, dtypes: list, p: Precision) -> np.dtype | None:
    """The format into which autocast casts an operation's floating inputs; None for none.

    dtypes: of the inputs that have dimensions, or of all if none has.
    Raises PrecisionError for an operation that its table refuses. Float64 is never cast.
    """
    _, format, reason = (p.operations or autocast.Table()).row(operation)
    if format == autocast.REFUSED:
        raise PrecisionError(f"{operation} under autocast: {reason}")
    if format == autocast.GIVEN or not dtypes or any(d == float64 for d in dtypes):
        return None
    return promote(dtypes) if format == autocast.WIDEST else as_dtype(format)


def gradient_format(dtype: np.dtype, is_scalar: bool, p: Precision) -> np.dtype:
    """In which format the gradient of a stored value is stored.

    That of a scalar (a loss) is stored in its own.
    """
    return as_dtype(dtype) if is_scalar else p.gradient_formats[dtype]


def as_trained(p: Precision, dtypes: Iterable[np.dtype]) -> tuple[bool, str | float | None]:
    """(master_weights, loss_scale) with which parameters of these dtypes are trained.

    They are the precision's. But parameters that are stored in less than float32 where it says
    more, as after Module.half(), have masters and a dynamic scale, as under "mixed".
    """
    formats = p.weights, p.norm_parameters, float32
    least = min(format_of(format).bits for format in formats)
    if any(format_of(dtype).bits < least for dtype in dtypes):
        return True, p.loss_scale or DYNAMIC
    return p.master_weights, p.loss_scale


def largest_gradient_of(p: Precision) -> float:
    """The largest number that all formats hold in which gradients are stored."""
    formats = {part.gradients for part in p.assigned}
    formats = formats.union(*(part.autocast_formats for part in p.assigned))
    return min(format_of(name).max for name in formats)
