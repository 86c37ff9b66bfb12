"""Layers and the Module they are made of, by PyTorch's names."""

from minifp.nn import functional, init
from minifp.nn.activation import ReLU, Sigmoid, Tanh
from minifp.nn.container import ModuleList, Sequential
from minifp.nn.conv import Conv2d
from minifp.nn.dropout import Dropout
from minifp.nn.embedding import Embedding
from minifp.nn.linear import Flatten, Linear
from minifp.nn.module import Module
from minifp.nn.normalization import BatchNorm1d, BatchNorm2d, LayerNorm
from minifp.nn.parameter import Buffer, Parameter
from minifp.nn.pooling import AvgPool2d, MaxPool2d
from minifp.nn.recurrent import LSTM
