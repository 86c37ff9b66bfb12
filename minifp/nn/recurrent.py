"""Recurrent layers over whole sequences."""

import math

from minifp import ops
from minifp.errors import ArgumentError
from minifp.nn import functional as F
from minifp.nn import init
from minifp.nn.checks import positive, probability
from minifp.nn.module import Module
from minifp.nn.parameter import Parameter


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
        positive(input_size=input_size, hidden_size=hidden_size, num_layers=num_layers)
        probability("LSTM", dropout=dropout)
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
