"""Claims about optimizer state in few bits with scales: what rules see, and what is kept of it."""

import numpy as np
import pytest
from snapshots import frozen, snapshot

import minifp as fp
from minifp import nn, optim
from minifp.errors import ArgumentError, PrecisionError
from minifp.numerics.formats import as_dtype
from minifp.numerics.number_format import FORMATS
from minifp.numerics.state_format import decode, encode
from minifp.optim import state as of_state

SCALED = "mixed,loss_scale=off,optimizer_state=float8_e4m3fn,second_moment=float16,"
TENSOR, BLOCKS = (f"{SCALED}optimizer_state_scale={scale}" for scale in ("tensor", "block:7"))
scaled = pytest.mark.parametrize("precision", [TENSOR, BLOCKS])
SHAPES = [(3,), (5, 31), (), (0, 2), (4, 3), (1,)]
RULES = {
    **{rule.__name__: (rule, {}) for rule in (optim.Adam, optim.AdamW, optim.LAMB, optim.NAdam)},
    **{rule.__name__: (rule, {}) for rule in (optim.RAdam, optim.Adamax, optim.Adadelta)},
    **{"SGD": (optim.SGD, {"momentum": 0.9}), "AMSGrad": (optim.Adam, {"amsgrad": True})},
    "Adagrad": (optim.Adagrad, {"initial_accumulator_value": 0.1}),
    "RMSprop": (optim.RMSprop, {"centered": True, "momentum": 0.9}),
}
every_rule = pytest.mark.parametrize("rule", RULES)


def made(precision, rule="Adam", shapes=SHAPES):
    random, (kind, settings) = np.random.default_rng(0), RULES[rule]
    with fp.precision(precision):
        ps = [nn.Parameter(random.normal(size=shape)) for shape in shapes]
        return ps, fp.MixedOptimizer(kind(ps, **{"lr": 1e-2, **settings}))


def step(ps, optimizer, k, factor=1e-4):
    """A step with gradients of which some are missing, and some not contiguous."""
    random = np.random.default_rng(k)
    for i, p in enumerate(ps):
        g = factor * random.normal(size=p.shape)
        p.grad = fp.Tensor(np.asfortranarray(g.astype("float16"))) if (i, k) != (1, 1) else None
    return optimizer.step()


def rounded(x, format, length):
    """What is read back of x where each `length` numbers have a scale."""
    starts, y = np.arange(0, x.size, length), np.empty_like(x)
    codes, scales = np.empty(x.size, as_dtype(format)), np.empty(starts.size, np.float32)
    encode(x, starts, codes, scales)
    decode(codes, scales, starts, y)
    return y


def plain(optimizer):
    return optimizer.optimizers[0]


def held(optimizer):
    """Weights, codes, scales and counts, to the last bit."""
    (rule,) = optimizer.optimizers
    states = [sorted((n, s.arrays) for n, s in b.state.items()) for b in rule.blocks]
    return frozen([[p.array for p in rule.parameters], states, [b.steps for b in rule.blocks]])


@every_rule
@scaled
def test_a_rule_works_in_float32_on_what_was_read_back(rule, precision, monkeypatch):
    """Steps with scales are steps with state in float32 that is rounded after each, bit for bit, in
    pieces too."""
    monkeypatch.setattr(of_state, "PIECE", 20)
    ps, optimizer = made(precision, rule)
    qs, single = made("mixed,loss_scale=off", rule)
    of_single, length = plain(single), 7 if precision == BLOCKS else None
    for k in range(4):
        step(ps, optimizer, k)
        step(qs, single, k)
        for kept in of_single.state.values():
            for name in {*of_single.state_names} & {*kept}:
                second = name in of_single.second_moments
                format = "float16" if second else "float8_e4m3fn"
                x = kept[name].reshape(-1)
                if x.size:
                    kept[name] = rounded(x, format, length or x.size).reshape(kept[name].shape)
        assert frozen([p.array for p in ps]) == frozen([q.array for q in qs])
        theirs = [dict(kept) for kept in of_single.state.values()]
        assert frozen([dict(kept) for kept in plain(optimizer).state.values()]) == frozen(theirs)


@scaled
def test_small_updates_of_weights_without_masters_count_in_pieces_too(precision, monkeypatch):
    for way in ("update_rounding=stochastic", "compensated=on"):
        found = []
        for piece in (of_state.PIECE, 20):
            monkeypatch.setattr(of_state, "PIECE", piece)
            ps, optimizer = made(f"{precision},master_weights=off,{way}")
            for k in range(3):
                step(ps, optimizer, k)
            found.append(snapshot(plain(optimizer)))
        assert frozen(found[0]) == frozen(found[1])


def test_compiled_rules_give_the_references_bits():
    found = []
    for by in ("compiled", "references"):
        ps, optimizer = made(f"{SCALED}optimizer_state_scale=block:2048", shapes=[(400, 500), (9,)])
        if by == "references":
            plain(optimizer)._compiled_rule = lambda *_: None
        for k in range(2):
            step(ps, optimizer, k)
        found.append(snapshot(plain(optimizer)))
    assert frozen(found[0]) == frozen(found[1])


@pytest.mark.parametrize(
    "format, decays", [("float16", True), ("bfloat16", False), ("float8_e5m2", False)]
)
def test_a_second_moment_with_few_bits_of_mantissa_does_not_decay(format, decays):
    """v <- 0.999 v is rounded to v where a thousandth of v is less than half an ulp of it, which in
    bfloat16 is at least 1/512 of v (between 1/512 and 1/256), in float16 at most 1/2048."""
    scale = "off" if format == "bfloat16" else "tensor"
    _, optimizer = made(f"mixed,optimizer_state={format},optimizer_state_scale={scale}")
    (p, *_), rule = plain(optimizer).parameters, plain(optimizer)
    rule.state[p]["exp_avg_sq"] = np.full(3, 1.1)
    before = rule.state[p]["exp_avg_sq"]
    for _ in range(50):
        p.grad = fp.Tensor(np.zeros(3, np.float16))
        optimizer.step()
    after = rule.state[p]["exp_avg_sq"]
    assert np.all(after < 0.97 * before) if decays else np.all(after == before)


@scaled
def test_a_skipped_step_leaves_codes_and_scales_of_which_memory_is_told(precision):
    ps, optimizer = made(precision)
    step(ps, optimizer, 0)
    before = held(optimizer)
    assert not step(ps, optimizer, 2, factor=np.inf).stepped
    assert held(optimizer) == before
    _, optimizer = made(precision)
    scales = 5 if precision == TENSOR else 1 + 23 + 1 + 2 + 1
    assert optimizer.memory()["optimizer_state"] == 172 * (1 + 2) + 2 * 4 * scales
    blocks = plain(optimizer).blocks
    bytes_held = [s.bytes_of(i) for b in blocks for s in b.state.values() for i in range(6)]
    assert sum(bytes_held) == optimizer.memory()["optimizer_state"]


def test_state_is_read_as_numbers_and_rounded_when_it_is_set():
    ps, optimizer = made(BLOCKS)
    step(ps, optimizer, 0)
    kept = plain(optimizer).state[ps[1]]
    assert {*kept} == {"step", "exp_avg", "exp_avg_sq"} and kept["step"] == 1
    assert kept["exp_avg"].shape == (5, 31) and kept["exp_avg"].dtype == np.float32
    values = np.linspace(1e-9, 1e-8, 155, dtype=np.float32).reshape(5, 31)
    others = frozen([dict(plain(optimizer).state[p]) for p in (ps[0], ps[4])])
    kept["exp_avg_sq"] = values
    np.testing.assert_allclose(kept["exp_avg_sq"], values, rtol=2.0**-11)  # half an ulp of float16
    assert frozen([dict(plain(optimizer).state[p]) for p in (ps[0], ps[4])]) == others
    for name, value, what in [
        ("exp_avg", np.ones(3), "expected numbers of shape"),
        ("step", 3, "load_state_dict"),
    ]:
        with pytest.raises(ArgumentError, match=what):
            kept[name] = value
    with pytest.raises(KeyError):
        kept["momentum_buffer"] = values


@scaled
def test_a_state_dict_is_a_copy_of_codes_and_scales_that_goes_into_any_other_layout(precision):
    ps, optimizer = made(precision)
    for k in range(3):
        step(ps, optimizer, k)
    saved, numbers = optimizer.state_dict(), [dict(s) for s in plain(optimizer).state.values()]
    entry = saved["optimizers"][0]["state"][1]["exp_avg"]
    assert entry["codes"].dtype == FORMATS["float8_e4m3fn"].stored
    assert entry["scales"].shape == ((1,) if precision == TENSOR else (-(-155 // 7),))
    _, again = made(precision)
    again.load_state_dict(saved)
    assert held(again) == held(optimizer)
    _, single = made("mixed,loss_scale=off")
    single.load_state_dict(saved)
    assert frozen([dict(s) for s in plain(single).state.values()]) == frozen(numbers)
    _, back = made(precision)
    back.load_state_dict(single.state_dict())  # as an old file has it: numbers alone
    assert held(back) == held(optimizer)
    before = frozen(saved)
    step(ps, optimizer, 0, factor=9.0)
    assert frozen(saved) == before


@pytest.mark.parametrize("change", [
    {"scale_of": "row"}, {"scales": np.ones(2, np.float32)}, {"scales": -np.ones(23, np.float32)},
    {"scales": np.full(23, np.nan, np.float32)}, {"scales": [1.0] * 23},
    {"codes": np.zeros((5, 31), np.uint8)}, {"codes": np.zeros(155, np.float16)}, {"other": 1},
])  # fmt: skip
def test_state_that_does_not_fit_is_refused(change):
    _, optimizer = made(BLOCKS)
    state = optimizer.state_dict()
    state["optimizers"][0]["state"][1]["exp_avg"].update(change)
    with pytest.raises(ArgumentError, match="parameter 1: exp_avg is not state with scales"):
        optimizer.load_state_dict(state)


def test_a_group_that_is_added_later_has_scales_too_and_weights_on_a_gpu_are_refused(monkeypatch):
    ps, optimizer = made(BLOCKS)
    step(ps, optimizer, 0)
    with fp.precision(BLOCKS):
        q = nn.Parameter(np.ones(10))
    optimizer.add_param_group({"params": [q]})
    step([*ps, q], optimizer, 2)
    assert plain(optimizer).blocks[1].state["exp_avg"].scales.shape == (2,)
    monkeypatch.setattr(of_state, "is_on_device", lambda _: True)
    with pytest.raises(PrecisionError, match="optimizer_state_scale=block:7: .* on the CPU only"):
        plain(made(BLOCKS)[1]).blocks  # noqa: B018
