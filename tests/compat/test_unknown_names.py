"""Names that are not there: refused by name, with the nearest thing that is."""

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim
from minifp.compat import unknown_names

ROOT = Path(__file__).resolve().parents[2]
X = fp.ones(2, 2)


@pytest.mark.parametrize(
    "place, name, message",
    [
        (fp, "cross_entropy", "the nearest: F.cross_entropy"),
        (fp, "Linear", "the nearest: nn.Linear"),
        (fp, "arctan", "NumPy has it, without gradients: np.arctan"),
        (fp, "no_gard", "the nearest: fp.no_grad"),
        (fp, "xqzzyk", "there is nothing like it; dir.fp. lists"),
        (fp, "backends", "minifp has no 'backends'; instead: leave it out"),
        (fp, "addcmul", "instead: x . value . a . b"),
        (fp.cuda, "synchronize", "minifp.cuda has no 'synchronize'; instead: leave it out"),
        (nn.utils, "weight_norm", "minifp.nn.utils has no 'weight_norm'; instead: no layer is"),
        (nn.utils, "clip_grad_norm", "the nearest: nn.utils.clip_grad_norm_"),
        (nn.Linear(2, 1), "register_full_backward_hook", "a Linear has no .*x.register_hook"),
        (optim.SGD(nn.Linear(2, 1).parameters()), "register_step_post_hook", "a SGD has no .*step"),
        (fp.data, "RandomSampler", "instead: DataLoader.shuffle=True."),
        (nn, "Conv3d", "minifp.nn has no 'Conv3d'; the nearest: nn.Conv2d, nn.Conv1d"),
        (nn, "LazyLinear", "the nearest: nn.Linear"),
        (nn, "SGD", "the nearest: optim.SGD"),
        (F, "conv3d", "minifp.nn.functional has no 'conv3d'; the nearest: F.conv2d, F.conv1d"),
        (F, "leaky_relu_", "the nearest: F.leaky_relu"),
        (optim, "Adma", "minifp.optim has no 'Adma'; the nearest: optim.Adam"),
        (optim, "LBFGS", "instead: optim.Adam, or"),
        (optim, "Prodigy", "there are Adadelta, .*SGD"),
        (optim.lr_scheduler, "CyclicLR", "instead: optim.lr_scheduler.LambdaLR"),
        (nn.init, "xavier_normal", "the nearest: nn.init.xavier_normal_"),
        (X, "astype", "a Tensor has no 'astype'; instead: x.to"),
        (X, "absolute", "a Tensor has no 'absolute'; NumPy has it"),
        (X, "squeeze_", "a Tensor has no 'squeeze_'; the nearest: x.squeeze"),
        (X, "gelu", "the nearest: F.gelu"),
        (X, "median", "np.median"),
        (nn.Linear(2, 1).weight, "grad_fn", "a Parameter has no 'grad_fn'; instead: x.node"),
    ],
)
def test_a_name_that_is_not_there_is_refused_with_the_nearest_that_is(place, name, message):
    with pytest.raises(fp.UnknownNameError, match=message):
        getattr(place, name)
    assert not hasattr(place, name) and getattr(place, name, None) is None
    with pytest.raises(AttributeError):
        getattr(place, name)


def test_an_import_or_a_call_of_it_says_the_same():
    for code, message in (
        ("from minifp.nn import Conv3d", "minifp.nn has no 'Conv3d'; the nearest: nn.Conv2d"),
        ("from minifp import Generator as G", "minifp has no 'Generator'; instead: fp.manual_seed"),
        ("from minifp.optim import Adam, Adma", "'Adma'; the nearest: optim.Adam"),
        ("from minifp.nn.functional import sofmax", "'sofmax'; the nearest: F.softmax"),
        ("import minifp.backends.cudnn", "minifp has no module 'backends'; instead: leave it out"),
        ("from minifp.utils.tensorboard import SummaryWriter", "has no module 'tensorboard'; ins"),
        ("import minifp.xqzzyk", "^No module named 'minifp.xqzzyk'$"),
    ):
        with pytest.raises(ImportError, match=message):
            exec(code)
    for call in (lambda: fp.device("cuda"), lambda: fp.compile(abs)):  # names of modules here
        with pytest.raises(fp.UnknownNameError, match="minifp has no '(device|compile)'; instead"):
            call()


def test_modules_are_imported_by_the_names_that_they_have_as_attributes():
    for code in (
        "from minifp.amp import autocast, GradScaler",
        "from minifp.amp.grad_scaler import GradScaler",
        "from minifp.cuda.amp import autocast, GradScaler, custom_fwd",
        "from minifp.paddle.amp import GradScaler",
        "from minifp.nn.utils.rnn import pad_sequence",
        "from minifp.optim.lr_scheduler import _LRScheduler",
    ):
        exec(code)
    import minifp.cuda.amp as older

    assert older is fp.cuda.amp and sys.modules["minifp.amp"] is fp.amp
    assert older.autocast(False).dtype == "float16"  # which takes no device
    assert older.GradScaler(1024.0).get_scale() == 1024 and type(fp.cuda.is_available()) is bool


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: nn.Linear(3, 4, device="cuda"), "Linear: no argument 'device': .*set_default_dev"),
        (lambda: nn.Conv2d(3, 4, 3, padding_mod="x"), "Conv2d: .* the nearest: padding_mode"),
        (lambda: nn.LSTM(2, 2, proj_sizes=1), "LSTM: no argument 'proj_sizes'"),
        (lambda: nn.Linear(1, 2, True, None), r"5 arguments by their places, expected Linear\(in_"),
        (lambda: optim.Adam([X], fused=True), "Adam: no argument 'fused': leave it out"),
        (lambda: optim.lr_scheduler.StepLR(None, 1, verbose=True), r"print\(scheduler.get_last_lr"),
        (lambda: F.dropout(X, inplace=True), r"dropout: no argument 'inplace': .*; dropout\(input"),
        (lambda: fp.matmul(X, X, out=X), r"out.copy_\(result\); matmul\(input, other\)"),
        (lambda: X.sum().backward(create_graph=True), "there are no gradients of gradients"),
        (lambda: nn.init.normal_(X, generator=None), "normal_: no argument 'generator'"),
        (lambda: nn.utils.clip_grad_norm_([X], max_nor=1), "the nearest: max_norm"),
        (lambda: fp.load("a", map_location="cpu"), "load: no argument 'map_location'"),
    ],
)
def test_an_argument_that_is_not_there_is_refused_with_what_to_write(call, message):
    with pytest.raises(fp.ArgumentError, match=message) as caught:
        call()
    assert isinstance(caught.value, TypeError)


def test_other_errors_of_a_call_are_pythons_own():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'out_features'"):
        nn.Linear(3)
    assert pickle.loads(pickle.dumps(F.cross_entropy)) is F.cross_entropy
    assert pickle.loads(pickle.dumps(nn.init.zeros_)) is nn.init.zeros_


def test_modules_and_names_of_python_and_numpy_are_found_and_refused_as_ever():
    for place in (fp, nn, F, optim, X):
        for name in ("__array_struct__", "_repr_html_x", "__path_of_nobody__"):
            with pytest.raises(AttributeError, match=f"has no attribute '{name}'") as caught:
                getattr(place, name)
            assert type(caught.value) is AttributeError
    assert np.asarray(X).shape == np.array(X).shape == copy.copy(X).shape == (2, 2)
    assert copy.deepcopy(nn.Linear(2, 1)).weight.shape == (1, 2)
    code = "import minifp as fp; from minifp import models, cli; from minifp import *"
    command = [sys.executable, "-W", "error", "-c", code]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    assert result.stderr == ""


def test_asking_whether_a_name_is_there_searches_for_nothing(monkeypatch):
    monkeypatch.setattr(unknown_names, "advice", None)
    assert not hasattr(X, "addcmul") and not hasattr(X, "columns") and not hasattr(fp, "columns")
    assert "addcmul" not in dir(X) and "add" in dir(X)


def test_no_name_with_advice_is_there():
    """Else its advice is never given."""
    public = {n for place in unknown_names.PLACES.values() for n in unknown_names.names_in(place)}
    of_tensors = {"device", "dtype"}  # which fp has not
    there = sorted(public & {*unknown_names.INSTEAD} - of_tensors)
    assert not there, "these names exist: take them out of IDEAS, in compat/unknown_names.py"


def test_its_error_goes_to_another_process_whole():
    with pytest.raises(fp.UnknownNameError) as caught:
        optim.AdamWW  # noqa: B018
    for copied in (pickle.loads(pickle.dumps(caught.value)), copy.copy(caught.value)):
        assert str(copied) == str(caught.value) and "AdamWW" in repr(copied)
