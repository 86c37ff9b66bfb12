"""Claims about master weights: from where they begin, what they keep, and what they notice."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from snapshots import frozen
from update_rules import RULES

import minifp as fp
from minifp import nn, optim
from minifp.numerics.formats import downcast

HALF, SINGLE = np.dtype("float16"), np.dtype("float32")
FINE = np.array([1.0001, -0.3333, 2.00007])  # float16 holds none of these


def parameter(values=FINE, precision="mixed"):
    with fp.precision(precision):
        return nn.Parameter(np.asarray(values, np.float32))


def optimizer_of(*parameters, rule=optim.SGD, lr=0.0, **settings):
    """A MixedOptimizer without loss scale. At SGD's rate of 0 a step reads and rounds, no more."""
    return fp.MixedOptimizer(rule(list(parameters), lr=lr), loss_scale=None, **settings)


def step(optimizer, gradient=1.0):
    optimizer.zero_grad()
    with fp.precision(optimizer.precision):
        optimizer.backward(sum((p * gradient).sum() for p in optimizer.parameters))
    assert optimizer.step().stepped


def masters(optimizer):
    state = optimizer.state_dict()["optimizers"][0]["state"].values()
    return [s.get("master", p.array) for s, p in zip(state, optimizer.parameters)]


def rounded(x):
    return np.asarray(x, HALF).astype(SINGLE)


def every_layer():
    return nn.Sequential(
        *(nn.Linear(5, 3), nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.LayerNorm(6)),
        *(nn.Embedding(7, 3), nn.LSTM(3, 2, num_layers=2, bidirectional=True)),
    )


def test_masters_begin_unrounded_from_the_seed_or_a_loaded_float32_model():
    start = {}
    for precision in ("float32", "mixed"):
        fp.manual_seed(7)
        with fp.precision(precision):
            start[precision] = masters(optimizer_of(*every_layer().parameters()))
    assert frozen(start["mixed"]) == frozen(start["float32"])
    assert any((rounded(m) != m).any() for m in start["mixed"])
    p = parameter()
    assert p.dtype == HALF and p.array.tolist() == rounded(FINE).tolist()
    assert p.array.tolist() == rounded(masters(optimizer_of(p))[0]).tolist()
    source = nn.Linear(4, 3)
    with fp.precision("mixed"):
        target = nn.Linear(4, 3)
    target.load_state_dict(source.state_dict())
    assert frozen(masters(optimizer_of(*target.parameters()))) == frozen(
        [p.array for p in source.parameters()]
    )


def test_initial_values_set_in_place_are_the_same_in_every_precision():
    start = []
    for precision in ("float32", "mixed", "float16"):
        with fp.precision(precision), fp.no_grad():
            layer = nn.Linear(3, 2)
            layer.weight.copy_(np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3))
            layer.weight.mul_(0.3).add_(0.01).sub_(1e-3).div_(1.1)
            layer.weight[0] = 0.1
            layer.bias.fill_(1 / 3)
        start.append(frozen(layer.state_dict()))
    assert start[0] == start[1] == start[2]


@given(
    values=st.lists(st.floats(-4, 4, width=32), min_size=1, max_size=5),
    rates=st.lists(st.floats(0, 0.01), min_size=1, max_size=5),
    rule=st.sampled_from(list(RULES.values())),
)
def test_after_every_step_the_weights_are_the_masters_rounded_once(values, rates, rule):
    p = parameter(values)
    optimizer = optimizer_of(p, rule=rule)
    for rate in rates:
        optimizer.param_groups[0]["lr"] = rate
        step(optimizer, 0.7)
        assert frozen(p.array) == frozen(downcast(masters(optimizer)[0], HALF))


NEW = np.array([0.10001, 7.00007, -2.22222], np.float32)


def load(p):
    module = nn.Module()
    module.w = p
    module.load_state_dict({"w": NEW})


def write_over(x):
    x[...] = NEW


def write_one(x, number=0.5):
    x[1] = number


def write_into_views(data):
    for i, number in enumerate(NEW):
        data.view(3, 1)[i].fill_(number)


def augment_data(p):
    p.data += wide(FINE)


def put_back_what_was_cloned(p):
    before = p.data.clone()
    p.data.add_(1.0)
    p.data = before


def unrecorded(change):
    def way(p):
        with fp.no_grad():
            change(p)

    return way


def wide(x):
    return fp.tensor(x, dtype="float32")


def fine_but(number):
    return np.array([FINE[0], number, FINE[2]])


TENTHS = np.full(3, 0.1)
WAYS = {  # and what the masters must be then
    "p.data = array": (lambda p: setattr(p, "data", NEW), NEW),
    "p.data = tensor": (lambda p: setattr(p, "data", wide(NEW)), NEW),
    "p.data.copy_": (lambda p: p.data.copy_(wide(NEW)), NEW),
    "p.data[...] =": (lambda p: write_over(p.data), NEW),
    "views of p.data": (lambda p: write_into_views(p.data), NEW),
    "init": (lambda p: nn.init.constant_(p.data, 0.1), TENTHS),
    **{"p.data +=": (augment_data, 2 * FINE), "put back": (put_back_what_was_cloned, FINE)},
    **{"load": (load, NEW), "copy_": (unrecorded(lambda p: p.copy_(wide(NEW))), NEW)},
    "fill_": (unrecorded(lambda p: p.fill_(0.1)), TENTHS),
    "zero_": (unrecorded(lambda p: p.zero_()), np.zeros(3)),
    "p[...] =": (unrecorded(write_over), NEW),
    "mul_": (unrecorded(lambda p: p.mul_(2.0)), 2 * FINE),
    "detached": (lambda p: p.detach().copy_(wide(NEW)), NEW),
    "one": (unrecorded(write_one), fine_but(0.5)),  # which rounds no other
    "one, detached": (lambda p: write_one(p.detach()), fine_but(0.5)),
    "inf": (unrecorded(lambda p: write_one(p, np.inf)), fine_but(np.inf)),
    "nan": (unrecorded(lambda p: write_one(p, np.nan)), fine_but(np.nan)),
}


@pytest.mark.parametrize(("way", "expected"), WAYS.values(), ids=WAYS)
def test_what_is_assigned_is_read_again_unrounded_where_it_was_given_so(way, expected):
    expected = expected.astype(SINGLE)
    for when in ("before", "after", "between steps", "before saving"):
        p = parameter()
        if when == "before":  # an optimizer has claimed it
            way(p)
        optimizer = optimizer_of(p)
        if when == "between steps":
            step(optimizer)
        if when != "before":
            way(p)
        if when != "before saving":
            step(optimizer)
            np.testing.assert_array_equal(p.array, rounded(expected), when)
        np.testing.assert_array_equal(masters(optimizer)[0], expected, when)


@pytest.mark.parametrize("write", [lambda p: p.array, lambda p: p.data.numpy()])
def test_what_numpy_wrote_before_an_optimizer_binds_is_trained_from(write):
    p = parameter()
    write(p)[1:] = NEW[1:]
    module = nn.Module()
    module.w = p
    expected = [SINGLE.type(FINE[0]), *rounded(NEW)[1:]]
    assert module.state_dict()["w"].tolist() == expected
    assert masters(optimizer_of(p))[0].tolist() == expected


def buffer_of(tensor):
    module = nn.Module()
    module.register_buffer("b", tensor)
    return module.b


VIEWS = {
    "detach": lambda p: p.detach(), "data": lambda p: p.data, "recorded": lambda p: p.view(-1),
    "part": lambda p: p.data[1:], "of a view": lambda p: p.data.view(3, 1).transpose(0, 1)[:, 1:],
    "buffer": lambda p: buffer_of(p.data),
}  # fmt: skip


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("precision", ["mixed", "float32", "float16"])
def test_views_taken_before_an_optimizer_moves_weights_stay_views(view, precision):
    p = parameter(precision=precision)
    seen, optimizer = view(p), optimizer_of(p, lr=0.25)
    step(optimizer)
    assert seen.reshape(-1)[-1].item() == p[2].item() != FINE[2]
    with fp.no_grad():
        seen.fill_(0.1)
    step(optimizer)
    end = masters(optimizer)[0][-1]
    expected = SINGLE.type(0.1) if precision == "mixed" else p.dtype.type(0.1)
    assert abs(end - (expected - 0.25)) <= 2.0**-26 + (precision == "float16") * 2.0**-14


def test_a_leaf_that_is_a_part_of_another_tensor_is_refused():
    whole = nn.Parameter(np.arange(10.0))
    part, turned = whole.data[:4].requires_grad_(), fp.ones(2, 3).T.requires_grad_()
    row = turned.detach()[0]
    for leaf in (part, turned):
        refuses(fp.ArgumentError, "shares memory.*clone", optim.SGD, [leaf], lr=0.1)
    assert whole.tolist() == list(range(10)) and row.tolist() == [1, 1]
    optim.SGD([part.detach().clone().requires_grad_(), whole], lr=0.1)


@pytest.mark.parametrize("precision", ["mixed", "float16", "float32"])
def test_a_number_without_dimensions_is_a_parameter_like_any_other(precision):
    p = parameter(0.1, precision)
    copies = [copy.deepcopy(p), p.data.clone()]
    step(optimizer_of(p, lr=0.25))
    p.data.add_(0.25)
    p.data = p.data.clone()
    module = nn.Module()
    module.p = p
    for number in (module.state_dict()["p"], *copies):
        assert abs(number.item() - 0.1) <= (2.0**-25 if precision == "float32" else 2.0**-12)
    numbers = module.state_dict()["p"].item()
    assert (module.half().p.item(), module.float().p.item()) == (HALF.type(numbers), numbers)


def test_what_masters_and_numpy_held_is_put_back_written_after_and_still_seen():
    p = parameter(precision="float32")
    optimizer = optimizer_of(p)
    p.data = NEW
    step(optimizer)
    assert p.array.tolist() == NEW.tolist()
    p = parameter()
    optimizer, kept = optimizer_of(p, lr=1e-5), fp.tensor(p.exact.copy(), dtype="float32")
    for way in (lambda: setattr(p, "data", kept.clone()), lambda: p.data.copy_(kept)):
        step(optimizer)
        way()
        assert p.exact.tolist() == kept.tolist() == SINGLE.type(FINE).tolist()
    p = parameter()
    p.array[0] = 5
    p.data[1] = 3
    p.array[2] = 7
    p.data.mul_(2)
    p.array[0] = 4
    assert p.tolist() == p.exact.tolist() == p.data.clone().exact.tolist() == [4, 6, 14]
    assert copy.deepcopy(p).exact.tolist() == [4, 6, 14]
    layer = nn.Linear(2, 2)
    before, numbers = layer.weight.detach(), layer.weight.tolist()
    layer.half()
    layer.weight.data.zero_()
    assert before.tolist() == numbers and before.dtype == SINGLE


def test_small_updates_count_even_where_a_part_is_written_over_after_each_step():
    """As a padding row that is kept at zero, or a clamp that seldom touches a weight."""
    p = parameter([1.0, 1.0])
    optimizer = optimizer_of(p, lr=1e-5)
    for _ in range(200):
        step(optimizer, -1.0)
        with fp.no_grad():
            p[1] = 0.0
            p.mul_(1.0)
    assert abs(masters(optimizer)[0][0] - 1.002) < 200 * 2.0**-24
    assert masters(optimizer)[0][1] == 0.0


@pytest.mark.parametrize("precision", ["mixed", "float32"])
def test_a_second_optimizer_begins_from_the_masters_of_the_first_and_takes_turns(precision):
    p = parameter(precision=precision)
    first = optimizer_of(p, lr=1e-5)
    for _ in range(3):
        step(first)
    second = optimizer_of(p, rule=optim.Adam)
    assert frozen(masters(second)) == frozen(masters(first))
    if precision == "mixed":
        assert (rounded(masters(second)[0]) != masters(second)[0]).any()
    results = []
    for turns in (1, 2):
        p = parameter(precision=precision)
        optimizers = [optimizer_of(p, lr=1e-5) for _ in range(turns)]
        for k in range(6):
            p.grad = None
            step(optimizers[k % turns], gradient=k)
        results.append((frozen(p.array), frozen(masters(optimizers[-1]))))
    assert results[0] == results[1]


def test_an_optimizer_that_is_only_made_takes_nothing_and_without_masters_stored_weights_count():
    p = parameter()
    optimizer = optimizer_of(p, lr=1e-5)
    optimizer_of(p)
    for _ in range(100):
        step(optimizer, -1.0)
    assert (abs(masters(optimizer)[0] - FINE - 1e-3) < 100 * 2.0**-23).all()
    assert frozen(p.array) == frozen(downcast(masters(optimizer)[0], HALF))
    p = parameter()
    step(optimizer_of(p, lr=0.25, master_weights=False))
    assert masters(optimizer_of(p))[0].tolist() == rounded(rounded(FINE) - 0.25).tolist()


def test_an_optimizer_holds_float16_weights_with_masters_beside_float32_norm_parameters():
    with fp.precision("mixed"):
        model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 5), nn.LayerNorm(5))
        optimizer = optimizer_of(*model.parameters(), rule=optim.Adam, lr=0.01)
        optimizer.backward(model(fp.randn(8, 4)).square().sum())
        optimizer.step()
    state = optimizer.state_dict()["optimizers"][0]["state"]
    for (name, p), s in zip(model.named_parameters(), state.values()):
        is_norm = name[0] in "13"
        assert p.dtype == (SINGLE if is_norm else HALF)
        assert ("master" in s) == (not is_norm) and s["step"] == 1
        assert {str(a.dtype) for k, a in s.items() if k != "step"} == {"float32"}
    small, norm = 4 * 6 + 6 + 6 * 5 + 5, 2 * 6 + 2 * 5
    held = optimizer.memory()
    assert (held["weights"], held["masters"]) == (2 * small + 4 * norm, 4 * small)
    assert held["optimizer_state"] == 2 * 4 * (small + norm)


def test_without_masters_updates_are_rounded_once_and_in_float64_there_are_none():
    p = parameter()
    optimizer = optimizer_of(p, lr=0.37, master_weights=False)
    before, expected = p.array.copy(), []
    step(optimizer, 0.3)
    gradient = HALF.type(0.3)
    for w in before:
        update = SINGLE.type(0.37) * SINGLE.type(gradient)
        expected.append(HALF.type(SINGLE.type(w) - update))
    assert (p.array.tolist(), optimizer.memory()["masters"]) == ([float(w) for w in expected], 0)
    p = parameter(precision="float64")
    optimizer = optimizer_of(p, rule=optim.Adam, lr=0.01)
    step(optimizer)
    state = optimizer.state_dict()["optimizers"][0]["state"][0]
    assert p.dtype == np.float64
    assert {str(a.dtype) for k, a in state.items() if k != "step"} == {"float64"}
    assert "master" not in state


def trained_layer(precision):
    with fp.precision(precision):
        layer = nn.Linear(3, 2)
        optimizer = optimizer_of(*layer.parameters(), lr=1e-4)
        for _ in range(3):
            step(optimizer, 0.7)
    return layer, optimizer


def test_a_model_is_saved_with_its_masters_in_a_copy_that_loses_nothing():
    layer, optimizer = trained_layer("mixed")
    state = layer.state_dict()
    assert frozen(list(state.values())) == frozen(masters(optimizer))
    for tensor in state.values():
        assert not any(np.shares_memory(tensor.array, m) for m in masters(optimizer))
    with fp.precision("mixed"):
        other = nn.Linear(3, 2)
    again = optimizer_of(*other.parameters())
    other.load_state_dict(state)
    step(again)
    assert frozen(masters(again)) == frozen(masters(optimizer))


@pytest.mark.parametrize("precision", ["float16", "mixed,master_weights=off", "float32", "float64"])
def test_a_model_without_masters_is_saved_as_it_is_stored_not_as_it_began(precision):
    layer, _ = trained_layer(precision)
    assert frozen([*layer.state_dict().values()]) == frozen([p.array for p in layer.parameters()])


def test_a_step_tells_of_a_master_that_its_stored_copy_cannot_hold():
    p = parameter([65450.0, 1.0])
    optimizer = optimizer_of(p, lr=100.0)
    with pytest.warns(fp.PrecisionWarning, match="is 65550 now, beyond float16") as told:
        for _ in range(2):
            with fp.precision("mixed"):
                optimizer.minimize(-(p * fp.tensor([1.0, 0.0])).sum())
    assert len(told) == 1 and p.array[0] == np.inf and p.exact[0] == 65650
