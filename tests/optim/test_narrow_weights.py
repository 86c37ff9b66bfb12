"""Claims about weights in few bits without masters: small updates count, and by which bits."""

import numpy as np
import pytest
from refusals import refuses
from snapshots import frozen

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim
from minifp.numerics.formats import DESCRIBED, downcast, upcast

HALF, SINGLE = np.dtype("float16"), np.dtype("float32")
BARE = "mixed,loss_scale=off,master_weights=off"
STOCHASTIC, COMPENSATED = f"{BARE},update_rounding=stochastic", f"{BARE},compensated=on"
both = pytest.mark.parametrize("precision", [STOCHASTIC, COMPENSATED])


def made(precision, values, rule=optim.SGD, **settings):
    """A parameter made under a precision, and what trains it."""
    with fp.precision(precision):
        p = nn.Parameter(np.asarray(values, np.float32))
        return p, fp.MixedOptimizer(rule([p], **{"lr": 2.0**-13, **settings}))


def step(optimizer, *gradients):
    """A step with these gradients, of one parameter each."""
    for p, g in zip(optimizer.parameters, gradients):
        p.grad = fp.Tensor(np.broadcast_to(np.asarray(g, p.gradient_dtype), p.shape).copy())
    assert optimizer.step().stepped
    optimizer.zero_grad()


@pytest.mark.parametrize("x", [1.0, -3.0, 2.0**-15, 1000.0])
@pytest.mark.parametrize("eighths", [1, 4, 7])
def test_what_is_rounded_by_chance_is_right_in_the_mean_and_never_beyond_a_neighbour(x, eighths):
    """Of n draws of a number that is up with probability r, the mean of r lies within 5 standard
    errors, sqrt(r (1 - r) / n): outside of that by chance in one of 2 million seeds."""
    gap = float(np.spacing(HALF.type(x)))
    count, r = 40_000, eighths / 8
    p, optimizer = made(STOCHASTIC, np.full(count, x), lr=abs(gap) * r)
    step(optimizer, -np.sign(gap))
    moved = (p.array.astype(np.float64) - x) / gap
    assert set(moved) == {0.0, 1.0}
    assert abs(moved.mean() - r) < 5 * np.sqrt(r * (1 - r) / count)


def test_numbers_that_the_format_has_stay_and_others_are_rounded_by_the_seed_alone():
    values = np.arange(65536, dtype=np.uint16).view(HALF)
    values = values[np.isfinite(values)]
    p, optimizer = made(STOCHASTIC, values, lr=0.0)
    step(optimizer, 1.0)
    assert frozen(p.array) == frozen(values)
    found = []
    for seed, drawn in ((1, 0), (1, 3), (2, 0)):
        p, optimizer = made(STOCHASTIC, np.ones(100), lr=2.0**-11)
        fp.manual_seed(seed)
        fp.randn(5 * drawn)
        step(optimizer, -1.0)
        found.append(frozen(p.array))
    assert found[0] == found[1] != found[2]


def test_each_weight_and_each_step_has_a_random_word_of_its_own():
    """Halves of a gap, of several parameters, groups and optimizers: no two draw alike."""
    with fp.precision(STOCHASTIC):
        ps = [nn.Parameter(np.ones(4000)) for _ in range(4)]
    groups = [{"params": ps[:2]}, {"params": ps[2:3]}]
    rules = [optim.SGD(groups, lr=2.0**-11), optim.SGD(ps[3:], lr=2.0**-11)]
    optimizer, ups = fp.MixedOptimizer(rules), []
    for _ in range(2):
        for p in ps:
            p.data = np.ones(4000)
        step(optimizer, *[-1.0] * 4)
        ups += [p.array > 1 for p in ps]
    for i, a in enumerate(ups):
        for b in ups[:i]:  # as often alike as coins are, within 5 standard errors
            assert abs((a == b).mean() - 0.5) < 5 * 0.5 / np.sqrt(4000)


def test_a_compensated_weight_is_kahans_sum():
    """Zamirai et al. 2020, algorithm 3, written out: c of the other sign, u the update. All of it
    is exact here but what is rounded to float16, so the bits are the same."""
    random = np.random.default_rng(0)
    start = random.uniform(0.5, 0.9, 1000).astype(HALF)
    p, optimizer = made(COMPENSATED, start)
    w, c = start, np.zeros(1000, HALF)
    for _ in range(50):
        g = random.integers(-64, 64, 1000)
        step(optimizer, g)
        y = SINGLE.type(-(2.0**-13)) * g.astype(SINGLE) - upcast(c, SINGLE)
        s = downcast(upcast(w, SINGLE) + y, HALF)
        c, w = downcast((upcast(s, SINGLE) - upcast(w, SINGLE)) - y, HALF), s
    state = optimizer.state_dict()["optimizers"][0]["state"][0]
    assert frozen(p.array) == frozen(w)
    assert (state["compensation"] == -c).all() and (c != 0).any()


def test_a_compensated_weight_stays_as_near_to_its_master_as_rounding_it_allows():
    """The sum w + c errs by half a unit of c each time, 2^-25 as long as |c| < 2^-13, and by what
    float32 errs, as its master does: 2^-25 of numbers below 1."""
    random = np.random.default_rng(1)
    start = random.uniform(-0.4, 0.4, 1000)
    (p, compensated), (_, masters) = (made(k, start) for k in (COMPENSATED, "mixed,loss_scale=off"))
    for _ in range(100):
        g = random.normal(size=1000)
        step(compensated, g)
        step(masters, g)
    master = masters.state_dict()["optimizers"][0]["state"][0]["master"]
    kept = compensated.state_dict()["optimizers"][0]["state"][0]["compensation"]
    found = upcast(p.array, np.dtype("float64")) + kept
    assert np.abs(found - master).max() <= 101 * 2.0**-25 + 100 * 2 * 2.0**-25


def test_what_is_assigned_is_taken_with_all_of_its_bits_two_bytes_of_optimizer_state():
    value = np.array([0.1, 1 / 3, 2.7], SINGLE)
    p, optimizer = made(COMPENSATED, np.ones(3), lr=0.0)
    for assigned in (value, value.astype(HALF)):
        p.data = assigned
        step(optimizer, 1.0)
        kept = optimizer.state_dict()["optimizers"][0]["state"][0]["compensation"]
        w = downcast(assigned, HALF)
        assert frozen(p.array) == frozen(w)
        assert kept.tolist() == downcast(assigned - upcast(w, SINGLE), HALF).tolist()
    memory = [made(k, np.ones(1000))[1].memory() for k in (BARE, COMPENSATED)]
    assert memory[1]["optimizer_state"] - memory[0]["optimizer_state"] == 2000
    assert memory[1]["masters"] == 0


@both
def test_states_masters_and_parameters_that_do_not_go_with_it_are_refused_or_told(precision):
    kind = {STOCHASTIC: "no", COMPENSATED: "compensation"}[precision]
    _, optimizer = made(precision, np.ones(3))
    state = made(BARE, np.ones(3))[1].state_dict()
    if kind == "no":  # nothing is kept
        optimizer.load_state_dict(state)
    else:
        refuses(fp.ArgumentError, "expected .*'compensation'", optimizer.load_state_dict, state)
    with fp.precision(precision):
        p = nn.Parameter(np.ones(3))
    with pytest.raises(
        fp.PrecisionError, match="has no effect with master weights: .* without master_weights"
    ):
        fp.MixedOptimizer(optim.SGD([p]), master_weights=True)
    with fp.precision(precision):
        norm = nn.LayerNorm(4)
    with pytest.warns(fp.MisuseWarning, match="does nothing here: all parameters .* float32"):
        fp.MixedOptimizer(optim.SGD(norm.parameters()))


SPECIAL = [0.0, -0.0, 65504.0, 65519.9, 65520.0, 1e30, np.inf, -np.inf, np.nan, 2.0**-24, 2.0**-60]


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_the_compiled_rounding_is_the_references_for_all_magnitudes(name):
    from llvmlite import ir

    from minifp.numerics.format_codes import codes_of
    from minifp.runtime import cpu

    if not cpu.can_compile():
        pytest.skip("kernels are not compiled here")
    from minifp.runtime.cpu.compile.machine import I32, I64, kernel_of
    from minifp.runtime.cpu.emit.loops import Code, new_module
    from minifp.runtime.cpu.emit.random_ir import stochastic_code

    format = DESCRIBED[name]
    code = Code(new_module("codes"), "codes", {
        "x": "float32", "words": "int64", "codes": "int64", "n": "i64",
    })  # fmt: skip
    with code.loop(I64(0), code.p["n"]) as i:
        x = code.load(code.p["x"], i, "float32")
        word = code.b.trunc(code.b.load(code.b.gep(code.p["words"], [i])), I32)
        result = stochastic_code(code.b, x, word, format)
        assert result.type == ir.IntType(8 * format.bytes)
        code.b.store(code.b.zext(result, I64), code.b.gep(code.p["codes"], [i]))
    code.finish()
    random = np.random.default_rng(0)
    x = random.integers(0, 2**32, 20_000, np.uint32).view(SINGLE)  # all signs and exponents
    x = np.concatenate([x, random.normal(size=5000).astype(SINGLE), np.array(SPECIAL, SINGLE)])
    words = random.integers(0, 2**32, x.size, np.uint32)
    words[::3] = 0
    found = np.empty(x.size, np.int64)
    kernel_of("codes", code.text(), name)(x, words.astype(np.int64), found, x.size)
    np.testing.assert_array_equal(found, codes_of(x, format, "stochastic", words))


@pytest.mark.parametrize("storage, kept", [("float16", 0.5), ("bfloat16", 0.1)])
def test_at_a_small_rate_what_rounds_to_nearest_stands_still_and_the_others_do_not(storage, kept):
    """R1, R2 and R4: Adam at 1e-5 on digits. Of what masters gain in the loss, over seeds, rounding
    float16 to nearest gains a quarter, bfloat16 next to nothing, and the two others all but one
    percent."""
    train_set, test_set = fp.data.digits()
    x, t = (np.stack([a[k] for a in test_set]) for k in (0, 1))
    gains = []
    for precision in ("mixed,loss_scale=1024", BARE, STOCHASTIC, COMPENSATED):
        fp.manual_seed(0)
        with fp.precision(f"{precision},loss_scale=1024,storage={storage}"):
            layers = nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10)
            model = nn.Sequential(nn.Flatten(), *layers)
            optimizer = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=1e-5))
            before = F.cross_entropy(model(fp.tensor(x)), t).item()
            for _ in range(5):
                for batch in fp.data.DataLoader(train_set, batch_size=32, shuffle=True):
                    optimizer.minimize(F.cross_entropy(model(batch[0]), batch[1]))
            gains.append(before - F.cross_entropy(model(fp.tensor(x)), t).item())
    masters, nearest, stochastic, compensated = gains
    assert nearest < kept * masters and masters > 0
    assert min(stochastic, compensated) > 0.9 * masters
