"""Claims about the plain optimizers: their updates, their state, and what they refuse."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses
from snapshots import frozen, gradients, refused, snapshot
from update_rules import RULES

import minifp as fp
from minifp import nn, optim

pytestmark = pytest.mark.references

every_kind = pytest.mark.parametrize("make", RULES.values(), ids=RULES)


def parameter(values, gradient=None, precision="float32"):
    with fp.precision(precision):
        p = nn.Parameter(np.asarray(values, np.float64))
        if gradient is not None:
            give(p, gradient)
    return p


def give(p, gradient):
    with fp.precision(p.precision):
        (p * fp.tensor(np.broadcast_to(np.asarray(gradient, np.float64), p.shape))).sum().backward()


def trained(make, steps=3):
    """Two parameters and an optimizer that has made some steps, with fresh gradients."""
    random = np.random.default_rng(0)
    ps = [parameter(random.normal(size=shape)) for shape in ((2, 3), (4,))]
    optimizer = make(ps)
    for _ in range(steps + 1):
        for p in ps:
            give(p, random.normal(size=p.shape))
        if optimizer.steps < steps:
            optimizer.step()
            optimizer.zero_grad()
    return ps, optimizer


def walk(rule, *gradients, start=0.0, **settings):
    p, places = parameter([start], precision="float64"), []
    optimizer = rule([p], **settings)
    for gradient in gradients:
        optimizer.zero_grad()
        give(p, gradient)
        optimizer.step()
        places.append(p.item())
    return places, optimizer


@pytest.mark.parametrize("gradients, start, settings, places", [
    ([4.0], 1.0, {"lr": 0.25}, [0.0]),
    # momentum begins with the gradient itself, and dampens only later ones
    ([1.0] * 3, 0.0, {"lr": 1.0, "momentum": 0.5, "dampening": 0.25}, [-1.0, -2.25, -3.625]),
    ([1.0], 0.0, {"lr": 1.0, "momentum": 0.5, "nesterov": True}, [-1.5]),  # one momentum ahead
    ([0.0], 8.0, {"lr": 0.5, "weight_decay": 0.25}, [7.0]),
])  # fmt: skip
def test_sgd_is_its_closed_form(gradients, start, settings, places):
    assert walk(optim.SGD, *gradients, start=start, **settings)[0] == places


@pytest.mark.parametrize("gradient", [1e-3, 1.0, -50.0])
def test_adam_moves_by_its_rate_whatever_the_size_of_a_constant_gradient(gradient):
    places, _ = walk(optim.Adam, *[gradient] * 20, lr=0.01, eps=0.0)
    np.testing.assert_allclose(places[-1], -np.sign(gradient) * 0.2, rtol=1e-12)


def test_adamw_decays_apart_from_the_moments_and_adam_through_them():
    zeros, settings = [0.0] * 4, {"start": 3.0, "lr": 0.1, "weight_decay": 0.5}
    np.testing.assert_allclose(
        walk(optim.AdamW, *zeros, **settings)[0][-1], 3 * 0.95**4, rtol=1e-12
    )
    # by its rate a step, whatever the decay
    assert 2.5 < walk(optim.Adam, *zeros, eps=0.0, **settings)[0][-1] < 2.61


@every_kind
def test_a_rate_of_zero_moves_nothing_and_one_from_numpy_is_pythons(make):
    ps, optimizer = trained(make)
    optimizer.param_groups[0]["lr"] = 0.0
    before = frozen([p.array for p in ps])
    optimizer.step()
    assert frozen([p.array for p in ps]) == before and optimizer.steps == 4
    results = []
    for as_given in (float, np.float64):
        ps, optimizer = trained(make)
        optimizer.param_groups[0]["lr"] = as_given(0.037)
        optimizer.step()
        results.append(frozen([p.array for p in ps]))
    assert results[0] == results[1]


def test_groups_have_settings_of_their_own_and_gradients_add_up_until_zero_grad():
    slow, fast, rest = (parameter([0.0], 1.0, "float64") for _ in range(3))
    groups = [
        {"params": slow, "lr": 0.25, "weight_decay": 4.0},
        {"params": [fast], "lr": 2.0},
        {"params": (p for p in [rest])},
    ]
    optimizer = optim.SGD(groups, lr=0.5, momentum=0.5)
    for _ in range(2):
        optimizer.step()
        optimizer.zero_grad()
        for p in (slow, fast, rest):
            give(p, 1.0)
    # w = -r, then -r - r (0.5 + 1); with decay d the second gradient is 1 - d r
    assert [p.item() for p in (slow, fast, rest)] == [-0.25 - 0.25 * 0.5, -5.0, -1.25]
    assert [g["momentum"] for g in optimizer.param_groups] == [0.5] * 3
    p = parameter([1.0, 2.0], [1.0, 10.0])
    give(p, [0.5, 0.25])
    assert p.grad.array.tolist() == [1.5, 10.25]
    optim.SGD([p]).zero_grad()
    assert p.grad is None
    give(p, [0.5, 0.25])
    assert p.grad.array.tolist() == [0.5, 0.25]


@every_kind
def test_a_parameter_counts_its_own_steps_and_without_gradient_is_left_alone(make):
    used, unused = parameter([1.0, 2.0], [1.0, 1.0]), parameter([3.0, 4.0])
    optimizer = make([used, unused], weight_decay=0.5)
    optimizer.step()
    state = optimizer.state_dict()["state"]
    assert (unused.array.tolist(), [state[0]["step"], state[1]["step"]]) == ([3.0, 4.0], [1, 0])
    assert frozen(state[1]) == frozen(make([unused]).state_dict()["state"][0])
    assert used.array.tolist() != [1.0, 2.0]
    # The first gradient, however late, is a first step: bias correction and momentum begin.
    late, other, fresh = parameter([1.0, 2.0]), parameter([5.0], 1.0), parameter([1.0, 2.0])
    optimizer = make([other, late])
    for _ in range(3):
        optimizer.step()
        optimizer.zero_grad()
        give(other, 1.0)
    give(late, [0.3, -0.7])
    optimizer.step()
    give(fresh, [0.3, -0.7])
    make([fresh]).step()
    assert frozen(late.array) == frozen(fresh.array)
    assert [s["step"] for s in optimizer.state_dict()["state"].values()] == [4, 1]


@every_kind
def test_gradients_that_do_not_serve_a_plain_step_are_refused_naming_the_way_out(make):
    ps, optimizer = trained(make)
    optimizer.step()
    refused(optimizer, fp.TapeError, "already used", "zero_grad()")
    give(ps[0], 1.0)
    with pytest.warns(fp.MisuseWarning, match=r"zero_grad\(\)"):  # added to consumed ones
        optimizer.step()
    give(ps[0], 1.0)
    optimizer.step()  # which is told once
    optimizer.zero_grad()
    refused(optimizer, fp.TapeError, "backward()")
    give(ps[1], 1.0)
    (ps[0] * 3.0).sum().backward(seed=512.0)  # one of them is scaled
    refused(optimizer, fp.TapeError, "512", "MixedOptimizer")
    optimizer.zero_grad()
    sum((p * p).sum() for p in ps).backward(seed=1024.0)
    refused(optimizer, fp.TapeError, "1024", "MixedOptimizer")
    for precision in ("mixed", "float16"):
        plain = make([parameter([1.0, 2.0], [1.0, 1.0], precision)])
        ways_out = "MixedOptimizer(optimizer)", "MixedOptimizer(optimizer, master_weights=False)"
        refused(plain, fp.PrecisionError, "float16", *ways_out)


BAD_RATES = [-0.1, float("nan"), float("inf"), "0.1", None, True, [0.1]]


@every_kind
def test_an_impossible_rate_is_refused_also_later_before_anything_moves(make):
    for rate in BAD_RATES:
        refuses(fp.ArgumentError, "lr=", make, [parameter([1.0])], lr=rate)
        with pytest.raises(fp.ArgumentError, match="lr="):
            make([{"params": [parameter([1.0])]}, {"params": [parameter([1.0])], "lr": rate}])
        ps, _ = trained(make)
        both = fp.MixedOptimizer([make([p]) for p in ps], loss_scale=None)
        for optimizer in (both, make([{"params": [p]} for p in ps])):
            optimizer.param_groups[1]["lr"] = rate
            refused(optimizer, fp.ArgumentError, "lr=")
        optimizer.param_groups[1]["lr"] = 0.1
        optimizer.step()
        assert (optimizer.attempts, optimizer.steps) == (1, 1)


@pytest.mark.parametrize("kind, settings", [
    *((optim.SGD, s) for s in (
        {"momentum": -0.1}, {"momentum": float("nan")}, {"weight_decay": -1e-3}, {"dampening": 1.5},
        {"nesterov": True}, {"nesterov": True, "momentum": 0.9, "dampening": 0.1},
        {"nesterov": 1, "momentum": 0.9},
    )),
    *((optim.Adam, s) for s in (
        {"betas": (1.0, 0.9)}, {"betas": (0.9, -0.1)}, {"betas": (0.9,)}, {"betas": 0.9},
        {"eps": -1e-8}, {"eps": float("inf")}, {"amsgrad": "yes"}, {"decoupled_weight_decay": None},
    )),
    (optim.AdamW, {"weight_decay": float("nan")}), (optim.RMSprop, {"alpha": -0.1}),
    (optim.RMSprop, {"momentum": -1.0}), (optim.RMSprop, {"centered": 2}),
    (optim.Adagrad, {"lr_decay": -1.0}), (optim.Adagrad, {"initial_accumulator_value": -1e-3}),
    (optim.Adagrad, {"eps": "small"}), (optim.Adadelta, {"rho": 1.1}),
    (optim.Adamax, {"betas": (0.9, 1.0)}), (optim.NAdam, {"momentum_decay": -4e-3}),
    (optim.RAdam, {"eps": None}), (optim.LAMB, {"betas": "09"}),
], ids=str)  # fmt: skip
def test_an_impossible_setting_is_refused_naming_it(kind, settings):
    with pytest.raises(fp.ArgumentError, match=next(iter(settings)).rstrip("s")):
        kind([parameter([1.0])], **settings)


def test_what_is_no_parameter_is_refused():
    p = parameter([1.0])
    for params, words in [
        ([], "no parameters"), ([p, p], "twice"), ([{"params": [p]}, {"params": [p]}], "twice"),
        ([np.zeros(2)], "ndarray"), ([fp.tensor([1.0])], "without"), ([p * 2.0], "leaves"),
        ([{"params": [p], "learning_rate": 0.1}], "no setting learning_rate"),
        ([{"params": [p], "weight_deacy": 0.1}], "no setting weight_deacy; .* weight_decay"),
        ([{"lr": 0.1}], "params"), ({"params": [p]}, "dict"), (5, "int"), ("weights", "str"),
        (["weights"], "str"), ([{"params": 5}], "int"),
        ([{"params": [p]}, parameter([2.0])], "params"),
    ]:  # fmt: skip
        refuses(fp.ArgumentError, words, optim.SGD, params)


def test_groups_keep_what_a_program_keeps_with_them():
    group = {"params": [parameter([1.0])], "lr_scale": 0.5, "name": "w"}
    optimizer, other = (optim.AdamW([dict(group)], lr=1e-3) for _ in range(2))
    optimizer.param_groups[0]["lr_scale"] = 0.25
    other.load_state_dict(optimizer.state_dict())
    assert [other.param_groups[0][key] for key in ("lr_scale", "name")] == [0.25, "w"]


LATE = [
    (optim.SGD, {"momentum": 0.9}, "momentum_buffer"),
    (optim.Adam, {"amsgrad": True}, "max_exp_avg_sq"),
    (optim.RMSprop, {"momentum": 0.9}, "momentum_buffer"),
    (optim.RMSprop, {"centered": True}, "grad_avg"),
]


@pytest.mark.parametrize(("kind", "change", "name"), LATE)
def test_what_settings_call_for_after_the_first_step_is_refused(kind, change, name):
    p = parameter([1.0], 1.0)
    optimizer = kind([p], lr=0.1)
    optimizer.step()
    optimizer.zero_grad()
    give(p, 1.0)
    optimizer.param_groups[0].update(change)
    refused(optimizer, fp.ArgumentError, name)


@pytest.mark.parametrize(("kind", "change", "name"), LATE)
@pytest.mark.parametrize("wrapped", [False, True])
def test_until_the_first_step_settings_can_be_changed(kind, change, name, wrapped):
    results = []
    for early in (True, False):
        p = parameter([1.0, -2.0])
        optimizer = kind([p], **(change if early else {}), lr=0.1)
        if wrapped:
            fp.MixedOptimizer(optimizer)
        optimizer.param_groups[0].update(change)
        assert name in optimizer.state_dict()["state"][0]
        for k in range(3):
            optimizer.zero_grad()
            give(p, [1.0, k - 0.5])
            optimizer.step()
        results.append(snapshot(optimizer))
    assert results[0] == results[1]


def test_every_update_rule_is_ranged_over():
    kinds = {getattr(optim, name) for name in optim.__all__ if name[0].isupper()}
    assert {rule.func for rule in RULES.values()} == kinds - {optim.Optimizer}


@every_kind
def test_to_maximize_is_to_minimize_with_the_opposite_gradient(make):
    ends = []
    for sign in (1.0, -1.0):
        p = parameter([1.0, -2.0, 0.5])
        optimizer = make([p], maximize=sign < 0, weight_decay=0.1)
        for k in range(4):
            optimizer.zero_grad()
            give(p, sign * np.array([0.3, -1.0, k - 1.2]))
            optimizer.step()
        ends.append((frozen(p.array), frozen(optimizer.state_dict()["state"])))
    assert ends[0] == ends[1]
    refuses(fp.ArgumentError, "maximize=1", make, [parameter([1.0])], maximize=1)


@every_kind
def test_a_closure_computes_the_gradients_and_its_loss_is_returned(make):
    (ps, optimizer), (others, plain) = trained(make), trained(make)

    def closure():
        optimizer.zero_grad()
        loss = sum((p * p).sum() for p in ps)
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    assert loss.item() > 0
    plain.zero_grad()
    sum((p * p).sum() for p in others).backward()
    assert plain.step() is None
    assert snapshot(optimizer) == snapshot(plain)


@every_kind
def test_one_flat_buffer_gives_the_bits_of_parameters_trained_apart(make):
    together, grouped, apart = ([], [], [])
    random = np.random.default_rng(4)
    start = [random.normal(size=shape) for shape in ((3,), (2, 2), (), (0, 2), (5,))]
    for group in (together, grouped, apart):
        group += [parameter(values) for values in start]
    optimizers = [
        *(make(together), make([{"params": p} for p in grouped])),
        *(make([p]) for p in apart),
    ]
    for k in range(4):
        for optimizer in optimizers:
            optimizer.zero_grad()
        for i, values in enumerate(start):
            gradient = random.normal(size=values.shape)
            for ps in (together, grouped, apart):
                if k != i:
                    give(ps[i], gradient)
        for optimizer in optimizers:
            if any(p.grad is not None for p in optimizer.parameters):
                optimizer.step()
    ends = [frozen([p.array for p in ps]) for ps in (together, grouped, apart)]
    assert ends[0] == ends[1] == ends[2]


def lamb_reference(ws, gradients, lr, betas, eps, weight_decay):
    """Algorithm 2 of You et al. 2020, in float64: one layer is one parameter, phi(z) = z."""
    ws = [np.array(w, np.float64) for w in ws]
    ms, vs = ([np.zeros_like(w) for w in ws] for _ in range(2))
    for t, gs in enumerate(gradients, start=1):
        for i, g in enumerate(gs):
            ms[i] = betas[0] * ms[i] + (1 - betas[0]) * g
            vs[i] = betas[1] * vs[i] + (1 - betas[1]) * g**2
            m, v = ms[i] / (1 - betas[0] ** t), vs[i] / (1 - betas[1] ** t)
            r = m / (np.sqrt(v) + eps)
            step = r + weight_decay * ws[i]
            x_norm, step_norm = np.linalg.norm(ws[i]), np.linalg.norm(step)
            ratio = x_norm / step_norm if x_norm > 0 and step_norm > 0 else 1.0
            ws[i] = ws[i] - lr * ratio * step
    return ws


@settings(max_examples=30)
@given(
    lr=st.floats(1e-4, 0.1),
    betas=st.tuples(st.floats(0, 0.99), st.floats(0, 0.999)),
    eps=st.sampled_from([1e-6, 1e-3]),
    weight_decay=st.sampled_from([0.0, 0.01, 0.5]),
    seed=st.integers(0, 99),
)
def test_lamb_is_algorithm_2_of_its_paper(lr, betas, eps, weight_decay, seed):
    random = np.random.default_rng(seed)
    ws = [random.normal(size=shape) for shape in ((3, 2), (4,), (1,))] + [np.zeros(2)]
    gradients = [[random.normal(size=w.shape) for w in ws] for _ in range(50)]
    ps = [parameter(w, precision="float64") for w in ws]
    rest = {"betas": betas, "eps": eps, "weight_decay": weight_decay}
    optimizer = optim.LAMB(ps, lr, **rest)
    for gs in gradients:
        for p, g in zip(ps, gs):
            p.grad = fp.Tensor(g.copy())
        optimizer.step()
    for p, w in zip(ps, lamb_reference(ws, gradients, lr, **rest)):
        np.testing.assert_allclose(p.array, w, rtol=1e-10, atol=1e-10)


def test_amsgrad_remembers_adagrad_begins_and_radam_becomes_adam_as_their_closed_forms():
    settings = {"lr": 1.0, "betas": (0.0, 0.5), "eps": 0.0}
    plain, _ = walk(optim.Adam, 8.0, 1.0, 1.0, 1.0, **settings)
    largest, optimizer = walk(optim.Adam, 8.0, 1.0, 1.0, 1.0, amsgrad=True, **settings)
    assert optimizer.state_dict()["state"][0]["max_exp_avg_sq"].tolist() == [32.0]
    steps = [1.0, *((1 - 0.5**t) ** 0.5 / 32.0**0.5 for t in (2, 3, 4))]
    np.testing.assert_allclose(largest[-1], -sum(steps), rtol=1e-12)
    assert plain[-1] < largest[-1] - 0.4
    ps = [parameter([0.0], 2.0, "float64") for _ in range(2)]
    groups = [{"params": ps[0]}, {"params": ps[1], "initial_accumulator_value": 5.0}]
    optim.Adagrad(groups, lr=1.0, eps=0.0).step()
    np.testing.assert_allclose([p.item() for p in ps], [-1.0, -2 / 3], rtol=1e-12)
    # With b2 = 0.999 the length of the average passes 5 in the sixth step.
    steps = -np.diff([0.0, *walk(optim.RAdam, *[100.0] * 7, lr=1.0, eps=0.0)[0]])
    np.testing.assert_allclose(steps[:5], [100.0] * 5, rtol=1e-12)
    assert 0 < steps[5] < steps[6] < 0.1


def test_centered_rmsprop_stays_finite_on_a_constant_gradient():
    """The variance of a constant is 0, and by rounding it can be less."""
    ps = [parameter(np.zeros(64)), parameter(np.zeros(64), precision="float64")]
    optimizer = optim.RMSprop(ps, lr=1e-6, alpha=0.5, centered=True)
    gradient = np.random.default_rng(0).normal(size=64)
    for _ in range(200):
        optimizer.zero_grad()
        for p in ps:
            give(p, gradient)
        optimizer.step()
    assert all(np.isfinite(p.array).all() for p in ps)


@every_kind
@pytest.mark.parametrize("wrapped", [False, True])
def test_gradients_are_dropped_or_filled_with_zeros(make, wrapped):
    ps, optimizer = trained(make)
    chosen, gradients = fp.MixedOptimizer(optimizer) if wrapped else optimizer, [p.grad for p in ps]
    refused(
        *(optimizer, fp.ArgumentError, "set_to_none='no'"),
        call=lambda: chosen.zero_grad(set_to_none="no"),
    )
    chosen.zero_grad(set_to_none=False)
    assert all(p.grad is g and not g.array.any() for p, g in zip(ps, gradients))
    chosen.step()  # as PyTorch: on gradients of 0
    chosen.zero_grad(set_to_none=True)
    assert [p.grad for p in ps] == [None, None]


@every_kind
def test_a_group_that_does_not_fit_is_refused_and_nothing_is_changed(make):
    ps, optimizer = trained(make)
    new = parameter([1.0])
    for group, words in [
        ({"params": [new, ps[0]]}, "twice"), ({"params": [new, new]}, "twice"),
        ({"params": new, "learning_rate": 1.0}, "no setting learning_rate"),
        ({"params": new, "lr": -1.0}, "lr="), ({"params": [np.zeros(2)]}, "ndarray"),
        ({"params": "weights"}, "str"), ({"lr": 0.1}, "params"), ([new], "groups"), (new, "groups"),
    ]:  # fmt: skip
        refused(
            *(optimizer, fp.ArgumentError, words), call=lambda g=group: optimizer.add_param_group(g)
        )
    optimizer.step()


@every_kind
@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_a_parameter_whose_format_was_changed_since_is_refused_by_name(make, dtype):
    ps, optimizer = trained(make)
    before = snapshot(optimizer)
    ps[1].name, stored = "head.bias", ps[1].array
    ps[1].array = stored.astype(dtype)
    words = "head.bias.*float32.*float64" if dtype == "float64" else "float16"
    refuses(fp.PrecisionError, words, optimizer.step)
    assert ps[1].array.dtype == dtype
    refuses(fp.PrecisionError, "head.bias", optimizer.state_dict)
    ps[1].array = stored
    assert snapshot(optimizer) == before
    optimizer.step()


def test_a_state_is_a_copy_and_more_of_it_must_be_of_the_whole_group():
    ps, optimizer = trained(RULES["Adam"])
    state = optimizer.state_dict()
    before = frozen(state)
    optimizer.step()
    assert frozen(state) == before != frozen(optimizer.state_dict())
    ps = [parameter([1.0]), parameter([2.0])]
    optimizer = optim.Adam(ps)
    state = optimizer.state_dict()
    state["state"][1]["max_exp_avg_sq"] = np.zeros(1)
    refused(
        *(optimizer, fp.ArgumentError, "others of its group"),
        call=lambda: optimizer.load_state_dict(state),
    )


DAMAGES = {
    "an entry is missing": lambda s: s.pop("steps"),
    "an unknown entry": lambda s: s.update(scheduler={}),
    "a group is missing": lambda s: s["param_groups"].pop(),
    "a group of another size": lambda s: s["param_groups"][1]["params"].append(7),
    "a parameter is missing": lambda s: s["state"].pop(1),
    "a parameter too many": lambda s: s["state"].update({2: s["state"][1]}),
    "a moment is missing": lambda s: s["state"][1].pop("exp_avg_sq"),
    "a master where there is none": lambda s: s["state"][1].update(master=np.zeros(4)),
    "a moment of another shape": lambda s: s["state"][1].update(exp_avg_sq=np.zeros(5)),
    "a moment that is no number": lambda s: s["state"][1].update(exp_avg_sq=np.array(["a"] * 4)),
    "a negative step": lambda s: s["state"][1].update(step=-1),
    "half a step": lambda s: s["state"][1].update(step=1.5),
    "a count that is none": lambda s: s.update(attempts=None),
    "an impossible rate": lambda s: s["param_groups"][1].update(lr=float("nan")),
    "an unknown setting": lambda s: s["param_groups"][1].update(learning_rate=1.0),
    "no dict": lambda s: s.update(state=[]),
    "no list of groups": lambda s: s.update(param_groups={}),
    "a group that is none": lambda s: s["param_groups"].__setitem__(0, 5),
    "parameters of groups exchanged": lambda s: s["param_groups"].reverse(),
    "state of a parameter that is none": lambda s: s["state"].update({1: None}),
    "more state of another shape": lambda s: s["state"][1].update(max_exp_avg_sq=np.zeros(5)),
    "a flag that is none": lambda s: s["param_groups"][1].update(maximize=3),
    "a setting is missing": lambda s: s["param_groups"][1].pop("betas"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_state_that_does_not_fit_is_refused_and_nothing_is_changed(damage):
    make = lambda ps: optim.Adam([{"params": p} for p in ps], lr=0.1)  # noqa: E731
    state = copy.deepcopy(trained(make, steps=5)[1].state_dict())
    damage(state)
    _, optimizer = trained(make)
    refused(optimizer, fp.ArgumentError, call=lambda: optimizer.load_state_dict(state))


@every_kind
def test_mixed_optimizer_takes_over_a_state_which_is_made_of_plain_things(make):
    results = []
    for wrap in (False, True):
        ps, optimizer = trained(make)
        stepping = fp.MixedOptimizer(optimizer) if wrap else optimizer
        assert gradients(optimizer) != frozen([None, None])
        stepping.step()
        results.append(snapshot(optimizer))
    assert results[0] == results[1]

    def check(x):
        if isinstance(x, dict):
            assert all(type(k) in (str, int) for k in x)
            x = list(x.values())
        if isinstance(x, list):
            return [check(y) for y in x]
        assert x is None or type(x) in (str, int, float, bool, np.ndarray), type(x)

    ps, optimizer = trained(make)
    optimizer.param_groups[0]["lr"] = np.float32(0.5)
    check(optimizer.state_dict())
    check(fp.MixedOptimizer(optimizer).state_dict())


@pytest.mark.parametrize(("kind", "change", "name"), LATE)
def test_a_state_brings_all_that_its_settings_call_for_and_no_more(kind, change, name):

    def train(p, optimizer, steps):
        for k in steps:
            optimizer.zero_grad()
            give(p, [1.0, k - 2.5])
            optimizer.step()

    for later in ({}, {next(iter(change)): 0.0 if "momentum" in change else False}):
        p, again = parameter([1.0, 2.0]), parameter([1.0, 2.0])
        optimizer, fresh = kind([p], lr=0.1, **change), kind([again], lr=0.2)
        train(p, optimizer, range(3))
        optimizer.param_groups[0].update(later)
        train(p, optimizer, range(3, 5))
        again.data = p.array
        fresh.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        assert name in fresh.state_dict()["state"][0]
        train(p, optimizer, range(5, 8))
        train(again, fresh, range(5, 8))
        assert snapshot(fresh) == snapshot(optimizer)
    p, other = parameter([1.0, 2.0], 1.0), parameter([3.0, 4.0], 1.0)
    plain, full = kind([p], lr=0.1), kind([other], lr=0.1, **change)
    plain.step()
    full.step()
    full.load_state_dict(plain.state_dict())
    assert frozen(full.state_dict()) == frozen(plain.state_dict())
    assert name not in full.state_dict()["state"][0]


def test_a_velocity_outlives_a_pause_and_being_wrapped():
    ends = []
    for wrapped in (False, True):
        p = parameter([1.0, 2.0])
        optimizer = optim.SGD([p], lr=0.1, momentum=0.5)
        for k, momentum in enumerate((0.5, 0.5, 0.0, 0.5, 0.5)):
            optimizer.zero_grad()
            give(p, [1.0, k])
            optimizer.param_groups[0]["momentum"] = momentum
            if wrapped and k == 2:
                fp.MixedOptimizer(optimizer)
            optimizer.step()
        ends.append(snapshot(optimizer))
    assert ends[0] == ends[1]
