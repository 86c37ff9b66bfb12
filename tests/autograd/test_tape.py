"""The tape: what is recorded, how backward walks it, what it lets go of, and what it refuses."""

import gc
import inspect
import math
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from watching import Flow, at_once

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim
from minifp.autograd import small_stack, tape


def leaf(*numbers, dtype="float32"):
    return fp.tensor(list(numbers), dtype=dtype, requires_grad=True)


@pytest.mark.parametrize("backward", [True, False])
def test_a_chain_of_50000_operations_runs_and_is_freed(backward):
    """Neither backward nor freeing the chain recurses."""
    x = leaf(1.0)
    y = x
    for _ in range(50_000):
        y = -y
    last = weakref.ref(y.node)
    if backward:
        y.backward()
        assert x.grad.tolist() == [1]
    del y
    gc.collect()
    assert last() is None


@pytest.mark.parametrize("backward", [True, False])
def test_a_chain_is_freed_one_by_one_where_the_stack_is_small(backward, monkeypatch):
    """As in a browser."""
    deepest = []

    def freed(node):
        deepest.append(len(inspect.stack(0)))
        small_stack.put_parents_aside(node)

    monkeypatch.setattr(tape.Node, "__del__", freed, raising=False)
    x = leaf(1.0)
    y = x
    for _ in range(100):
        y = -y
    if backward:
        y.backward()
    del y
    gc.collect()
    assert len(deepest) >= 100 and max(deepest[1:]) - min(deepest) <= 2
    assert not small_stack._aside


def test_a_ladder_of_diamonds_is_walked_once_and_each_node_after_its_readers():
    """60 steps of y + y have 2^60 paths."""
    x = leaf(1.0, dtype="float64")
    y = x
    for _ in range(60):
        y = y + y
    y.backward(gradient=[1.0])
    assert x.grad.tolist() == [2.0**60]
    x = leaf(2.0)
    with Flow() as flow:
        y = x.exp()
        z = y * y.sin()  # y is read by sin and by mul
        (z + y).backward()
    order = [op for kind, op, _ in flow if kind == "gradient"]
    assert order == ["add", "mul", "sin", "exp", "leaf"]


@given(st.data())
def test_any_graph_of_sums_counts_its_paths(data):
    """y_k adds earlier values; the gradient of x is the number of paths from it."""
    x = leaf(1.0, dtype="float64")
    values, paths = [x], [1]
    for _ in range(data.draw(st.integers(1, 12))):
        earlier = st.integers(0, len(values) - 1)
        i, j = data.draw(earlier), data.draw(earlier)
        values.append(values[i] + values[j])
        paths.append(paths[i] + paths[j])
    values[-1].backward()
    assert x.grad.tolist() == [paths[-1]]


def test_a_tensor_read_three_times_is_rounded_once():
    """1 + 2^-11 + 2^-11 is 1 + 2^-10; rounded after each sum it would stay 1."""
    with fp.precision("mixed"), Flow() as flow:
        x = leaf(1.0, dtype="float16")
        y = x * 1.0
        parts = [y * 2.0**-11, y * 2.0**-11, y * 1.0]
        for order in (parts, parts[::-1]):
            x.grad = None
            fp.cat(order).backward(gradient=np.ones(3), retain_graph=True)
            assert x.grad.tolist() == [1 + 2**-10]
    assert {g.dtype for kind, _, g in flow if kind == "gradient"} == {np.dtype(fp.float16)}


def test_an_operation_with_several_outputs_needs_only_one_of_them_to_be_used():
    arguments = [(2, 1, 3), (1, 2), (1, 2), (8, 3), (8, 2), (8,), (8,)]
    random = np.random.default_rng(0)
    xs = [fp.Tensor(random.uniform(-1, 1, s), requires_grad=True) for s in arguments]
    together = []
    for used in ((0,), (1,), (0, 1)):
        outputs = fp.ops.lstm(*xs)
        for x in xs:
            x.grad = None
        total = sum((outputs[i] * (i + 1.0)).sum() for i in used)
        total.backward()
        together.append([x.grad.array for x in xs])
    for only_h, only_c, both in zip(*together):
        np.testing.assert_allclose(both, only_h + only_c, rtol=1e-12, atol=1e-15)
        assert np.abs(only_h).max() > 0 and np.abs(only_c).max() > 0


def test_leaves_without_a_gradient_get_none_and_detach_shares_the_memory_alone():
    x, y = leaf(1.0), fp.tensor([2.0])
    (x * y).sum().backward()
    assert (x.grad.tolist(), y.grad) == ([2], None)
    x.requires_grad_(False)
    assert not (x * y).requires_grad
    x.requires_grad_()
    assert (x * y).requires_grad and not (x * y).is_leaf and x.is_leaf
    x = leaf(1.0, 2.0)
    y = x.exp()
    d = y.detach()
    assert d.array is y.array and not d.requires_grad
    (y * d).sum().backward()
    np.testing.assert_allclose(x.grad.array, np.exp([2.0, 4.0]), rtol=1e-6)


def test_saved_arrays_are_released_as_backward_passes_them():
    x = leaf(*range(1, 101))
    y = x.exp()
    saved, node = weakref.ref(y.array), y.node
    loss = y.sum()
    del y
    assert saved() is not None  # exp needs its result
    loss.backward()
    assert saved() is None and node.saved is None
    assert loss.node.saved is None


def test_a_used_up_graph_is_refused_naming_the_way_out_and_a_retained_one_gives_the_same_again():
    x = leaf(0.5, 2.0)
    y = x.exp()
    loss, other = (y * x).sum(), (y * 2).sum()
    loss.backward(retain_graph=True)
    once = x.grad.array.copy()
    loss.backward()
    np.testing.assert_array_equal(x.grad.array, 2 * once)
    words = "a second time.*retain_graph"
    for again, op in ((loss, "(exp|mul|sum)"), (other, "exp")):  # which two losses share
        refuses(fp.TapeError, f"backward through {op} {words}", again.backward)
    np.testing.assert_array_equal(x.grad.array, 2 * once)


CHANGES = {  # those by a method: test_tensor.py
    "add_": lambda x: x.add_(1.0),
    "view": lambda x: x.detach()[:1].fill_(0),
    "reshaped view": lambda x: x.detach().reshape(2, 1).T[0, 1:].mul_(3),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("stored", ["argument", "result"])
def test_a_stored_tensor_changed_in_place_is_refused(change, stored):
    x = leaf(1.0, 2.0)
    y = x * 1.0
    z = y.square() if stored == "argument" else y.exp()
    with fp.no_grad():
        change(y if stored == "argument" else z)
    op = "square" if stored == "argument" else "exp"
    refuses(fp.TapeError, f"that backward of {op} needs was changed in place", z.sum().backward)
    assert x.grad is None


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_of_what_backward_does_not_need_is_allowed(change):
    x = leaf(1.0, 2.0)
    y = x * 1.0
    z = y + 1.0
    with fp.no_grad():
        change(y)
        change(z)
    z.sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_a_change_before_it_was_stored_is_seen_and_one_after_refused():
    x = leaf(1.0, 2.0)
    with fp.no_grad():
        x.add_(1.0)
    x.square().sum().backward()
    assert x.grad.tolist() == [4, 6]
    x = fp.tensor([1.0, 2.0])
    w = leaf(3.0)
    y = x[1:] * w
    x[1] = 7.0
    refuses(fp.TapeError, "backward of mul", y.backward)
    norm = nn.BatchNorm1d(2).eval()
    x = fp.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    loss = norm(x).sum()
    norm.train()(x)
    refuses(fp.TapeError, "backward of batch_norm.*changed in place", loss.backward)


@pytest.mark.parametrize("precision", ["float32", "mixed,loss_scale=8"])
def test_weights_updated_between_forward_and_backward_are_refused(precision):
    with fp.precision(precision):
        model = nn.Linear(2, 2)
        optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1))
        x = fp.tensor([[1.0, 2.0]])
        early, loss = model(x).sum(), model(x).sum()
        assert optimizer.minimize(loss).stepped
        refuses(fp.TapeError, "backward of linear.*changed in place", early.backward)


@pytest.mark.parametrize("read", [
    lambda i, w: F.embedding(i, w), lambda i, w: w[i], lambda i, w: w[:, i],
    lambda i, w: F.cross_entropy(w, i),
])  # fmt: skip
def test_indices_changed_between_forward_and_backward_do_not_move_the_gradient(read):
    """Either the change is refused, or the operation has kept the indices as they were."""
    gradients = []
    for change in (False, True):
        i, w = fp.tensor([0, 1, 1]), fp.ones(3, 3, requires_grad=True)
        loss = read(i, w).sum()
        if change:
            i.fill_(2)
        try:
            loss.backward()
        except fp.TapeError:
            continue
        gradients.append(w.grad.tolist())
    assert all(g == gradients[0] for g in gradients)


def twice(backward):
    @fp.op
    def twice(x):
        return 2 * x, (), backward

    return twice


GOOD = lambda dy, to: (2 * dy,)  # noqa: E731

BAD = {
    "shape": (lambda dy, to: (dy[:1],), r"expected a gradient of shape \(2,\), float32; .*\(1,\)"),
    "dtype": (lambda dy, to: (dy.astype(fp.float64),), r"\(2,\), float32; got .*float64"),
    "none": (lambda dy, to: (None,), r"\(2,\), float32; got none"),
    "too many": (lambda dy, to: (dy, dy), "expected a tuple of 1 gradients"),
    "too few": (lambda dy, to: (), "expected a tuple of 1 gradients"),
    "bare": (lambda dy, to: dy, "expected a tuple of 1 gradients"),
}


@pytest.mark.parametrize("backward, problem", BAD.values(), ids=BAD)
def test_a_gradient_that_does_not_fit_is_refused_by_the_name_of_its_operation(backward, problem):
    x = leaf(1.0, 2.0)
    x.exp().sum().backward()
    before = x.grad.tolist()
    loss = (twice(backward)(x) + x).sum()
    refuses(fp.TapeError, f"backward of twice.*{problem}", loss.backward)
    assert x.grad.tolist() == before  # a failed backward changes no gradient


def test_an_operation_of_ones_own_is_differentiated_and_gradcheck_finds_a_wrong_gradient():
    x = leaf(1.0, 2.0, dtype="float64")
    y = twice(GOOD)(x)
    assert (y.node.op, y.tolist()) == ("twice", [2, 4])
    with fp.precision("float64"):
        assert fp.gradcheck(twice(GOOD), x)
    x, y = leaf(1.0, 2.0, dtype="float64"), leaf(0.5, 0.25, dtype="float64")
    with pytest.raises(fp.GradcheckError, match=r"input 1 of shape \(2,\): .*slope"):
        fp.gradcheck(lambda x, y: x * twice(lambda dy, to: (2.01 * dy,))(y), [x, y])
    assert (x.tolist(), y.tolist(), x.grad) == ([1, 2], [0.5, 0.25], None)
    refuses(fp.ArgumentError, "float64 inputs with requires_grad", fp.gradcheck, fp.exp, leaf(1.0))
    with pytest.raises(fp.ArgumentError, match="float64 inputs with requires_grad"):
        fp.gradcheck(fp.exp, fp.ones(1, dtype="float64"))

    def broken(dy, to):
        raise KeyError("mine")

    x, y = leaf(1.0), leaf(1.0)
    refuses(KeyError, "mine", (y.exp() + twice(broken)(x)).backward)
    assert x.grad is None and y.grad is None


def test_what_has_no_gradient_or_is_no_scalar_is_refused_by_its_shape_and_format():
    with fp.no_grad():
        loss = leaf(1.0).sum()
    for nothing in (loss, fp.ones(1).sum()):
        refuses(fp.TapeError, "nothing to differentiate", nothing.backward)
    for data in ([1, 2], [True]):
        refuses(fp.TapeError, "only floating tensors have", fp.tensor, data, requires_grad=True)
    refuses(
        fp.TapeError, "for leaves; this tensor is the result of exp", leaf(1.0).exp().requires_grad_
    )
    x = leaf(1.0, 2.0)
    refuses(fp.ShapeError, r"scalar, got shape \(2,\).*\.sum\(\).*gradient=", x.exp().backward)
    refuses(fp.ShapeError, r"gradient of shape \(3,\) for", x.exp().backward, gradient=np.ones(3))
    assert x.grad is None
    x[:1].reshape(1, 1).backward()  # one element is as good as a scalar
    assert x.grad.tolist() == [1, 0]


@pytest.mark.parametrize("value", [fp.tensor([1, 2]), np.ones(2), [1.0, 2.0], 0.0, True])
def test_what_is_no_floating_tensor_is_refused_as_a_gradient_when_it_is_assigned(value):
    for x in (fp.ones(2, requires_grad=True), nn.Linear(2, 1).weight):
        x.grad = kept = fp.ones(*x.shape)
        with pytest.raises(fp.DTypeError, match=r"\.grad = a (int64|ndarray|list|float|bool): ex"):
            x.grad = value
        assert x.grad is kept


def test_the_seed_multiplies_every_gradient_is_remembered_and_loses_none():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward(seed=8.0)
    assert (x.grad.tolist(), x.grad.seed) == ([16, 32], 8)
    (x * x).sum().backward(gradient=0.5, seed=8.0)
    assert x.grad.tolist() == [24, 48]
    with fp.precision("mixed"):
        x = fp.tensor([1.0], requires_grad=True)
        (x.sum() * 2.0**-30).backward(seed=2.0**16)
        (x * 0).sum().backward()
    assert (x.grad.item(), x.grad.seed) == (2.0**-30, 1)
    with fp.precision("mixed"):
        x = fp.tensor(np.full(2**20, 0.5), requires_grad=True)
        x.mean().backward(seed=2.0**24)
        assert x.grad.array[0] == 16


@pytest.mark.parametrize("seeds", [(8.0, 4.0), (4.0, 8.0), (1.0, 2.0**14), (2.0**14, 1.0), (3, 7)])
def test_gradients_of_two_seeds_meet_in_the_later_ones_in_float32(seeds):
    with fp.precision("mixed"):
        x, y = fp.tensor([1.0], requires_grad=True), fp.tensor([1.0], requires_grad=True)
        (x * 2.0**-6).sum().backward(seed=seeds[0])
        (x * 2.0**-7 + y).sum().backward(seed=seeds[1])
    assert (x.grad.seed, y.grad.seed) == (seeds[1], seeds[1])
    assert x.grad.dtype == np.float32
    assert x.grad.item() / seeds[1] == pytest.approx(2.0**-6 + 2.0**-7, rel=2.0**-22)


@pytest.mark.parametrize("seed", [0, math.inf, math.nan])
def test_a_seed_by_which_nothing_can_be_divided_is_refused(seed):
    x = leaf(1.0)
    refuses(fp.ArgumentError, "seed=.*finite number other than 0", x.sum().backward, seed=seed)
    assert x.grad is None


def plain(*values):
    p = nn.Parameter(np.float32(values))
    return p, optim.SGD([p], lr=1.0)


def test_what_a_step_consumed_is_added_to_and_the_next_step_tells_it_once():
    """Two losses, two steps, no zero_grad: as in PyTorch, the first gradient counts twice."""
    p, optimizer = plain(0.0)
    p.sum().backward()
    optimizer.step()
    (p * 10).sum().backward()
    assert (p.grad.item(), p.item()) == (11, -1)
    with pytest.warns(fp.MisuseWarning, match=r"an earlier step had already used.*zero_grad\(\)"):
        optimizer.step()
    assert p.item() == -12
    p.sum().backward()
    optimizer.step()  # and it is not told again
    assert p.item() == -24
    # `p.grad.zero_()` in the place of zero_grad, as old scripts have it.
    p, optimizer = plain(0.0)
    for _ in range(3):
        if p.grad is not None:
            p.grad.zero_()
        p.sum().backward()
        optimizer.step()
    assert p.item() == -3
    p, q = nn.Parameter(np.float32([0.0])), nn.Parameter(np.float32([0.0]))
    optimizer = optim.SGD([p, q], lr=1.0)
    p.sum().backward()
    optimizer.step()
    q.sum().backward()
    with pytest.warns(fp.MisuseWarning, match="zero_grad"):
        optimizer.step()
    assert (p.item(), q.item()) == (-2, -1)


def test_nothing_is_recorded_under_no_grad_or_where_nothing_needs_a_gradient():
    x = leaf(1.0)
    with fp.no_grad():
        inside = x.exp()
        with fp.no_grad():
            pass
        assert not (x * 2).requires_grad  # the inner block ended, not this one
        assert at_once(lambda: x.exp().requires_grad) == [True]  # which it does not reach

    assert not inside.requires_grad and x.exp().requires_grad
    with pytest.raises(KeyError), fp.no_grad():
        raise KeyError
    assert x.exp().requires_grad
    with Flow() as flow:
        y = fp.ones(2).exp() * 2 + fp.ones(2)
    assert not flow and y.node is None


def test_backward_uses_the_precision_of_forward_wherever_it_runs():
    """1 a thousand times and 3,000 times more: in float16 sums it stops at 2048."""

    def loss(text):
        with fp.precision(text):
            x = fp.zeros(1, 2, requires_grad=True)
            return x, (x + fp.ones(3000, 2)).sum()

    def here(y):
        y.backward()

    def under_another(y):
        with fp.precision("float64"):
            y.backward()

    for text, expected in (("mixed", 3000), ("mixed,reduce=float16", 2048)):
        for run in (here, under_another, lambda y: at_once(y.backward)):
            x, y = loss(text)
            run(y)
            assert (x.grad.dtype, x.grad.tolist()) == (fp.float16, [[expected, expected]])
            assert str(fp.get_precision()) == "float32"  # which backward leaves


@pytest.mark.parametrize(
    "text, last",
    [("mixed", 2049), ("mixed,reduce=float16", 2048), ("mixed,reduce=chunked:32", 2049)],
)
def test_a_parameter_adds_gradients_up_in_its_own_precision_wherever_backward_runs(text, last):
    with fp.precision(text):
        model = nn.Linear(1, 1, bias=False)
    for n in (2048.0, 1.0):
        (model(fp.ones(1, 1)) * n).sum().backward()
    assert model.weight.grad.item() == last


def test_observers_see_what_is_recorded_each_gradient_and_each_release():
    x = leaf(2.0)
    with Flow() as flow:
        y = x.exp()
        (y * 3.0).backward()
    record, multiply, *rest = flow
    assert record[:2] == ("record", "exp") and record[2][0] is y
    assert multiply[:2] == ("record", "mul")
    assert [(kind, op) for kind, op, _ in rest] == [
        *(("gradient", "mul"), ("release", "mul"), ("gradient", "exp"), ("release", "exp")),
        ("gradient", "leaf"),
    ]
    assert [g.tolist() for kind, _, g in rest if kind == "gradient"][:2] == [[1], [3]]
    assert rest[1][2] is not None  # what is released is still there to be looked at
    leaf(1.0).exp().backward()
    assert len(flow) == 7


def test_gradients_of_two_leaves_can_be_changed_one_without_the_other():
    """x + y hands one array to both, and so does an LSTM to its two biases."""
    x, y = leaf(1.0, 1.0), leaf(1.0, 1.0)
    (x + y).sum().backward()
    x.grad.mul_(2.0)
    assert (x.grad.tolist(), y.grad.tolist()) == ([2, 2], [1, 1])
    model = nn.LSTM(2, 2)
    model(fp.ones(3, 1, 2))[0].sum().backward()
    optim.clip_grad_norm_(model.parameters(), 0.1)
    squares = sum(float((p.grad.array.astype(fp.float64) ** 2).sum()) for p in model.parameters())
    assert squares**0.5 == pytest.approx(0.1, rel=1e-4)
