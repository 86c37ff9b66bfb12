"""What PyTorch's scripts take for granted of layers."""

import numpy as np
import pytest
from cases import LAYERS
from refusals import refuses

import minifp as fp
import minifp.nn.functional as F
from minifp import nn
from minifp.optim.swa_utils import SWALR, AveragedModel, get_ema_avg_fn, update_bn

REMOVE = {
    "old": nn.utils.remove_weight_norm, "spectral_norm": nn.utils.remove_spectral_norm,
    "new": lambda layer: nn.utils.parametrize.remove_parametrizations(layer, "weight"),
}  # fmt: skip


@pytest.mark.parametrize("name", ["old weight_norm", *(n for n in LAYERS if n[-5:-1] == "_nor")])
def test_normed_weights_are_computed_trained_and_left_behind(name):
    make, _ = LAYERS.get(name, (lambda nn: nn.utils.weight_norm(nn.Conv2d(3, 4, 3)), None))
    layer, x = make(nn), fp.randn(2, 3, 6, 6)
    optimizer, before = fp.optim.SGD(layer.parameters(), 0.1), layer(x).tolist()
    layer(x).square().sum().backward()
    optimizer.step()
    y = layer.eval()(x)
    assert y.tolist() != before and all(p.grad is not None for p in layer.parameters())
    REMOVE[name.split()[0]](layer)
    assert {*layer.state_dict()} == {"weight", "bias"} and type(layer).__name__[:4] == "Conv"
    np.testing.assert_allclose(layer(x).array, y.array, 1e-5, 1e-6)


def test_a_lazy_layer_is_the_ordinary_one_from_its_first_input_on():
    fp.manual_seed(1)
    lazy = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
    refuses(fp.ArgumentError, "lazy layer.* call the model once", fp.optim.SGD, lazy.parameters())
    y = lazy(x := fp.ones(2, 3, 4, 4))
    fp.manual_seed(1)
    ordinary = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(16, 2))
    assert y.tolist() == ordinary(x).tolist() and repr(lazy) == repr(ordinary)
    assert nn.LazyLinear(3).half()(fp.ones(2, 4).half()).dtype == "float16"


def test_older_habits_mean_what_they_do_in_pytorch(recwarn):
    x = fp.randn(2, 3, 4, requires_grad=True)
    for dim, y in ((0, x), (1, x[0]), (0, x[0, 0])):
        assert F.softmax(y).tolist() == F.softmax(y, dim).tolist() == nn.Softmax()(y).tolist()
    weight, zeros = nn.init.kaiming_normal(nn.Linear(3, 4).weight), F.dropout2d(x).array == 0
    assert (zeros.all(-1) == zeros.any(-1)).all()
    said = " ".join(str(w.message) for w in recwarn)
    assert "write dim=0" in said and "dropout1d" in said and "nn.init.kaiming_normal_" in said
    assert F.mse_loss(weight[0], fp.tensor([1, 2, 3])).item() > 0
    assert fp.unique(fp.tensor([3, 1, 3]), return_counts=True)[1].tolist() == [1, 2]
    assert fp.bincount(fp.tensor([1, 1]), minlength=3).tolist() == [0, 2, 0]
    assert fp.triu_indices(2, 3, 1).tolist() == [[0, 0, 1], [1, 2, 2]]
    assert fp.ones(2).resize_(2, 2).resize_as_(x[0, 0]).divide_(2).tolist() == [0.5, 0.5, 0, 0]
    h = (x * 2).unsqueeze_(1).squeeze_().transpose_(0, 2).add_(1)
    (h[0].t_() * fp.tensor([[1.0, 2, 3], [4, 5, 6]])).sum().backward()
    assert h.shape == (4, 3, 2) and x.grad[..., 0].tolist() == [[2, 4, 6], [8, 10, 12]]
    assert isinstance(x, fp.FloatTensor) and not isinstance(x, (fp.LongTensor, fp.cuda.FloatTensor))
    assert x.type(fp.LongTensor).dtype == x.type("torch.LongTensor").dtype == "int64"
    assert fp.FloatTensor(2, 3).shape == (2, 3) and fp.DoubleTensor(np.ones(2)).dtype == "float64"
    lstm = nn.LSTM(3, 4, 2)
    assert [n for n, _ in lstm.named_parameters()] == lstm._flat_weights_names
    raw = lstm._parameters.pop("weight_hh_l0")
    lstm.raw, lstm._parameters["weight_hh_l0"] = raw, F.dropout(raw, 0.5)
    lstm(fp.ones(2, 1, 3))[0].sum().backward()
    assert raw.grad is not None and len(lstm.all_weights) == 2


def test_a_variable_is_a_leaf_on_a_tensors_memory_and_new_makes_one_of_its_dtype(recwarn):
    x, Variable = fp.ones(2, requires_grad=True), fp.autograd.Variable
    v, w = Variable(2 * x, volatile=True), Variable(x.detach(), requires_grad=True)
    assert isinstance(x, Variable) and not v.requires_grad and w.requires_grad
    assert "use fp.no_grad()" in str(recwarn.pop(DeprecationWarning).message)
    new = fp.arange(3).new
    assert [new(2, 3).shape, new(x.shape).shape, new().shape] == [(2, 3), (2,), (0,)]
    assert new([1.0, 2.0]).tolist() == [1, 2] and new(1).dtype == "int64"
    refuses(fp.DeviceError, "'cuda' needs", x.type, "torch.cuda.FloatTensor")


@pytest.mark.filterwarnings("ignore:SWALR.step.. before")
@pytest.mark.parametrize("swa_lr, epochs, strategy, rates", [
    (0.01, 3, "cos", [(0.02125, 0.04), (0.01375, 0.02), (0.01, 0.01), (0.01, 0.01)]),
    ([0.01, 0.3], 2, "linear", [(0.0175, 0.175), (0.01, 0.3), (0.01, 0.3)]),
    (0.01, 0, "cos", [(0.01, 0.01)]),
])  # fmt: skip
def test_swalr_goes_from_the_rate_that_it_finds_to_its_own(swa_lr, epochs, strategy, rates):
    groups = [{"params": [nn.Parameter(fp.ones(1))], "lr": lr} for lr in (0.1, 0.2)]
    before = fp.optim.lr_scheduler.ExponentialLR(fp.optim.SGD(groups), 0.5)
    after = SWALR(before.optimizer, swa_lr, epochs, strategy)
    before.step(2)
    for expected in rates:
        after.step()
        np.testing.assert_allclose(after.get_last_lr(), expected, 1e-6)


def test_what_becomes_a_layer_or_a_parameter_comes_after_those_before():
    model = nn.Module()
    model.layers, model.a, model.last, model.b = [nn.PReLU()], None, nn.PReLU(), nn.PReLU().weight
    model.layers, model.a = nn.ModuleList(model.layers), nn.PReLU().weight
    assert [*model.state_dict()] == ["b", "a", "last.weight", "layers.0.weight"]


def test_an_averaged_model_has_the_mean_of_unrounded_weights():
    with fp.precision("mixed"):
        model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    mean, ema = (AveragedModel(model, avg_fn=avg) for avg in (None, get_ema_avg_fn(0.5)))
    for value in (1 / 3, 2 / 3, 1.0):
        nn.init.constant_(model[0].weight, value)
        mean.update_parameters(model)
        ema.update_parameters(model)
    for averaged, expected in ((mean, 2 / 3), (ema, 0.75)):
        np.testing.assert_allclose(averaged.module[0].weight.exact, expected, 1e-6)
    update_bn([fp.ones(3, 2), (fp.ones(3, 2), 0)], mean)
    norm = mean.module[1]
    assert norm.num_batches_tracked.item() == 2 and norm.momentum == 0.1 and mean.n_averaged == 3
