"""Why a kernel works in the formats it does: its rule, met by the switches of a precision."""

from typing import Any

from minifp.derive.dtypes import name_of
from minifp.numerics import autocast
from minifp.numerics.formats import is_float
from minifp.numerics.policy import Precision
from minifp.numerics.precision_grammar import written
from minifp.numerics.products import of_product, own_of
from minifp.numerics.rules import COMPUTE, GIVEN, Formats, Rule
from minifp.numerics.sum_format import SumFormat, sum_format
from minifp.runtime.cuda.math_modes import get_gpu_math, may_use_tensor_cores
from minifp.runtime.cuda.product import exact_in
from minifp.training.diagnosis import FORWARD

SUMMED = {
    "dot": "products summed in {dot} ({accumulate})",
    "reduce": "summed in {sum} ({reduce})",
    "norm": "statistics and sums in {sum} ({reduce})",
    "loss": "summed in {sum} ({reduce})",
    "map": "element by element in {compute}",
}
PLAIN = {"norm": "element by element in {compute}", "loss": "element by element in {compute}"}


def why(kernel: Any, formats: Formats, results: list, precision: Precision, phase: str) -> str:
    """One sentence on a call: "dot: products summed in float32 (accumulate=float32), rounded once
    to float16, the format of x".
    """
    rule = kernel.rule
    sums = {"dot", "sum", "cumsum", "prod"} & {*kernel.wants}
    text = SUMMED[rule.role] if sums else PLAIN.get(rule.role, SUMMED[rule.role])
    own = of_product(precision, rule.product)
    words = text.format(
        dot=formats.dot_in.words,
        sum=formats.sum_in.words,
        compute=formats.compute.name,
        accumulate=switch("accumulate", own, formats.dot_in),
        reduce=switch("reduce", precision, formats.sum_in),
    )
    words += entering(kernel, formats)
    ends = [ending(rule, spec, r, formats, precision, phase) for spec, r in zip(rule.out, results)]
    sentence = f"{rule.role}: {words}, " + "; ".join(dict.fromkeys(ends))
    return "; ".join([sentence, *of_its_product(rule, precision)])


def of_its_product(rule: Rule, precision: Precision) -> list[str]:
    """Which switches are those of the kernel's product, and what has set them: ["wgrad:
    accumulate=float32 (the part *.wgrad:accumulate=float32)"]; [] if none is."""
    texts = []
    for name, value in own_of(precision, rule.product):
        part = precision.part_of(rule.product, name)
        by = "of this precision" if part is None else f"the part {part.key}={part.text}"
        texts.append(f"{rule.product}: {name}={written(value)} ({by})")
    return texts


def entering(kernel: Any, formats: Formats) -> str:
    """To what operands are rounded, and with which scale: "" where none is.

    ", operands x and w rounded to float8_e4m3fn (operand_scale=current)"
    """
    names: dict[str, list[str]] = {}
    operands = [*zip(kernel.names, formats.operands), ("the state of each step", formats.state)]
    for name, rounding in operands:
        if rounding is not None:
            names.setdefault(rounding.words, []).append(name)
    texts = [f"{' and '.join(some)} rounded to {words}" for words, some in names.items()]
    return ", operands " + ", ".join(texts) if texts else ""


def on_a_gpu(rule: Rule, dtypes: list) -> str:
    """Whether tensor cores may multiply there; "" for no product. dtypes: of floating arguments,
    operands first."""
    if rule.role != "dot":
        return ""
    how = "in" if may_use_tensor_cores(name_of(exact_in(*dtypes[:2]))) else "without"
    return f"on a GPU {how} tensor cores ({get_gpu_math()})"


def switch(name: str, precision: Precision, used: SumFormat) -> str:
    """A switch of the precision for sums; and what an argument's wider format has made of it."""
    value = getattr(precision, name)
    if used.name == value:
        return f"{name}={value}"
    return f"{name}={value}, but {used.name} as an argument is"


def ending(
    rule: Rule, spec: str, result: Any, formats: Formats, precision: Precision, phase: str
) -> str:
    """What is said of one result."""
    if not is_float(result.dtype):
        return f"{name_of(result.dtype)}, not rounded"
    stored = name_of(result.dtype)
    if rule.role == "reduce" and result.ndim == 0 and result.dtype == formats.compute:
        return f"kept in {stored}, as one number is not rounded"
    if spec == COMPUTE:
        return f"kept in {stored}, not rounded"
    rounded = f"rounded once to {stored}"
    if result.dtype == formats.compute:
        rounded = f"stored in {stored} as it is"
    if spec == GIVEN:
        return f"{rounded}, {given(stored, precision, phase)}"
    return f"{rounded}, the format of {' and '.join(spec.split())}"


def given(stored: str, precision: Precision, phase: str) -> str:
    """Where a result's format comes from that its rule leaves to the caller."""
    if phase == FORWARD:
        return "the requested format"
    if stored == precision.gradients:
        return f"the format of that gradient (gradients={stored})"
    return "the format of the value whose gradient it is"


def of_operation(operation: str, precision: Precision) -> str:
    """What autocast's table says of an operation; "" without autocast."""
    if precision.operations is None:
        return ""
    row = precision.operations.row(operation)
    works = "works in the formats of its inputs" if row.format == autocast.GIVEN else row.format
    return f"autocast: {operation}: {works}: {row.reason}"


def of_cast(reader: str, stored: str, precision: Precision) -> str:
    """Why something is cast that `reader` reads."""
    if precision.has_door and stored == precision.activations:
        return f'activations of the part "{precision.base}" of this precision are {stored}'
    if precision.operations is None:
        return f"what {reader} reads besides its weights" if reader else ""
    text = of_operation(reader, precision) if reader else ""
    return text if f": {stored}: " in text or autocast.WIDEST in text else ""


def of_sum(summed_in: Any, stored: Any, precision: Precision) -> str:
    """Why gradients that meet are summed as they are."""
    named = sum_format(precision.reduce)
    used = named if summed_in == named.whole else SumFormat(summed_in)
    return (
        f"gradients of one value: summed in {summed_in.name} "
        f"({switch('reduce', precision, used)}), rounded once to {stored.name}"
    )
