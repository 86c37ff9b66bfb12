"""Names that are not there: refused by name, with the nearest thing that is."""

import copy
import pickle
import sys
from functools import partial

import numpy as np
import pytest
from own_process import python
from refusals import check_refusals, refuses

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim
from minifp.compat import unknown_names

X = fp.ones(2, 2)


@pytest.mark.parametrize("place, name, message", [
    (fp, "cross_entropy", "the nearest: F.cross_entropy"),
    (fp, "arctan2", "NumPy has it, without gradients: np.arctan2"),
    (fp, "xqzzyk", "nothing here is like it; dir.fp. lists"),
    (fp, "hypot", "instead: fp.sqrt"),
    (fp.cuda, "synchronize", "minifp.cuda has no 'synchronize'; instead: leave it out"),
    (nn.Linear(2, 1), "register_full_backward_hook", "a Linear has no .*x.register_hook"),
    (optim.SGD(nn.Linear(2, 1).parameters()), "register_step_post_hook", "a SGD has no .*step"),
    (nn, "LazyELU", "the nearest: nn.ELU"), (F, "leaky_rlu", "the nearest: F.leaky_relu"),
    (optim, "Adma", "minifp.optim has no 'Adma'; the nearest: optim.Adam"),
    (optim, "LBFGS", "instead: optim.Adam, or"), (optim, "Prodigy", "there are Adadelta, .*SGD"),
    (optim.lr_scheduler, "CyclicLR", "instead: optim.lr_scheduler.LambdaLR"),
    (nn.init, "trunc_normal", "the nearest: nn.init.trunc_normal_"),
    (X, "astype", "a Tensor has no 'astype'; instead: x.to"),
    (X, "sinc", "a Tensor has no 'sinc'; NumPy has it"),
    (X, "unsafe_split", "nothing here is like it"),
    (nn.Linear(2, 1).weight, "grad_fn", "a Parameter has no 'grad_fn'; instead: x.node"),
])  # fmt: skip
def test_a_name_that_is_not_there_is_refused_with_the_nearest_that_is(place, name, message):
    refuses(fp.UnknownNameError, message, getattr, place, name)
    assert not hasattr(place, name) and getattr(place, name, None) is None
    with pytest.raises(AttributeError):
        getattr(place, name)


def test_an_import_or_a_call_of_it_says_the_same():
    for code, message in (
        ("from minifp.nn import Conv4d", "minifp.nn has no 'Conv4d'; the nearest: nn.Conv2d"),
        ("from minifp import Generator as G", "minifp has no 'Generator'; instead: fp.manual_seed"),
        ("from minifp.optim import Adam, Adma", "'Adma'; the nearest: optim.Adam"),
        ("from minifp.nn.functional import sofmax", "'sofmax'; the nearest: F.softmax"),
        ("import minifp.backends.cudnn", "minifp has no module 'backends'; instead: leave it out"),
        ("from minifp.utils.tensorboard import SummaryWriter", "has no module 'tensorboard'; ins"),
        ("from minifp.distributions import Categorical", "instead: F.log_softmax with x.gather"),
        ("import minifp.xqzzyk", "^No module named 'minifp.xqzzyk'$"),
    ):
        refuses(ImportError, message, exec, code)
    for call in (lambda: fp.random(3), lambda: fp.compile(abs)):  # names of modules here
        refuses(fp.UnknownNameError, "minifp has no '(random|compile)'; instead", call)


def test_modules_are_imported_by_the_names_that_they_have_as_attributes():
    names = ("amp.grad_scaler GradScaler", "cuda.amp autocast", "paddle.amp GradScaler",
             "nn.utils.rnn pad_sequence", "optim.lr_scheduler _LRScheduler")  # fmt: skip
    for place, name in map(str.split, names):
        exec(f"from minifp.{place} import {name}")
    import minifp.cuda.amp as older

    assert older is fp.cuda.amp and sys.modules["minifp.amp"] is fp.amp
    assert older.autocast(False).dtype == "float16"  # which takes no device
    assert older.GradScaler(1024.0).get_scale() == 1024 and type(fp.cuda.is_available()) is bool


ARGUMENTS = r"""
    nn.Linear(3, 4, device="cuda")        -> ArgumentError: Linear: no argument 'device': .*set_def
    nn.Conv2d(3, 4, 3, padding_mod="x")   -> TypeError: Conv2d: .* the nearest: padding_mode
    nn.Tanh(True, 4)                      -> TypeError: Tanh: 2 positional arguments, exp
    nn.Linear(3)                          -> TypeError: missing 1 required positional argument
    optim.Adam([x], capturable=True)      -> TypeError: Adam: no argument 'capturable': leave it out
    nn.Linear(3, 4, True, None, "half")   -> TypeError: Linear: no argument 'dtype': with fp.prec
    nn.LazyLinear(3, devic=None)          -> TypeError: LazyLinear: no argument 'devic'
    fp.add(t, t, out=fp.ones(3))          -> ShapeError: add: out of shape .3,.: expected .2,.
    fp.add(t, t, out=fp.arange(2))        -> DTypeError: add: out of int64 for a result of float32
    fp.max(t, 0, out=t)                   -> ShapeError: max: out has 1 tensors: expected 2
    t.add_(1, out=t)                      -> TypeError: add_: no argument 'out'
    fp.add(w, t, out=t)                   -> TapeError: out with a tensor that requires a gradient
    F.dropout(x, inplace=3)               -> ArgumentError: dropout: inplace=3
    fp.matmul(x, x, out=[1.0])            -> TypeError: out.copy_\(result\); matmul\(input, other
    x.sum().backward(create_graph=True)   -> TypeError: there are no gradients of gradients
    nn.init.normal_(x, generator=1)       -> TypeError: normal_: no argument 'generator'
    fp.grad(x, x, only_inputs=False)      -> TypeError: no leaf's gradient changes
    nn.utils.clip_grad_norm_(x, max_no=1) -> TypeError: the nearest: max_norm
    fp.load("a", map_location="cpu")      -> TypeError: load: no argument 'map_location'
"""


def test_an_argument_that_is_not_there_is_refused_with_what_to_write():
    names = {"optim": optim, "w": fp.ones(2, requires_grad=True)}
    check_refusals(ARGUMENTS, names=names, t=np.ones(2), x=np.ones(2))
    for function in (F.cross_entropy, nn.init.zeros_):  # which answers, and is pickled by its name
        assert pickle.loads(pickle.dumps(function)) is function


TAKEN = """
    nn.Linear(2, 3, True, None, None)                    -> nn.Linear(2, 3)
    nn.Conv2d(2, 3, 1, device="cpu", dtype=fp.float32)   -> nn.Conv2d(2, 3, 1)
    nn.LazyLinear(3, device=None)                        -> nn.LazyLinear(3)
    nn.LSTM(2, 3, dtype=None)                            -> nn.LSTM(2, 3)
    nn.Embedding(5, 3, None, None, 2.0, False)           -> nn.Embedding(5, 3)
    nn.MSELoss(False).reduction                          -> "sum"
    nn.CrossEntropyLoss(None, True).reduction            -> "mean"
    nn.CrossEntropyLoss(None, None, 1).ignore_index      -> 1
    F.l1_loss(x, y, False)                               -> F.l1_loss(x, y, reduction="sum")
    F.mse_loss(x, y, size_average=None, reduce=False)    -> F.mse_loss(x, y, reduction="none")
    F.softmax(x, 1, _stacklevel=3)                       -> F.softmax(x, 1)
    F.relu(x, False)                                     -> F.relu(x)
    x.to("cpu", non_blocking=True)                       -> x
    x.contiguous(memory_format=fp.channels_last)         -> x
    nn.Tanh().to(memory_format=fp.preserve_format)       -> nn.Tanh()
    fp.zeros(2, out=None, layout=None, pin_memory=True)  -> fp.zeros(2)
    z if fp.matmul(x, y, out=z) is z else None           -> x @ y
    fp.sum(x, axis=1, out=fp.empty(0))                   -> x.sum(1)
    fp.max(x, 1, out=(fp.empty(2), fp.tensor([0, 0])))   -> x.max(1)
    fp.grad(w.sum(), w, only_inputs=True)                -> fp.grad(w.sum(), w)
    w.sum().backward(create_graph=False, inputs=None)    -> None
    nn.Tanh().load_state_dict({}, assign=False)          -> nn.Tanh().load_state_dict({})
    optim.Adam([w], foreach=True, fused=True).defaults   -> optim.Adam([w]).defaults
    plateau(verbose=False).step(0.1, 3)                  -> None
    fp.data.DataLoader(x, 2, True, None, None, 4).num_workers -> 4
"""


def test_an_argument_that_changes_nothing_is_taken_and_an_older_one_means_what_it_did(recwarn):
    x, y, z, w = fp.randn(2, 2), fp.ones(2, 2), fp.empty(2, 2), fp.ones(2, requires_grad=True)
    plateau = partial(optim.lr_scheduler.ReduceLROnPlateau, optim.SGD([w], 0.1))
    names = {"fp": fp, "F": F, "nn": nn, "optim": optim, "plateau": plateau}
    for row in TAKEN.strip().splitlines():
        given = dict(names, x=x, y=y, z=z, w=w)
        told = [repr(eval(code.strip(), given)) for code in row.split(" -> ")]
        assert told[0] == told[1], row
    said = [str(w.message) for w in recwarn if w.category is DeprecationWarning]
    assert len(said) == 4 and "write reduction='none'" in said[-1]


def test_modules_and_names_of_python_and_numpy_are_found_and_refused_as_ever():
    for place in (fp, nn, F, optim, X):
        for name in ("__array_struct__", "_repr_html_x", "__path_of_nobody__"):
            with pytest.raises(AttributeError, match=f"has no attribute '{name}'") as caught:
                getattr(place, name)
            assert type(caught.value) is AttributeError
    assert np.asarray(X).shape == np.array(X).shape == copy.copy(X).shape == (2, 2)
    assert copy.deepcopy(nn.Linear(2, 1)).weight.shape == (1, 2)
    code = "import minifp as fp; from minifp import models, cli; from minifp import *"
    assert python(code, PYTHONWARNINGS="error").stderr == ""


def test_asking_whether_a_name_is_there_searches_for_nothing(monkeypatch):
    monkeypatch.setattr(unknown_names, "advice", None)
    assert not hasattr(X, "addmv") and not hasattr(X, "columns") and not hasattr(fp, "columns")
    assert "addmv" not in dir(X) and "add" in dir(X)


def test_no_name_with_advice_is_there_and_its_error_goes_to_another_process_whole():
    public = {n for place in unknown_names.PLACES.values() for n in unknown_names.names_in(place)}
    of_tensors = {"cuda", "is_available"}  # which fp has not
    there = sorted(public & {*unknown_names.INSTEAD} - of_tensors)
    assert not there, "these names exist: take them out of IDEAS, in compat/unknown_names.py"
    with pytest.raises(fp.UnknownNameError) as caught:
        optim.AdamWW  # noqa: B018
    for copied in (pickle.loads(pickle.dumps(caught.value)), copy.copy(caught.value)):
        assert str(copied) == str(caught.value) and "AdamWW" in repr(copied)
