"""Claims about compiled update rules: the bits of the references, in one pass, on any threads."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from refusals import refuses
from snapshots import frozen, snapshot
from update_rules import RULES
from watching import Kernels

import minifp as fp
from minifp import nn, optim
from minifp.autograd import gradient_clip
from minifp.numerics import compiled, kernels
from minifp.numerics.formats import downcast, upcast
from minifp.runtime import cpu

pytestmark = pytest.mark.skipif(not cpu.can_compile(), reason="kernels are not compiled here")

HALF, SINGLE, DOUBLE = (np.dtype(name) for name in ("float16", "float32", "float64"))
OF_RULES = [k for k in kernels.KERNELS if k.reference.__module__.startswith("minifp.optim.")]
SPECIAL = [0.0, -0.0, 2.0**-24, -(2.0**-14), 65504.0, np.inf, -np.inf, np.nan]
every_kernel = pytest.mark.parametrize("kernel", OF_RULES, ids=lambda k: k.name)
every_rule = pytest.mark.parametrize("rule", RULES)

ADAM = {"lr": 0.01, "betas": (0.9, 0.95), "eps": 1e-6, "weight_decay": 0.1}
DECAYS = [
    {**ADAM, "decoupled_weight_decay": decoupled, "weight_decay": decay}
    for decoupled, decay in ((False, 0.0), (False, 0.1), (True, 0.1))
]
SGD = {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}
RMSPROP = {"lr": 0.1, "alpha": 0.9, "eps": 1e-6, "weight_decay": 0.1, "momentum": 0.5}

# By kernel: its keywords, and which of its states there are.
CALLS = {
    "sgd.sgd": [
        ({**SGD, "nesterov": nesterov, "step": step}, states)
        for nesterov, step, states in ((False, 2, "v"), (True, 2, "v"), (False, 1, "v"))
    ]
    + [({**SGD, "nesterov": False, "step": 2}, "")],
    "adam.adam": [({**d, "step": 3}, states) for d in DECAYS for states in ("mv", "mvl")],
    "nadam.nadam": [({**d, "step": 3, "a": 0.1, "b": 0.8}, "mv") for d in DECAYS],
    "radam.radam": [({**d, "step": step}, "mv") for d in DECAYS for step in (2, 30)],
    "rmsprop.rmsprop": [(RMSPROP, states) for states in ("v", "vh", "vb", "vhb")],
    "adagrad.adagrad": [
        ({"lr": 0.1, "lr_decay": 0.1, "weight_decay": d, "eps": 1e-6, "step": 4}, "s")
        for d in (0.0, 0.1)
    ],
    "adadelta.adadelta": [({"lr": 0.5, "rho": 0.9, "eps": 1e-6, "weight_decay": 0.1}, "vu")],
    "adamax.adamax": [({**ADAM, "step": 3}, "mu")],
    "lamb.lamb_direction": [({k: v for k, v in ADAM.items() if k != "lr"} | {"step": 3}, "mv")],
    "lamb.lamb_step": [({"rate": 0.03}, None)],
}


def arguments(kernel, states, size, formats, random):
    """Stored arguments with everything in them that is special; states that are squares are not
    negative, as they never are."""
    of_weights, of_gradient, of_state = formats
    found = []
    for i, name in enumerate(kernel.names):
        x = random.normal(size=size) * 2.0 ** random.integers(-12, 4, size)
        x[: len(SPECIAL)] = random.permutation(SPECIAL)[: len(x)]
        dtype = of_weights if name == "w" else of_gradient if i == 1 else of_state
        is_there = i < 2 or states is None or name[0] in states
        if name == "inverse_scale":
            found.append(2.0**-7 / 3)
        else:
            x = np.abs(x) if name in ("v", "s", "u", "v_max") and i > 1 else x
            found.append(downcast(x, dtype) if is_there else None)
    return found


def by_reference(kernel, args, to, settings):
    wide = [upcast(a, SINGLE) if isinstance(a, np.ndarray) else a for a in args]
    wide = [SINGLE.type(a) if isinstance(a, float) else a for a in wide]
    with np.errstate(all="ignore"):
        results = kernel.reference(*wide, **settings)
    results = results if isinstance(results, tuple) else (results,)
    return [downcast(r, dtype) for r, dtype in zip(results, to)]


def bits(array):
    array = array.copy()
    array[np.isnan(array)] = np.nan
    return frozen(array)


def test_every_kernel_of_an_update_rule_has_a_compiled_kernel_and_calls_here():
    assert {k.name for k in OF_RULES} == {*CALLS}
    assert [k for k in OF_RULES if k.compiled is None] == []


@every_kernel
@pytest.mark.parametrize("size", [0, 1, 7, 1001])
@pytest.mark.parametrize("formats", [(SINGLE,) * 3, (SINGLE, HALF, SINGLE), (HALF, HALF, HALF)])
def test_a_compiled_kernel_gives_the_bits_of_its_reference(kernel, size, formats):
    random = np.random.default_rng(size)
    for settings, states in CALLS[kernel.name]:
        args = arguments(kernel, states, size, formats, random)
        to = (formats[0], *[formats[2]] * len(kernel.rule.out))[: len(kernel.rule.out)]
        before = frozen([a for a in args if isinstance(a, np.ndarray)])
        found = kernel(*args, to=to, **settings)
        found = found if isinstance(found, tuple) else (found,)
        expected = by_reference(kernel, args, to, settings)
        assert frozen([a for a in args if isinstance(a, np.ndarray)]) == before
        assert [bits(a) for a in found] == [bits(b) for b in expected]


OF_UPDATES = ["float16,update_rounding=stochastic", "float16,compensated=on"]
PRECISIONS = ["mixed", "float16", "mixed,optimizer_state=float16", *OF_UPDATES]
SHAPES = [(3,), (2, 70), (), (0, 2), (5, 4, 3), (1,)]


def train(rule, precision, shapes=SHAPES, **settings):
    """Everything that four steps changed, with gradients of every kind: none, of either format,
    not contiguous, as numbers without an array."""
    random = np.random.default_rng(5)
    with fp.precision(precision):
        ps = [nn.Parameter(random.normal(size=shape)) for shape in shapes]
        ps.append(nn.Parameter(random.normal(size=6), dtype="float32"))
        optimizer = fp.MixedOptimizer(RULES[rule](ps), loss_scale=64.0, **settings)
    norms = []
    for k in range(4):
        optimizer.zero_grad()
        for i, p in enumerate(ps):
            values = 64 * random.normal(size=p.shape)
            dtype = SINGLE if k == 2 and i % 2 else p.array.dtype
            if k == 1 and i % 3 == 1:
                continue
            array = downcast(values, dtype)
            p.grad = fp.Tensor(np.asfortranarray(array) if k == 3 else array)
            p.grad.seed = 64.0
        result = optimizer.step()
        assert result.stepped
        norms.append(result.grad_norm)
    return {**snapshot(optimizer.optimizer), "norms": norms}, optimizer


@pytest.fixture
def references(monkeypatch):
    """A function that leaves all the optimizer's work to the references, from then on."""

    def use():
        monkeypatch.setattr(optim.Optimizer, "_compiled_rule", lambda *_: None)
        monkeypatch.setattr(compiled, "compiled_kernel_of", lambda *_: None)  # of gradient_clip.py
        for kernel in OF_RULES:
            monkeypatch.setattr(kernel, "compiled", None)

    return use


@every_rule
@pytest.mark.parametrize("precision", PRECISIONS)
def test_compiled_steps_are_those_of_the_references_bit_for_bit(rule, precision, references):
    fast, optimizer = train(rule, precision, clip_norm=5.0)
    references()
    with fp.precision(replace(fp.get_precision())):  # which has resolved no kernel yet
        plain, other = train(rule, precision, clip_norm=5.0)
    assert (fast.pop("norms"), fast) == (pytest.approx(plain.pop("norms"), rel=1e-14), plain)


@every_rule
def test_an_observer_sees_the_kernels_and_changes_no_bit(rule):
    alone, _ = train(rule, "mixed")
    with Kernels() as calls:
        watched, _ = train(rule, "mixed")
    assert len(calls) >= 8 and watched == alone


@pytest.mark.parametrize("precision", ["mixed", *OF_UPDATES])
def test_bits_do_not_depend_on_the_number_of_threads(precision, threads):
    found = []
    for count in (1, 2, 3):
        threads(count)
        found.append(train("Adam", precision, [(70_001,), (3,), (50, 4001)], clip_norm=5.0)[0])
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("precision", ["mixed", "float32", "mixed,master_weights=off", *OF_UPDATES])
@pytest.mark.parametrize("rule", ["SGD", "Adam", "RMSprop"])
def test_a_step_makes_no_temporary_arrays(rule, precision):
    with fp.precision(precision):
        ps = [nn.Parameter(np.ones(300_000)), nn.Parameter(np.ones((20, 10)))]
    optimizer = fp.MixedOptimizer(RULES[rule](ps), loss_scale=None, clip_norm=1.0)

    def give():
        for p in ps:
            p.grad = fp.Tensor(np.ones(p.shape, p.array.dtype))

    give()
    optimizer.step()
    give()
    tracemalloc.start()
    try:
        optimizer.step()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 50_000


def test_no_kernel_looks_for_the_gradient_of_nothing():
    """It would read beyond `starts` until something there is more than 0."""
    from minifp.optim import update
    from minifp.runtime.cpu.kernels.scattered import Scattered

    nothing = np.ones(0, SINGLE)

    def kernel(*_):
        pytest.fail("a kernel was called")

    update.run(kernel, Scattered([nothing, nothing]), [nothing], ())


def test_numbers_that_change_from_step_to_step_need_no_further_kernel():
    p = nn.Parameter(np.ones(5, SINGLE))
    optimizer = optim.NAdam([p], lr=0.1)
    compiled, counts = optimizer.rule.compiled, []
    for k in range(4):
        betas = (0.9, 0.9 + 0.01 * k)
        optimizer.param_groups[0].update(lr=0.1 / (k + 1), betas=list(betas) if k > 2 else betas)
        optimizer.param_groups[0]["weight_decay"] = 0.1 * (k % 2)
        p.grad = fp.ones(5)
        optimizer.step()
        counts.append((len(compiled.formulas.known), len(compiled.kernels)))
    assert len({*counts}) == 1


def test_a_rule_of_a_users_own_need_not_be_an_update_rule():
    """Such a kernel is called as others are, and may fuse what an update rule must not."""

    class Signs(optim.Optimizer):
        rule = kernels.kernel("map", "given")(lambda w, g, inverse, *, lr: w - lr * np.sign(g))

        def keywords(self, group, state, step):
            return self.settings(group, "lr")

    kernels.KERNELS.pop()
    p = nn.Parameter(np.array([1.0, -1.0], SINGLE))
    p.grad = fp.tensor([3.0, -0.5])
    Signs([p], lr=0.25).step()
    assert p.tolist() == [0.75, -0.75]


@every_rule
@pytest.mark.parametrize("precision", ["float32", "mixed", "float64"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_gradient_of_another_size_is_refused_and_nothing_is_changed(rule, precision, wrapped):
    with fp.precision(precision):
        ps = [nn.Parameter(np.ones((2, 3))), nn.Parameter(np.ones(4))]
    optimizer = RULES[rule](ps)
    stepping = fp.MixedOptimizer(optimizer) if wrapped or precision == "mixed" else optimizer
    for shapes in (((2, 3), (1,)), ((2, 2), (4,)), ((), (4,))):
        for p, shape in zip(ps, shapes):
            p.grad = fp.Tensor(np.ones(shape, p.array.dtype))
        before = snapshot(optimizer)
        refuses(fp.ShapeError, "a gradient of shape .* for a parameter of shape", stepping.step)
        assert snapshot(optimizer) == before


@pytest.mark.parametrize("dtype", [HALF, SINGLE])
@pytest.mark.parametrize("sizes", [(0,), (1,), (31, 32, 33), (64, 0, 5000), (200_001, 7)], ids=str)
def test_a_compiled_norm_is_the_sum_of_squares_whatever_the_format(sizes, dtype):
    random = np.random.default_rng(sizes)
    arrays = [downcast(random.normal(size=n), HALF).astype(dtype) for n in sizes]
    expected = sum(float((a.astype(DOUBLE) ** 2).sum()) for a in arrays)
    found = gradient_clip.squared_norm(*arrays)
    assert found == pytest.approx(expected, rel=1e-14)
    assert found == gradient_clip.squared_norm(*[a.astype(HALF) for a in arrays])


@pytest.mark.parametrize("dtype", [HALF, SINGLE])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("place", [0, 40, 99])
def test_a_compiled_norm_finds_what_is_not_finite(value, place, dtype):
    array = np.full(100, np.finfo(dtype).max, dtype)
    assert np.isfinite(gradient_clip.squared_norm(array))
    array[place] = value
    assert not np.isfinite(gradient_clip.squared_norm(np.ones(5, dtype), array))


def test_gradients_are_read_wherever_and_however_they_lie():
    from minifp.runtime.cpu.kernels.scattered import CAN_LOOK, Scattered, sum_of_squares

    x = np.random.default_rng(0).normal(size=(40, 50)).astype(SINGLE)
    read_only, odd = x.copy(), np.zeros(x.nbytes + 1, np.uint8)[1:].view(SINGLE)
    read_only.flags.writeable = False
    odd[:] = x.reshape(-1)
    for arrays in ([x], [x, x.T], [x[::2, ::-3]], [read_only, x], [odd, x], [x[3:7], x[:0]]):
        expected = sum(float((a.astype(DOUBLE) ** 2).sum()) for a in arrays)
        assert sum_of_squares(Scattered(arrays)) == pytest.approx(expected, rel=1e-14)
    assert CAN_LOOK
