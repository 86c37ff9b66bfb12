"""Gradients in the middle of a graph: fp.grad, hooks, retained gradients, several losses."""

import gc
import weakref
from contextlib import nullcontext

import numpy as np
import pytest
from refusals import refuses
from test_tape import leaf

import minifp as fp
from minifp import nn, optim


def test_grad_gives_gradients_and_changes_none_nor_the_graph_behind_its_inputs():
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    product = a * b
    loss = (product * product).sum()
    da, dproduct = fp.grad(loss, [a, product], retain_graph=True)
    assert (da.tolist(), dproduct.tolist()) == ([18, 64], [6, 16])
    assert a.grad is None and b.grad is None and product.grad is None
    loss.backward()
    assert a.grad.tolist() == [18, 64]
    # The gradient of a value in the middle, and then from there on.
    a = leaf(2.0)
    h = a * a
    (dh,) = fp.grad((h * h).sum(), h)
    h.backward(dh)
    assert a.grad.tolist() == [32]


def test_grad_of_several_outputs_is_that_of_their_weighted_sum_times_the_seed():
    a = leaf(2.0)
    (da,) = fp.grad(a * a, a)
    assert da.tolist() == [4]
    a = leaf(1.0, 2.0)
    y, z = a * 2, a * a
    (da,) = fp.grad([y, z.sum()], [a], grad_outputs=[fp.tensor([1.0, 10.0]), None])
    assert da.tolist() == [2 + 2, 20 + 4]
    a = leaf(3.0)
    y = a * a
    z = y * 2
    (da,) = fp.grad([z, y], [a])
    assert da.tolist() == [18]
    a = leaf(1.0)
    (da,) = fp.grad(a * 2, a, seed=1024.0)
    assert (da.tolist(), da.seed) == ([2048], 1024)


def test_an_input_that_nothing_depends_on_is_refused_or_none():
    a, b = leaf(1.0), leaf(1.0)
    y = a * 2
    with pytest.raises(fp.TapeError, match=r"no output depends on input 1.*allow_unused"):
        fp.grad(y, [a, b], retain_graph=True)
    da, db = fp.grad(y, [a, b], allow_unused=True)
    assert da.tolist() == [2] and db is None


def test_only_what_leads_to_the_inputs_is_walked_and_let_go_unless_told_otherwise():
    """What does not lead there may be used up, or have a backward that fails."""
    a, b = leaf(1.0), leaf(2.0)
    used_up = b * b
    used_up.backward(retain_graph=False)
    y = a * 3 + used_up
    assert fp.grad(y, a)[0].tolist() == [3]
    a = leaf(1.0)
    y = a * a
    fp.grad(y, a, retain_graph=True)
    fp.grad(y, a)
    refuses(fp.TapeError, "second time", fp.grad, y, a)


@pytest.mark.parametrize("arguments, error, problem", [
    (lambda y, a: ((y, a), {"create_graph": True}), fp.ArgumentError, "create_graph"),
    (lambda y, a: ((y.detach(), a), {}), fp.TapeError, "output 0.*requires no gradient"),
    (lambda y, a: ((y, a.detach()), {}), fp.TapeError, "input 0.*requires no gradient"),
    (lambda y, a: (([y, 3], a), {}), fp.DTypeError, r"outputs\[1\] is a int"),
    (lambda y, a: ((y, [a, None]), {}), fp.DTypeError, r"inputs\[1\] is a NoneType"),
    (lambda y, a: ((y, a, [None, None]), {}), fp.ArgumentError, "2 grad_outputs for 1"),
    (lambda y, a: ((y, a, fp.ones(3)), {}), fp.ShapeError, "gradient of shape"),
    (lambda y, a: ((y, a, "x"), {}), fp.DTypeError, "gradient is a str"),
    (lambda y, a: ((y, a), {"seed": "1"}), fp.DTypeError, "seed='1'"),
])  # fmt: skip
def test_wrong_arguments_of_grad_are_refused(arguments, error, problem):
    a = leaf(1.0)
    args, settings = arguments(a * 2, a)
    refuses(error, problem, fp.grad, *args, **settings)


@pytest.mark.parametrize("precision", ["float32", "mixed"])
def test_two_losses_on_one_trunk_add_up_as_their_sum_does(precision):
    with fp.precision(precision):
        x = fp.tensor(np.linspace(-1, 1, 12).reshape(4, 3))
        trunk, heads = nn.Linear(3, 5), (nn.Linear(5, 1), nn.Linear(5, 2))
        hidden = trunk(x).tanh()
        first, second = (head(hidden).square().sum() for head in heads)
        first.backward(retain_graph=True)
        second.backward()
        apart = trunk.weight.grad.array
        trunk.zero_grad()
        hidden = trunk(x).tanh()
        sum(head(hidden).square().sum() for head in heads).backward()
    unit = np.spacing(np.abs(trunk.weight.array).max()) if precision == "mixed" else 2.0**-20
    np.testing.assert_allclose(apart, trunk.weight.grad.array, rtol=0, atol=8 * unit)


def test_hooks_see_the_whole_gradient_once_in_order_with_its_seed_and_replace_it():
    a, seen = leaf(1.0, 2.0), []
    h = a * 3
    h.register_hook(lambda g: seen.append(g.tolist()))
    (h + h * h).sum().backward()
    assert seen == [[7, 13]]
    a = leaf(1.0)
    a.register_hook(lambda g: g.array + 1)
    a.register_hook(lambda g: g * 10)
    (a * 1).backward()
    assert a.grad.tolist() == [20]
    with fp.precision("mixed"):
        a = leaf(1.0, dtype="float16")
        a.register_hook(lambda g: fp.tensor(g.array.astype("float32") / 3, dtype="float32"))
        (a * 1).sum().backward()
    assert (a.grad.dtype, a.grad.array[0]) == (fp.float16, np.float16(1 / 3))
    with fp.precision("mixed"):
        model = nn.Linear(2, 1)
    optimizer, seen = fp.MixedOptimizer(optim.SGD(model.parameters())), []
    y = model(fp.ones(1, 2))
    y.register_hook(lambda g: seen.append(g.seed))
    optimizer.minimize(y.sum())
    assert seen == [2.0**16]


CLIPS = [lambda g: g.clamp(-0.5, 0.5), lambda g: [g.clamp_(-0.5, 0.5)] and None]


@pytest.mark.parametrize("hook", [*CLIPS, lambda g: g * (0.5 / g.norm())])
def test_hooks_of_a_parameter_see_and_return_its_gradient_without_the_loss_scale(hook):
    """But an overflow stays, which the second number is."""
    with fp.precision("mixed"):
        for n, expected in ((1, [0.5]), (2, [0.5, np.inf])):
            p, seen = nn.Parameter(np.zeros(n, "float32")), []
            p.register_hook(hook)
            p.register_hook(lambda g: seen.append((g.dtype, g.seed)))  # noqa: B023
            optimizer = fp.MixedOptimizer(optim.SGD([p]))
            optimizer.backward((p * fp.tensor([3.0, 99.0][:n])).sum(dtype="float32") * 0.25)
            assert seen == [(np.float32, 1)]
            assert (p.grad.array / p.grad.seed).tolist() == expected or hook not in CLIPS
            assert optimizer.step().skipped == (n == 2)


@pytest.mark.parametrize("given", [np.ones(3), "nothing", np.array([None, None])])
def test_a_hook_that_returns_no_such_gradient_is_refused(given):
    a = leaf(1.0, 2.0)
    a.register_hook(lambda g: given)
    refuses(fp.TapeError, "hook returned .*expected a gradient of shape", (a * 1).sum().backward)
    assert a.grad is None


def test_hooks_are_for_what_has_a_gradient_and_each_output_has_its_own():
    refuses(fp.TapeError, "requires no gradient", fp.tensor([1.0]).register_hook, print)
    refuses(fp.TapeError, "requires no gradient", fp.tensor([1.0]).retain_grad)
    refuses(fp.ArgumentError, "not a function", leaf(1.0).register_hook, 3)
    x, seen = fp.tensor(np.ones((2, 1, 3)), requires_grad=True), []
    y, (h, c) = nn.LSTM(3, 4)(x)
    for name, output in (("y", y), ("c", c)):
        output.register_hook(lambda g, name=name: seen.append((name, g.shape)))
    c.sum().backward()
    assert seen == [("c", (1, 1, 4))]


def test_a_value_in_the_middle_keeps_its_own_gradient_if_asked_as_hooks_leave_it():
    a = leaf(1.0, 2.0)
    h = a * 3
    h.retain_grad()
    h.retain_grad()
    assert h.grad is None
    (h * h).sum().backward(retain_graph=True)
    assert (h.grad.tolist(), h.grad.dtype) == ([6, 12], fp.float32)
    (h * h).sum().backward()
    assert h.grad.tolist() == [12, 24]  # as a leaf's
    a.retain_grad()  # a leaf keeps it anyway
    a = leaf(1.0)
    h = a.reshape(1, 1)
    h.retain_grad()
    h.sum().backward()
    h.grad.array[:] = 9
    assert a.grad.tolist() == [1]
    a = leaf(1.0)
    h = a * 3
    h.retain_grad()
    y = h * 2
    y.backward(seed=2.0, retain_graph=True)
    a.grad = None
    y.backward(seed=1024.0)
    assert (h.grad.tolist(), h.grad.seed, a.grad.tolist()) == ([4096], 1024, [6144])
    a = leaf(1.0)
    h = a * 3
    h.retain_grad()
    h.register_hook(lambda g: g * 10)
    h.backward()
    assert h.grad.tolist() == [10] and a.grad.tolist() == [30]


def test_a_retained_gradient_does_not_keep_its_tensor():
    a = leaf(1.0)
    h = a * 3
    h.retain_grad()
    y, gone = h * 2, weakref.ref(h)
    del h
    gc.collect()
    assert gone() is None
    y.backward()
    assert a.grad.tolist() == [6]


def test_the_same_hook_twice_is_two_hooks():
    for on_leaf in (True, False):
        a, double = leaf(1.0), lambda g: g * 2
        h = a * 3
        x = a if on_leaf else h
        first, _ = x.register_hook(double), x.register_hook(double)
        for factor in (12, 6, 6):
            a.grad = None
            h.backward(retain_graph=True)
            assert a.grad.tolist() == [factor]
            first.remove()
    layer, seen = nn.ReLU(), []
    note = lambda *_: seen.append(1)  # noqa: E731
    handles = [layer.register_forward_hook(note), layer.register_forward_hook(note)]
    handles[0].remove()
    handles[0].remove()
    layer(a)
    assert seen == [1]


# What is done to a scaled gradient of 0.375; the gradient that is used then, and what is told.
DONE = [
    (lambda p: p.grad.copy_(fp.tensor([0.25])), 0.25, None),
    (lambda p: setattr(p.grad, "data", fp.tensor([0.25])), 0.25, None),
    (lambda p: p.grad.__setitem__(0, 0.25), 0.25, None),
    (lambda p: p.grad.add_(p.data, alpha=0.5), 0.875, None),
    (lambda p: p.grad.clamp_(-0.25, 0.25).mul_(0.5), 0.125, None),
    (lambda p: p.grad.add_(other=p.grad, alpha=0.5), 0.375 * 1.5, None),
    (lambda p: setattr(p, "grad", p.grad.clone().float()), 0.375, None),
    (lambda p: setattr(p, "grad", p.grad.float() * (1 / 2**16)), 0.375, None),
    (lambda p: p.grad.mul_(2.0**-16), 0.375 / 2**16, "and the step divides by it again"),
    (lambda p: p.grad.norm().item(), 0.375, "norm of gradients that are still"),
    (
        *(lambda p: p.data.add_(p.grad / fp.norm(p.grad)), 0.375 - 1),
        "norm of gradients that are still",
    ),
    (lambda p: np.asarray(p.grad[0]), 0.375, "numbers of a gradient were read"),
    (lambda p: refuses(fp.TapeError, "unscale_", setattr, p, "grad", -p.grad), 0.375, "neg of"),
    (lambda p: refuses(fp.TapeError, "unscale_", p.grad.copy_, p.grad * 2), 0.375, "mul of"),
]


@pytest.mark.parametrize(("do", "used", "told"), DONE)
def test_what_is_done_to_a_scaled_gradient_is_meant_without_the_scale_or_told_of(do, used, told):
    with fp.precision("mixed"):
        p = nn.Parameter(np.ones(1, "float32"))
        optimizer = fp.MixedOptimizer(optim.SGD([p], lr=1.0))
        optimizer.backward((p * 3).sum(dtype="float32") * 0.125)
        with fp.no_grad(), pytest.warns(match=told) if told else nullcontext():
            do(p)
        optimizer.step()
    assert 1 - p.exact[0] == pytest.approx(used)
