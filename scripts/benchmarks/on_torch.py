"""The architectures of models/ built of PyTorch's modules, from the same sources.

minifp's layers have PyTorch's names, arguments and keys. So the text of an architecture is run with
PyTorch's modules and functions where it imports minifp's, and minifp itself is not imported. Where
PyTorch's users write what is faster, an activation in place, it is taken.
"""

import builtins
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from . import layers_on_torch

MODELS = Path(__file__).resolve().parents[2] / "models"
IN_PLACE = ("ReLU", "ReLU6")  # what they are given is read by nothing else in any architecture


class Module(nn.Module):
    """One whose __init__ need not call that of its base, as in minifp."""

    def __new__(cls, *_, **__):
        self = super().__new__(cls)
        nn.Module.__init__(self)
        return self

    def __init__(self):
        """Done."""


class Unchecked:
    """Functions that check a named argument, as minifp has done, and return it; those that nobody
    calls here; and errors, which there are none."""

    def __getattr__(self, name):
        return ValueError if name.endswith("Error") else lambda name=None, value=None, *_: value


def with_names_of(library, **names):
    """The library with other names in front of its own."""
    return SimpleNamespace(**{**vars(library), **names})


OWN = (
    *("LSTM", "LuongAttention", "RowConv", "SampledSoftmaxLoss", "SequenceBatchNorm"),
)  # of layers_on_torch.py
layers = with_names_of(
    nn, Module=Module,
    **{name: partial(getattr(nn, name), inplace=True) for name in IN_PLACE},
    **{name: getattr(layers_on_torch, name) for name in OWN},
)  # fmt: skip
functional = with_names_of(F, relu=F.relu_)
recurrent = with_names_of(nn.utils.rnn, as_lengths=lambda name, lengths, *_: np.asarray(lengths))
KNOWN = {
    "minifp": SimpleNamespace(nn=layers),
    "minifp.autograd.grad_mode": torch,
    "minifp.autograd.tape": SimpleNamespace(Tensor=torch.Tensor),
    "minifp.checks": Unchecked(),
    "minifp.errors": Unchecked(),
    "minifp.nn": SimpleNamespace(functional=functional),
    "minifp.nn.utils.rnn": recurrent,
    "minifp.ops": torch,
    "minifp.runtime.device": Unchecked(),
}


def imported(name, scope=None, locals=None, names=(), level=0):
    """What stands behind `from name import names` in the text of an architecture."""
    if name.startswith("minifp.models."):
        return SimpleNamespace(**module(name.rpartition(".")[2]))
    return KNOWN.get(name) or builtins.__import__(name, scope, locals, names, level)


@cache
def module(stem):
    """The names in a file of models/, by what they are in PyTorch."""
    path = MODELS / f"{stem}.py"
    code = compile(path.read_text(encoding="utf-8"), path, "exec")
    space = {"__name__": stem, "__builtins__": {**vars(builtins), "__import__": imported}}
    exec(code, space)
    return space


@cache
def architectures():
    """Every class of models/ that can be built so, by its name."""
    return {
        name: kind
        for path in MODELS.glob("[a-z]*.py")
        for name, kind in module(path.stem).items()
        if isinstance(kind, type) and issubclass(kind, nn.Module) and kind.__module__ == path.stem
    }
