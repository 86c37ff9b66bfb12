"""The layers, with PyTorch's arguments, initial values, parameter names and shapes."""

import math

import numpy as np

from minifp import ops
from minifp.errors import ArgumentError
from minifp.formats import FORMATS
from minifp.nn import functional as F
from minifp.nn import init
from minifp.nn.module import Module
from minifp.nn.parameter import Buffer, Parameter
from minifp.ops.conv2d import as_pair


def _positive(**sizes):
    for name, n in sizes.items():
        if not isinstance(n, (int, np.integer)) or n < 1:
            raise ArgumentError(f"{name}={n!r}: expected a positive integer")


class Linear(Module):
    """y = x weightT + bias.   weight: (out, in)  bias: (out); both U(-1/sqrt(in), 1/sqrt(in))."""

    def __init__(self, in_features, out_features, bias=True):
        _positive(in_features=in_features, out_features=out_features)
        bound = 1 / math.sqrt(in_features)
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(init.uniform((out_features, in_features), bound))
        self.bias = Parameter(init.uniform((out_features,), bound)) if bias else None

    def forward(self, x):
        return F.linear(x, self.weight, self.bias)

    def extra_repr(self):
        return f"{self.in_features}, {self.out_features}, bias={self.bias is not None}"


class Conv2d(Module):
    """2-D convolution of (N, in, H, W).   weight: (out, in/groups, KH, KW)  bias: (out)."""

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        bias=True,
    ):
        _positive(in_channels=in_channels, out_channels=out_channels, groups=groups)
        if in_channels % groups or out_channels % groups:
            raise ArgumentError(
                f"groups={groups} must divide {in_channels} and {out_channels} channels"
            )
        size = as_pair(kernel_size, "kernel_size", 1)
        self.geometry = {
            "stride": as_pair(stride, "stride", 1),
            "padding": as_pair(padding, "padding", 0),
            "dilation": as_pair(dilation, "dilation", 1),
            "groups": groups,
        }
        shape = (out_channels, in_channels // groups, *size)
        bound = 1 / math.sqrt(math.prod(shape[1:]))
        self.weight = Parameter(init.uniform(shape, bound))
        self.bias = Parameter(init.uniform((out_channels,), bound)) if bias else None

    def forward(self, x):
        return F.conv2d(x, self.weight, self.bias, **self.geometry)

    def extra_repr(self):
        geometry = ", ".join(f"{k}={v}" for k, v in self.geometry.items())
        return f"weight={self.weight.shape}, {geometry}, bias={self.bias is not None}"


class _Pool2d(Module):
    def __init__(self, kernel_size, stride=None, padding=0):
        self.kernel_size, self.padding = kernel_size, padding
        self.stride = kernel_size if stride is None else stride

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxPool2d(_Pool2d):
    """The largest of each window of (N, C, H, W)."""

    def forward(self, x):
        return F.max_pool2d(x, self.kernel_size, self.stride, self.padding)


class AvgPool2d(_Pool2d):
    """The mean of each window of (N, C, H, W), padding included."""

    def forward(self, x):
        return F.avg_pool2d(x, self.kernel_size, self.stride, self.padding)


class _BatchNorm(Module):
    """weight, bias, running_mean, running_var: (C), in the precision's `norm_parameters` format."""

    ndims = ()

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
        _positive(num_features=num_features)
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        stored = self.precision.norm_parameters
        self.weight = Parameter(init.ones((num_features,)), stored) if affine else None
        self.bias = Parameter(init.zeros((num_features,)), stored) if affine else None
        self.running_mean = self.running_var = self.num_batches_tracked = None
        if track_running_stats:
            dtype = FORMATS[stored].dtype
            self.running_mean = Buffer(np.zeros(num_features, dtype))
            self.running_var = Buffer(np.ones(num_features, dtype))
            self.num_batches_tracked = Buffer(np.zeros((), np.int64))

    def forward(self, x):
        if x.ndim not in self.ndims or x.shape[1] != self.num_features:
            raise ArgumentError(
                f"{type(self).__name__}({self.num_features}) on a tensor of shape {x.shape}: "
                f"expected {' or '.join(str(n) for n in self.ndims)} dimensions and "
                f"{self.num_features} channels"
            )
        before = self.running_mean.storage.version if self.track_running_stats else 0
        y = F.batch_norm(
            *(x, self.running_mean, self.running_var, self.weight, self.bias),
            *(self.training, self.momentum, self.eps),
        )
        if self.track_running_stats and self.running_mean.storage.version != before:
            self.num_batches_tracked.data = self.num_batches_tracked.array + 1
        return y

    def extra_repr(self):
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}"
        )


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (N, C) or (N, C, L)."""

    ndims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (N, C, H, W)."""

    ndims = (4,)


class LayerNorm(Module):
    """Layer normalisation over the last axes. weight, bias: `normalized_shape`, norm parameters."""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True):
        shape = (
            (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        )
        self.normalized_shape, self.eps = shape, eps
        stored = self.precision.norm_parameters
        self.weight = Parameter(init.ones(shape), stored) if elementwise_affine else None
        self.bias = Parameter(init.zeros(shape), stored) if elementwise_affine and bias else None

    def forward(self, x):
        return F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}"


class Embedding(Module):
    """The rows of weight (num_embeddings, embedding_dim), N(0, 1), that integers name."""

    def __init__(self, num_embeddings, embedding_dim):
        _positive(num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        self.weight = Parameter(init.normal((num_embeddings, embedding_dim)))

    def forward(self, input):
        return F.embedding(input, self.weight)

    def extra_repr(self):
        return f"{self.weight.shape[0]}, {self.weight.shape[1]}"


class Dropout(Module):
    """In training, zero each element with probability p and divide the others by 1 - p."""

    def __init__(self, p=0.5):
        if not (isinstance(p, (int, float)) and 0 <= p <= 1):
            raise ArgumentError(f"Dropout: p={p!r}: expected a probability between 0 and 1")
        self.p = p

    def forward(self, x):
        return F.dropout(x, self.p, self.training)

    def extra_repr(self):
        return f"p={self.p}"


class LSTM(Module):
    """Layers of an LSTM over whole sequences (gates i, f, g, o; see ops/lstm.py).

    Input (T, B, I), or (B, T, I) with batch_first; result: the outputs (..., H), twice as wide
    where bidirectional, and (h, c) of the last step, each (layers x directions, B, H).
    dropout: between layers, in training. Parameters weight_ih_l0 (4H, I), weight_hh_l0 (4H, H),
    bias_ih_l0, bias_hh_l0 (4H), and so on, all U(-1/sqrt(H), 1/sqrt(H)).
    """

    def __init__(
        self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
        bidirectional=False,
    ):  # fmt: skip
        _positive(input_size=input_size, hidden_size=hidden_size, num_layers=num_layers)
        if not (isinstance(dropout, (int, float)) and 0 <= dropout <= 1):
            raise ArgumentError(
                f"LSTM: dropout={dropout!r}: expected a probability between 0 and 1"
            )
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.batch_first, self.dropout = batch_first, dropout
        self.bias, self.bidirectional = bias, bidirectional
        bound, gates = 1 / math.sqrt(hidden_size), 4 * hidden_size
        directions = ("", "_reverse") if bidirectional else ("",)
        self.suffixes = [f"l{k}{d}" for k in range(num_layers) for d in directions]
        for i, suffix in enumerate(self.suffixes):
            size = input_size if i < len(directions) else hidden_size * len(directions)
            shapes = {"weight_ih": (gates, size), "weight_hh": (gates, hidden_size)}
            if bias:
                shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
            for name, shape in shapes.items():
                setattr(self, f"{name}_{suffix}", Parameter(init.uniform(shape, bound)))

    def forward(self, x, state=None):
        if x.ndim != 3 or x.shape[2] != self.input_size:
            raise ArgumentError(
                f"LSTM({self.input_size}, {self.hidden_size}) on a tensor of shape {x.shape}: "
                f"expected ({'B, T' if self.batch_first else 'T, B'}, {self.input_size})"
            )
        x = x.transpose(0, 1) if self.batch_first else x
        h0, c0 = self._initial(x, state)
        last_h, last_c = [], []
        directions = 2 if self.bidirectional else 1
        for layer in range(self.num_layers):
            if layer and self.dropout:
                x = F.dropout(x, self.dropout, self.training)
            outputs = []
            for i in range(layer * directions, (layer + 1) * directions):
                backwards = i % directions == 1
                h, c = ops.lstm(x[::-1] if backwards else x, h0[i], c0[i], *self._weights(i))
                last_h.append(h[-1])
                last_c.append(c)
                outputs.append(h[::-1] if backwards else h)
            x = outputs[0] if directions == 1 else ops.cat(outputs, 2)
        x = x.transpose(0, 1) if self.batch_first else x
        return x, (ops.stack(last_h), ops.stack(last_c))

    def _weights(self, i):
        suffix = self.suffixes[i]
        w_ih, w_hh = getattr(self, f"weight_ih_{suffix}"), getattr(self, f"weight_hh_{suffix}")
        if self.bias:
            return (
                w_ih,
                w_hh,
                getattr(self, f"bias_ih_{suffix}"),
                getattr(self, f"bias_hh_{suffix}"),
            )
        none = ops.zeros(w_ih.shape[0], dtype=w_ih.dtype)
        return w_ih, w_hh, none, none

    def _initial(self, x, state):
        shape = (len(self.suffixes), x.shape[1], self.hidden_size)
        if state is None:
            zeros = ops.zeros(shape)
            return zeros, zeros
        for name, v in zip(("h", "c"), state):
            if v.shape != shape:
                raise ArgumentError(f"LSTM: initial {name} of shape {v.shape}, expected {shape}")
        return state

    def extra_repr(self):
        return f"{self.input_size}, {self.hidden_size}, num_layers={self.num_layers}"


class ReLU(Module):
    """max(x, 0)."""

    def forward(self, x):
        return F.relu(x)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, x):
        return F.tanh(x)


class Sigmoid(Module):
    """1 / (1 + e^-x)."""

    def forward(self, x):
        return F.sigmoid(x)


class Flatten(Module):
    """All axes but the first as one (or those from start_dim to end_dim)."""

    def __init__(self, start_dim=1, end_dim=-1):
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x):
        return ops.flatten(x, self.start_dim, self.end_dim)


class Sequential(Module):
    """Modules called one after the other, named 0, 1, 2, ..."""

    def __init__(self, *modules):
        for i, module in enumerate(modules):
            if not isinstance(module, Module):
                raise ArgumentError(
                    f"Sequential: argument {i} is a {type(module).__name__}, not a Module"
                )
            setattr(self, str(i), module)

    def forward(self, x):
        for module in self.children():
            x = module(x)
        return x

    def __len__(self):
        return len(self.children())

    def __getitem__(self, i):
        return self.children()[i]

    def __iter__(self):
        return iter(self.children())


class ModuleList(Sequential):
    """A list of modules, named 0, 1, 2, ...; it is not called itself."""

    def __init__(self, modules=()):
        super().__init__(*modules)

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        self._take_name(self._name)

    def _take_name(self, name):
        super()._take_name(name)
        for n, child in self.named_children():  # called without it, they carry its name
            child._take_name(f"{name}.{n}" if name else n)

    def forward(self, *args):
        raise ArgumentError("a ModuleList is not called: call its modules")

    def append(self, module):
        """Add one at the end."""
        setattr(self, str(len(self)), module)
        return self
