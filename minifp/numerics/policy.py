"""What a model's numbers are stored and summed in: its `Precision`, by names, and which is active.

Each technique of mixed-precision training is a switch of it. What it means for one call of a
kernel, for a gradient or for parameters is rules.py's.
"""

import os
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import InitVar, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from minifp.errors import PrecisionError
from minifp.numerics import autocast, precision_grammar, precision_parts, products, switches
from minifp.numerics.formats import (
    as_dtype,
    bfloat16,
    float16,
    float32,
    float64,
    format_of,
    is_compiled,
    name_of,
    names,
)
from minifp.numerics.gradient_formats import GradientFormats, MeetingFormats
from minifp.numerics.loss_scale_text import DYNAMIC, checked_loss_scale
from minifp.numerics.number_format import OPERAND_FORMATS, format_named, not_stored
from minifp.numerics.operands import (
    ACTIVATIONS,
    CURRENT,
    OPERAND_FIELDS,
    checked_operands,
    checked_saved,
    checked_scale,
    steps_of,
)
from minifp.numerics.precision_grammar import written
from minifp.numerics.precision_names import meant
from minifp.numerics.small_updates import check_small_updates
from minifp.numerics.state_format import check_state, checked_state_scale
from minifp.numerics.sum_format import sum_format
from minifp.runtime.contexts import Context, Outside

OF_SOME = "products", "parts"  # what a precision has beside its switches


@dataclass(frozen=True)
class Precision(precision_parts.InParts):
    """Each technique of mixed-precision training as a switch (Micikevicius et al. 2018).

    weights, activations, gradients: their storage formats; `storage=` sets all three.
    accumulate: the format of partial sums inside dot products; reduce: inside reductions. In
        float16 every addend and every partial sum is rounded, one after the other. "chunked:32":
        in float16 over chunks of 32 addends, whose sums are added in float32 (sum_format.py).
    operands, gradient_operands: the formats to which activations and weights, and gradients, are
        rounded as they enter a product (FP8: float8_e4m3fn and float8_e5m2), or None.
    operand_scale: the scale by which they are multiplied first: "current", "delayed", "delayed:16"
        (the largest of the last 16 steps), "row" or None; "current+factor=exact" and so on, where
        it is no power of two (operands.py).
    saved: what backward reads: "activations", as they are stored, or "operands", as they entered
        the product, in their codes (autograd/kept_operands.py).
    norm_parameters: scale, shift and running statistics of normalisation layers.
    master_weights: whether the optimizer keeps a float32 copy of weights stored in fewer bits.
    update_rounding: without that copy, how updated weights are rounded to their stored format:
        "nearest", or "stochastic", up with the probability of the distance (Gupta et al. 2015).
    compensated: without that copy, whether each rounding error is kept, in the weight's format, and
        added to the next update (Kahan summation; Zamirai et al. 2020).
    optimizer_state: the format of momentum and moments; second_moment: the format of means and sums
        of squares, if it is another one, or None.
    optimizer_state_scale: which of their numbers share a scale, which multiplies them before they
        are rounded: "tensor", "block:2048" or None (state_format.py).
    loss_scale: "dynamic" or "lognormal", with or without settings (loss_scale_text.py); a number
        (static), or None.
    operations: None, or for autocast "float16" or "bfloat16", in which products are then computed,
        or the changes of its table, {"softmax": "float16"}, or both as a pair (see autocast.py):
        operations cast their inputs as their rows say, `activations` is what tensors are made in.
    products: {"wgrad:accumulate": "float32"}, switches of one product of layers (see products.py).
    parts: {pattern: text}, precisions of single modules by their paths, where later ones win (see
        precision_parts.py), for all switches but those SHARED by the parameters of an optimizer;
        and {"pattern.wgrad:accumulate": "float32"}, one switch of one product of theirs.
        `fp.assign_precision` gives a model its parts.

    Raises PrecisionError for a format that does not exist or a loss scale that is not positive,
    and for an update_rounding, a compensation or a scale without effect.
    """

    weights: str = "float32"
    activations: str = "float32"
    gradients: str = "float32"
    accumulate: str = "float32"
    reduce: str = "float32"
    operands: str | None = None
    gradient_operands: str | None = None
    operand_scale: str | None = None
    saved: str = ACTIVATIONS
    norm_parameters: str = "float32"
    master_weights: bool = False
    update_rounding: str = "nearest"
    compensated: bool = False
    optimizer_state: str = "float32"
    second_moment: str | None = None
    optimizer_state_scale: str | None = None
    loss_scale: str | float | None = None
    operations: Any = None
    products: tuple | dict = ()
    parts: tuple | dict = ()
    storage: InitVar[str | None] = None
    resolved: dict = field(default_factory=dict, init=False, repr=False, compare=False)
    by_references: bool = field(default=False, init=False, repr=False, compare=False)
    shapes_only: bool = field(default=False, init=False, repr=False, compare=False)
    whole: "Precision | None" = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self, storage):
        for name in (*switches.FORMAT_FIELDS, *switches.OPTIONAL_FORMATS):
            value = (
                storage
                if storage is not None and name in switches.STORAGE_FIELDS
                else getattr(self, name)
            )
            if name in switches.OPTIONAL_FORMATS and value is None:
                continue
            if name in switches.SUM_FIELDS:
                text = value if isinstance(value, str) else name_of(as_dtype(value))
                value = sum_format(text, name).name
            else:
                value = self._format_name(name, value)
            object.__setattr__(self, name, value)
        for name in switches.FLAGS:
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise PrecisionError(f"{name}={getattr(self, name)!r}: expected True or False")
        check_small_updates(self)
        for name, check in (
            ("operand_scale", checked_scale),
            (switches.STATE_SCALE, checked_state_scale),
        ):
            object.__setattr__(self, name, check(getattr(self, name)))
        checked_operands(self)
        checked_saved(self)
        check_state(self)
        object.__setattr__(self, "loss_scale", checked_loss_scale(self.loss_scale))
        object.__setattr__(self, "operations", autocast.checked(self.operations))
        object.__setattr__(self, "parts", precision_parts.checked(self.parts, self.parse))
        object.__setattr__(self, "products", products.checked(self.products, self))

    @staticmethod
    def _format_name(name, value):
        """The name of what a switch is given: a format's name, its dtype, or a Format."""
        if isinstance(value, str) and name in OPERAND_FIELDS and value in OPERAND_FORMATS:
            return value
        if isinstance(value, str) and format_named(value) is None:
            raise PrecisionError(f"{name}={value!r}: expected one of {names()}{not_stored(value)}")
        return name_of(as_dtype(value))

    @cached_property
    def is_compiled(self) -> bool:
        """Whether compiled kernels read and write all its formats. Others, such as "e5m7", are
        computed with by the references."""
        return all(
            is_compiled(format_of(getattr(self, name)).stored) for name in switches.STORED_FIELDS
        )

    @cached_property
    def delay(self) -> int | None:
        """The largest amax of how many steps gives operands their scale; None where none does."""
        return steps_of(self.operand_scale)

    @cached_property
    def gradient_formats(self) -> GradientFormats:
        """By the dtype of what is stored, and has dimensions, the format of its gradient."""
        return GradientFormats({self.activations, self.weights}, as_dtype(self.gradients))

    @cached_property
    def meeting_formats(self) -> MeetingFormats:
        """By the dtype of gradients that meet at one value, the format in which they are summed."""
        return MeetingFormats(sum_format(self.reduce).whole)

    @property
    def autocast_low(self) -> str | None:
        """In which format products are computed under autocast; None without."""
        return None if self.operations is None else self.operations.low

    @property
    def autocast_formats(self) -> set[str]:
        """The formats of few bits in which operations work under autocast; none without."""
        return set() if self.operations is None else self.operations.narrow

    def __deepcopy__(self, memo):
        return self  # frozen; a copied module computes in the very same precision

    @staticmethod
    def parse(text: str) -> "Precision":
        """Read "mixed", "mixed,master_weights=off,loss_scale=128" or "mixed;head=float32", as `str`
        writes it."""
        if not isinstance(text, str):
            raise PrecisionError(
                f"a precision is a string or a Precision, not {type(text).__name__}"
            )
        name, changes, parts = said = with_level(precision_grammar.read(text))
        if name not in NAMED:
            raise PrecisionError(
                f"no precision {name!r}: expected {', '.join(NAMED)}, "
                f'with changes such as "mixed,loss_scale=128"{meant(name, NAMED)}'
            )
        values: dict = {"parts": parts} if parts else {}
        edits = {}
        for key, value in changes:
            if value and key in (*SWITCHES, switches.STORAGE):
                names = switches.STORAGE_FIELDS if key == switches.STORAGE else (key,)
                values.update(dict.fromkeys(names, switches.read_switch(key, value, said.whole)))
            elif value and key in (*autocast.KIND_OF, *autocast.operations):
                edits[key] = value
            elif value and precision_grammar.read_product(key):
                values.setdefault("products", {})[key] = products.read(key, value, said.whole)
            else:
                raise PrecisionError(
                    f"{precision_grammar.written_pair((key, value))!r} in precision "
                    f"{said.whole!r}: expected switch=value with one of {', '.join(SWITCHES)}, "
                    "storage, or under autocast an operation, or the switch of a product, as "
                    f"{products.EXAMPLE}; `minifp help precision` describes them"
                )
        if edits:
            table = autocast.checked(values.get("operations", NAMED[name].operations))
            if table is None:
                raise PrecisionError(
                    f'{next(iter(edits))!r} in precision {said.whole!r}: only under "autocast" can '
                    "single operations have formats"
                )
            values["operations"] = table.low, edits
        return replace(NAMED[name], **values) if values else NAMED[name]

    def __str__(self):
        return str(self.said()._replace(parts=tuple(self.parts)))

    def text(self, without: tuple[str, ...] = ()) -> str:
        """Its switches, but those in `without`, as `parse` reads them."""
        return str(self.said(without))

    def said(self, without: tuple[str, ...] = ()) -> precision_grammar.Text:
        """The text of these switches, from the named precision that has most of them."""

        def distance(name):
            differs = self.autocast_low != NAMED[name].autocast_low
            changes = self.changes(NAMED[name], without)
            return len(changes), differs  # of equal ones, that with the same table

        name = min(NAMED, key=distance)
        return precision_grammar.Text(name, self.changes(NAMED[name], without))

    def changes(self, base: "Precision", without: Iterable[str] = ()) -> tuple:
        """What to change in another precision to have this one: pairs of a key and a text."""
        pairs = [(f, getattr(self, f), getattr(base, f)) for f in SWITCHES if f not in without]
        changes = [
            (f, written(mine)) for f, mine, theirs in pairs if mine != theirs and f != "operations"
        ]
        if self.autocast_low != base.autocast_low:
            changes.append(("operations", written(self.autocast_low)))
        edits = () if self.operations is None else self.operations.edits
        return (*changes, *edits, *((key, written(value)) for key, value in self.products))


SWITCHES = tuple(f.name for f in fields(Precision) if f.init and f.name not in OF_SOME)
HALF, BRAIN, SINGLE, DOUBLE = float16.name, bfloat16.name, float32.name, float64.name
NAMED = {
    SINGLE: Precision(),
    "mixed": Precision(storage=HALF, master_weights=True, loss_scale=DYNAMIC),
    "autocast": Precision(loss_scale=DYNAMIC, operations=HALF),
    f"autocast-{BRAIN}": Precision(operations=BRAIN),
    BRAIN: Precision(storage=BRAIN, master_weights=True),
    "float8": Precision(
        storage=BRAIN,
        operands="float8_e4m3fn",
        gradient_operands="float8_e5m2",
        operand_scale=CURRENT,
        master_weights=True,
    ),
    HALF: Precision(storage=HALF, accumulate=HALF, reduce=HALF, norm_parameters=HALF),
    DOUBLE: Precision(
        storage=DOUBLE,
        accumulate=DOUBLE,
        reduce=DOUBLE,
        norm_parameters=DOUBLE,
        optimizer_state=DOUBLE,
    ),
}

# Of a format of few bits, the precision that casts to it, and the one that stores in it.
CASTING = {HALF: "autocast", BRAIN: f"autocast-{BRAIN}"}
STORING = {HALF: "mixed", BRAIN: BRAIN}

LEVELS = {  # Apex's optimization levels, by which a precision can be named too
    "O0": SINGLE,
    "O1": "autocast",
    "O2": "mixed",
    "O3": f"mixed,norm_parameters={HALF},master_weights=off,loss_scale=off",
    "O4": CASTING[BRAIN],
    "O5": STORING[BRAIN],
}


def with_level(said: precision_grammar.Text) -> precision_grammar.Text:
    """The text of a precision that may be named by a level."""
    level = precision_grammar.read(LEVELS.get(said.name, said.name))
    return said._replace(name=level.name, changes=level.changes + said.changes)


# ---- the active precision -----------------------------------------------------------------------


def as_precision(p) -> Precision:
    """A Precision, from one or from its text."""
    return p if isinstance(p, Precision) else Precision.parse(p)


class Default(Outside):
    """The precision that is active outside of every `with`: until it is set, MINIFP_PRECISION's,
    or float32."""

    @cached_property
    def value(self) -> Precision:
        """That precision. Raises PrecisionError for an environment variable that names none."""
        try:
            return as_precision(os.environ.get("MINIFP_PRECISION") or SINGLE)
        except PrecisionError as error:
            raise PrecisionError(f"environment variable MINIFP_PRECISION: {error}") from None


DEFAULT = Default()
active: ContextVar[Any] = ContextVar("precision", default=DEFAULT)  # whose `value` it is


def get_precision() -> Precision:
    """The precision that is active here: that of the innermost `with`, or else the default."""
    return active.get().value


def entered_precision() -> Precision | None:
    """The precision of the innermost `with`, None outside of all."""
    entry = active.get()
    return None if entry is DEFAULT else entry.value


def set_precision(p: Precision | str) -> None:
    """Make `p` the default: what is active outside every `with fp.precision(...)`."""
    DEFAULT.value = as_precision(p)


def precision(p: Precision | str) -> Context[Precision]:
    """Make `p` ("mixed", a Precision, ...) active in the `with` block, on this thread.

    What it returns may be entered again, inside of itself too, and is a decorator.
    """
    return Context(active, as_precision(p))


def by_references(p: Precision) -> Precision:
    """The same precision, in which no kernel is compiled: whatever is computed and built in it is
    computed by the NumPy references, as all is where MINIFP_KERNELS=numpy."""
    return precision_parts.with_state(replace(p), p, by_references=True)


def shapes_only(p: Precision) -> Precision:
    """The same precision, in which nothing is computed: results have shapes and formats, and memory
    that is never written to, which reserves address space only. The same holds for parameters
    created under it."""
    return precision_parts.with_state(replace(p), p, shapes_only=True)


if os.environ.get("MINIFP_PRECISION"):  # which is refused at the import, as are other variables
    get_precision()
