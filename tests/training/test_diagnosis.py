"""Why a step was skipped: the operation, its module, phase and line, and whether S is to blame."""

import gc
import weakref

import numpy as np
import pytest
from refusals import refuses
from watching import Flow

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim
from minifp.autograd import replay, tape
from minifp.models import CharLSTM, LeNet
from minifp.training import diagnosis
from minifp.training.diagnosis import BACKWARD, CHANGED, FORWARD, INPUT, UNKNOWN, UNSCALE
from minifp.training.mixed import MOST_KEPT

pytestmark = [
    pytest.mark.filterwarnings("ignore:mul with the number 1e"),  # planted
    pytest.mark.filterwarnings("ignore:step.*beyond float16"),
]


class Net(nn.Module):
    """Three layers with dropout and batch norm; `gain` is multiplied in before the second."""

    def __init__(self):
        self.a, self.norm = nn.Linear(8, 16), nn.BatchNorm1d(16)
        self.b, self.drop, self.c = nn.Linear(16, 16), nn.Dropout(0.3), nn.Linear(16, 3)
        self.gain = 1.0

    def forward(self, x):
        h = F.relu(self.norm(self.a(x)))
        h = self.drop(F.relu(self.b(h * self.gain)))  # the planted line
        return self.c(h)


def setup(precision="mixed", make=Net, **settings):
    fp.manual_seed(0)
    numbers = np.random.default_rng(0)
    with fp.precision(precision):
        model = make()
        optimizer = fp.MixedOptimizer(optim.Adam(model.parameters()), **settings)
        x = fp.tensor(numbers.normal(size=(32, 8)))
    return model, optimizer, x, fp.tensor(numbers.integers(0, 3, 32))


def state_of(model, optimizer):
    """All bytes that a step could change, but for the scale."""
    held = [model.state_dict()[name].numpy().tobytes() for name in model.state_dict()]
    for o in optimizer.optimizers:
        for block in o.blocks:
            held += [block.weights.flat.tobytes(), block.weights.stored.tobytes()]
            held += [s.array.tobytes() for s in block.state.values()] + [tuple(block.steps)]
    return held, fp.get_state()


def test_a_scale_too_large_is_told_from_a_fault_also_after_unscaling():
    model, optimizer, x, t = setup(loss_scale=2.0**30)
    result = optimizer.minimize(F.cross_entropy(model(x), t))
    d = result.diagnosis
    assert (result.skipped, d.phase, d.persists) == (True, BACKWARD, False)
    assert d.operation == "cross_entropy" and d.module == ""
    assert str(d) in result.reason and "was too large" in result.reason
    assert "c.weight" in result.reason  # the parameters are still named
    model, optimizer, x, t = setup(loss_scale=2.0**30)
    optimizer.backward(F.cross_entropy(model(x), t))
    optimizer.unscale_()
    d = optimizer.step().diagnosis
    assert (d.phase, d.operation, d.persists) == (BACKWARD, "cross_entropy", False)


def test_an_overflow_planted_in_forward_is_found_with_its_module_and_line():
    model, optimizer, x, t = setup()
    model.gain = 1e6
    result = optimizer.minimize(F.cross_entropy(model(x), t))
    d = result.diagnosis
    assert (d.phase, d.operation, d.module, d.persists) == (FORWARD, "mul", "Net", True)
    assert "test_diagnosis.py" in d.line and "the planted line" in d.line
    (given,) = d.inputs
    assert given.dtype == "float16" and given.finite and 0 < given.high < 65504
    assert "a loss scale cannot help" in result.reason


def test_an_overflow_planted_in_a_named_layer_is_found_in_that_layer():
    class Gain(nn.Module):
        def forward(self, x):
            return x * 1e6

    model, optimizer, x, t = setup()
    model.drop = Gain()
    with fp.microscope(model, optimizer) as scope, pytest.warns(fp.MisuseWarning, match="1e.06"):
        optimizer.minimize(F.cross_entropy(model(x), t))
    (found,) = scope.diagnoses
    assert (found["module"], found["operation"], found["phase"]) == ("Net.drop", "mul", FORWARD)
    assert found["persists"] and found["step"] == 1
    assert "mul in Net.drop" in " ".join(scope.summary().split())


def test_an_overflow_planted_in_backward_is_found():
    @fp.op
    def exploding(x):
        return x * 1, (), exploding_backward

    def exploding_backward(dy, to):
        return (np.full_like(dy, np.inf),)

    class Planted(Net):
        def forward(self, x):
            return self.c(exploding(F.relu(self.a(x))))

    model, optimizer, x, t = setup(make=Planted, loss_scale=None)
    d = optimizer.minimize(F.cross_entropy(model(x), t) * 1000).diagnosis
    assert (d.phase, d.operation, d.module, d.persists) == (BACKWARD, "exploding", "Planted", True)


def test_a_fault_that_persists_is_named_also_where_gradients_meet():
    """With S = 2^16 the seed of a sum overflows first; without S it is 0 / 0 in sqrt."""
    model, optimizer, x, t = setup(loss_scale=2.0**16)
    d = optimizer.minimize((model(x) * 0).sqrt().sum()).diagnosis
    assert (d.operation, d.persists) == ("sqrt", True)
    model, optimizer, x, t = setup(loss_scale=1.0)
    y = model.c(F.relu(model.a(x)))
    d = optimizer.minimize((y * 300).sum() * 200 + (y * 300).sum() * 200).diagnosis
    assert (d.phase, d.operation, d.persists) == (BACKWARD, diagnosis.SUM, True)


def test_a_batch_a_weight_or_a_gradient_that_is_not_finite_is_what_is_named():
    model, optimizer, x, t = setup()
    x.data[3, 2] = np.nan
    d = optimizer.minimize(F.cross_entropy(model(x), t)).diagnosis
    assert (d.phase, d.operation, d.module) == (FORWARD, INPUT, "Net.a")
    assert not d.inputs[0].finite
    model, optimizer, x, t = setup()
    model.b.weight.data = np.full((16, 16), np.inf, np.float32)
    d = optimizer.minimize(F.cross_entropy(model(x), t)).diagnosis
    assert (d.phase, d.operation, d.module) == (FORWARD, INPUT, "b.weight")
    model, optimizer, x, t = setup(loss_scale=1.0)
    optimizer.backward(F.cross_entropy(model(x), t))
    model.a.weight.grad.data[:] = np.inf
    d = optimizer.step().diagnosis
    assert d.phase == UNSCALE and "between backward and step" in str(d)


def test_one_bad_micro_batch_is_found_or_not_said_to_be_finite():
    for after, told in ((1, (FORWARD, "mul")), (MOST_KEPT, (UNKNOWN, diagnosis.LET_GO))):
        model, optimizer, x, t = setup(loss_scale=1.0)
        for gain in (1.0, 1e6, *[1.0] * after):
            model.gain = gain
            optimizer.backward(F.cross_entropy(model(x), t))
        d = optimizer.step().diagnosis
        assert (d.phase, d.operation) == told and ("unrecorded" in str(d)) == (after == MOST_KEPT)


@pytest.mark.parametrize("precision", ["mixed", "float32", "float16", "autocast"])
@pytest.mark.parametrize("make", ["lenet", "charlstm"])
def test_whole_networks_can_be_done_again(make, precision):
    fp.manual_seed(0)
    with fp.precision(f"{precision},loss_scale={2.0**90:.17g}"):
        if make == "lenet":
            model, x = LeNet(classes=10, size=8), fp.rand(4, 1, 8, 8)
            t = fp.tensor(np.arange(4))
        else:
            model, x = CharLSTM(20, hidden=8), fp.tensor(np.arange(12).reshape(3, 4))
            t = fp.tensor(np.arange(12).reshape(3, 4))
        optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1), loss_scale=2.0**126)
        d = optimizer.minimize(F.cross_entropy(model(x), t) * 1e9).diagnosis
    assert (d.phase, d.persists) == (BACKWARD, d.persists) and d.operation


def test_one_optimizer_that_goes_on_changes_no_weight_before_the_replay():
    """skip="each": with the new weights of the first, forward would overflow."""
    fp.manual_seed(0)
    with fp.precision("mixed"):
        good, bad = nn.Linear(4, 4), nn.Linear(4, 4)
        both = [optim.SGD(m.parameters(), lr=1e5) for m in (good, bad)]
        optimizer, x = fp.MixedOptimizer(both, loss_scale=1.0), fp.rand(8, 4)
    optimizer.backward(good(x).sum() + (bad(x) * 0).sqrt().sum())
    result = optimizer.step()
    assert result.each == (True, False)
    assert (result.diagnosis.phase, result.diagnosis.operation) == (BACKWARD, "sqrt")


@pytest.mark.parametrize("written", ["x", "weight"])
def test_a_batch_or_a_weight_that_was_written_to_since_backward_is_told(written):
    model, optimizer, x, t = setup(loss_scale=2.0**30)
    optimizer.backward(F.cross_entropy(model(x), t))
    array = x.array if written == "x" else model.a.weight.array
    array[...] = np.inf
    d = optimizer.step().diagnosis
    assert (d.phase, d.operation) == (UNKNOWN, CHANGED) and "changed in place" in str(d)


def test_micro_batches_that_are_let_go_hold_no_graph():
    model, optimizer, x, t = setup()
    held = []
    for _ in range(MOST_KEPT + 2):
        h = model(x)
        held.append(weakref.ref(h.node))
        optimizer.backward(F.cross_entropy(h, t))
        del h
    gc.collect()
    assert [node() is None for node in held] == [True] * 2 + [False] * MOST_KEPT


def test_a_trunk_that_several_losses_retain_is_known_until_it_is_let_go():
    model, optimizer, x, t = setup(loss_scale=2.0**30)
    h = model(x)
    for factor in range(MOST_KEPT + 2):
        optimizer.backward(F.cross_entropy(h * factor, t), retain_graph=True)
    assert optimizer.step().diagnosis.operation == "cross_entropy"
    optimizer.zero_grad()
    optimizer.backward(F.cross_entropy(h * 2, t))  # also in the next step
    assert optimizer.step().diagnosis.operation == "cross_entropy"
    model, optimizer, x, t = setup(loss_scale=2.0**30)
    h = model(x)
    optimizer.backward(F.cross_entropy(h, t), retain_graph=True)
    h.sum().backward(seed=2.0**30)  # lets go of what they share
    result = optimizer.step()
    assert result.skipped and result.diagnosis is None and "not finite" in result.reason


def test_nothing_is_changed_by_a_replay_nor_by_training_with_them():
    model, optimizer, x, t = setup(loss_scale=2.0**30)
    optimizer.backward(F.cross_entropy(model(x), t))
    before = state_of(model, optimizer)
    assert optimizer.step().diagnosis is not None
    assert state_of(model, optimizer) == before
    (weights, results), (others, plain) = trained(True), trained(False)
    assert (weights, {r.skipped for r in results}) == (others, {True, False})
    assert [r.diagnosis is not None for r in results] == [r.skipped for r in results]
    assert all(r.diagnosis is None for r in plain)


def trained(diagnose):
    """The weights after a few steps of which some are skipped, and their results."""
    scale = fp.DynamicLossScale(2.0**24, growth_interval=3)
    model, optimizer, x, t = setup(loss_scale=scale, diagnose=diagnose)
    results = [optimizer.minimize(F.cross_entropy(model(x), t)) for _ in range(14)]
    return [p.array.tobytes() for p in model.parameters()], results


def test_observers_do_not_see_a_replay():
    model, optimizer, x, t = setup(loss_scale=2.0**30)
    with Flow() as seen:
        optimizer.backward(F.cross_entropy(model(x), t))
        count = len(seen)
        optimizer.step()
        assert len(seen) == count and tape.observers == [seen]


def test_what_calls_were_given_is_let_go_after_the_step_or_a_plain_backward():
    model, optimizer, x, t = setup()
    loss, held = F.cross_entropy(model(x), t), weakref.ref(x.array)
    del x
    optimizer.minimize(loss)
    gc.collect()
    assert held() is None and loss.node.call is None
    y = (fp.tensor(np.ones(3, np.float32), requires_grad=True) * 2).sum()
    y.backward(retain_graph=True)
    assert y.node.call is not None
    y.backward()
    assert y.node.call is None
    refuses(fp.TapeError, "cannot be repeated", replay.again, y.node, [])


def test_patience_ends_with_the_diagnosis():
    refuses(fp.ArgumentError, "diagnose=3", setup, diagnose=3)
    model, optimizer, x, t = setup(loss_scale=fp.DynamicLossScale(4.0, patience=4))
    model.gain = 1e6
    with pytest.raises(fp.TrainingError, match="forward of mul in Net .*the planted line"):
        for _ in range(4):
            optimizer.minimize(F.cross_entropy(model(x), t))
    assert optimizer.scale == 1.0  # at the floor
