"""Delayed scaling: which steps count, whose history it is, and what leaves it as it was."""

import copy
from functools import partial

import numpy as np
import pytest
from watching import at_once

import minifp as fp
import minifp.nn.functional as F
from minifp import nn
from minifp.autograd.replay import unobserved
from minifp.numerics.operands import checked_scale, steps_of

DELAYED = "float32,operands=float8_e4m3fn,gradient_operands=float8_e5m2,operand_scale=delayed"


def made(make, scale="delayed", lr=1.0):
    with fp.precision(DELAYED.replace("delayed", scale)):
        fp.manual_seed(0)
        model = make()
        return model, fp.optim.SGD(model.parameters(), lr=lr)


def amaxes(model, operand="x", product="linear.linear_forward"):
    histories = fp.operand_histories(model)
    return [h.amaxes for h in histories if (h.operand, h.product) == (operand, product)]


def x_of(amax, rows=4):
    """A batch whose largest magnitude is `amax`."""
    x = np.linspace(-1, 1, rows * 3, dtype="f4").reshape(rows, 3) * np.float32(amax)
    return fp.tensor(x)


def take_step(model, optimizer, *batches):
    for x in batches:
        model(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()


@pytest.mark.parametrize(
    "text, steps", [("delayed", 1024), ("delayed:1024", 1024), ("delayed:16", 16), ("row", None),
    ("delayed:16+factor=exact", 16)]
)  # fmt: skip
def test_the_switch_says_how_many_steps_count(text, steps):
    p = fp.Precision.parse(f"float8,operand_scale={text}")
    assert p.delay == steps == steps_of(text) and fp.Precision.parse(str(p)) == p
    assert p.operand_scale == checked_scale(text) == ("delayed" if steps == 1024 else text)
    for wrong in ("delayed:0", "delayed:", "delayed:-1", "delayed:1.5", "delays", 16):
        with pytest.raises(fp.PrecisionError, match="expected current, row, delayed, delayed:N"):
            fp.Precision(operands="float8_e4m3fn", operand_scale=wrong)


@pytest.mark.parametrize("factor", ["power_of_two", "exact"])
def test_the_scale_is_that_of_the_largest_of_the_last_steps(factor):
    """What is too large becomes 448 over the scale, which shows it."""
    model, optimizer = made(lambda: nn.Linear(3, 1, bias=False), f"delayed:2+factor={factor}", 0.0)
    model.weight.data = np.ones((1, 3), "f4")
    take_step(model, optimizer, x_of(1.0))
    for amax, largest in zip((4.0, 2.0, 16.0, 1.0, 1.0, 0.5), (1.0, 4.0, 4.0, 16.0, 16.0, 1.0)):
        with fp.no_grad():
            y = model(fp.tensor([[1e4, 0, 0]])).item()
        power, roundings = 448 / 2.0 ** np.floor(np.log2(448 / largest)), 3 * 2.0**-24
        assert y == power if factor != "exact" else abs(y / largest - 1) <= roundings
        take_step(model, optimizer, x_of(amax))
    assert amaxes(model) == [(1.0, 0.5)]


def test_the_first_step_is_that_of_current_scaling_and_the_second_is_not():
    def losses(scale):
        model, optimizer = made(lambda: nn.Sequential(nn.Linear(3, 8), nn.Linear(8, 2)), scale)
        found = []
        for amax in (1.0, 3.0):
            loss = (model(x_of(amax)) ** 2).mean()
            loss.backward()
            found.append([loss.item(), *(p.grad.numpy().tobytes() for p in model.parameters())])
            take_step(model, optimizer)
        return found

    ours, current = losses("delayed"), losses("current")
    assert ours[0] == current[0] and ours[1] != current[1]


def test_what_jumps_saturates_for_one_step_and_is_counted():
    def gradients(scale):
        model, optimizer = made(lambda: nn.Linear(3, 2), scale)
        found = []
        for factor in (1.0, 1000.0, 1000.0):
            (model(x_of(1.0)).sum() * factor).backward()
            found.append(np.abs(model.weight.grad.numpy()).max())
            take_step(model, optimizer)
        dy = [h for h in fp.operand_histories(model) if h.operand == "dy"]
        return found / found[0], [(h.product, h.saturated) for h in dy]

    ratios, counts = gradients("delayed")
    held = 57344 / 2.0 ** np.floor(np.log2(57344))  # E5M2's largest under the scale of 1
    assert ratios.tolist() == [1, held, 1024] and counts == [("linear.linear_dw", 1)]
    ratios, counts = gradients("current")
    assert ratios.tolist() == [1, 1024, 1024] and counts == []  # 1000 in E5M2


def test_micro_batches_shared_layers_and_a_second_backward_are_one_step_and_zeros_none():
    model, optimizer = made(lambda: nn.Linear(3, 3))
    take_step(model, optimizer, x_of(2.0), x_of(8.0), x_of(1.0))
    assert amaxes(model) == [(8.0,)]
    shared, optimizer = made(lambda: nn.Linear(3, 3))
    for _ in range(2):
        (shared(x_of(2.0)) + shared(x_of(4.0))).sum().backward()
        take_step(shared, optimizer)
    assert amaxes(shared) == [(4.0, 4.0)]
    model, optimizer = made(lambda: nn.Linear(3, 3))
    y = model(x_of(2.0)).sum()
    y.backward(retain_graph=True)
    first = model.weight.grad.numpy().copy()
    y.backward()
    np.testing.assert_array_equal(model.weight.grad.numpy(), 2 * first)
    optimizer.step()
    assert amaxes(model) == [(2.0,)] and amaxes(model, "dy", "linear.linear_dw") == [(1.0,)]
    model, optimizer = made(lambda: nn.Linear(3, 3))
    take_step(model, optimizer, x_of(0.0))
    assert amaxes(model) == []
    take_step(model, optimizer, x_of(1e-6))
    assert amaxes(model) == [(float(np.float32(1e-6)),)]


def test_evaluation_and_what_is_done_again_leave_histories_as_they_were():
    model, optimizer = made(lambda: nn.Linear(3, 3), lr=0.5)
    take_step(model, optimizer, x_of(2.0))
    known = fp.operand_histories(model)
    with fp.no_grad():
        model(x_of(64.0))
    model.eval()(x_of(64.0))
    with unobserved():
        model(x_of(64.0)).sum().backward()
    assert fp.operand_histories(model) == known
    optimizer.zero_grad()
    take_step(model.train(), optimizer, x_of(3.0))
    assert amaxes(model) == [(2.0, 3.0)]


def test_a_skipped_step_is_one_with_the_next_and_its_inf_is_forgotten():
    with fp.precision(DELAYED):
        model = nn.Linear(3, 3)
        optimizer = fp.MixedOptimizer(fp.optim.SGD(model.parameters(), lr=0.1))
    for amax, factor in ((2.0, 1.0), (4.0, np.inf), (1.0, 1.0)):
        optimizer.backward(model(x_of(amax)).sum() * factor)
        assert optimizer.step().stepped == np.isfinite(factor)
        optimizer.zero_grad()
    assert (amaxes(model), amaxes(model, "dy", "linear.linear_dw")) == ([(2.0, 4.0)], [(1.0, 1.0)])


def test_histories_are_those_of_a_model_whose_copy_goes_on_by_itself():
    with pytest.raises(fp.DTypeError, match="operand_histories: a Tensor: expected a Module"):
        fp.operand_histories(x_of(1.0))
    model, optimizer = made(lambda: nn.Linear(3, 3), lr=0.1)
    take_step(model, optimizer, x_of(2.0))
    model(x_of(4.0)).sum().backward()
    twin = copy.deepcopy(model)
    assert fp.operand_histories(twin) == fp.operand_histories(model)
    other = fp.optim.SGD(twin.parameters(), lr=0.1)
    take_step(model, optimizer)
    take_step(twin, other, x_of(32.0))
    assert amaxes(model) == [(2.0, 4.0)] and amaxes(twin) == [(2.0, 32.0)]


def test_threads_that_share_a_model_note_the_largest():
    model, optimizer = made(lambda: nn.Linear(3, 3))

    def compute(x):
        fp.grad(model(x).sum(), [model.weight])

    batches = [x_of(float(k + 1), rows=64) for k in range(8)]
    at_once(*(partial(compute, x) for x in batches))
    take_step(model, optimizer, x_of(1.0))
    assert amaxes(model) == [(8.0,)]


@pytest.mark.parametrize("make", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers_have_histories_of_inputs_and_a_row_scale_of_states(make):
    model, optimizer = made(lambda: make(3, 4), lr=0.01)
    for amax in (1.0, 2.0):
        model(x_of(amax).reshape(2, 2, 3))[0].sum().backward()
        take_step(model, optimizer)
    found = {(h.product.split("_")[-1], h.operand, h.call): h for h in fp.operand_histories(model)}
    assert found["forward", "x", 0].amaxes == (1.0, 2.0)
    others = {("forward", "w_ih", 0), ("forward", "w_hh", 0), ("dw", "dy", 0), ("dw", "x", 1)}
    assert others <= found.keys()
    assert not any(operand == "enter" for _, operand, _ in found)


def test_convolutions_and_products_with_a_parameter_are_covered_and_others_warn_once():
    class Net(nn.Module):
        def __init__(self):
            self.conv, self.w = nn.Conv2d(1, 2, 3), nn.Parameter(np.ones((2, 2), "f4"))

        def forward(self, x):
            return fp.einsum("ni,ij->nj", self.conv(x).mean((2, 3)) @ self.w, self.w.T)

    model, optimizer = made(Net, lr=0.01)
    x = fp.tensor(np.ones((2, 1, 4, 4), "f4"))
    take_step(model, optimizer, x)
    assert {h.parameter for h in fp.operand_histories(model)} == {"conv.weight", "w"}
    model.w.requires_grad_(False)
    a = fp.randn(2, 2, requires_grad=True)
    with fp.precision(DELAYED):
        with pytest.warns(fp.MisuseWarning, match="matmul .* trained nn.Parameter, and this"):
            (a @ a).sum().backward()
        (a @ model.w).sum().backward()
        with pytest.warns(fp.MisuseWarning, match="linear .* trained nn.Parameter"):
            F.linear(a, model.w)
