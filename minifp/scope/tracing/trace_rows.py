"""The rows of a precision trace: what is told of each kernel's call, or of what calls none."""

from dataclasses import dataclass
from typing import Any

from minifp.autograd.op import line_of
from minifp.autograd.tape import Node
from minifp.derive.dtypes import name_of
from minifp.lab.memory import buffer
from minifp.numerics.formats import is_float
from minifp.numerics.rules import resolve
from minifp.runtime.device import is_array
from minifp.scope.tracing.cost import Product, cost_of
from minifp.scope.tracing.reasons import of_cast, of_operation, of_sum, on_a_gpu, why
from minifp.scope.tracing.repeating import module_of
from minifp.scope.tracing.visits import Call, Visit
from minifp.training.diagnosis import FORWARD, SUM

NO_ARITHMETIC, CAST = "no arithmetic", "cast"
SUMS = {"sum", "cumsum", "prod"}
NOTHING_FLOATING = "integers and booleans: nothing to round"


@dataclass(frozen=True)
class TraceRow:
    """One call of a kernel; or an operation that calls none, with the role "no arithmetic".

    number: in the order of the step, from 1 on. phase: "forward", "backward". operation: its name,
    "sum of gradients" where they meet. module: the path of the module that called it. line:
    "file:line: text". inputs, outputs: "float16 (32, 128)" of each array. computes_in, sums_in,
    dot_in: formats, of sums also "chunked:32"; "" for one that has no meaning here. why: the rule
    that decided. bytes_read, bytes_written: each argument and each result once. products:
    (M, N, K, how often).
    """

    number: int
    phase: str
    operation: str
    module: str
    line: str
    kernel: str
    role: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    why: str
    computes_in: str = ""
    sums_in: str = ""
    dot_in: str = ""
    bytes_read: int = 0
    bytes_written: int = 0
    flops: int = 0
    products: tuple[Product, ...] = ()
    seconds: float = 0.0

    @property
    def intensity(self) -> float:
        """Floating-point operations for each byte that is read or written."""
        traffic = self.bytes_read + self.bytes_written
        return self.flops / traffic if traffic else 0.0


def rows_of(visit: Visit, seconds: list[float], readers: dict) -> list[TraceRow]:
    """The rows of a visit: one for each kernel, or else one."""
    reader = readers.get(visit.node, "") if visit.phase == FORWARD else ""
    if visit.operation == SUM:
        return [row_of(visit, seconds[0], **sum_of_gradients(visit))]
    if not visit.calls:
        return [row_of(visit, seconds[0], **without_kernel(visit))]
    return [
        row_of(visit, s, **of_call(visit, call, reader)) for call, s in zip(visit.calls, seconds)
    ]


def row_of(visit: Visit, seconds: float, **facts: Any) -> TraceRow:
    """A row, with what is the same in all of a visit; its number is not known yet."""
    node = visit.node
    line = line_of(node) if isinstance(node, Node) else ""
    place = visit.phase, visit.operation, module_of(node), line
    return TraceRow(0, *place, **facts, seconds=seconds)


def of_call(visit: Visit, call: Call, reader: str) -> dict[str, Any]:
    """What is told of a call of a kernel. reader: the first operation that reads its result."""
    args, results = arrays_in(call.args), arrays_in(call.results)
    cost, kernel = cost_of(call.kernel, call.args, call.params), call.kernel
    facts = dict(
        **{"kernel": kernel.name, "role": kernel.rule.role, "why": NOTHING_FLOATING},
        **{"inputs": texts(args), "outputs": texts(results)},
        **{"bytes_read": size_of(args), "bytes_written": size_of(results)},
        **{"flops": cost.flops, "products": cost.products},
    )
    kinds = [
        (a.dtype, a.ndim == 0) if is_array(a) and is_float(a.dtype) else None for a in call.args
    ]
    if not any(kinds):
        return facts
    formats = resolve(kernel.rule, kernel.names, tuple(kinds), call.precision)
    rule = why(kernel, formats, results, call.precision, visit.phase)
    if visit.operation == CAST:
        reason = of_cast(reader, name_of(results[0].dtype), call.precision)
    else:
        reason = of_operation(visit.operation, call.precision)
    place = on_a_gpu(kernel.rule, [kind[0] for kind in kinds if kind])
    facts["why"] = "; ".join(filter(None, [rule, place, reason]))
    facts["computes_in"] = formats.compute.name
    facts["sums_in"] = formats.sum_in.name if {*kernel.wants} & SUMS else ""
    facts["dot_in"] = formats.dot_in.name if "dot" in kernel.wants else ""
    return facts


def sum_of_gradients(visit: Visit) -> dict[str, Any]:
    """What is told where gradients meet."""
    (total,), gradients = visit.outputs, visit.inputs
    summed_in = visit.precision.meeting_formats[gradients[0].dtype]
    return dict(
        **{"kernel": "", "role": "reduce", "why": of_sum(summed_in, total.dtype, visit.precision)},
        **{"inputs": texts(gradients), "outputs": texts([total])},
        **{"computes_in": summed_in.name, "sums_in": summed_in.name},
        **{"bytes_read": size_of(gradients), "bytes_written": size_of([total])},
        flops=(len(gradients) - 1) * total.size,
    )


def without_kernel(visit: Visit) -> dict[str, Any]:
    """What is told of an operation that only looks at numbers in another way, or moves them."""
    inputs, outputs = arrays_in(visit.inputs), arrays_in(visit.outputs)
    memory = {id(buffer(a)) for a in inputs}
    traffic = size_of([a for a in outputs if id(buffer(a)) not in memory])
    reason = "numbers are moved, and none is rounded" if traffic else "a view: nothing is moved"
    return dict(
        **{"kernel": "", "role": NO_ARITHMETIC, "why": reason},
        **{"inputs": texts(inputs), "outputs": texts(outputs)},
        **{"bytes_read": traffic, "bytes_written": traffic},
    )


def arrays_in(values: Any) -> list:
    """The arrays among arguments or results, of any kind."""
    return [a for a in (getattr(v, "array", v) for v in values) if is_array(a)]


def texts(arrays: list) -> tuple[str, ...]:
    """ "float16 (32, 128)" of each array."""
    return tuple(f"{name_of(a.dtype)} {a.shape}" for a in arrays)


def size_of(arrays: list) -> int:
    """Bytes, each array once."""
    return sum({id(a): a.nbytes for a in arrays}.values())
