"""The references on CuPy's arrays, or on the imitation's, which refuses what CuPy 14 refuses."""

import warnings

import numpy as np
import pytest

pytest.importorskip("hypothesis")
from bounds import Call, Calls
from cases import CASES, COMPARISONS, TESTS
from update_rules import RULES

import minifp as fp
import minifp.nn.functional as F
from minifp import nn
from minifp.numerics import device_references, kernels
from minifp.numerics.policy import by_references, get_precision, precision
from minifp.runtime.cuda import source
from minifp.runtime.cuda.arrays import is_on_device, to_device, to_host

OPERATIONS = sorted({case.operation for case in CASES})


@pytest.fixture(autouse=True)
def references(monkeypatch):
    """The references compute, and nothing has been left to the CPU yet."""
    monkeypatch.setattr(kernels, "ran_on_host", set())
    with precision("float32,storage=float16"), precision(by_references(get_precision())):
        yield


def run(case):
    y = case.fn(*(fp.tensor(a, requires_grad=True) for a in case.arrays()))
    for out in y if isinstance(y, tuple) else (y,):
        if out.requires_grad:
            out.backward(gradient=np.ones(out.shape), retain_graph=True)


@pytest.mark.sampled(8, core=lambda **_: False)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_reference_on_cupy_stays_within_the_bound(operation):
    with warnings.catch_warnings(), Calls() as calls:
        warnings.simplefilter("ignore")  # of what a case is told on the CPU
        for case in CASES:
            if case.operation == operation:
                run(case)
    for call in calls:
        to = tuple(r.dtype for r in call.results)
        args = [to_device(a) if isinstance(a, np.ndarray) else a for a in call.args]
        results = call.kernel(*args, to=to, **call.params)
        results = results if isinstance(results, tuple) else (results,)
        assert all(map(is_on_device, results))
        stored = tuple(map(to_host, results))
        for r, expected in zip(stored, call.results):
            assert (r.shape, r.dtype) == (expected.shape, expected.dtype), call.kernel
            assert r.dtype.kind == "f" or np.array_equal(r, expected), call.kernel
        worst = Call(call.kernel, call.args, call.params, stored, call.formats).excess()
        assert worst <= 1, (call.kernel, call.args, call.params, worst)
    names = {call.kernel.name for call in calls}
    assert kernels.ran_on_host == names & device_references.LACKS.keys()


def test_comparisons_and_integers_are_those_of_the_cpu():
    values, by_device = np.array([[0, -0.0, 1, -1], [np.inf, -np.inf, np.nan, 2]], "float16"), []
    for device in ("cpu", "cuda"):
        x, i = (fp.tensor(a, device=device) for a in (values, np.arange(8).reshape(2, 4)))
        y = x[:, [1, 0, 3, 2]]
        results = [getattr(fp, name)(x, y) for name in COMPARISONS]
        results += [getattr(fp, name)(x) for name in TESTS]
        results += [fp.any(x), fp.all(x, 1), fp.argmax(x, 1), i.sum(0), i.cumsum(1), i.prod(1)]
        results += [*fp.sort(x, 1), *fp.topk(i, 2), fp.count_nonzero(x, 0), i + i, i.max()]
        by_device.append(str([r.tolist() for r in results]))
    assert by_device[0] == by_device[1] and not kernels.ran_on_host


@pytest.mark.parametrize("rule", RULES)
def test_an_update_rule_is_that_of_the_cpu(rule):
    weights = []
    for device in ("cpu", "cuda"):
        fp.manual_seed(0)
        with precision("float32"), precision(by_references(get_precision())):
            layer = nn.Linear(4, 3).to(device)
            optimizer = RULES[rule](layer.parameters(), weight_decay=0.1)
            for _ in range(3):
                layer(fp.ones(2, 4, device=device)).sum().backward()
                optimizer.step()
                optimizer.zero_grad()
        weights.append(layer.weight.numpy())
    assert np.allclose(*weights, rtol=2.0**-20, atol=2.0**-20) and not kernels.ran_on_host


def test_a_text_that_does_not_compile_leaves_its_kernel_to_the_reference(monkeypatch):
    def refuse(**settings):
        raise RuntimeError("\nmine.cu(7): error: expected a ';'\n1 error detected")

    monkeypatch.setattr(source.cupy(), "RawModule", refuse)
    monkeypatch.setattr(source.Module, "launch", lambda self, name, *_: source.compiled("", name))
    monkeypatch.setattr(device_references, "not_compiled", set())
    x = fp.tensor(np.linspace(-2, 2, 9), device="cuda", dtype="float16")
    with precision("float32,storage=float16"):
        with pytest.warns(RuntimeWarning, match=r"relu_forward: kernel .* does not compile: mine"):
            y = F.relu(x)
        assert F.relu(x).tolist() == y.tolist() == np.maximum(x.numpy(), 0).tolist()


def test_references_that_only_launch_are_captured():
    w, xs = (fp.randn(n, 4, device="cuda", dtype="float16") for n in (4, 6))

    def step(x):
        return F.relu(F.softmax(x @ w, dim=1) - 0.2)

    captured = fp.capture(step, device="cuda")
    assert all(captured(x[None]).tolist() == step(x[None]).tolist() for x in xs)
    assert captured.graphs == 1
