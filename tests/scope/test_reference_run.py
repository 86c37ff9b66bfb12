"""The reference run: what each operation adds to the error, inherits and passes on."""

import numpy as np
import pytest
from bounds import excess
from test_trace import ONE_OF_EACH, as_tuple, recorded_of
from watching import Flow, Kernels

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim
from minifp.errors import ArgumentError, DeviceError, TapeError
from minifp.numerics.formats import downcast, float64, upcast
from minifp.numerics.policy import as_precision
from minifp.runtime import random
from minifp.scope.tracing.effects import backward, forward
from minifp.scope.tracing.paired_runs import PairedRuns, difference
from minifp.scope.tracing.reference_run import reference_run
from minifp.training.diagnosis import SUM


def rounds_twice_backward(dy, to, by):
    return (downcast(dy, to[0]),)


@fp.op
def rounds_twice(x, *, by):
    """x, but stored in between beside `by`, where an ulp is larger."""
    aside = downcast(upcast(x, float64) + by, x.dtype)
    return downcast(upcast(aside, float64) - by, x.dtype), (), rounds_twice_backward


def network():
    """All that a reference run must not disturb: running statistics, a mask, views, a residual."""
    conv, norm = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4)
    return nn.Sequential(conv, norm, nn.ReLU(), nn.Dropout(0.5), nn.Flatten(), nn.Linear(144, 3))


def planted(by):
    class Planted(nn.Module):
        def forward(self, x):
            return rounds_twice(x, by=by)

    return nn.Sequential(nn.Linear(20, 20), nn.Tanh(), Planted(), nn.Linear(20, 3))


def step_of(precision, make=network, shape=(8, 1, 8, 8), batch=8, batch_format="f4", like=None):
    """A model and an optimizer between backward and step, and the loss. like: a model from which
    the unrounded weights are taken.
    """
    numbers = np.random.default_rng(0)
    batch = shape[0] if len(shape) != 3 else batch
    x, t = numbers.normal(0, 1, shape).astype(batch_format), numbers.integers(0, 3, batch)
    scale = 8.0
    with fp.precision(precision):
        model = make()
        for p, q in zip(model.parameters(), like.parameters() if like else ()):
            p.data = q.array if q.exact is None else q.exact
        optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1), loss_scale=scale)
        optimizer.backward(F.cross_entropy(model(fp.tensor(x)), fp.tensor(t)))
    return model, optimizer, optimizer.backwards[-1]


def values_of(recorded, seed=8.0, reference="float64"):
    graphs = PairedRuns(recorded, seed, as_precision(reference))
    return graphs, list(graphs.values())


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_beside_its_own_precision_a_step_has_no_error_at_all(precision):
    found = reference_run(step_of(precision)[2], 8.0, precision)
    assert {(row.added, row.inherited) for row in found.rows} == {(0.0, 0.0)}
    assert found.loss == found.loss_reference and found.gradients == 0


@pytest.mark.parametrize("precision", ["mixed", "autocast", "float16"])
def test_what_is_looked_at_is_the_step_itself_bit_for_bit(precision):
    model, _, recorded = step_of(precision)
    graphs, _ = values_of(recorded)
    loss = graphs.stored[recorded.loss.gradient_node][recorded.loss.index]
    assert loss.array == recorded.loss.array
    for p in model.parameters():
        assert graphs.gradients[p][0].tobytes() == p.grad.array.tobytes(), p.name
    with Flow() as flow, Kernels() as calls:  # which do not see it
        assert reference_run(recorded, 8.0, measured=2).gradients > 0
    assert not flow and not calls


@pytest.mark.sampled(6, core=lambda case: case.operation in ("linear", "conv2d", "softmax"))
@pytest.mark.parametrize("case", ONE_OF_EACH, ids=str)
def test_every_operation_can_be_done_beside_itself(case):
    for precision in ("float64", "mixed"):
        with fp.precision(precision):
            y = case.fn(*[fp.tensor(a, requires_grad=True) for a in case.arrays()])
            y = [t for t in as_tuple(y) if getattr(t, "gradient_node", None)]
            if not y:
                return  # has no gradient
            found = reference_run(recorded_of(sum((t * t).sum() for t in y)), 1.0, measured=1)
        assert {row.phase for row in found.rows} == {"forward", "backward"}
        errors = [row for row in found.rows if row.added or row.inherited]
        assert precision == "mixed" or not errors


POINTWISE = {
    "mul": lambda x: x * x, "add": lambda x: x + 0.1, "tanh": fp.tanh, "exp": fp.exp,
    "sigmoid": fp.sigmoid, "relu": F.relu,
}  # fmt: skip


@pytest.mark.parametrize("name", POINTWISE)
def test_a_pointwise_operation_adds_half_an_ulp_and_what_its_float32_function_errs(name):
    with fp.precision("mixed"):
        x = fp.tensor(np.random.default_rng(0).normal(0, 1, 500), requires_grad=True)
        _, values = values_of(recorded_of(POINTWISE[name](x).sum()), 1.0)
    mine = [v for v in values if v.operation == name]
    assert {v.phase for v in mine} == {"forward", "backward"}
    for v in mine:
        assert excess(v.stored, v.local, np.abs(v.local)) <= 1


def test_casts_and_gradients_that_meet_add_their_rounding_and_leave_the_reference_alone():
    graphs, values = values_of(step_of("autocast")[2])
    casts = [v for v in values if v.operation == "cast" and v.phase == "forward"]
    rounded = [v for v in casts if v.stored.dtype == np.float16]
    assert {v.reference.dtype for v in values} == {np.dtype("float64")}
    assert any(v.added.any() for v in rounded)
    assert all(excess(v.stored, v.local, 0 * v.local) <= 1 for v in rounded)
    with fp.precision("mixed"):
        x = fp.tensor(np.linspace(0.1, 1, 50), requires_grad=True)
        recorded = recorded_of((x * 3 + fp.tanh(x)).sum())
    (value,) = [v for v in values_of(recorded, 1.0)[1] if v.operation == SUM]
    assert value.added.any() and excess(value.stored, value.local, np.abs(value.local)) <= 1


def test_a_dot_product_adds_no_more_than_its_bound_and_a_weight_what_storing_it_rounds_away():
    model, _, recorded = step_of("mixed", lambda: nn.Linear(200, 3), (16, 200))
    graphs, values = values_of(recorded)
    v = {v.name: v for v in values if v.operation == "linear"}
    stored = [t[0].array for v, t in graphs.stored.items() if v.parents == ()]
    weight, bias = sorted(stored, key=lambda a: -a.ndim)
    x, w, b = (np.abs(a).astype(float) for a in (v["y"].node.call[1][0], weight, bias))
    assert excess(v["y"].stored, v["y"].local, x @ w.T + b, 201) <= 1
    dy = np.abs(next(v.stored for v in values if v.name == "dinput" or v.name == "dz"))
    assert excess(v["dw"].stored, v["dw"].local, dy.T.astype(float) @ x, 16) <= 1
    row = next(r for r in reference_run(recorded, 8.0).rows if r.module == "weight")
    exact = model.weight.exact.astype(float)
    error = np.linalg.norm(model.weight.array - exact) / np.linalg.norm(exact)
    assert (row.operation, row.inherited) == ("weight", 0.0)
    assert row.added == pytest.approx(error, rel=1e-12) and 0 < row.added_ulp.max <= 0.5


def test_an_operation_that_rounds_twice_is_found_to_add_most():
    found = reference_run(step_of("mixed", lambda: planted(64.0), (16, 20))[2], 8.0)
    worst, most = max(found.rows, key=lambda row: row.added), found.contributions[0]
    assert worst.operation == most.operation == "rounds_twice"
    assert worst.phase == "forward" and "rounds_twice(" in most.line
    assert worst.added_ulp.max > 8  # stored once too often where an ulp is 2^-4


@pytest.mark.parametrize("precision", ["mixed", "float16"])
def test_added_and_inherited_are_the_whole_error(precision):
    for v in values_of(step_of(precision)[2])[1]:
        added, inherited = v.added, v.inherited
        whole = difference(v.stored, v.reference)
        # three differences and a sum, each rounded once in float64
        largest = np.abs(added) + np.abs(inherited) + np.abs(whole)
        assert (np.abs(added + inherited - whole) <= 2.0**-52 * largest).all()
    with fp.precision(precision):  # the first operation on exact numbers inherits nothing
        x = fp.tensor(np.arange(12.0).reshape(3, 4), requires_grad=True)
        w = fp.tensor(np.arange(20.0).reshape(5, 4) / 16, requires_grad=True)
        found = reference_run(recorded_of(fp.tanh(F.linear(x, w) / 3).sum()), 1.0)
    rows = [row for row in found.rows if row.phase == "forward"]
    assert [row.operation for row in rows[2:]] == ["linear", "div", "tanh", "sum"]
    assert rows[2].inherited == 0 and rows[4].inherited > 0


def test_the_effect_of_the_only_error_is_the_error_of_the_gradients():
    found = reference_run(step_of("float32", lambda: planted(4096.0), (16, 20))[2], 8.0)
    most = found.contributions[0]
    assert most.operation == "rounds_twice"
    # An ulp at 4096 is 2^12 times that at 1, where all others err: 1% is enough for some of them.
    assert most.effect.gradients == pytest.approx(found.gradients, rel=0.01)
    of_float32 = 4 * 2.0**-24 * found.loss  # in two dots, tanh and the loss
    whole = found.loss - found.loss_reference
    assert abs(most.effect.loss - whole) <= of_float32 < abs(whole) / 5
    assert len(found.contributions) == found.sources > 3


def test_to_first_order_the_effects_of_all_operations_add_up_to_the_whole_error():
    """Of a network that is smooth; also of what an LSTM keeps for backward."""

    class Reads(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head = nn.LSTM(5, 16), nn.Linear(16, 3)

        def forward(self, x):
            return self.head(self.lstm(x)[0][-1])

    random.manual_seed(5)
    graphs, _ = values_of(step_of("mixed", Reads, (6, 4, 5), batch=4)[2])
    leaves = graphs.gradients
    total = flat(difference(*leaves[v]) for v in leaves)
    parts = [backward(graphs, forward(graphs, v), v) for v in graphs.order]
    found = sum(flat(difference(part[v], leaves[v][1]) for v in leaves) for part in parts)
    # What is left is of second order: products of two errors of at most 2^-11 each, some of them
    # magnified, beside the errors themselves.
    assert np.linalg.norm(found - total) <= 0.02 * np.linalg.norm(total) > 0


def flat(arrays):
    return np.concatenate([np.ravel(a) for a in arrays])


def test_the_reference_is_the_step_in_float64_from_the_unrounded_weights():
    fp.manual_seed(0)
    narrow_model, _, recorded = step_of("mixed")
    fp.manual_seed(0)
    wide_model, _, wide = step_of("float64", batch_format="float16", like=narrow_model)
    graphs, _ = values_of(recorded)
    found = reference_run(recorded, 8.0, measured=0)
    assert found.loss_reference == pytest.approx(float(wide.loss.array), rel=1e-13)
    for p, q in zip(narrow_model.parameters(), wide_model.parameters()):
        np.testing.assert_allclose(graphs.gradients[p][1], q.grad.array, rtol=1e-10, atol=1e-14)


def test_a_forgotten_step_another_reference_and_a_narrower_one_are_refused(monkeypatch):
    _, optimizer, recorded = step_of("mixed")
    with pytest.raises(ArgumentError, match=r"reference='bfloat16': expected float32 or float64"):
        reference_run(recorded, 8.0, "bfloat16")
    with pytest.raises(ArgumentError, match=r"'float32' for a step that stores float64"):
        reference_run(step_of("float64")[2], 8.0, "float32")
    with monkeypatch.context() as patch:
        patch.setattr("minifp.scope.tracing.repeating.is_on_device", lambda a: True)
        with pytest.raises(DeviceError, match=r"the step ran on a GPU.*device='cpu'"):
            reference_run(recorded, 8.0)
    optimizer.step()
    with pytest.raises(TapeError, match=r"reference_run: what \w+ was called with is already"):
        reference_run(recorded, 8.0)
