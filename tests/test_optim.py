"""Claims about the plain optimizers: their updates, what they refuse, and clipping."""

import copy

import numpy as np
import pytest
from snapshots import frozen, gradients, snapshot

import minifp as fp
from minifp import nn, optim

KINDS = {
    "SGD": lambda ps, **s: optim.SGD(ps, **{"lr": 0.1, "momentum": 0.9, **s}),
    "Adam": lambda ps, **s: optim.Adam(ps, **{"lr": 0.1, **s}),
    "AdamW": lambda ps, **s: optim.AdamW(ps, **{"lr": 0.1, **s}),
}
every_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)


def parameter(values, gradient=None, precision="float32"):
    """A parameter, and a gradient as backward would leave it."""
    with fp.precision(precision):
        p = nn.Parameter(np.asarray(values, np.float64))
        if gradient is not None:
            give(p, gradient)
    return p


def give(p, gradient):
    """Add `gradient` to p.grad, through the tape."""
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


def refused(optimizer, error, *words, call=None):
    """The call (by default step()) raises `error` with all the words, and changes nothing."""
    before = snapshot(optimizer)
    with pytest.raises(error) as caught:
        (call or optimizer.step)()
    assert [w for w in words if w not in str(caught.value)] == []
    assert snapshot(optimizer) == before


# ---- the updates, by closed forms ---------------------------------------------------------------


def test_sgd_steps_against_the_gradient_times_the_rate():
    p = parameter([1.0, -2.0], [4.0, 8.0])
    optim.SGD([p], lr=0.25).step()
    assert p.array.tolist() == [0.0, -4.0]


def test_momentum_begins_with_the_gradient_itself_and_dampens_only_later_ones():
    p, steps = parameter([0.0], precision="float64"), []
    optimizer = optim.SGD([p], lr=1.0, momentum=0.5, dampening=0.25)
    for _ in range(3):
        optimizer.zero_grad()
        give(p, 1.0)
        before = p.array.copy()
        optimizer.step()
        steps.append((before - p.array).item())
    assert steps == [1.0, 0.5 + 0.75, 0.625 + 0.75]


def test_nesterov_looks_one_momentum_ahead():
    p = parameter([0.0], 1.0, "float64")
    optim.SGD([p], lr=1.0, momentum=0.5, nesterov=True).step()
    assert p.array.tolist() == [-1.5]


def test_sgd_decays_weights_by_the_rate_times_the_decay():
    p = parameter([8.0], 0.0)
    optim.SGD([p], lr=0.5, weight_decay=0.25).step()
    assert p.array.tolist() == [7.0]


@pytest.mark.parametrize("gradient", [1e-3, 1.0, -50.0])
def test_adam_moves_by_its_rate_whatever_the_size_of_a_constant_gradient(gradient):
    p = parameter([0.0], precision="float64")
    optimizer = optim.Adam([p], lr=0.01, eps=0.0)
    for _ in range(20):
        optimizer.zero_grad()
        give(p, gradient)
        optimizer.step()
    np.testing.assert_allclose(p.array, -np.sign(gradient) * 0.2, rtol=1e-12)


def test_adamw_decays_apart_from_the_moments_and_adam_through_them():
    adam, adamw = (parameter([3.0], precision="float64") for _ in range(2))
    optimizers = optim.Adam([adam], lr=0.1, weight_decay=0.5, eps=0.0), optim.AdamW([adamw], lr=0.1)
    optimizers[1].param_groups[0]["weight_decay"] = 0.5
    for _ in range(4):
        for p, optimizer in zip((adam, adamw), optimizers):
            optimizer.zero_grad()
            give(p, 0.0)
            optimizer.step()
    np.testing.assert_allclose(adamw.array, 3.0 * 0.95**4, rtol=1e-12)
    assert 2.5 < adam.array.item() < 2.61  # by its rate a step, whatever the decay


@every_kind
def test_a_rate_of_zero_is_legal_and_moves_nothing(make):
    ps, optimizer = trained(make)
    optimizer.param_groups[0]["lr"] = 0.0
    before = frozen([p.array for p in ps])
    optimizer.step()
    assert frozen([p.array for p in ps]) == before and optimizer.steps == 4


@every_kind
def test_a_rate_from_numpy_gives_the_same_bits_as_pythons(make):
    results = []
    for as_given in (float, np.float64):
        ps, optimizer = trained(make)
        optimizer.param_groups[0]["lr"] = as_given(0.037)
        optimizer.step()
        results.append(frozen([p.array for p in ps]))
    assert results[0] == results[1]


def test_groups_have_settings_of_their_own_and_the_defaults_for_the_rest():
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


# ---- parameters without a gradient --------------------------------------------------------------


@every_kind
def test_a_parameter_without_gradient_is_left_alone_even_by_weight_decay(make):
    used, unused = parameter([1.0, 2.0], [1.0, 1.0]), parameter([3.0, 4.0])
    optimizer = make([used, unused], weight_decay=0.5)
    optimizer.step()
    state = optimizer.state_dict()["state"]
    assert unused.array.tolist() == [3.0, 4.0]
    assert [state[0]["step"], state[1]["step"]] == [1, 0]
    assert not any(np.any(array) for name, array in state[1].items() if name != "step")
    assert used.array.tolist() != [1.0, 2.0]


@every_kind
def test_a_parameter_counts_its_own_steps(make):
    """The first gradient, however late, is a first step: bias correction and momentum begin."""
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


# ---- gradients add up, are used once, and are of one scale --------------------------------------


def test_gradients_add_up_until_zero_grad():
    p = parameter([1.0, 2.0], [1.0, 10.0])
    give(p, [0.5, 0.25])
    assert p.grad.array.tolist() == [1.5, 10.25]
    optim.SGD([p]).zero_grad()
    assert p.grad is None
    give(p, [0.5, 0.25])
    assert p.grad.array.tolist() == [0.5, 0.25]


@every_kind
def test_step_without_gradients_is_an_error_that_names_backward(make):
    ps, optimizer = trained(make)
    optimizer.zero_grad()
    refused(optimizer, fp.TapeError, "backward()")


@every_kind
def test_a_second_step_on_the_same_gradients_is_an_error_that_names_zero_grad(make):
    ps, optimizer = trained(make)
    optimizer.step()
    refused(optimizer, fp.TapeError, "consumed", "zero_grad()")


@every_kind
def test_adding_to_gradients_that_a_step_consumed_is_an_error_that_names_zero_grad(make):
    ps, optimizer = trained(make)
    optimizer.step()
    refused(optimizer, fp.TapeError, "consumed", "zero_grad()", call=lambda: give(ps[0], 1.0))
    optimizer.zero_grad()
    give(ps[0], 1.0)
    optimizer.step()


@every_kind
def test_gradients_of_two_seeds_are_never_added(make):
    ps, optimizer = trained(make)
    loss = (ps[0] * ps[0]).sum() + (ps[1] * ps[1]).sum()
    refused(
        *(optimizer, fp.TapeError, "512", "zero_grad()"), call=lambda: loss.backward(seed=512.0)
    )


@every_kind
def test_gradients_of_two_seeds_are_never_used_in_one_step(make):
    ps, optimizer = trained(make)
    ps[0].grad = None
    (ps[0] * 3.0).sum().backward(seed=512.0)
    refused(optimizer, fp.TapeError, "512", "zero_grad()")


@every_kind
def test_a_plain_optimizer_refuses_scaled_gradients_naming_mixed_optimizer(make):
    ps, optimizer = trained(make)
    optimizer.zero_grad()
    sum((p * p).sum() for p in ps).backward(seed=1024.0)
    refused(optimizer, fp.TapeError, "1024", "MixedOptimizer")


@every_kind
@pytest.mark.parametrize("precision", ["mixed", "float16"])
def test_a_plain_optimizer_refuses_float16_weights_naming_both_ways_out(make, precision):
    p = parameter([1.0, 2.0], [1.0, 1.0], precision)
    refused(
        *(make([p]), fp.PrecisionError, "float16", "MixedOptimizer(optimizer)"),
        "MixedOptimizer(optimizer, master_weights=False)",
    )


# ---- settings -----------------------------------------------------------------------------------


BAD_RATES = [-0.1, float("nan"), float("inf"), "0.1", None, True, [0.1]]


@every_kind
@pytest.mark.parametrize("rate", BAD_RATES, ids=repr)
def test_an_impossible_rate_is_refused(make, rate):
    with pytest.raises(fp.ArgumentError, match="lr="):
        make([parameter([1.0])], lr=rate)
    with pytest.raises(fp.ArgumentError, match="lr="):
        make([{"params": [parameter([1.0])]}, {"params": [parameter([1.0])], "lr": rate}])


@every_kind
@pytest.mark.parametrize("rate", BAD_RATES, ids=repr)
def test_an_impossible_rate_set_later_is_refused_before_anything_moves(make, rate):
    ps, _ = trained(make)
    optimizer = make([{"params": [p]} for p in ps])
    optimizer.param_groups[1]["lr"] = rate
    refused(optimizer, fp.ArgumentError, "lr=")
    optimizer.param_groups[1]["lr"] = 0.1
    optimizer.step()
    assert (optimizer.attempts, optimizer.steps) == (1, 1)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (optim.SGD, {"momentum": -0.1}),
        (optim.SGD, {"momentum": float("nan")}),
        (optim.SGD, {"weight_decay": -1e-3}),
        (optim.SGD, {"dampening": 1.5}),
        (optim.SGD, {"nesterov": True}),
        (optim.SGD, {"nesterov": True, "momentum": 0.9, "dampening": 0.1}),
        (optim.Adam, {"betas": (1.0, 0.9)}),
        (optim.Adam, {"betas": (0.9, -0.1)}),
        (optim.Adam, {"betas": (0.9,)}),
        (optim.Adam, {"betas": 0.9}),
        (optim.Adam, {"eps": -1e-8}),
        (optim.Adam, {"eps": float("inf")}),
        (optim.AdamW, {"weight_decay": float("nan")}),
    ],
    ids=str,
)
def test_an_impossible_setting_is_refused_naming_it(kind, settings):
    with pytest.raises(fp.ArgumentError, match=next(iter(settings)).rstrip("s")):
        kind([parameter([1.0])], **settings)


def test_what_is_no_parameter_is_refused():
    p = parameter([1.0])
    for params, words in [
        ([], "no parameters"),
        ([p, p], "twice"),
        ([{"params": [p]}, {"params": [p]}], "twice"),
        ([np.zeros(2)], "ndarray"),
        ([fp.tensor([1.0])], "without"),
        ([p * 2.0], "leaves"),
        ([{"params": [p], "learning_rate": 0.1}], "no setting learning_rate"),
        ([{"lr": 0.1}], "params"),
        ([{"params": [p]}, parameter([2.0])], "params"),
    ]:
        with pytest.raises(fp.ArgumentError, match=words):
            optim.SGD(params)


def test_momentum_that_was_not_asked_for_in_time_is_refused_rather_than_ignored():
    p = parameter([1.0], 1.0)
    optimizer = optim.SGD([p], lr=0.1)
    optimizer.param_groups[0]["momentum"] = 0.9
    refused(optimizer, fp.ArgumentError, "momentum=0.9")


# ---- clipping -----------------------------------------------------------------------------------


def test_clipping_scales_all_gradients_together_and_returns_their_norm():
    ps = [parameter([0.0, 0.0], [3.0, 0.0], "float64"), parameter([0.0], -4.0, "float64")]
    assert optim.clip_grad_norm_(ps, 2.5) == 5.0
    np.testing.assert_allclose(ps[0].grad.array, [1.5, 0.0], rtol=1e-6)
    np.testing.assert_allclose(ps[1].grad.array, [-2.0], rtol=1e-6)


@pytest.mark.parametrize("precision", ["float32", "mixed"])
def test_clipping_leaves_gradients_below_the_norm_as_they_are(precision):
    p = parameter([0.0, 0.0], [0.3, 0.4], precision)
    before = frozen(p.grad.array)
    optim.clip_grad_norm_([p], 0.6)
    assert frozen(p.grad.array) == before


def test_clipping_loses_no_small_gradient_to_float16():
    p = parameter([0.0, 0.0], [1.0, 2.0**-24], "mixed")
    optim.clip_grad_norm_(p, 2.0**-6)
    assert p.grad.array.dtype == np.float32
    np.testing.assert_allclose(p.grad.array, [2.0**-6, 2.0**-30], rtol=1e-5)


def test_clipped_gradients_are_still_good_for_one_step_and_more_backward():
    p = parameter([0.0], 8.0)
    optim.clip_grad_norm_([p], 4.0)
    give(p, 1.0)
    optim.SGD([p], lr=1.0).step()
    np.testing.assert_allclose(p.array, -5.0, rtol=1e-6)


def test_clipping_scaled_gradients_is_refused_naming_unscale():
    p = parameter([1.0, 2.0])
    (p * p).sum().backward(seed=1024.0)
    optimizer = optim.SGD([p])
    for call in (lambda: optim.clip_grad_norm_([p], 1.0), lambda: optim.clip_grad_norm_([p], 1e9)):
        refused(optimizer, fp.TapeError, "1024", "unscale_()", call=call)


def test_clipping_without_gradients_or_after_a_step_says_who_complains():
    p = parameter([1.0])
    with pytest.raises(fp.TapeError, match=r"clip_grad_norm_ without gradients"):
        optim.clip_grad_norm_([p], 1.0)
    give(p, 1.0)
    optim.SGD([p]).step()
    with pytest.raises(fp.TapeError, match=r"clip_grad_norm_ on gradients .* consumed"):
        optim.clip_grad_norm_([p], 1.0)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_clipping_hides_no_overflow(value):
    p = parameter([1.0, 2.0], [value, 1.0])
    norm = optim.clip_grad_norm_([p], 1.0)
    assert not np.isfinite(norm) and not np.isfinite(p.grad.array).all()


@pytest.mark.parametrize("norm", [-1.0, float("nan"), float("inf"), "1", None])
def test_an_impossible_norm_is_refused(norm):
    p = parameter([1.0], 2.0)
    call = lambda: optim.clip_grad_norm_([p], norm)  # noqa: E731
    refused(optim.SGD([p]), fp.ArgumentError, "max_norm", call=call)


# ---- state --------------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_continuing_from_a_state_equals_never_having_stopped(make, precision):
    def train(p, optimizer, steps):
        for k in steps:
            optimizer.zero_grad()
            give(p, np.random.default_rng(k).normal(size=3))
            optimizer.step()

    start = np.random.default_rng(9).normal(size=3)
    p = parameter(start, precision=precision)
    optimizer = make([p])
    train(p, optimizer, range(4))
    state, weights = copy.deepcopy(optimizer.state_dict()), p.array.copy()
    train(p, optimizer, range(4, 8))

    again = parameter(weights, precision=precision)
    resumed = make([again], lr=0.5)
    resumed.load_state_dict(state)
    train(again, resumed, range(4, 8))
    assert snapshot(resumed) == snapshot(optimizer)


def test_a_state_is_a_copy_that_later_steps_do_not_change():
    ps, optimizer = trained(KINDS["Adam"])
    state = optimizer.state_dict()
    before = frozen(state)
    optimizer.step()
    assert frozen(state) == before != frozen(optimizer.state_dict())


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
def test_mixed_optimizer_takes_over_the_state_of_an_optimizer_that_has_trained(make):
    results = []
    for wrap in (False, True):
        ps, optimizer = trained(make)
        stepping = fp.MixedOptimizer(optimizer) if wrap else optimizer
        assert gradients(optimizer) != frozen([None, None])
        stepping.step()
        results.append(snapshot(optimizer))
    assert results[0] == results[1]
