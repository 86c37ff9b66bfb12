"""Steps that are decided on the GPU: the same as on the CPU, and nothing waits for them."""

import warnings
from functools import partial

import numpy as np
import pytest
from refusals import refuses
from update_rules import RULES

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim
from minifp.runtime.cuda import arrays
from minifp.training import gather_cuda, step_memory

HOST = ("NAdam", "RAdam", "LAMB")  # rules that only the host knows
BY_THE_HOST = {name: partial(RULES[name], lr=0.02) for name in HOST}
ON_THE_GPU = {name: rule for name, rule in RULES.items() if name not in HOST} | {
    "plain": partial(optim.SGD, lr=0.1),
    "dampened": partial(optim.SGD, lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.01),
    "nesterov": partial(optim.SGD, lr=0.1, momentum=0.9, nesterov=True, maximize=True),
    "decayed": partial(optim.Adam, lr=0.05, weight_decay=0.01),
}
PLAIN, ADAM = ON_THE_GPU["plain"], partial(optim.Adam, lr=0.05, weight_decay=0.01)


def made(device, rule, precision="mixed", **settings):
    fp.manual_seed(3)
    with fp.precision(precision):
        model = nn.Sequential(nn.Linear(6, 9), nn.LayerNorm(9), nn.Linear(9, 4)).to(device)
        return model, fp.MixedOptimizer(rule(model.parameters()), **settings)


def losses_of(model, optimizer, count, device, bad=()):
    """Train on random numbers; the batches numbered in `bad` have an Inf."""
    random, found = np.random.default_rng(0), []
    for i in range(count):
        x = random.normal(size=(8, 6)).astype(np.float32)
        x[0, 0] = np.inf if i in bad else x[0, 0]
        t = fp.tensor(random.integers(0, 4, 8), device=device)
        loss = F.cross_entropy(model(fp.tensor(x, device=device)), t)
        found.append((loss, optimizer.minimize(loss)))
    return found


def weights_of(model):
    return {name: v.numpy() for name, v in model.state_dict().items()}


def give(optimizer, gradients, device, seed=None):
    """Give the parameters gradients of a loss of this scale; on the GPU one that a step decides on
    there, whose memory this returns."""
    memory = optimizer._step_memory() if device == "cuda" and seed is not None else None
    if memory is not None:
        memory.prepare()
    for p, g in zip(optimizer.parameters, gradients, strict=True):
        p.grad = fp.tensor(g, p.gradient_dtype, device=device)
        if seed is not None:
            p.grad.seed = seed if memory is None else memory.seed
    return memory


def drawn(optimizer, random, size, is_bad):
    """Normal gradients; the first number of each NaN if they are to be bad."""
    gradients = [random.normal(size=p.shape) * size for p in optimizer.parameters]
    for g in gradients if is_bad else ():
        g[(0,) * g.ndim] = np.nan
    return gradients


def assert_close(one, other, ulps):
    """That weights differ by no more than a few rounding errors of float32."""
    for name, a in weights_of(one).items():
        b = weights_of(other)[name]
        assert np.allclose(a, b, rtol=0, atol=ulps * 2.0**-24 * np.abs(a).max()), name


BARE = "mixed,master_weights=off"
OF_UPDATES = [f"{BARE},update_rounding=stochastic", f"{BARE},compensated=on"]


@pytest.mark.parametrize("precision", ["mixed", "float32", BARE, *OF_UPDATES])
@pytest.mark.parametrize("name", ON_THE_GPU)
def test_a_step_is_that_of_the_cpu(name, precision):
    """From the same gradients; what products and sums err, on each device, is not of interest."""
    models = []
    for device in ("cpu", "cuda"):
        model, optimizer = made(device, ON_THE_GPU[name], precision)
        random = np.random.default_rng(1)
        for i in range(5):
            scale, bad = optimizer.scale, i == 2
            memory = give(optimizer, drawn(optimizer, random, 0.01 * scale, bad), device, scale)
            assert memory or device == "cpu", f"{name} is not decided on the GPU"
            assert optimizer.step().skipped == bad
            optimizer.zero_grad()
        assert optimizer.optimizer.steps == 4 and optimizer.optimizer.attempts == 5
        models.append(model)
    assert_close(*models, ulps=64 if not precision.startswith(BARE) else 2.0**14)


@pytest.mark.parametrize("precision", OF_UPDATES)
@pytest.mark.parametrize("decided", ["by the host", "on the GPU"])
def test_small_updates_are_kept_by_the_same_bits_as_on_the_cpu(decided, precision, monkeypatch):
    """Of updates that both compute exactly: in the key, the step and the place of each weight."""
    if decided == "by the host":
        monkeypatch.setattr(step_memory, "can_update", lambda o: False)
    found = []
    for device in ("cpu", "cuda"):
        fp.manual_seed(3)
        with fp.precision(f"{precision},loss_scale=1"):
            layers = [nn.Linear(6, 9).to(device), nn.Linear(9, 4).to(device)]
        for layer in layers:
            layer.weight.data = fp.tensor(np.ones(layer.weight.shape), device=device)
        rules = [optim.SGD(layer.parameters(), lr=2.0**-14) for layer in layers]
        optimizer, random = fp.MixedOptimizer(rules), np.random.default_rng(0)
        for _ in range(4):
            scale = 1.0 if decided == "on the GPU" else None
            whole = [random.integers(-16, 16, p.shape) for p in optimizer.parameters]
            give(optimizer, whole, device, scale)
            optimizer.step()
            optimizer.zero_grad()
        found.append([weights_of(layer) for layer in layers])
    for one, other in zip(*found):
        assert len(np.unique(one["weight"])) > 4
        for name, value in one.items():
            assert value.tobytes() == other[name].tobytes(), name


@pytest.mark.parametrize("precision", ["mixed", *OF_UPDATES])
@pytest.mark.parametrize("name", BY_THE_HOST)
def test_a_rule_that_only_the_host_knows_steps_too(name, precision):
    models = []
    for device in ("cpu", "cuda"):
        model, optimizer = made(device, BY_THE_HOST[name], precision)
        losses_of(model, optimizer, 6, device)
        models.append(model)
    assert_close(*models, ulps=2.0**12 if precision == "mixed" else 2.0**14)


def test_nothing_is_read_until_somebody_asks(monkeypatch):
    model, optimizer = made("cuda", ADAM, clip_norm=1.0)
    losses_of(model, optimizer, 2, "cuda")
    reads, read = [], arrays.to_host
    monkeypatch.setattr(step_memory, "to_host", lambda a: reads.append(a) or read(a))
    made_results = losses_of(model, optimizer, 10, "cuda")
    assert not reads
    assert made_results[-1][1].stepped and len(reads) == 2
    assert made_results[-1][1].grad_norm > 0 and len(reads) == 2  # read once
    assert optimizer.scale == 2.0**16


def test_a_skipped_step_changes_nothing_but_the_scale_and_says_why():
    model, optimizer = made("cuda", ADAM)
    losses_of(model, optimizer, 3, "cuda")
    before, state = weights_of(model), optimizer.state_dict()
    ((_, result),) = losses_of(model, optimizer, 1, "cuda", bad={0})
    assert result.skipped and "0.weight" in result.reason and np.isnan(result.grad_norm)
    assert (result.scale_before, result.scale_after) == (2.0**16, 2.0**15)
    after = optimizer.state_dict()
    for name, value in weights_of(model).items():
        assert value.tobytes() == before[name].tobytes()
    for n, kept in state["optimizers"][0]["state"].items():
        for name, value in kept.items():
            assert np.array_equal(value, after["optimizers"][0]["state"][n][name])


@pytest.mark.parametrize(("interval", "expected"), [
    (1, {4.0, 8.0, 16.0, 32.0}), (2, {8.0, 16.0, 32.0}), (3, {16.0, 32.0, 64.0, 8.0}),
])  # fmt: skip
def test_the_scale_grows_and_shrinks_as_on_the_cpu(interval, expected):
    settings, found = {"max_scale": 64.0, "min_scale": 4.0, "backoff_interval": interval}, []
    for device in ("cpu", "cuda"):
        scale = fp.DynamicLossScale(init_scale=8.0, growth_interval=2, **settings)
        model, optimizer = made(device, PLAIN, loss_scale=scale)
        steps = losses_of(model, optimizer, 14, device, bad={5, 6, 7, 8})
        found.append([(r.scale_before, r.scale_after, r.stepped) for _, r in steps])
    assert (found[0], {s for s, _, _ in found[0]}) == (found[1], expected)


@pytest.mark.parametrize("dial", [0, 3])
def test_the_log_normal_scale_is_that_of_the_cpu(dial):
    """Of the same gradients, saved and loaded in the middle. log2 and pow may differ by an ulp."""
    found, states = [], []
    for device in ("cpu", "cuda"):
        scale = fp.LogNormalLossScale(max_overflow=0.2, max_scale=2.0**30)
        model, optimizer = made(device, PLAIN, loss_scale=scale, dial=dial)
        random, results = np.random.default_rng(1), []
        for i in range(16):
            if i == 9:
                optimizer.load_state_dict(optimizer.state_dict())
            seed, bad = optimizer.scale * 2.0**-dial, i in (0, 5, 6)
            gradients = drawn(optimizer, random, seed, bad)
            powers = 2.0 ** random.normal(-9, 1, len(gradients))
            give(optimizer, [g * p for g, p in zip(gradients, powers)], device, seed)
            result = optimizer.step()
            optimizer.zero_grad()
            results.append((result.scale_before, result.scale_after, result.stepped))
        assert (optimizer._memory is not None) == (device == "cuda")
        found.append(results)
        states.append(optimizer.state_dict()["loss_scale"])
    assert found[0] == found[1] and len({before for before, _, _ in found[0]}) > 4
    assert all(state.pop("kind") == "LogNormalLossScale" for state in states)
    assert states[0] == pytest.approx(states[1], rel=2.0**-48)
    assert states[0]["observed"] == 9 and states[0]["limit"] < 2.0**30


@pytest.mark.filterwarnings("ignore:numbers of a gradient were read")
def test_the_largest_gradient_is_found_on_the_gpu_before_it_is_clipped():
    means = []
    for device in ("cpu", "cuda"):
        model, optimizer = made(device, PLAIN, loss_scale="lognormal")
        x = fp.tensor(np.ones((2, 6), np.float32), device=device)
        optimizer.backward(model(x).square().mean())
        largest = max(np.abs(p.grad.numpy()).max() for p in model.parameters())
        optimizer.unscale_()
        norm, result = nn.utils.clip_grad_norm_(model.parameters(), 1e-3), optimizer.step()
        assert result.stepped and norm > 1e-3 and np.isclose(result.grad_norm, 1e-3, rtol=1e-3)
        means.append(optimizer.loss_scale.mean)
        assert means[-1] == np.log2(np.float64(largest) / 2.0**16)


@pytest.mark.parametrize("settings", [
    {"clip_norm": 0.1}, {"dial": 5}, {"loss_scale": 128.0}, {"loss_scale": None},
])  # fmt: skip
def test_settings_mean_what_they_mean_on_the_cpu(settings):
    results = []
    for device in ("cpu", "cuda"):
        model, optimizer = made(device, PLAIN, "float32", **settings)
        results.append((model, losses_of(model, optimizer, 4, device)))
    assert_close(results[0][0], results[1][0], ulps=2.0**10)
    for (_, a), (_, b) in zip(results[0][1], results[1][1]):
        assert np.isclose(a.grad_norm, b.grad_norm, rtol=1e-4)
        assert (a.scale_before, a.scale_after) == (b.scale_before, b.scale_after)


@pytest.mark.parametrize("skip", ["each", "together"])
def test_two_optimizers_on_one_scale(skip):
    found = []
    for device in ("cpu", "cuda"):
        fp.manual_seed(0)
        with fp.precision("mixed"):
            a, b = nn.Linear(3, 2).to(device), nn.Linear(3, 2).to(device)
            rules = optim.SGD(a.parameters(), lr=0.1), optim.Adam(b.parameters())
            both, results = fp.MixedOptimizer(rules, skip=skip), []
            for i in range(4):
                x = fp.tensor(np.full((2, 3), 1.0 + i), device=device)
                loss = a(x).sum() * (float("inf") if i == 2 else 1.0) + b(x).sum()
                results.append(both.minimize(loss))
        found.append([(r.each, r.stepped, r.scale_after) for r in results])
        found[-1].append([o.steps for o in rules])
    assert found[0] == found[1]


def test_non_finite_steps_can_be_wanted():
    model, optimizer = made("cuda", PLAIN, skip_nonfinite=False)
    losses_of(model, optimizer, 1, "cuda", bad={0})
    assert any(np.isnan(v).any() for v in weights_of(model).values())


@pytest.mark.parametrize("there, back", [("cuda", "cpu"), ("cpu", "cuda"), ("cuda", "cuda")])
def test_a_state_moves_between_devices(there, back):
    model, optimizer = made(there, ADAM)
    losses_of(model, optimizer, 4, there, bad={1})
    weights, state = model.state_dict(), optimizer.state_dict()
    other, its = made(back, ADAM)
    other.load_state_dict(weights)
    its.load_state_dict(state)
    assert its.state_dict()["loss_scale"] == state["loss_scale"]
    assert its.optimizer.steps == 3 and its.optimizer.attempts == 4
    losses_of(model, optimizer, 3, there)
    losses_of(other, its, 3, back)
    assert (its._memory is not None) == (back == "cuda")
    assert_close(model, other, ulps=2.0**12 if there != back else 0)


def test_a_group_that_is_added_later_is_trained_and_its_overflows_are_named():
    found = []
    for device in ("cpu", "cuda"):
        model, optimizer = made(device, ADAM, loss_scale=8.0)
        x = fp.ones(2, 6, device=device, dtype="float16")
        optimizer.minimize(model(x).sum())
        with fp.precision("mixed"):
            added = nn.Linear(2, 3).to(device).bias
        optimizer.add_param_group({"params": [added]})
        results = [optimizer.minimize(model(x).sum() + added.sum() * f) for f in (1.0, np.inf)]
        assert (results[0].stepped, results[1].parameters) == (True, ("bias",))
        found.append((added.numpy().tolist(), optimizer.scale, optimizer.optimizer.steps))
    assert found[0] == found[1] and found[0][2] == 2


def test_many_parameters_take_several_launches():
    """More than one launch of `gather` holds, and one of more than a block's share."""
    found = []
    for device in ("cpu", "cuda"):
        fp.manual_seed(0)
        with fp.precision("float32"):
            layers = [nn.Linear(4, 4) for _ in range(gather_cuda.MOST)]
            model = nn.Sequential(nn.Linear(3000, 4), *layers).to(device)
            optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1))
            x = fp.tensor(np.linspace(-1, 1, 6000).reshape(2, 3000), device=device)
            found.append((model, optimizer.minimize(model(x).sum())))
    assert 3000 * 4 > gather_cuda.CHUNK
    assert_close(found[0][0], found[1][0], ulps=2.0**8)
    assert np.isclose(found[0][1].grad_norm, found[1][1].grad_norm, rtol=1e-5)


def terms(model, factors):
    """A loss whose gradient for each parameter's elements is a factor; None for no gradient."""
    parts = [(p.sum() * f) for p, f in zip(model.parameters(), factors) if f is not None]
    return sum(parts[1:], parts[0])


def consumed(model, optimizer):
    """No zero_grad between steps, after each of which the scale has doubled."""
    for _ in range(3):
        optimizer.backward(terms(model, [1.0] * 6))
        yield optimizer.step()


def consumed_by_the_host(model, optimizer):
    """The same where one parameter has no gradient, so that the host decides on steps."""
    for _ in range(3):
        optimizer.backward(terms(model, [1.0, None, 1.0, 1.0, 1.0, 1.0]))
        yield optimizer.step()
    optimizer.backward(terms(model, [1.0] * 6))
    yield optimizer.step()


def unscaled(model, optimizer):
    """More is added to gradients that were unscaled."""
    for _ in range(2):
        optimizer.backward(terms(model, [1.0] * 6))
        optimizer.unscale_()
        optimizer.backward(terms(model, [0.5] * 6))
        yield optimizer.step()
        optimizer.zero_grad()


def rescaled(model, optimizer):
    """Somebody changes the scale between two backwards."""
    for _ in range(2):
        optimizer.backward(terms(model, [1.0] * 6))
        optimizer.loss_scale.value = optimizer.scale / 8
        optimizer.backward(terms(model, [0.5] * 6))
        yield optimizer.step()
        optimizer.zero_grad()


def bypassed(model, optimizer):
    """Some by loss.backward(), some by the optimizer's, some by both."""
    terms(model, [None, None, 1.0, 1.0, 1.0, 1.0]).backward()
    optimizer.backward(terms(model, [1.0, 1.0, 1.0, 1.0, None, None]))
    yield optimizer.step()


WAYS = {consumed: "had already used", consumed_by_the_host: "had already used", unscaled: None,
        rescaled: None, bypassed: "bypasses the loss scale S = 1024"}  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_gradients_of_several_seeds_are_brought_to_one_as_on_the_cpu(way):
    found = []
    for device in ("cpu", "cuda"):
        scale = fp.DynamicLossScale(init_scale=1024.0, growth_interval=1)
        model, optimizer = made(device, PLAIN, loss_scale=scale)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", fp.MisuseWarning)
            results = list(way(model, optimizer))
        assert [str(w.message) for w in told if (WAYS[way] or "") not in str(w.message)] == []
        assert len(told) == (WAYS[way] is not None)
        found.append((model, [(r.stepped, r.scale_before, r.scale_after) for r in results]))
        found[-1][1].append([pytest.approx(r.grad_norm, rel=1e-5) for r in results])
    assert found[0][1] == found[1][1]
    assert_close(found[0][0], found[1][0], ulps=16)


def test_a_gradient_that_is_consumed_whole_serves_no_step():
    model, optimizer = made("cuda", PLAIN)
    losses_of(model, optimizer, 1, "cuda")
    optimizer.backward(terms(model, [1.0] * 6))
    optimizer.step()
    refuses(fp.TapeError, "already used", optimizer.step)
