"""Architectures, one a file: in a checkout in its folder models/, once installed here."""

import pathlib

_here = pathlib.Path(__file__).parent
if not (_here / "mlp.py").exists():  # a checkout
    __path__.append(str(_here.parents[1] / "models"))

from minifp.models.chargru import CharGRU
from minifp.models.charlstm import CharLSTM
from minifp.models.lenet import LeNet
from minifp.models.mlp import MLP
from minifp.models.resnet import ResNet
from minifp.models.vgg import VGG

__all__ = ["CharGRU", "CharLSTM", "LeNet", "MLP", "ResNet", "VGG"]
