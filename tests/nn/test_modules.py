"""Claims about modules: names, state, modes, precision, paths, and whence their numbers come."""

import re

import numpy as np
import pytest
from cases import LAYERS
from refusals import each_refused, refuses
from snapshots import frozen
from watching import Flow, at_once

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim
from minifp.models import MLP, VGG, CharGRU, CharLSTM, CIFARResNet, LeNet

PRECISIONS = ["float32", "mixed", "float16", "float64"]
every_precision = pytest.mark.parametrize("precision", PRECISIONS)


class Shared(nn.Module):
    """One layer under two names, and one weight in two layers."""

    def __init__(self):
        self.a = self.b = nn.Linear(3, 3)
        self.c = nn.Linear(3, 3)
        self.c.weight = self.a.weight

    def forward(self, x):
        return self.c(self.b(self.a(x)))


def small(precision="float32"):
    with fp.precision(precision):
        return nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(0.5), nn.Linear(6, 3))


# ---- what a module owns -------------------------------------------------------------------------
def test_what_is_shared_counts_once_and_parameters_know_their_path():
    shared = Shared()
    assert [n for n, _ in shared.named_parameters()] == ["a.weight", "a.bias", "c.bias"]
    assert len(shared.parameters()) == 3 and len(shared.modules()) == 3
    assert [*shared.state_dict()] == [f"{m}.{p}" for m in "abc" for p in ("weight", "bias")]
    optim.SGD(shared.parameters())  # refuses parameters that are given twice
    shared(fp.ones(2, 3)).sum().backward()
    assert shared.c.weight.grad is shared.a.weight.grad is not None
    model = LeNet(classes=3, size=8)
    assert [p.name for p in model.parameters()] == [n for n, _ in model.named_parameters()]
    assert model.conv1.weight.name == "conv1.weight"


def test_zero_grad_train_and_eval_reach_all_and_in_evaluation_nothing_is_dropped_or_moves():
    model = small()
    model(fp.randn(5, 4)).sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    model.zero_grad()
    assert all(p.grad is None for p in model.parameters())
    model = nn.Sequential(small(), nn.ModuleList([nn.Dropout()]))
    assert {m.training for m in model.modules()} == {True}
    assert model.eval() is model and {m.training for m in model.modules()} == {False}
    assert model.train() is model and {m.training for m in model.modules()} == {True}
    model = small().eval()
    x, before = fp.randn(5, 4), frozen(model.state_dict())
    first = frozen(model(x))
    assert frozen(model(x)) == first and frozen(model.state_dict()) == before
    model.train()
    assert frozen(model(x)) != first and frozen(model.state_dict()) != before


def test_sequential_and_module_list_are_lists_and_a_module_without_forward_says_so():
    layers = [nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1)]
    for made in (nn.Sequential(*layers), nn.ModuleList(layers)):
        assert len(made) == 3 and list(made) == layers and made[-1] is layers[2]
    refuses(fp.ArgumentError, "call its modules", nn.ModuleList(layers), fp.ones(1, 2))
    refuses(fp.ArgumentError, "argument 1 is a function", nn.Sequential, nn.ReLU(), F.relu)

    class Empty(nn.Module):
        pass

    refuses(fp.ArgumentError, "Empty does not define forward", Empty(), fp.ones(1))
    refuses(fp.ArgumentError, "at least two sizes", MLP, 64)


def test_a_repr_shows_the_tree_and_the_settings():
    model = nn.Sequential(nn.Linear(4, 6, bias=False), nn.Sequential(nn.Dropout(0.25), nn.ReLU()))
    assert repr(model) == (
        "Sequential(\n  (0): Linear(4, 6, bias=False)\n  (1): Sequential(\n"
        "    (0): Dropout(p=0.25)\n    (1): ReLU()\n  )\n)"
    )


def not_mine(index):
    raise ValueError("of the sampler's own")


test_an_impossible_argument_is_refused_by_name = each_refused(
    (lambda: nn.Linear(0, 3), "in_features=0"),
    (lambda: nn.LSTM(3, 4, num_layers=0), "num_layers=0"),
    (lambda: nn.Linear(4, 2, np.ones(2)), r"Linear: bias=array\(.*\): expected True or False"),
    (lambda: nn.PReLU(init="a"), "PReLU: init='a': expected a number"),
    (lambda: nn.Linear(10**5000, 2), "in_features=<int of 16,610 bits>: expected an integer, of"),
    (lambda: fp.models.VGG(widths=3), "VGG: widths=3: expected several integers"),
    (lambda: fp.EarlyStopping(least=np.ones(2)), "least=array.*: expected a number"),
    (lambda: fp.data.DataLoader([1], sampler=lambda e, s: not_mine(e)), "^of the sampler's own$"),
    error=ValueError,
)


@pytest.mark.parametrize(("module", "shape", "words"), [
    (nn.BatchNorm2d(3), (4, 3), r"BatchNorm2d\(3\) on a tensor of shape \(4, 3\)"),
    (nn.BatchNorm1d(3), (4, 5), "3 channels"), (nn.BatchNorm1d(3), (1, 3), "1 value a channel"),
    (nn.LSTM(3, 4), (5, 2, 7), r"expected \(T, B, 3\)"),
    (nn.LSTM(3, 4, batch_first=True), (5, 2, 7), r"expected \(B, T, 3\)"),
    (nn.Linear(3, 4), (2, 5), "linear"),
])  # fmt: skip
def test_an_input_that_does_not_fit_is_refused_and_nothing_is_changed(module, shape, words):
    before = frozen(module.state_dict())
    refuses(fp.MinifpError, words, module, fp.ones(shape))
    assert frozen(module.state_dict()) == before


# ---- state --------------------------------------------------------------------------------------
@every_precision
def test_a_state_loaded_is_the_state_saved(precision):
    source, target = small(precision), small(precision)
    with fp.precision(precision):
        source(fp.randn(5, 4))
    state = source.state_dict()
    assert frozen(target.state_dict()) != frozen(state)
    target.load_state_dict(state)
    assert frozen(target.state_dict()) == frozen(state)
    held = [[p.array for p in m.parameters()] for m in (target, source)]
    assert frozen(held[0]) == frozen(held[1])


def test_a_state_is_a_copy_that_moves_between_precisions_rounded_only_where_it_is_stored():
    source, target = small("float32"), small("mixed")
    target.load_state_dict(source.state_dict())
    assert frozen(target.state_dict()) == frozen(source.state_dict())
    assert target[0].weight.dtype == np.float16
    assert frozen(target[0].weight) == frozen(source[0].weight.array.astype(np.float16))
    model = small()
    state, before = model.state_dict(), frozen(model.state_dict())
    with fp.no_grad():
        for p in model.parameters():
            p.fill_(7)
    assert frozen(state) == before != frozen(model.state_dict())


def test_every_missing_unexpected_and_misshapen_entry_is_named_at_once_and_nothing_changes():
    model = small()
    state = {n: t.array for n, t in small().state_dict().items()}
    del state["0.bias"], state["1.running_mean"]
    state |= {"extra": np.zeros(1), "3.weight": np.zeros((3, 5)), "1.bias": np.array(["a"] * 6)}
    state["1.num_batches_tracked"] = np.zeros(2, np.int64)
    before = frozen(model.state_dict())
    with pytest.raises(fp.ArgumentError) as caught:
        model.load_state_dict(state)
    message = str(caught.value)
    for part in [
        *("missing: 0.bias (6,)", "missing: 1.running_mean (6,)", "unexpected: extra"),
        *("3.weight: shape (3, 5), expected (3, 6)", "1.num_batches_tracked: shape (2,)"),
        "1.bias: <U1",
    ]:
        assert part in message
    assert "0.weight" not in message and "3.bias" not in message
    assert frozen(model.state_dict()) == before


# ---- precision ----------------------------------------------------------------------------------
def computed(model, x):
    with fp.no_grad():
        return frozen(model(x))


@every_precision
@pytest.mark.parametrize("elsewhere", [None, "float32", "float16", "float64", "mixed"])
def test_a_module_computes_in_the_precision_it_was_made_in(precision, elsewhere):
    with fp.precision(precision):
        model = small().eval()
        x = fp.randn(5, 4)
        inside = computed(model, x)
    with fp.precision(elsewhere or fp.get_precision()):
        assert computed(model, x) == inside
        assert at_once(lambda: computed(model, x)) == [inside]


@pytest.mark.parametrize(("precision", "linear", "norm"), [
    ("float32", "float32", "float32"), ("mixed", "float16", "float32"),
    ("float16", "float16", "float16"), ("float64", "float64", "float64"),
    ("mixed,norm_parameters=float16", "float16", "float16"),
    ("float32,weights=float16", "float16", "float32"),
])  # fmt: skip
def test_weights_and_norm_parameters_are_stored_as_the_precision_says(precision, linear, norm):
    with fp.precision(precision):
        model = nn.Sequential(
            *(nn.Linear(2, 2), nn.Conv2d(1, 1, 1), nn.Embedding(2, 2), nn.LSTM(2, 2)),
            *(nn.BatchNorm1d(2), nn.BatchNorm2d(2), nn.LayerNorm(2)),
        )
    for name, t in [*model.named_parameters(), *model.named_buffers()]:
        if "num_batches" not in name:
            assert t.dtype == (norm if int(name[0]) >= 4 else linear), name


def test_a_part_made_under_another_precision_keeps_its_own():
    with fp.precision("mixed"):
        body = nn.Linear(4, 4)
    model = nn.Sequential(body, nn.Linear(4, 2))
    with fp.no_grad():
        assert body(fp.ones(1, 4)).dtype == np.float16
        assert model(fp.ones(1, 4)).dtype == np.float32


# ---- random numbers -----------------------------------------------------------------------------
def test_initial_values_depend_on_the_seed_alone_in_every_precision():
    states = []
    for precision in PRECISIONS:
        fp.manual_seed(3)
        with fp.precision(precision):
            model = nn.Sequential(
                *(make(nn) for make, _ in LAYERS.values()), nn.LSTM(3, 4), nn.Embedding(7, 3)
            )
        states.append({n: t.array.astype(np.float32) for n, t in model.state_dict().items()})
    assert frozen(states[0]) == frozen(states[1]) == frozen(states[2]) == frozen(states[3])
    assert len(states[0]) > 50
    starts = []
    for seed, draw in [(3, 0), (3, 5), (4, 0)]:
        fp.manual_seed(seed)
        for _ in range(draw):
            fp.randn(3)
            nn.Dropout()(fp.ones(9))
        starts.append(frozen(nn.Linear(4, 4).state_dict()))
    assert starts[0] == starts[1] != starts[2]


@pytest.mark.parametrize(("make", "bound"), [
    (lambda: nn.Linear(64, 50), 1 / 8), (lambda: nn.Conv1d(16, 40, 8, groups=2), 1 / 8),
    (lambda: nn.Conv2d(16, 20, 4, groups=4), 1 / 8),
    (lambda: nn.ConvTranspose1d(40, 16, 8, groups=2), 1 / 8),
    (lambda: nn.ConvTranspose2d(20, 16, 4, groups=4), 1 / 8), (lambda: nn.LSTM(9, 64), 1 / 8),
])  # fmt: skip
def test_weights_begin_uniformly_within_one_over_the_root_of_the_inputs(make, bound):
    for p in make().parameters():
        assert np.abs(p.array).max() < bound
        if p.array.size > 500:
            assert np.abs(p.array).max() > 0.98 * bound
            assert p.array.std() == pytest.approx(bound / np.sqrt(3), rel=0.05)


def test_embeddings_begin_normal_and_norms_as_identity():
    w = nn.Embedding(200, 50).weight.array
    assert (w.mean(), w.std()) == pytest.approx((0, 1), abs=0.03)
    norm = nn.BatchNorm1d(3)
    state = [norm.weight, norm.bias, norm.running_mean, norm.running_var]
    assert [set(t.array.tolist()) for t in state] == [{1.0}, {0.0}, {0.0}, {1.0}]


def test_dropout_drops_the_same_elements_in_every_precision():
    masks = []
    for precision in PRECISIONS:
        fp.manual_seed(5)
        with fp.precision(precision):
            layers = [nn.Dropout(0.3), nn.Dropout(0.6)]
            masks.append([layer(fp.ones(50, 8)).array != 0 for layer in (*layers, layers[0])])
    for other in masks[1:]:
        assert frozen(other) == frozen(masks[0])
    first, second, again = masks[0]
    assert (first.mean(), second.mean()) == pytest.approx((0.7, 0.4), abs=0.06)
    assert (first != again).any()  # a call of its own


def test_every_recorded_operation_knows_the_path_of_its_module():
    class Model(nn.Module):
        def __init__(self):
            self.stem = nn.Linear(4, 4)
            self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(4, 4), nn.ReLU())])
            self.blocks.append(nn.Tanh())

        def forward(self, x):
            return self.blocks[1](self.blocks[0](self.stem(x))).square()

    model = Model()
    with Flow() as flow:
        (model(fp.ones(2, 4)) * 2.0).sum()
        refuses(fp.ShapeError, "linear", model, fp.ones(2, 5))  # which leaves no path behind
        model.stem.weight.exp()
    assert [outputs[0].node.module for _, _, outputs in flow] == [
        *("Model.stem", "Model.blocks.0.0", "Model.blocks.0.1", "Model.blocks.1", "Model"),
        *("", "", ""),
    ]


# ---- what a module owns -------------------------------------------------------------------------
class Own(nn.Module):
    """A module that registers what it owns by name."""

    def __init__(self):
        self.register_parameter("scale", nn.Parameter(np.ones(2, "float32")))
        self.register_parameter("shift", None)
        self.register_buffer("kept", None)
        self.kept = fp.tensor([1.0, 2.0])
        self.register_buffer("scratch", fp.tensor([3.0]), persistent=False)
        self.add_module("inner", nn.Linear(2, 2))

    def forward(self, x):
        return self.inner(x) * self.scale + self.kept


def test_what_is_registered_by_name_is_owned():
    model = Own()
    assert [n for n, _ in model.named_parameters()] == ["scale", "inner.weight", "inner.bias"]
    assert [n for n, _ in model.named_parameters(recurse=False)] == ["scale"]
    assert [n for n, _ in model.named_parameters(prefix="m")][0] == "m.scale"
    assert [n for n, _ in model.named_buffers()] == ["kept", "scratch"]
    assert set(model.state_dict()) == {"scale", "kept", "inner.weight", "inner.bias"}
    assert set(model.state_dict(prefix="m.")) == {f"m.{n}" for n in model.state_dict()}
    model.load_state_dict(model.state_dict())
    assert model.get_submodule("inner") is model.inner and model.get_submodule("") is model
    assert model.get_parameter("inner.weight") is model.inner.weight
    assert model.get_buffer("kept") is model.kept


@pytest.mark.parametrize("wrong, error, words", [
    (lambda m: m.register_parameter("p", fp.ones(2)), fp.DTypeError, "p is a Tensor"),
    (lambda m: m.register_buffer("b", np.ones(2)), fp.DTypeError, "b is a ndarray"),
    (lambda m: m.add_module("c", 3), fp.DTypeError, "c is a int"),
    (lambda m: m.register_buffer("a.b", fp.ones(2)), fp.ArgumentError, "without dots"),
    (lambda m: m.register_parameter("", None), fp.ArgumentError, "'' cannot be the name"),
    (lambda m: m.get_parameter("inner.w"), fp.ArgumentError, "'inner.w': .*inner.weight"),
    (lambda m: m.get_submodule("outer"), fp.ArgumentError, "no module 'outer'"),
    (lambda m: m.get_buffer("scale"), fp.ArgumentError, "no buffer 'scale'"),
    (lambda m: m.train("yes"), fp.DTypeError, "expected True or False"),
    (lambda m: m.zero_grad(set_to_none=0.5), fp.ArgumentError, "set_to_none=0.5: expected True"),
    (lambda m: m.to("int64"), fp.DTypeError, "expected a floating format"),
    (lambda m: m.cuda(0), fp.DeviceError, "cuda"),
    (lambda m: m.cuda("cpu"), fp.DeviceError, "cuda.'cpu'.: expected a GPU"),
    (lambda m: m.load_state_dict([1]), fp.DTypeError, "expected a dict"),
])  # fmt: skip
def test_wrong_uses_of_a_module_are_refused(wrong, error, words):
    refuses(error, words, wrong, Own())


def test_what_is_missing_unexpected_or_overflows_is_told_by_name():
    model = nn.Linear(2, 3)
    before = model.bias.array.copy()
    state = {"weight": np.ones((3, 2), "float32"), "other": np.ones(1)}
    left_out = model.load_state_dict(state, strict=False)
    assert left_out == (["bias"], ["other"])
    assert left_out.missing_keys == ["bias"] and left_out.unexpected_keys == ["other"]
    assert (model.weight.array == 1).all() and (model.bias.array == before).all()
    with pytest.raises(fp.ArgumentError, match="weight: shape"):
        model.load_state_dict({"weight": np.ones((2, 2))}, strict=False)
    with fp.precision("mixed"):
        layer = nn.Linear(1, 1)
    with pytest.warns(fp.PrecisionWarning, match="load_state_dict: weight: 1 of 1 values overflow"):
        layer.load_state_dict({"weight": [[1e6]], "bias": [0.0]})
    with pytest.raises(fp.ArgumentError, match="an entry is not an array"):
        layer.load_state_dict({"weight": [[1.0], [2.0, 3.0]], "bias": [0.0]})


def test_apply_reaches_every_module_and_freezing_every_parameter():
    model, seen = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU())), []
    assert model.apply(lambda m: seen.append(type(m).__name__)) is model
    assert seen == ["Linear", "ReLU", "Sequential", "Sequential"]
    model.requires_grad_(False)
    assert not model(fp.ones(1, 2)).requires_grad
    model.requires_grad_()
    assert model(fp.ones(1, 2)).requires_grad


@pytest.mark.parametrize("precision", ["float32", "mixed"])
def test_parameters_are_stored_anew_from_their_unrounded_numbers(precision):
    with fp.precision(precision):
        model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    before = model.state_dict()
    same = model[0].weight
    assert model.half() is model and model[0].weight is same
    stored = [t.dtype for t in (*model.parameters(), *model.buffers())]
    assert stored == ["float16"] * 6 + ["int64"]
    model.float()
    for name in ("0.weight", "0.bias"):
        np.testing.assert_array_equal(model.state_dict()[name].array, before[name].array)
    model.double()
    y = model(fp.ones(4, 3, dtype="float64"))
    y.sum().backward()
    assert (y.dtype, same.grad.dtype) == ("float64", "float64")
    model.to(fp.ones(1, dtype="float16"))
    assert (same.dtype, same.grad.dtype) == ("float16", "float16")


def test_hooks_see_and_may_replace_what_goes_in_and_out_in_the_modules_precision():
    layer, seen = nn.Linear(2, 2), []
    x = fp.ones(1, 2)
    plain = layer(x).array
    before = layer.register_forward_pre_hook(lambda m, args: seen.append((m, len(args))))
    after = layer.register_forward_hook(lambda m, args, y: y * 2)
    np.testing.assert_array_equal(layer(x).array, plain * 2)
    assert seen == [(layer, 1)]
    double = layer.register_forward_pre_hook(lambda m, args: (args[0] * 0,))
    np.testing.assert_array_equal(layer(x).array, layer.bias.array[None] * 2)
    for handle in (before, after, double):
        handle.remove()
    np.testing.assert_array_equal(layer(x).array, plain)
    assert len(seen) == 2
    with fp.precision("mixed"):
        layer = nn.Linear(2, 2)
    seen = []
    layer.register_forward_hook(lambda m, args, y: seen.append(fp.get_precision()))
    layer(fp.ones(1, 2))
    assert seen == [layer.precision]


def test_a_module_dict_is_a_dict_of_modules():
    heads = nn.ModuleDict({"a": nn.Linear(2, 1), "b": nn.ReLU()})
    heads["c"] = nn.Tanh()
    heads.update([("d", nn.Tanh())])
    assert list(heads) == list(heads.keys()) == ["a", "b", "c", "d"] and len(heads) == 4
    assert "c" in heads and heads["a"] is dict(heads.items())["a"] is next(iter(heads.values()))
    del heads["c"], heads["d"]
    assert [n for n, _ in heads.named_parameters()] == ["a.weight", "a.bias"]
    for wrong, error, words in (
        (lambda: heads["x"], KeyError, "expected one of a, b"),
        (lambda: heads.__delitem__("x"), KeyError, "x"),
        (lambda: heads.__setitem__("e", 3), fp.ArgumentError, "not a Module"),
        (lambda: heads.__setitem__("train", nn.ReLU()), fp.ArgumentError, "of every module"),
        (lambda: heads.__setitem__("a.b", nn.ReLU()), fp.ArgumentError, "without dots"),
        (lambda: heads(1), fp.ArgumentError, "cannot be called"),
    ):
        refuses(error, words, wrong)


# ---- assigning to what is owned -----------------------------------------------------------------
def test_parameters_and_buffers_stay_what_they_are_when_a_tensor_is_assigned():
    """As running statistics of one's own are kept."""
    model = Own()
    model.kept = model.kept * 0.5 + 1
    model.scratch = fp.ones(1)
    assert [n for n, _ in model.named_buffers()] == ["kept", "scratch"]
    assert model.state_dict()["kept"].tolist() == [1.5, 2] and "scratch" not in model.state_dict()
    with pytest.raises(fp.DTypeError, match="kept is a buffer.*detach"):
        model.kept = model.scale * 2
    model = Own()
    with pytest.raises(fp.DTypeError, match="Own.scale is a Parameter .*become a Tensor.*data"):
        model.scale = fp.ones(2)
    model.scale = nn.Parameter(fp.ones(2))
    model.scale = None
    assert "scale" not in model.state_dict()
    assert not nn.Parameter(fp.ones(2), False).requires_grad
    assert not nn.Parameter(fp.ones(2), requires_grad=False).requires_grad
    refuses(fp.DTypeError, "requires_grad='float16'", nn.Parameter, fp.ones(2), "float16")


def test_a_frozen_parameter_keeps_its_unrounded_numbers_and_thawed_its_gradients_format():
    """As the weights of a target network that follows another."""
    with fp.precision("mixed"):
        target = nn.Linear(4, 4).requires_grad_(False)
    before = target.weight.exact.astype("float64")
    for _ in range(200):
        target.weight.mul_(0.9999)
    np.testing.assert_allclose(target.weight.exact, before * 0.9999**200, rtol=1e-4)
    with fp.precision("mixed,gradients=float32"):
        layer = nn.Linear(2, 1)
    before = [p.gradient_dtype for p in layer.parameters()]
    layer.requires_grad_(False).requires_grad_()
    assert [p.gradient_dtype for p in layer.parameters()] == before == ["float32"] * 2


# ---- what is told -------------------------------------------------------------------------------
def cnn():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))


@pytest.mark.parametrize(("module", "shape", "words"), [
    (lambda: nn.Conv2d(3, 4, 3), (2, 8, 8, 3), r"\(N, H, W, C\): .*x.permute\(0, 3, 1, 2\)"),
    (lambda: nn.Conv2d(3, 4, 3), (8, 8, 3), r"\(H, W, C\): .*x.permute\(2, 0, 1\)"),
    (lambda: nn.Conv2d(1, 4, 3), (16, 8, 8), r"\(N, H, W\): .*x.unsqueeze\(1\)"),
    (lambda: nn.Conv2d(1, 4, 3), (8, 8), r"\(H, W\): .*x.reshape\(1, 1, 8, 8\)"),
    (lambda: nn.Conv1d(3, 4, 3), (2, 8, 3), r"\(N, L, C\): .*x.permute\(0, 2, 1\)"),
    (lambda: nn.BatchNorm2d(3), (3, 8, 8), r"\(C, H, W\): .*x.unsqueeze\(0\)"),
    (lambda: nn.BatchNorm2d(3), (2, 8, 8, 3), r"\(N, H, W, C\): .*x.permute"),
    (lambda: nn.MaxPool2d(2), (8, 8), r"\(H, W\): .*x.reshape\(1, 1, 8, 8\)"),
    (lambda: nn.Linear(64, 2), (8, 8), r"single example: .*x.unsqueeze\(0\)"),
    (lambda: nn.Linear(64, 2), (3, 8, 8), r"it fits as x.flatten\(1\)"),
    (cnn, (1, 8, 8), r"^in Sequential.3 \(Linear\): linear: .*x.unsqueeze\(0\)"),
    (cnn, (5, 8, 8, 1), r"^in Sequential.0 \(Conv2d\): conv2d: .*x.permute\(0, 3, 1, 2\)"),
])  # fmt: skip
def test_axes_that_are_missing_or_elsewhere_are_guessed(module, shape, words):
    refuses((fp.ShapeError, fp.ArgumentError), words, module(), fp.ones(*shape))


def test_an_error_names_the_innermost_module_once_and_stays_what_it_is():
    model = nn.Sequential(nn.Sequential(nn.Linear(2, 2)), nn.Linear(3, 1))
    for wrong, path in ((fp.ones(1, 5), "Sequential.0.0"), (fp.ones(1, 2), "Sequential.1")):
        with pytest.raises(fp.ShapeError) as caught:
            model(wrong)
        assert caught.value.module == path
        assert str(caught.value).startswith(f"in {path} (Linear): linear: ")
        assert str(caught.value).count("in Sequential") == 1
    with pytest.raises(fp.ShapeError, match="^linear: ") as caught:
        nn.Linear(3, 1)(fp.ones(1, 2))
    assert caught.value.module is None


def test_a_repr_tells_the_precision_once_where_it_is_not_that_of_pytorch():
    with fp.precision("mixed"):
        inner = nn.Sequential(nn.Linear(4, 6), nn.LayerNorm(6))
        with fp.precision("float32"):
            model = nn.Sequential(inner, nn.ReLU())
        assert "\n" not in repr(nn.Linear(4, 6))
    line = 'precision "mixed": parameters in float16 and float32, masters in float32, loss scale '
    assert repr(inner).splitlines()[-2:] == [")", line + "dynamic"]
    assert repr(model).count("precision") == 2 and '  ) precision "mixed"\n' in repr(model)
    assert "precision" not in repr(nn.Sequential(nn.ReLU()))
    halved = nn.Sequential(nn.Linear(4, 6)).half()
    line = 'precision "float32": parameters in float16, masters in float32, loss scale dynamic'
    assert repr(halved).splitlines()[-1] == line


def test_what_hides_in_lists_of_lists_is_told_once_for_each_attribute():
    class Net(nn.Module):
        def __init__(self):
            self.blocks = [(nn.Linear(1, 1), nn.ReLU())]
            self.table = {"names": ["of"] * 100_000, "gain": nn.Parameter(fp.ones(1))}
            self.heads, self.gains = {"a": [nn.Linear(1, 1)]}, [nn.Parameter(fp.ones(1))]
            self.activations, self.teacher = [nn.ReLU()], [nn.Linear(1, 1).requires_grad_(False)]
            self.layers = [nn.Linear(1, 1), nn.ReLU()]
            self.net = nn.Sequential(*self.layers)  # which has them already

    net = Net()
    with pytest.warns(fp.MisuseWarning) as caught:
        net.parameters()
        nn.Sequential(net).parameters()
    told = {"blocks": "ModuleList", "table": "ParameterDict"}
    told |= {"heads": "ModuleDict", "gains": "ParameterList"}
    for warning, (name, kind) in zip(caught, told.items(), strict=True):
        assert re.match(f"Net.{name} is.*= nn.{kind}", str(warning.message))


@pytest.mark.parametrize("precision", ["float32", "mixed", "float16", "autocast"])
def test_the_models_that_come_along_are_told_nothing(precision):
    pictures, codes, classes = fp.randn(2, 3, 8, 8), fp.arange(6).reshape(2, 3), fp.tensor([0, 1])
    with fp.precision(precision):
        cases = [
            (CIFARResNet(depth=8, width=4), pictures, classes),
            (VGG(size=8, widths=(4,)), pictures, classes),
            (CharLSTM(6, 4, 4, layers=2, dropout=0.5), codes, codes),
            (CharGRU(6, 4, 4), codes, codes),
        ]
    for model, x, target in cases:
        optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1))
        for _ in range(2):
            loss = F.cross_entropy(model(x), target) + (model(x).mean(0) * fp.ones(1)).mean()
            optimizer.minimize(loss)


def test_what_a_module_owns_is_a_list_with_next_and_dictionaries_that_are_its_own():
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    ps, linear = model.parameters(), model[0]
    assert next(ps) is ps[0] is next(iter(ps)) is linear.weight and next(ps) is linear.bias
    assert len([*ps]) == len(ps) == 4 and next(model.named_children())[0] == "0"
    linear._parameters["weight_bar"] = weight = linear._parameters.pop("weight")
    linear.weight = 2 * weight  # as spectral norms do that are older than PyTorch's own
    model(fp.ones(2, 3))[0].sum().backward()
    assert weight.grad is not None and [*linear._parameters] == ["bias", "weight_bar"]
    model._modules["1"] = nn.Tanh()
    assert "Tanh" in repr(model[1]) and not model._buffers and "none" not in model._modules
    refuses(fp.DTypeError, "register_parameter: x is a int", linear._parameters.update, {"x": 3})
    refuses(AttributeError, "no setter", setattr, linear, "_buffers", {})
    with fp.precision("mixed"):
        half = nn.Linear(2, 2)
    nn.init.constant_(half.state_dict()["weight"], 1 / 3)
    assert (half.weight.exact == np.float32(1 / 3)).all() and half.weight.dtype == "float16"
    loader = fp.data.DataLoader([*range(5)], 2)
    assert len(iter(loader)) == len(loader) == len([*iter(loader)]) == 3
