"""The precision trace: what is told of each call and why, what it costs, how it is drawn."""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from beside_torch import as_tuple
from bounds import Calls
from cases import CASES
from refusals import refuses
from snapshots import frozen

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim
from minifp.autograd.backward import propagate
from minifp.numerics import kernels
from minifp.numerics.kernels import Kernel
from minifp.runtime.cuda import math_modes
from minifp.scope.tracing.cost import Count, cost_of
from minifp.scope.tracing.tape_graph import layout
from minifp.scope.tracing.trace import trace
from minifp.scope.tracing.trace_rows import NO_ARITHMETIC
from minifp.training.diagnosis import SUM, Recorded

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from benchmarks import ours, workloads
from benchmarks.tracing import Trace as Benchmark

ONE_OF_EACH = list({case.operation: case for case in CASES}.values())


def mlp():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(20, 20), nn.Linear(40, 3)

        def forward(self, x):
            h = F.relu(self.first(x))
            return self.second((h + F.tanh(h)).reshape(-1, 40))

    return Net()


def step_of(precision, look=lambda recorded: trace(recorded, 8.0, repeats=1)):
    """What `look` finds in a step between backward and update, and its optimizer."""
    numbers = np.random.default_rng(0)
    x, t = numbers.normal(0, 1, (32, 20)).astype("float32"), numbers.integers(0, 3, 16)
    with fp.precision(precision):
        model = fp.assign_precision(mlp())
        optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1), loss_scale=8.0)
        optimizer.backward(F.cross_entropy(model(fp.tensor(x)), fp.tensor(t)))
    return look(optimizer.backwards[-1]), optimizer


def rows_of(found, **wanted):
    return [r for r in found.rows if all(getattr(r, k) == v for k, v in wanted.items())]


class Told(list):
    def on_kernel(self, kernel, args, results, formats):
        self.append(kernel.name)


@pytest.mark.parametrize("precision", ["float32", "mixed", "autocast", "float16"])
def test_the_kernels_are_those_that_the_step_calls_in_their_order(precision):
    told = Told()
    kernels.observers.append(told)
    found, _ = step_of(precision, lambda recorded: recorded)
    kernels.observers.remove(told)
    rows = trace(found, 8.0, repeats=1).rows
    called = [name for name in told if not name.startswith("arithmetic.copy")]
    of_step = [row.kernel for row in rows if row.kernel and row.kernel != "arithmetic.copy"]
    assert of_step == called and len(called) > 10
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))
    phases = [row.phase for row in rows]
    assert phases == sorted(phases, key=["forward", "backward"].index)


def test_operands_of_products_are_told_with_their_scale_and_stay_as_many_bytes_in_memory():
    found, plain = (step_of(p)[0] for p in ("float8", "bfloat16"))
    whys = {row.kernel: row.why for row in rows_of(found, role="dot")}
    e4m3, e5m2 = "float8_e4m3fn (operand_scale=current)", "float8_e5m2 (operand_scale=current)"
    assert f", operands x and w rounded to {e4m3}, " in whys["linear.linear_forward"]
    assert f", operands dy rounded to {e5m2}, x rounded to {e4m3}, " in whys["linear.linear_dw"]
    rows = zip(found.rows, plain.rows, strict=True)
    assert all((a.inputs, a.bytes_read) == (b.inputs, b.bytes_read) for a, b in rows)
    assert not any("operand_scale" in row.why for row in plain.rows)


def test_a_switch_of_one_product_is_told_with_the_part_that_set_it():
    found, _ = step_of("float16,dgrad:accumulate=float32;second.wgrad:accumulate=chunked:8")
    whys = {(row.module, row.kernel): row.why for row in rows_of(found, role="dot")}
    by = "wgrad: accumulate=chunked:8 (the part second.wgrad:accumulate=chunked:8)"
    assert by in whys["Net.second", "linear.linear_dw"]
    assert "(accumulate=chunked:8)" in whys["Net.second", "linear.linear_dw"]
    assert "dgrad: accumulate=float32 (of this precision)" in whys["Net.second", "linear.linear_dx"]
    sums = {(row.module, row.kernel): row.dot_in for row in rows_of(found, role="dot")}
    assert sums["Net.second", "linear.linear_dw"] == "chunked:8"
    assert sums["Net.first", "linear.linear_dw"] == "float16"
    for (module, name), why in whys.items():
        assert ("wgrad" in why) == ((module, name) == ("Net.second", "linear.linear_dw"))


def test_a_dot_product_in_mixed_precision_is_told_with_its_rule():
    first, _ = rows_of(step_of("mixed")[0], kernel="linear.linear_forward")
    assert (first.operation, first.module, first.role) == ("linear", "Net.first", "dot")
    assert first.inputs == ("float16 (32, 20)", "float16 (20, 20)", "float16 (20,)")
    assert first.outputs == ("float16 (32, 20)",)
    assert (first.computes_in, first.sums_in, first.dot_in) == ("float32", "", "float32")
    assert first.why == (
        "dot: products summed in float32 (accumulate=float32), rounded once to float16, the format "
        "of x; on a GPU in tensor cores (tensor_cores)"
    )
    assert first.bytes_read == 2 * (32 * 20 + 20 * 20 + 20) and first.bytes_written == 2 * 32 * 20
    assert first.products == ((32, 20, 20, 1),)
    assert first.flops == 2 * 32 * 20 * 20 + 32 * 20  # and the bias
    assert first.intensity == first.flops / (first.bytes_read + first.bytes_written)
    assert "self.first(x)" in first.line and first.seconds > 0


def test_a_product_says_whether_a_gpu_would_use_tensor_cores(monkeypatch):
    monkeypatch.setattr(math_modes, "_chosen", None)
    for precision, mode, said in [
        ("mixed", "no_tensor_cores", "on a GPU without tensor cores (no_tensor_cores)"),
        ("float32", "tensor_cores", "on a GPU without tensor cores (tensor_cores)"),
        ("float32", "tf32", "on a GPU in tensor cores (tf32)"),
        ("float8", "float8", "on a GPU in tensor cores (float8)"),
    ]:
        fp.set_gpu_math(mode)
        first, _ = rows_of(step_of(precision)[0], kernel="linear.linear_forward")
        assert first.why.endswith(f"; {said}")


def test_gradients_name_the_switch_that_gives_their_format():
    found, _ = step_of("mixed,gradients=float32")
    (row,) = rows_of(found, kernel="activation.relu_dx")
    assert row.outputs == ("float32 (32, 20)",)
    assert row.why.endswith("stored in float32 as it is, the format of that gradient "
                            "(gradients=float32)")  # fmt: skip


def test_parts_of_a_precision_are_told_where_they_hold():
    found, _ = step_of("mixed;second=float32,accumulate=float64")
    first, second = rows_of(found, kernel="linear.linear_forward")
    assert (first.dot_in, second.dot_in) == ("float32", "float64")
    assert second.inputs[0] == "float32 (16, 40)" and "(accumulate=float64)" in second.why
    casts = rows_of(found, phase="forward", operation="cast")
    (entry,) = [r for r in casts if "second" in r.module]
    assert entry.outputs == ("float32 (16, 40)",)
    part = 'the part "float32,accumulate=float64" of this precision'
    assert entry.why.endswith(f"activations of {part} are float32")


CHUNKED = "mixed,accumulate=chunked:8,reduce=chunked:32"
SUMS = {
    "float16": {
        "db": ("float16", "", "summed in float16 (reduce=float16)"),
        "dw": ("", "float16", "in float16 (accumulate=float16)"),
        SUM: ("float16", "", "summed in float16 (reduce=float16)"),
    },
    CHUNKED: {
        "db": ("chunked:32", "", "chunks of 32, and these in float32"),
        "dw": ("", "chunked:8", "in chunks of 8, and these in float32 (accumulate=chunked:8)"),
        SUM: ("float32", "", "summed in float32 (reduce=chunked:32), rounded once"),
    },
    "mixed": {SUM: ("float32", "", "summed in float32 (reduce=float32), rounded once to float16")},
}


@pytest.mark.parametrize("precision", SUMS)
def test_sums_are_told_with_their_format_and_switch(precision):
    found, _ = step_of(precision)
    for name, (sums_in, dot_in, told) in SUMS[precision].items():
        wanted = {"operation": SUM} if name is SUM else {"kernel": f"linear.linear_{name}"}
        row = rows_of(found, **wanted)[0]
        assert (row.sums_in, row.dot_in) == (sums_in, dot_in) and told in row.why
    (meeting,) = rows_of(found, operation=SUM)  # where two gradients meet
    assert meeting.inputs == ("float16 (32, 20)",) * 2
    assert meeting.outputs == ("float16 (32, 20)",) and meeting.flops == 32 * 20
    first = found.rows[0]
    assert first.kernel == "linear.linear_forward" and "the format of x; on a GPU" in first.why


def test_under_autocast_the_row_of_its_table_is_told_also_of_casts():
    found, _ = step_of("autocast")
    reason = fp.op_list("autocast")["linear"].reason
    told = rows_of(found, phase="forward", operation="cast", module="Net.first")
    told += rows_of(found, kernel="linear.linear_forward")
    assert len(told) > 2
    for row in told:
        assert row.why.endswith(f"; autocast: linear: float16: {reason}")
    (loss,) = rows_of(found, kernel="cross_entropy.cross_entropy_total")
    assert "autocast: cross_entropy: float32: a loss" in loss.why
    assert "kept in float32, not rounded" in loss.why


def test_views_and_moves_have_no_arithmetic():
    (view, _) = rows_of(step_of("mixed")[0], operation="reshape")
    assert (view.role, view.kernel, view.flops) == (NO_ARITHMETIC, "", 0)
    assert view.bytes_read == view.bytes_written == 0 and view.intensity == 0
    with fp.precision("mixed"):
        x = fp.tensor(np.ones((6, 4)), requires_grad=True)
        found = trace(recorded_of(fp.cat([x, x * 2]).sum()), 1.0, repeats=1)
    (move,) = rows_of(found, operation="cat", phase="forward")
    assert move.bytes_written == 2 * 6 * 4 * 2 and move.flops == 0 and "moved" in move.why


def recorded_of(loss):
    return Recorded(loss, propagate(loss, None, 1.0, True))


@pytest.mark.parametrize("name", ["lenet", "lstm", "mlp"])
def test_products_are_those_that_the_benchmarks_know_by_operation(name):
    model = workloads.find("model", name)
    with fp.precision("mixed"):
        made = ours.Side.make(None, model)
        with Benchmark() as known:
            for phase in made.step():
                if phase == "backward":
                    break
        rows = trace(made.optimizer.backwards[-1], made.optimizer.scale, repeats=1).rows
    counted = Counter()
    for *shape, times in (product for row in rows for product in row.products):
        counted[tuple(shape)] += times
    assert not known.unknown
    matched = Counter()
    for ways, times in known.products.items():
        same = [way for way in set(ways) if way in counted]
        assert same, f"{ways} was not counted: {sorted(counted)}"
        matched[same[0]] += times
    assert matched == counted


@pytest.mark.sampled(6, core=lambda case: case.operation in ("linear", "conv2d", "softmax"))
@pytest.mark.parametrize("case", ONE_OF_EACH, ids=str)
def test_every_kernel_can_be_counted_and_its_arguments_stay_as_they_are(case):
    with fp.precision("float32"), Calls() as calls:
        y = case.fn(*[fp.tensor(a, requires_grad=True) for a in case.arrays()])
        y, forward = [t for t in as_tuple(y) if getattr(t, "gradient_node", None)], len(calls)
        if y:
            sum((t * t).sum() for t in y).backward()
    for i, call in enumerate(calls):
        before, cost = frozen(call.args), cost_of(call.kernel, call.args, call.params)
        assert frozen(call.args) == before
        assert cost.flops >= sum(2 * m * n * k * times for m, n, k, times in cost.products)
        if i < forward and "dot" not in call.kernel.wants:
            count = Count()
            ours = computed(call, count.watch, count.primitive)
            assert ours == computed(call, np.asarray, plain_primitive)


def computed(call, watch, primitive):
    args = [watch(a) if isinstance(a, np.ndarray) else a for a in call.args]
    given = {want: primitive(want) for want in call.kernel.wants}
    with np.errstate(all="ignore"):
        found = call.kernel.reference(*args, **call.params, **given)
    return frozen([np.asarray(r) for r in as_tuple(found)])


def plain_primitive(name):
    return getattr(kernels.primitives(np.dtype("float32")), name, lambda x: x)


def test_sums_functions_and_products_are_counted():
    def reference(x, y, *, dot, sum, prod):
        z = np.maximum(np.tanh(x) + 1, 0) * x  # 4 for each of 6
        z += z.max(1, keepdims=True)  # 6 of the largest, and 6
        return sum(dot(z, y), axis=0) > prod(x)  # 2 * 2 * 5 * 3, 10, 6; a comparison is none

    fake = type("Fake", (), {"reference": staticmethod(reference), "wants": ("dot", "sum", "prod")})
    cost = cost_of(fake, (np.ones((2, 3), "float32"), np.ones((3, 5), "float32")), {})
    assert cost == (4 * 6 + 12 + 60 + 10 + 6, ((2, 5, 3, 1),))


def test_counting_is_no_part_of_the_time(monkeypatch):
    called, original = [], Kernel.__call__

    def noted(*args):
        called.append(Kernel.__call__ is original)
        return cost_of(*args)

    monkeypatch.setattr("minifp.scope.tracing.trace_rows.cost_of", noted)
    found, _ = step_of("mixed")
    assert called and all(called)
    assert found.seconds == sum(row.seconds for row in found.rows) > 0


def test_a_kernel_that_fails_leaves_kernels_as_they_were(monkeypatch):
    before = Kernel.__call__

    def fails(*_, **__):
        raise ValueError("planted")

    def traced(recorded):
        monkeypatch.setattr("minifp.scope.tracing.visits.run_backward", fails)
        return trace(recorded, 8.0)

    refuses(ValueError, "planted", step_of, "mixed", traced)
    assert Kernel.__call__ is before


def test_a_forgotten_step_and_no_repeats_are_refused():
    found, optimizer = step_of("mixed", lambda recorded: recorded)
    refuses(fp.ArgumentError, r"repeats=0", trace, found, 8.0, repeats=0)
    optimizer.step()
    for ask in (lambda: trace(found, 8.0), lambda: layout(found)):
        refuses(fp.TapeError, r"is already released: ask", ask)


@pytest.mark.parametrize("precision", ["mixed", "autocast"])
def test_every_edge_leads_down_and_no_two_boxes_share_a_place(precision):
    found, _ = step_of(precision, layout)
    places = [(b.x, b.y) for b in found.boxes]
    assert len({*places}) == len(places)
    assert all(found.boxes[e.source].y < found.boxes[e.target].y for e in found.edges)
    assert {b.y for b in found.boxes} == set(range(found.height))
    assert max(Counter(b.y for b in found.boxes).values()) == found.width
    assert [b.number for b in found.boxes] == list(range(len(found.boxes)))
    last = max(found.boxes, key=lambda b: b.y)
    assert (last.operation, last.format) == ("cross_entropy", "float32")
