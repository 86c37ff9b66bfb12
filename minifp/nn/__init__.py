"""Layers and the Module they are made of, by PyTorch's names."""

from minifp.nn import functional, init
from minifp.nn.layers import (
    LSTM,
    AvgPool2d,
    BatchNorm1d,
    BatchNorm2d,
    Conv2d,
    Dropout,
    Embedding,
    Flatten,
    LayerNorm,
    Linear,
    MaxPool2d,
    ModuleList,
    ReLU,
    Sequential,
    Sigmoid,
    Tanh,
)
from minifp.nn.module import Module
from minifp.nn.parameter import Buffer, Parameter
