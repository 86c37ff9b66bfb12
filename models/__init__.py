"""Architectures, one a file. Installed and imported as `minifp.models`, never as `models`."""

if __name__ != "minifp.models":
    raise ImportError(
        f"this folder was imported as {__name__!r}, but its name is minifp.models: write "
        "`from minifp.models import LeNet`, and install minifp first (`pip install -e .` in the "
        "checkout)"
    )

from minifp.models.chargru import CharGRU
from minifp.models.charlstm import CharLSTM
from minifp.models.lenet import LeNet
from minifp.models.mlp import MLP
from minifp.models.resnet import ResNet
from minifp.models.vgg import VGG

__all__ = ["CharGRU", "CharLSTM", "LeNet", "MLP", "ResNet", "VGG"]
