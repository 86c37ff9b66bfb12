"""PyTorch's AMP: autocast, GradScaler and autograd.Function keep PyTorch's rules."""

import math

import numpy as np
import pytest
from refusals import refuses

import minifp as fp
from minifp import nn
from minifp.autograd.backward import toposort
from minifp.nn import functional as F

SEQUENCE = [0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0]  # in which steps a gradient is Inf


def a_network():
    fp.manual_seed(1)
    return nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.BatchNorm1d(32), nn.Linear(32, 3))


@pytest.fixture
def batch():
    fp.manual_seed(0)
    return fp.randn(64, 10), fp.randint(0, 3, (64,))


def test_a_module_made_under_the_default_follows_where_it_is_called(batch):
    model, (x, _) = a_network(), batch
    assert model(x).dtype == fp.float32
    with fp.autocast("cpu", dtype=fp.float16):
        assert model(x).dtype == fp.float16 and fp.is_autocast_enabled()
        with fp.autocast("cpu", enabled=False):
            assert model(x).dtype == fp.float32 and not fp.is_autocast_enabled()
    assert model[0].weight.dtype == fp.float32 and not fp.is_autocast_enabled()


def test_a_module_made_in_a_precision_keeps_it_and_says_so_once(batch):
    with fp.precision("float32"):
        model = a_network()
    region = fp.autocast("cpu")
    with region, pytest.warns(fp.MisuseWarning, match="does not change it") as told:
        assert model(batch[0]).dtype == model(batch[0]).dtype == fp.float32
    assert len(told) == 1
    model.precision = None
    with region:
        assert model(batch[0]).dtype == fp.bfloat16


def formats_of_regions(module, **modules):
    """What autocast's regions, one in another, compute products in, and say that they do."""
    x, amp = module.ones(2, 2), modules["amp"]

    def now(device="cpu"):
        dtypes = (x @ x).dtype, amp.get_autocast_dtype(device)
        return [str(d).removeprefix("torch.") for d in dtypes]

    yield now()
    yield now("cuda")[1]
    with module.autocast("cpu"):
        yield now()
        with module.autocast("cpu", dtype=module.float16):
            yield now()
            with module.autocast("cpu"):  # in that of the region around it
                yield now()
            with module.autocast("cpu", dtype=module.bfloat16):
                yield now()
            with module.autocast("cpu", enabled=False):
                yield now()[0]
        yield now()


REGIONS = ["bfloat16"] * 2, ["float16"] * 2
REGIONS = [
    *(["float32", "bfloat16"], "float16", REGIONS[0], REGIONS[1], REGIONS[1], REGIONS[0]),
    *("float32", REGIONS[0]),
]


def test_regions_have_the_format_that_they_are_given_or_that_around_them_as_pytorchs():
    assert [*formats_of_regions(fp, amp=fp.amp)] == REGIONS
    torch = pytest.importorskip("torch")
    assert [*formats_of_regions(torch, amp=torch)] == REGIONS


def test_a_region_inside_of_a_changed_table_keeps_the_changes():
    with fp.precision("autocast,softmax=given,loss_scale=8") as outer:
        with fp.autocast("cpu", dtype="bfloat16") as inner:
            assert str(inner) == "autocast-bfloat16,loss_scale=8,softmax=given"
        with fp.autocast("cpu") as inner:
            assert inner is outer
    assert fp.autocast("cpu")(fp.is_autocast_enabled)()  # a decorator
    with pytest.raises(fp.PrecisionError, match="float16 or bfloat16; .* enabled=False"):
        fp.autocast("cpu", dtype="float32")
    refuses(fp.ArgumentError, "'tpu': expected 'cuda' or 'cpu'", fp.autocast, "tpu")


@pytest.mark.parametrize(("enabled", "casts"), [(True, 1), (False, 2)])
def test_a_weight_is_cast_once_in_a_region(enabled, casts):
    w, x = fp.randn(4, 4, requires_grad=True), fp.randn(2, 4)
    with fp.autocast("cpu", dtype=fp.float16, cache_enabled=enabled):
        y = (x @ w) + (x @ w)
        nodes = [n for n in toposort([y.node]) if getattr(n, "op", "") == "cast"]
        assert len(nodes) == casts
        y.sum().backward()
        first = w.grad.numpy().copy()
        with fp.no_grad():
            w *= 2
        w.grad = None
        z = (x @ w).sum()  # neither the released cast nor that of the old numbers
        z.backward()
    np.testing.assert_allclose(w.grad.numpy() * 2, first, rtol=2e-3)
    np.testing.assert_allclose(z.item(), (x.numpy() @ w.numpy()).sum(), rtol=1e-2, atol=1e-2)


def test_a_mixed_optimizer_without_a_scale_is_told_of_autocast(batch):
    model, (x, y) = a_network(), batch
    optimizer = fp.MixedOptimizer(fp.optim.SGD(model.parameters(), lr=0.1))
    optimizer.minimize(F.cross_entropy(model(x), y))
    with fp.autocast("cpu"):  # bfloat16, which needs none
        optimizer.minimize(F.cross_entropy(model(x), y))
    with fp.autocast("cpu", dtype="float16"):
        loss = F.cross_entropy(model(x), y)
    with pytest.warns(fp.MisuseWarning, match="has no loss scale: small gradients become 0"):
        optimizer.minimize(loss)


@pytest.mark.parametrize("low", ["float16", "bfloat16"])
def test_kerass_policies_compute_in_few_bits_with_float32_variables(batch, low):
    fp.amp.set_global_policy(f"mixed_{low}")
    try:
        model, (x, t) = a_network(), batch
        optimizer = fp.amp.LossScaleOptimizer(fp.optim.SGD(model.parameters(), lr=0.1))
        y = model(x)
        optimizer.minimize(F.cross_entropy(y, t))
        assert (y.dtype, F.softmax(y, 1).dtype) == (low, low)
        assert {p.dtype for p in model.parameters()} == {fp.float32}
        assert optimizer.memory()["masters"] == 0
    finally:
        fp.amp.set_global_policy("float32")
    refuses(fp.ArgumentError, "mixed_float16", fp.amp.set_global_policy, "mixed_float8")


def with_found_inf(scaler, optimizer, w, found):
    optimizer.zero_grad()
    scaler.scale((w * (math.inf if found else 1.0)).sum()).backward()
    before = w.numpy().copy()
    if scaler.get_scale() > 4:  # as recipes have it, of Inf too
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_([w], 9.0)
    scaler.step(optimizer)
    stepped = not np.array_equal(before, w.numpy())
    scaler.update()
    return scaler.get_scale(), stepped


def test_scales_and_skips_are_pytorchs_step_by_step():
    torch = pytest.importorskip("torch")
    theirs = torch.ones(3, requires_grad=True)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**4, growth_interval=3)
    optimizer = torch.optim.SGD([theirs], lr=0.1)
    ours = fp.ones(3, requires_grad=True)
    own_scaler = fp.GradScaler("cpu", init_scale=2.0**4, growth_interval=3)
    own_optimizer = fp.optim.SGD([ours], lr=0.1)
    for found in SEQUENCE:
        optimizer.zero_grad()
        scaler.scale((theirs * (math.inf if found else 1.0)).sum()).backward()
        before = theirs.detach().clone()
        scaler.step(optimizer)
        scaler.update()
        expected = scaler.get_scale(), not torch.equal(before, theirs)
        assert with_found_inf(own_scaler, own_optimizer, ours, found) == expected
    np.testing.assert_allclose(ours.numpy(), theirs.detach().numpy(), rtol=1e-6)
    state = scaler.state_dict()
    assert own_scaler.state_dict() == state
    again = fp.GradScaler("cpu")
    again.load_state_dict(state)
    assert again.state_dict() == state


def test_clipping_sees_unscaled_gradients_only(batch):
    model, (x, y) = a_network(), batch
    optimizer, scaler = fp.optim.SGD(model.parameters(), lr=0.1), fp.GradScaler("cpu")
    scaler.scale(F.cross_entropy(model(x), y)).backward()
    assert model[0].weight.grad.seed == 2.0**16
    refuses(fp.TapeError, "still multiplied by", nn.utils.clip_grad_norm_, model.parameters(), 1.0)
    refuses(fp.TapeError, "made with seed 65536", optimizer.step)
    scaler.unscale_(optimizer)
    assert nn.utils.clip_grad_norm_(model.parameters(), 1.0) < 10
    refuses(fp.TapeError, "already been called on this optimizer", scaler.unscale_, optimizer)
    scaler.step(optimizer)
    for call in (scaler.step, scaler.unscale_):
        refuses(fp.TapeError, "called", call, optimizer)
    scaler.update()
    refuses(fp.TapeError, "prior to update", scaler.update)


def test_a_loss_is_scaled_once_and_as_a_whole():
    w = fp.ones(2, requires_grad=True)
    scaler = fp.GradScaler("cpu", init_scale=8.0)
    twice = scaler.scale(scaler.scale((w * 2).sum()) / 2)
    refuses(fp.TapeError, "scaled twice, by 8 and 8", twice.backward)
    assert w.grad is None
    a, b = fp.ones(2, requires_grad=True), fp.ones(2, requires_grad=True)
    (scaler.scale((a * 2).sum()) / 2 + scaler.scale((a * b).sum())).backward()  # all of it was
    with pytest.warns(fp.MisuseWarning, match=r"the gradients of the unscaled part are 8 times"):
        (scaler.scale((a * 2).sum()) + b.square().sum()).backward()


def test_several_losses_and_optimizers_on_one_scaler_whose_scale_has_no_smallest_value():
    a, b = fp.ones(2, requires_grad=True), fp.ones(2, requires_grad=True)
    optimizers = fp.optim.SGD([a], lr=0.1), fp.optim.SGD([b], lr=0.1)
    scaler = fp.GradScaler("cpu", init_scale=8.0)
    scaler.scale((a * 2).sum()).backward(retain_graph=True)
    (scaler.scale((a * 3).sum()) / 2 + scaler.scale((b * math.inf).sum())).backward()
    for optimizer in optimizers:
        scaler.step(optimizer)
    scaler.update()
    np.testing.assert_allclose(a.numpy(), 1 - 0.35)  # 2 + 3/2; b's Inf is b's alone
    assert b.numpy().tolist() == [1, 1] and scaler.get_scale() == 4
    w = fp.ones(3, requires_grad=True)
    scaler, optimizer = fp.GradScaler("cpu", init_scale=1.0), fp.optim.SGD([w], lr=0.1)
    scales = [with_found_inf(scaler, optimizer, w, True) for _ in range(60)]
    assert scales[-1] == (2.0**-60, False) and w.grad is not None  # it is left as it is


def test_gradients_past_the_scale_are_told_of_and_narrow_ones_refused():
    w = fp.ones(2, requires_grad=True)
    scaler, optimizer = fp.GradScaler("cpu"), fp.optim.SGD([w], lr=0.1)
    w.sum().backward()
    with pytest.warns(fp.MisuseWarning, match=r"bypasses the loss scale S = 65536"):
        scaler.step(optimizer)
    np.testing.assert_allclose(w.numpy(), 0.9)
    narrow = nn.Linear(2, 2).half()
    optimizer = fp.optim.SGD(narrow.parameters(), lr=0.1)
    scaler.update()
    scaler.scale(narrow(fp.ones(1, 2)).float().sum()).backward()
    refuses(fp.PrecisionError, "Attempting to unscale float16 gradients", scaler.step, optimizer)


def test_a_disabled_scaler_does_nothing():
    w = fp.ones(2, requires_grad=True)
    scaler, optimizer = fp.GradScaler("cpu", enabled=False), fp.optim.SGD([w], lr=0.1)
    loss = w.sum()
    assert scaler.scale(loss) is loss and scaler.get_scale() == 1 and scaler.state_dict() == {}
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    np.testing.assert_allclose(w.numpy(), 0.9)
    with pytest.raises(fp.ArgumentError, match="source state dict is empty"):
        fp.GradScaler("cpu").load_state_dict(scaler.state_dict())


class Scaled(fp.autograd.Function):
    """x times a number, in float32 under autocast."""

    @staticmethod
    @fp.amp.custom_fwd(device_type="cpu", cast_inputs=fp.float32)
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.save_for_backward(x)
        assert x.dtype == fp.float32 and not fp.is_autocast_enabled()
        return x * factor

    @staticmethod
    @fp.amp.custom_bwd(device_type="cpu")
    def backward(ctx, dy):
        assert not fp.is_autocast_enabled() and ctx.saved_tensors[0].dtype == fp.float32
        return dy * ctx.factor, None


class Signs(fp.autograd.Function):
    """Signs with a straight-through gradient, and the place of the largest."""

    @staticmethod
    def forward(x):
        return x.sign(), x.argmax()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, dy, _):
        return dy


class Short(fp.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x * y

    @staticmethod
    def backward(ctx, dy):
        return dy


class Again(fp.autograd.Function):
    @staticmethod
    def forward(ctx, module, x, *parameters):
        ctx.module, ctx.x, ctx.parameters = module, x, parameters
        return module(x)

    @staticmethod
    def backward(ctx, dy):
        with fp.enable_grad():
            return None, None, *fp.grad(ctx.module(ctx.x), ctx.parameters, dy)


def test_a_function_is_recorded_and_its_gradient_has_the_format_of_its_argument():
    x = fp.randn(3, 4, requires_grad=True)
    with fp.autocast("cpu", dtype=fp.float16):
        y = x @ fp.eye(4)
        z = Scaled.apply(y, 3.0)
    assert (y.dtype, z.dtype) == (fp.float16, fp.float32)
    z.sum().backward()
    assert np.array_equal(x.grad.numpy(), np.full((3, 4), 3.0))
    signs, place = Signs.apply(x)
    assert signs.requires_grad and not place.requires_grad
    assert fp.grad(signs.sum(), x)[0].numpy().tolist() == np.ones((3, 4)).tolist()
    with fp.no_grad():
        assert not Scaled.apply(x, 2.0).requires_grad
    with pytest.raises(fp.TapeError, match="backward of Short returned 1 gradients: expected 2"):
        Short.apply(x, x).sum().backward()
    refuses(fp.ArgumentError, "does not define a static forward", fp.autograd.Function.apply, x)
    layer, x = nn.Linear(3, 2), fp.arange(12.0).reshape(4, 3)
    Again.apply(layer, x, *layer.parameters()).sum().backward()  # of leaves that forward was given
    np.testing.assert_array_equal(layer.weight.grad.numpy(), x.sum(0).expand(2, 3).numpy())


def test_autocast_and_the_scaler_take_pytorchs_older_arguments():
    for older, now in (
        ((False,), {"enabled": False}),
        ((True, fp.bfloat16), {"dtype": "bfloat16"}),
    ):
        assert repr(fp.amp.autocast(*older)) == repr(fp.amp.autocast(**now))
    assert fp.amp.GradScaler(8.0, 3.0, 0.25, 7).get_growth_interval() == 7
    refuses(fp.ArgumentError, "device_type=True", fp.amp.autocast, True, enabled=False)
