"""Claims about PaddlePaddle's names: its loss scale's rule, its levels, and what is refused."""

import math
from operator import is_

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim
from minifp.compat.paddle import amp, mixed_precision

NAMED = {"O0": "float32", "O1": "autocast", "O2": "mixed"}
IN_BFLOAT16 = {"O0": "float32", "O1": "autocast-bfloat16", "O2": "bfloat16"}


def adam():
    return optim.Adam(nn.Linear(2, 1).parameters())


def paddles(history, settings, least=1.0):
    """S after each step (True: a good one), as the kernel update_loss_scaling computes it."""
    names = "init_loss_scaling incr_every_n_steps decr_every_n_nan_or_inf incr_ratio decr_ratio"
    scale, incr, decr, incr_ratio, decr_ratio = (settings[name] for name in names.split())
    good = bad = 0
    for is_finite in history:
        if is_finite:
            good, bad = good + 1, 0
            if good == incr:
                larger = np.float32(scale * incr_ratio)
                scale, good = (scale if math.isinf(larger) else larger), 0
        else:
            good, bad = 0, bad + 1
            if bad == decr:
                scale, bad = max(scale * decr_ratio, least), 0
        yield float(scale)


RULES = st.fixed_dictionaries({
    "init_loss_scaling": st.sampled_from([1.0, 8.0, 2.0**15]),
    "incr_every_n_steps": st.integers(1, 4),
    "decr_every_n_nan_or_inf": st.integers(1, 4),
    "incr_ratio": st.sampled_from([2.0, 4.0]),
    "decr_ratio": st.sampled_from([0.5, 0.25]),
})  # fmt: skip


@given(st.lists(st.booleans(), max_size=40), RULES)
def test_the_scale_follows_paddles_rule(history, settings):
    scale = mixed_precision.decorate(adam(), **settings).loss_scale
    found = []
    for is_finite in history:
        scale.update(is_finite)
        found.append(scale.value)
    assert found == [*paddles(history, settings)]


def test_the_defaults_are_fluids_and_a_scale_may_stay_as_it_is():
    scale = mixed_precision.decorate(adam()).loss_scale
    for is_finite, value in [*[(True, 2.0**15)] * 999, (True, 2.0**16), (False, 2.0**16)]:
        scale.update(is_finite)
        assert scale.value == value
    scale.update(False)
    assert scale.value == 0.8 * 2**16
    for _ in range(999):  # nobody loses patience
        scale.update(False)
    assert scale.value == 1.0 and scale.skipped_in_a_row < scale.patience
    settings = {"init_loss_scaling": 128.0, "use_dynamic_loss_scaling": False}
    optimizer = mixed_precision.decorate(adam(), **settings)
    assert type(optimizer.loss_scale) is fp.StaticLossScale and optimizer.scale == 128.0


@pytest.mark.parametrize("precision", ["mixed", "autocast"])
def test_a_decorated_optimizer_minimizes(precision):
    fp.manual_seed(0)
    with fp.precision(precision):
        model = nn.Linear(2, 1)
    plain = optim.Adam(model.parameters(), lr=0.1)
    optimizer = mixed_precision.decorate(plain, init_loss_scaling=64.0)
    x = fp.tensor([[1.0, 2.0], [3.0, -1.0]])
    losses = []
    for _ in range(20):
        loss = F.mse_loss(model(x), fp.tensor([[1.0], [2.0]]))
        assert optimizer.minimize(loss).stepped
        losses.append(loss.item())
    assert losses[-1] < 0.3 * losses[0] and optimizer.scale == 64.0
    assert optimizer.master_weights == (precision == "mixed")


def after(scaler, optimizer, history):
    (x,) = optimizer.parameters
    for is_finite in history:
        scaled = scaler.scale((x * (1.0 if is_finite else float("inf"))).sum())
        scaled.backward()
        before = x.numpy().copy()
        scaler.minimize(optimizer, scaled)
        assert np.array_equal(x.numpy(), before - (0.5 if is_finite else 0.0))
        optimizer.zero_grad()
        yield scaler.get_loss_scaling()


def one_number():
    return optim.SGD([nn.Parameter([100.0])], lr=0.5)


@given(st.lists(st.booleans(), max_size=12), RULES, st.integers(0, 11))
def test_the_scaler_follows_paddles_rule_without_a_floor(history, settings, saved):
    scaler, optimizer = amp.GradScaler(**settings), one_number()
    found = [*after(scaler, optimizer, history[:saved])]
    fresh = amp.GradScaler()
    fresh.load_state_dict(scaler.state_dict())
    found += after(fresh, optimizer, history[saved:])
    assert found == [*paddles(history, settings, least=0.0)]


def test_the_scalers_defaults_are_paddles_and_a_state_that_does_not_fit_is_refused():
    scaler = amp.GradScaler()
    assert scaler.is_enable() and scaler.is_use_dynamic_loss_scaling()
    told = scaler.state_dict()
    assert told.pop("scale") == [2.0**16]
    assert [*told.values()] == [2.0, 0.5, 2000, 1, 0, 0, True]
    static = amp.GradScaler(init_loss_scaling=8.0, use_dynamic_loss_scaling=False)
    assert [*after(static, one_number(), [False, True] * 3)] == [8.0] * 6
    none = amp.GradScaler(False)
    assert [*after(none, one_number(), [True, True])] == [1.0, 1.0] and none.state_dict() == {}
    for damage in (
        *(lambda s: s.pop("decr_count"), lambda s: s.update(decr_count=-1)),
        *(lambda s: s.update(incr_ratio=0.5), lambda s: s.update(decr_every_n_nan_or_inf=0)),
    ):
        state, before = amp.GradScaler(init_loss_scaling=8.0).state_dict(), scaler.state_dict()
        damage(state)
        with pytest.raises(fp.ArgumentError):
            scaler.load_state_dict(state)
        assert scaler.state_dict() == before


def trained(level, steps=20, **given):
    fp.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 8), nn.LayerNorm(8), nn.Linear(8, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.05)
    assert amp.decorate(model, optimizer, level=level, **given) == (model, optimizer)
    scaler = amp.GradScaler(init_loss_scaling=64.0)
    x, t = fp.tensor([[1.0, 2.0], [3.0, -1.0]]), fp.tensor([[1.0], [2.0]])
    losses = []
    for _ in range(steps):
        with amp.auto_cast(level=level):
            loss = F.mse_loss(model(x), t)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        losses.append(loss.item())
    return model, optimizer, losses


@pytest.mark.parametrize("level, dtype", [
    ("O0", None), ("O1", None), ("O2", "float16"), ("O2", "bfloat16"),
])  # fmt: skip
def test_a_model_that_is_there_trains_at_a_level(level, dtype):
    model, optimizer, losses = trained(level, **({"dtype": dtype} if dtype else {}))
    assert losses[-1] < 0.1 * losses[0]
    narrow = dtype or "float32"
    formats = [narrow] * 2 + ["float32"] * 2 + [narrow] * 2
    assert [str(p.dtype) for p in model.parameters()] == formats
    assert optimizer.has_masters == (level == "O2")
    if level == "O2":
        assert str(model.precision) == {"float16": "mixed"}.get(dtype, dtype)
        assert model[0].weight.exact is not None
        without, optimizer, _ = trained("O2", steps=1, master_weight=False)
        assert not optimizer.has_masters and without[0].weight.exact is None
    refuses(fp.ArgumentError, "has already made steps", amp.decorate, model, optimizer, level="O2")
    assert [str(p.dtype) for p in model.parameters()] == formats


X = np.ones((2, 3), "float32")
FORMATS = {  # of a product, of softmax and of relu, from float32 and from float16 numbers
    "O0": ("float32 float32 float32", "float16 float16 float16"),
    "OD": ("float16 float32 float32", "float16 float32 float32"),
    "O1": ("float16 float32 float32", "float16 float32 float16"),
}


def formats(dtype):
    x = fp.tensor(X, dtype=dtype)
    return " ".join(str(y.dtype) for y in (F.linear(x, x), F.softmax(x, dim=1), F.relu(x)))


@pytest.mark.parametrize("level", NAMED)
def test_a_level_is_a_precision(level):
    with amp.auto_cast(level=level):
        assert str(fp.get_precision()) == NAMED[level]
    with amp.auto_cast(level=level, dtype="bfloat16"):
        assert str(fp.get_precision()) == IN_BFLOAT16[level]
    assert str(fp.get_precision()) == "float32"


@pytest.mark.parametrize("level", FORMATS)
def test_operations_work_in_the_formats_of_the_level(level):
    with amp.auto_cast(level=level):
        assert (formats("float32"), formats("float16")) == FORMATS[level]
    with amp.auto_cast(False, level=level):
        assert (formats("float32"), formats("float16")) == FORMATS["O0"]
    with amp.auto_cast(level=level, dtype="bfloat16"):
        found = formats("float32"), formats("bfloat16")
        assert found == tuple(f.replace("float16", "bfloat16") for f in FORMATS[level])


@pytest.mark.parametrize("level", ["OD", "O1"])
def test_lists_change_what_an_operation_works_in(level):
    with amp.auto_cast(custom_white_list={"softmax"}, custom_black_list=["linear"], level=level):
        assert formats("float32").split()[:2] == ["float32", "float16"]
    with amp.auto_cast(True, ["softmax"], level=level, dtype="bfloat16"):
        assert formats("float32").split()[:2] == ["bfloat16", "bfloat16"]


def for_optimizer(**given):
    return mixed_precision.decorate(adam(), **given)


def for_model(**given):
    return amp.decorate(nn.Linear(2, 1), **given)


BOTH = {"custom_white_list": ["relu"], "custom_black_list": ["relu"]}


@pytest.mark.parametrize(("call", "given", "error", "words"), [
    (for_optimizer, {"amp_lists": None}, fp.ArgumentError, "custom_black_list"),
    (for_optimizer, {"use_pure_fp16": True}, fp.ArgumentError, 'level="O2"'),
    (for_optimizer, {"loss_scale": 128.0}, fp.ArgumentError, "init_loss_scaling"),
    (for_optimizer, {"loss_scale": 8, "init_loss_scaling": 4}, fp.ArgumentError, "init_loss_s"),
    (for_optimizer, {"incr_every_steps": 4}, fp.ArgumentError, "incr_every_n_steps"),
    (for_optimizer, {"incr_ratio": 0.5}, fp.PrecisionError, "incr_ratio=0.5"),
    (for_optimizer, {"decr_ratio": 2.0}, fp.PrecisionError, "decr_ratio=2.0"),
    (for_optimizer, {"init_loss_scaling": 0.0}, fp.PrecisionError, "init_loss_scaling=0.0"),
    (for_optimizer, {"incr_every_n_steps": 0}, fp.ArgumentError, "incr_every_n_steps=0"),
    (for_optimizer, {"decr_every_n_nan_or_inf": 1.5}, fp.ArgumentError, "n_nan_or_inf=1.5"),
    (for_model, {"level": "OD"}, fp.ArgumentError, "'O2'"),
    (for_model, {"dtype": "float32"}, fp.PrecisionError, "expected float16"),
    (for_model, {"master_weight": 1, "level": "O2"}, fp.ArgumentError, "master_weight"),
    (for_model, {"master_weight": True}, fp.ArgumentError, "needs level O2"),
    (amp.auto_cast, {"level": "O3"}, fp.ArgumentError, "'O2'"),
    (amp.auto_cast, {"enable": 1}, fp.ArgumentError, "enable"),
    (amp.auto_cast, {"dtype": "float8_e5m2"}, fp.PrecisionError, "expected float16 or bfloat16"),
    (amp.auto_cast, {"dtype": "float32"}, fp.PrecisionError, "expected float16"),
    (amp.auto_cast, BOTH, fp.ArgumentError, "overlap"),
    (amp.auto_cast, {"custom_white_list": ["mat"]}, fp.PrecisionError, "no operation 'mat'"),
    (amp.auto_cast, {"custom_black_list": ["relu"], "level": "O2"}, fp.ArgumentError, "OD or O1"),
    (amp.auto_cast, {"custom_black_list": ["relu"], "level": "O0"}, fp.ArgumentError, "OD or O1"),
])  # fmt: skip
def test_what_is_no_level_or_changes_nothing_is_refused(call, given, error, words):
    refuses(error, words, call, **given)


def test_a_scale_that_cannot_get_smaller_ends_training():
    optimizer = mixed_precision.decorate(adam(), init_loss_scaling=1.0)
    with pytest.raises(fp.TrainingError, match="50 steps in a row were skipped"):
        for _ in range(51):
            optimizer.minimize((optimizer.parameters[0] * math.nan).sum())
    scaler = amp.GradScaler(init_loss_scaling=2.0**-120, decr_ratio=0.9)
    for _ in range(50):
        scaler._adapt(True)
    refuses(fp.TrainingError, "fallen to 0", scaler.scale, fp.ones(1))


def test_minimize_finds_the_parameters_of_an_optimizer_without():
    with fp.precision("mixed"):
        model = nn.Linear(3, 4)
    optimizer = fp.MixedOptimizer(optim.Adam(lr=0.1))
    with pytest.raises(fp.TapeError, match="the loss depends on none"):
        optimizer.minimize(fp.ones(2, requires_grad=True).sum())
    assert optimizer.minimize(model(fp.ones(5, 3)).square().mean()).stepped
    assert all(map(is_, optimizer.parameters, model.parameters()))
