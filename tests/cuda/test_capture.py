"""fp.capture: the same losses as without, and a refusal that names the line.

Where there is a GPU its graphs are tested; on the imitation what is launched is noted and repeated,
in memory that is really given back, and what would read a result is refused (see fake_cupy.py).
"""

import gc
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim
from minifp.runtime.cuda import product
from minifp.training.warm_up import WARM_UP


class Net(nn.Module):
    def __init__(self, dropout=0.25):
        self.first, self.norm = nn.Linear(12, 16), nn.BatchNorm1d(16)
        self.drop, self.second = nn.Dropout(dropout), nn.Linear(16, 5)

    def forward(self, x):
        return self.second(self.drop(F.relu(self.norm(self.first(x)))))


def batches(count, size=8, seed=0):
    random = np.random.default_rng(seed)
    for _ in range(count):
        x = random.normal(size=(size, 12)).astype(np.float32)
        yield fp.tensor(x, device="cpu"), fp.tensor(random.integers(0, 5, size), device="cpu")


def made(precision="mixed", device="cuda", net=Net, **settings):
    fp.manual_seed(1)
    with fp.precision(precision):
        model = net().to(device)
        optimizer = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=1e-2), **settings)
    return model, optimizer


def training_step(model, optimizer):
    def step(x, t):
        loss = F.cross_entropy(model(x), t)
        optimizer.minimize(loss)
        return loss

    return step


def trained(captured, count=12, precision="mixed", data=None, device="cuda", **settings):
    """(losses, weights, the captured step) of a training with or without a graph."""
    between = settings.pop("between", lambda i, optimizer: None)
    model, optimizer = made(precision, device, **settings)
    step = training_step(model, optimizer)
    step = fp.capture(step, device=device) if captured else step
    losses = []
    with fp.precision(precision):
        for i, (x, t) in enumerate(data or batches(count)):
            between(i, optimizer)
            losses.append(step(x.to(device), t.to(device)))
    weights = {name: v.numpy() for name, v in model.state_dict().items()}
    return [loss.item() for loss in losses], weights, step


def assert_same(one, other):
    assert one[0] == other[0]
    for name, value in one[1].items():
        assert value.tobytes() == other[1][name].tobytes(), name


@pytest.mark.parametrize("way", ["update_rounding=stochastic", "compensated=on"])
def test_a_graph_keeps_small_updates_as_steps_without_one_do_also_with_another_seed(way):
    def between(i, optimizer):
        if i == 8:
            fp.manual_seed(5)

    precision = f"mixed,master_weights=off,{way}"
    assert_same(*(trained(c, 12, precision, between=between) for c in (False, True)))


@pytest.mark.sampled(4, core=lambda precision: precision == "mixed")
@pytest.mark.parametrize("precision", ["float32", "mixed"])
def test_losses_are_the_same_as_without_a_graph_over_1000_steps(precision):
    eager, captured = (trained(c, 1000, precision) for c in (False, True))
    assert_same(eager, captured)
    assert captured[2].graphs == 1


@pytest.mark.parametrize("scale", ["dynamic+growth_interval=3", "lognormal+max_overflow=0.1"])
def test_the_scale_adapts_inside_of_a_graph(scale):
    scale += "+init_scale=16777216"
    found = [trained(c, 30, loss_scale=scale, clip_norm=0.5) for c in (False, True)]
    assert_same(*found)
    assert found[1][2].graphs == 1


def test_what_is_given_other_memory_between_repetitions_is_read_from_there():
    results = []
    for captured in (False, True):
        model, optimizer = made()
        factor, losses = fp.ones(1, device="cuda"), []
        first, averages = factor.data, [p.data * 0.5 for p in optimizer.parameters]

        def step(x, t, model=model, optimizer=optimizer, factor=factor):
            loss = F.cross_entropy(model(x) * factor, t)
            optimizer.minimize(loss)
            return loss

        step = fp.capture(step, device="cuda") if captured else step
        for i, (x, t) in enumerate(batches(14)):
            if i in (5, 6):  # the optimizer takes up what its weights are given: the same graph
                for k, p in enumerate(optimizer.parameters):
                    averages[k], p.data = p.data, averages[k]
            if i in (6, 7, 8):  # away, and back: the same graph; and away: another
                factor.data = first if i == 7 else first * 2
                factor.data = first if i == 6 else factor.data
            losses.append(step(x.to("cuda"), t.to("cuda")))
            assert not captured or step.graphs == (3 <= i <= 7 or i >= 11), i
        results.append([loss.item() for loss in losses])
    assert results[0] == results[1]


def test_other_numbers_of_a_rule_may_change_between_repetitions():
    """Also to 0 and from it: no graph has a kernel without decay."""

    def between(i, optimizer):
        optimizer.param_groups[0].update(weight_decay=0.1 * (i % 2), betas=(0.9, 0.9 + 0.005 * i))

    assert_same(*(trained(c, between=between) for c in (False, True)))


def test_a_flag_of_a_rule_may_change_until_a_step_is_captured():
    def between(i, optimizer):
        optimizer.param_groups[0].update(weight_decay=0.1, decoupled_weight_decay=i > 1)

    assert_same(*(trained(c, between=between) for c in (False, True)))

    def later(i, optimizer):
        optimizer.param_groups[0]["decoupled_weight_decay"] = i > 6

    refuses(fp.CaptureError, "Adam: a setting that is True or False", trained, True, between=later)


def test_a_schedule_goes_on_between_repetitions():
    found = []
    for captured in (False, True):
        schedule = []

        def between(i, optimizer, schedule=schedule):
            if not i:
                schedule.append(optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20))
            else:
                schedule[0].step()

        found.append((*trained(captured, between=between), schedule[0].get_last_lr()))
    assert_same(*found)
    assert found[0][3] == found[1][3] != [1e-2]


def test_random_numbers_go_on_where_the_host_says():
    def between(i, optimizer):
        if i == 8:
            fp.manual_seed(7)  # as before an experiment that is repeated

    assert_same(*(trained(c, between=between) for c in (False, True)))


def test_a_smaller_batch_gets_a_graph_of_its_own():
    found = []
    for captured in (False, True):
        step = training_step(*made())
        step = fp.capture(step, device="cuda") if captured else step
        sizes = (8, 8, 3) * (WARM_UP + 2)
        losses = [step(x.to("cuda"), t.to("cuda")) for n in sizes for x, t in batches(1, n)]
        found.append([loss.item() for loss in losses])
    assert (found[0], step.graphs) == (found[1], 2)


def test_a_refused_capture_leaves_the_workspaces_that_other_graphs_write_to(monkeypatch):
    w, calls, dropped = fp.ones(12, 12, device="cuda"), [], []

    def step(x):
        calls.append(len(x))
        y = x @ w
        if calls.count(3) > WARM_UP:
            y.sum().item()
        return y

    step = fp.capture(step, device="cuda")
    large, small = (fp.ones(n, 12, device="cuda") for n in (8, 3))
    for x in [large] * (WARM_UP + 1) + [small] * WARM_UP:
        step(x)
    gc.collect()  # steps of other tests
    monkeypatch.setattr(product.handles(), "drop", lambda *stream: dropped.append(stream))
    refuses(fp.CaptureError, "reads a result", step, small)
    assert step.graphs == 1 and not dropped
    assert (step(large).numpy() == 12).all()


def test_arguments_may_come_from_the_cpu():
    model, optimizer = made()
    step = fp.capture(training_step(model, optimizer), device="cuda")
    assert [step(x, t).item() for x, t in batches(12)] == trained(True)[0]


def test_a_step_result_tells_of_its_own_step():
    model, optimizer = made(loss_scale=fp.DynamicLossScale(init_scale=2.0**24))

    def step(x, t):
        return optimizer.minimize(F.cross_entropy(model(x), t))

    step = fp.capture(step, device="cuda")
    results = [step(x.to("cuda"), t.to("cuda")) for x, t in batches(20)]
    assert [r.scale_before for r in results][1:] == [r.scale_after for r in results[:-1]]
    assert any(r.skipped for r in results) and not results[-1].skipped
    assert optimizer.optimizer.steps == sum(r.stepped for r in results)
    assert optimizer.optimizer.attempts == 20


def test_training_ends_where_all_steps_are_skipped():
    model, optimizer = made(loss_scale=fp.StaticLossScale(1.0, patience=6))
    step = fp.capture(training_step(model, optimizer), device="cuda")
    with pytest.raises(fp.TrainingError, match="steps in a row were skipped.*first.weight"):
        for x, t in batches(50):
            step(x.to("cuda") * float("inf"), t.to("cuda"))


def reads_the_loss(x, loss, state):
    return loss * (2.0 if loss.item() > 0 else 1.0)  # HERE


def branches_on_it(x, loss, state):
    if loss > 0:  # HERE
        return loss * 2.0
    return loss


def copies_from_the_cpu(x, loss, state):
    return loss + fp.tensor(np.zeros(1), device=loss.device).sum()  # HERE


def uses_a_number_that_changes(x, loss, state):
    state["n"] = state.get("n", 0) + 1
    return loss * (1.0 / state["n"])  # HERE


def does_more_at_times(x, loss, state):
    state["n"] = state.get("n", 0) + 1
    if state["n"] == 3:
        loss = loss + (x * 0.0).sum()  # HERE
    return loss


def gives_other_memory(x, loss, state):
    state.setdefault("average", fp.zeros(())).data = loss.detach()  # HERE
    return loss


BAD = [reads_the_loss, branches_on_it, copies_from_the_cpu, uses_a_number_that_changes]
BAD += [does_more_at_times, gives_other_memory]


def bad_step(bad, device):
    model, optimizer = made(device=device)
    state: dict = {}

    def step(x, t):
        loss = bad(x, F.cross_entropy(model(x), t), state)
        optimizer.minimize(loss)
        return loss

    return model, step


@pytest.mark.parametrize("device", ["cuda", "cpu"])
@pytest.mark.parametrize("bad", BAD)
def test_a_step_that_no_graph_can_do_is_refused_with_its_line(bad, device):
    if bad is copies_from_the_cpu and device == "cpu":
        pytest.skip("on the CPU nothing is copied")
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    begins = next(i for i, line in enumerate(lines) if line.startswith(f"def {bad.__name__}"))
    here = next(i for i in range(begins, len(lines)) if lines[i].endswith("# HERE")) + 1
    model, step = bad_step(bad, device)
    step, before = fp.capture(step, device=device), None
    with pytest.raises(fp.CaptureError, match=rf"cannot be captured.*test_capture\.py:{here}\b"):
        for x, t in batches(WARM_UP + 1):
            before = {name: v.numpy() for name, v in model.state_dict().items()}
            step(x.to(device), t.to(device))
    if device == "cuda":
        for name, value in model.state_dict().items():
            assert value.numpy().tobytes() == before[name].tobytes(), name


def test_a_good_step_on_the_cpu_is_as_without():
    found = []
    for captured in (False, True):
        step = training_step(*made(device="cpu"))
        step = fp.capture(step, device="cpu") if captured else step
        found.append([step(x, t).item() for x, t in batches(8)])
    assert found[0] == found[1]


def test_too_many_kinds_of_arguments_and_what_is_no_function_are_refused():
    step = fp.capture(lambda x, factor: x * factor, device="cuda")
    with pytest.raises(fp.CaptureError, match="more than 8 different kinds.*drop_last"):
        for i in range(20):
            step(fp.ones(2, device="cuda"), float(i))
    refuses(fp.ArgumentError, "capture: a int: expected a function", fp.capture, 3)


def test_after_a_refusal_the_same_step_goes_on_without_a_graph():
    """Also where an error comes in the middle of the capture, and gradients are there already."""

    def losses(captured):
        model, optimizer = made()
        calls = []

        def step(x, t):
            calls.append(1)
            optimizer.backward(F.cross_entropy(model(x), t))
            if captured and len(calls) == WARM_UP + 1:
                raise KeyError("in the middle")
            optimizer.step()
            optimizer.zero_grad()
            return F.cross_entropy(model(x), t)

        found, tried = [], fp.capture(step, device="cuda")
        for i, (x, t) in enumerate(batches(8)):
            x, t = x.to("cuda"), t.to("cuda")
            if captured and i == WARM_UP:
                refuses(fp.CaptureError, "KeyError: 'in the middle'.*capture.py", tried, x, t)
            use = tried if captured and i < WARM_UP else step
            found.append(use(x, t).item())
        return found

    assert losses(True) == losses(False)
