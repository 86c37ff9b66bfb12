"""Claims about containers, and about layers that only rearrange, drop, or take `inplace`."""

from collections import OrderedDict

import numpy as np
import pytest
from cases import activation
from refusals import each_refused, refuses

import minifp as fp
import minifp.nn.functional as F
from minifp import nn


def names(module):
    return list(module.state_dict())


def changed(m, kind):
    """Everything that changes a list of modules, in `m`, minifp.nn or torch.nn."""
    layers = [m.Linear(i, i) for i in range(1, 8)]
    made = m.Sequential(*layers[:2]) if kind == "Sequential" else m.ModuleList(layers[:2])
    made.append(layers[2])
    made.extend([layers[3], m.BatchNorm1d(3)])
    made.insert(1, layers[4])
    made.insert(5, m.Tanh())
    made[0] = layers[5]
    made[-1] = m.BatchNorm1d(2)
    del made[2]
    made += m.Sequential(layers[6])  # of a Sequential PyTorch wants another
    taken = made.pop(1)
    del made[2:4]
    if kind == "ModuleList":
        made.insert(0, None)
        made.append(None)
    return made, taken


@pytest.mark.parametrize("kind", ["Sequential", "ModuleList"])
def test_lists_change_as_pytorchs_names_stay_in_order_and_slices_have_the_same_modules(kind, torch):
    (ours, out), (theirs, other) = changed(nn, kind), changed(torch.nn, kind)
    assert names(ours) == names(theirs) and len(ours) == len(theirs)
    assert [type(x).__name__ for x in ours] == [type(x).__name__ for x in theirs]
    assert [tuple(t.shape) for t in ours.state_dict().values()] == [
        tuple(t.shape) for t in theirs.state_dict().values()
    ]
    assert out.in_features == other.in_features
    part = ours[1:]
    assert type(part) is type(ours) and list(part) == list(ours)[1:]
    assert names(part) == names(theirs[1:]) and len(part) == len(ours) - 1


def test_paths_on_the_tape_follow_what_was_put_in_and_taken_out_and_no_slice():
    class Model(nn.Module):
        def __init__(self):
            self.blocks = nn.ModuleList([nn.Linear(2, 2), nn.Linear(3, 3)])

        def forward(self, x):
            for block in self.blocks[1:]:
                x = block(x)
            return x

    assert Model()(fp.ones(1, 3)).node.module == "Model.blocks.1"
    model = nn.Sequential(nn.Tanh(), nn.Linear(3, 3))
    model.insert(0, nn.ReLU())
    assert model(fp.ones(1, 3)).node.module == "Sequential.2"
    del model[:2]
    assert model(fp.ones(1, 3)).node.module == "Sequential.0"


def test_a_sequential_may_be_named():
    for kind in (dict, OrderedDict):
        model = nn.Sequential(kind(first=nn.Linear(2, 3), act=nn.ReLU()))
        assert names(model) == ["first.weight", "first.bias"] and model.act is model[1]
        assert model(fp.ones(1, 2)).shape == (1, 3)
    assert names(model[:1]) == ["first.weight", "first.bias"]
    assert not isinstance(nn.ModuleList(), nn.Sequential)


test_what_is_no_module_or_not_there_is_refused = each_refused(
    (lambda: nn.Sequential({"train": nn.ReLU()}), fp.ArgumentError, "'train' is an attribute"),
    (lambda: nn.Sequential({"a": 3}), fp.ArgumentError, "'a' is a int, not a Module"),
    (lambda: nn.ModuleList(3), fp.ArgumentError, "ModuleList: int: expected several"),
    (lambda: nn.ModuleList().append(F.relu), fp.ArgumentError, "is a function"),
    (lambda: nn.Sequential().insert(1, nn.ReLU()), IndexError, "no index 1"),
    (lambda: nn.Sequential(nn.ReLU()).__setitem__(0, 3), fp.ArgumentError, "not a Module"),
    (lambda: nn.Sequential()[0], IndexError, "range"),
    (lambda: nn.ModuleDict({"a": nn.ReLU()}).pop("b"), KeyError, "no 'b'"),
)


@pytest.mark.parametrize("name", ["training", "precision", "_name", "_before_forward", "keys"])
def test_a_module_dict_refuses_names_that_it_has_for_something_else(name):
    heads = nn.ModuleDict()
    with pytest.raises(fp.ArgumentError, match=f"'{name}' is an attribute of"):
        heads[name] = nn.Linear(2, 2)
    assert len(heads) == 0 and heads.eval().training is False


def test_what_a_module_dict_gives_up_is_gone():
    heads = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.ReLU(), "c": nn.Tanh()})
    first = heads["a"]
    heads["a"] = nn.Linear(3, 3)  # in the same place
    assert list(heads) == ["a", "b", "c"] and first is not heads["a"]
    assert isinstance(heads.pop("b"), nn.ReLU) and list(heads) == ["a", "c"]
    assert list(nn.ModuleDict(heads)) == ["a", "c"]
    heads.clear()
    assert len(heads) == 0 and heads.state_dict() == {}


def with_parameters(m, tensor):
    made = m.ParameterList([m.Parameter(tensor(2, 3)), m.ParameterList([m.Parameter(tensor(2))])])
    made.extend([tensor(4), tensor(5)]).append(tensor(2))
    made[2] = m.Parameter(tensor(7))
    named = m.ParameterDict({"a": tensor(2)})
    named["b"] = tensor(3)
    named.update({"c": tensor(4)})
    named.pop("a")
    model = m.Module()
    model.several, model.named = made, named
    return model


def test_lists_and_dicts_of_parameters_are_owned_as_in_pytorch(torch):
    ours, theirs = with_parameters(nn, fp.ones), with_parameters(torch.nn, torch.ones)
    for x, y in zip(ours.state_dict().items(), theirs.state_dict().items(), strict=True):
        assert (x[0], x[1].shape) == (y[0], tuple(y[1].shape))
    assert [n for n, _ in ours.named_parameters()] == [n for n, _ in theirs.named_parameters()]
    assert len(ours.several) == 5 and ours.several[-1] is list(ours.several)[4]
    assert isinstance(ours.several[1:3], nn.ParameterList) and len(ours.several[1:3]) == 2
    assert "b" in ours.named and list(ours.named) == list(ours.named.keys()) == ["b", "c"]
    assert ours.named["b"] is dict(ours.named.items())["b"] is list(ours.named.values())[0]
    assert "(0): Parameter of float32 (2, 3)" in repr(ours)
    ours.named.clear()
    assert len(ours.named) == 0


test_what_is_no_parameter_or_not_there_is_refused = each_refused(
    (lambda: nn.ParameterList([3]), fp.DTypeError, "ParameterList: 0 is a int"),
    (lambda: nn.ParameterList(fp.ones(3)), fp.DTypeError, "expected several"),
    (lambda: nn.ParameterDict({"training": fp.ones(1)}), fp.ArgumentError, "'training' is an"),
    (lambda: nn.ParameterDict()["a"], KeyError, "no 'a'"),
    (lambda: nn.ParameterList()(1), fp.ArgumentError, "cannot be called"),
)


IN_PLACE = (
    *("ReLU", "ReLU6", "LeakyReLU", "ELU", "CELU", "SELU", "SiLU", "Mish", "Hardtanh"),
    *("Hardsigmoid", "Hardswish", "Dropout", "Dropout1d", "Dropout2d"),
)


@pytest.mark.parametrize("name", IN_PLACE)
def test_inplace_lets_the_input_become_the_result(name):
    x = fp.randn(2, 3, 4) if name == "Dropout1d" else fp.randn(2, 3, 4, 5)
    x.requires_grad_()
    results = []
    for call in (getattr(nn, name)(), getattr(nn, name)(inplace=True)):
        fp.manual_seed(0)
        y = x * 1
        z = call(y)
        results.append(z.array)
        assert (z is y) is call.inplace
        (z + y).sum().backward()
    with fp.no_grad():
        fp.manual_seed(0)
        assert call(x) is x
    for result in (*results[1:], x.array):
        np.testing.assert_array_equal(result, results[0])
    refuses(fp.ArgumentError, f"{name}: inplace=3", getattr(nn, name), inplace=3)


@pytest.mark.parametrize(
    ("drop", "shape"),
    [(F.dropout1d, (40, 50, 3)), (F.dropout1d, (2000, 3)), (F.dropout2d, (40, 50, 2, 3))],
)
def test_channels_are_dropped_whole_and_the_others_divided(drop, shape):
    x = fp.ones(*shape, requires_grad=True)
    y = drop(x, 0.25)
    channels = y.array.reshape(2000, -1)
    assert (channels == channels[:, :1]).all()
    np.testing.assert_array_equal(np.unique(channels), np.float32([0, 1 / 0.75]))
    assert abs((channels[:, 0] > 0).sum() - 1500) < 5 * (2000 * 0.25 * 0.75) ** 0.5
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.array, y.array)
    assert drop(x, 0.25, training=False) is x and (drop(x, 1.0).array == 0).all()
    layer = nn.Dropout1d if drop is F.dropout1d else nn.Dropout2d
    assert layer(0.5).eval()(x) is x and not layer(1.0)(x).array.any()


test_what_makes_no_sense_is_refused_by_name = each_refused(
    (lambda: F.dropout1d(fp.ones(2)), fp.ShapeError, r"dropout1d: input of shape \(2,\)"),
    (lambda: F.dropout2d(fp.ones(3)), fp.ShapeError, "dropout2d: .*expected .N, C, H, W."),
    (lambda: F.dropout2d([1.0]), fp.DTypeError, "dropout2d"),
    (lambda: F.dropout1d(fp.ones(2, 3), 2), fp.ArgumentError, "dropout1d: p=2"),
    (lambda: nn.Dropout2d(-1), fp.ArgumentError, "Dropout2d: p=-1"),
    (lambda: nn.ZeroPad2d((1, 2)), fp.ArgumentError, r"ZeroPad2d: padding=\(1, 2\)"),
    (lambda: nn.ReplicationPad2d(1)(fp.ones(2, 2)), fp.ShapeError, "ReplicationPad2d on"),
    (lambda: nn.Unfold(0), fp.ShapeError, "Unfold: kernel_size=0"),
    (lambda: nn.Fold(3, 2, padding=-1), fp.ShapeError, "Fold: padding=-1"),
)


@pytest.mark.parametrize("make", [
    *(lambda m, n=n: getattr(m, f"{n}Pad2d")(1) for n in ("Zero", "Reflection", "Circular")),
    lambda m: m.ConstantPad1d(1, 2.0), *(make for make, _ in activation.LAYERS.values()),
    *(lambda m, n=n: getattr(m, n)(inplace=True) for n in IN_PLACE[:9]),
    lambda m: m.PixelShuffle(2), lambda m: m.PixelUnshuffle(2), lambda m: m.Unfold(2),
    lambda m: m.Fold((3, 4), 2), lambda m: m.RNNCell(2, 3, nonlinearity="relu"),
    lambda m: m.GRUCell(2, 3, False), lambda m: m.UpsamplingNearest2d(3),
])  # fmt: skip
def test_layers_are_written_as_pytorchs(make, torch):
    assert repr(make(nn)) == repr(make(torch.nn))


def test_a_repr_says_what_pytorchs_says():
    for layer, words in (
        (nn.BatchNorm1d(3, track_running_stats=False), "track_running_stats=False"),
        (nn.InstanceNorm2d(3), "track_running_stats=False"),
        (nn.LayerNorm(3, bias=False), "elementwise_affine=True, bias=False"),
        (nn.RMSNorm(3), "elementwise_affine=True"),
        (nn.GroupNorm(1, 3, bias=False), "affine=True, bias=False"),
        (nn.ConvTranspose2d(2, 3, 3, 2, output_padding=1), "output_padding=(1, 1)"),
        (nn.RNN(2, 3, nonlinearity="relu"), "nonlinearity=relu"),
        (nn.Dropout(0.5, True), "p=0.5, inplace=True"),
    ):
        assert words in repr(layer)
