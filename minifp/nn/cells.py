"""One step of a recurrent layer: for loops of your own."""

import math

from minifp import ops
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, DTypeError
from minifp.nn import initial
from minifp.nn.checks import positive
from minifp.nn.module import Module
from minifp.nn.parameter import Parameter
from minifp.ops.recurrent.rnn import check_nonlinearity
from minifp.runtime.device import device_of


class RNNCellBase(Module):
    """What the cells share: input (B, I) or (I), and the state hx (B, H) or (H), by default zeros.

    Parameters weight_ih, weight_hh, bias_ih, bias_hh, all U(-1/sqrt(H), 1/sqrt(H)), with as many
    blocks of H rows as the layer of that name has.
    """

    gates, states = 1, "h"

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True) -> None:
        positive(input_size=input_size, hidden_size=hidden_size)
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows, bound = self.gates * hidden_size, 1 / math.sqrt(hidden_size)
        self.weight_ih = Parameter(initial.uniform((rows, input_size), bound))
        self.weight_hh = Parameter(initial.uniform((rows, hidden_size), bound))
        self.bias_ih = Parameter(initial.uniform((rows,), bound)) if bias else None
        self.bias_hh = Parameter(initial.uniform((rows,), bound)) if bias else None

    def operation(self, x: Tensor, states: list[Tensor], weights: tuple) -> tuple[Tensor, ...]:
        """A layer on x (1, B, I): the outputs, and the last state."""
        raise ArgumentError(f"{type(self).__name__} does not define operation()")

    def forward(
        self, input: Tensor, hx: Tensor | tuple[Tensor, Tensor] | None = None
    ) -> Tensor | tuple[Tensor, ...]:
        """input (B, I) or (I), hx (B, H) or (H), zeros where None: the state after, shaped as hx.

        Of an LSTMCell hx and the result are pairs (h, c).
        """
        self._check(input, "input", self.input_size, (1, 2))
        if hx is None:
            shape, device = (*input.shape[:-1], self.hidden_size), device_of(input.array)
            states = [ops.zeros(shape, device=device) for _ in self.states]
        else:
            states = self._as_states(hx, input.ndim)
        alone = input.ndim == 1
        x = ops.reshape(input, 1, 1 if alone else len(input), self.input_size)
        states = [ops.unsqueeze(s, 0) if alone else s for s in states]
        weights = self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        _, *after = self.operation(x, states, weights)
        after = [ops.squeeze(s, 0) if alone else s for s in after]
        return tuple(after) if len(after) > 1 else after[0]

    def _as_states(self, hx, ndim):
        states = hx if len(self.states) > 1 else (hx,)
        if not isinstance(states, (tuple, list)) or len(states) != len(self.states):
            raise ArgumentError(f"{self!r}: hx of type {type(hx).__name__}: expected (h, c)")
        for name, s in zip(self.states, states):
            self._check(s, name, self.hidden_size, (ndim,))
        return states

    def _check(self, x, name, size, dims):
        if not isinstance(x, Tensor):
            raise DTypeError(f"{self!r}: {name} is a {type(x).__name__}: expected a tensor")
        if x.ndim not in dims or x.shape[-1] != size:
            shapes = [f"(B, {size})" if n == 2 else f"({size},)" for n in dims]
            raise ArgumentError(
                f"{self!r}: {name} of shape {x.shape}, expected {' or '.join(shapes)}"
            )

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class RNNCell(RNNCellBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu. weight_ih: (H, I), weight_hh: (H, H)."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh"
    ) -> None:
        check_nonlinearity("RNNCell", nonlinearity)
        self.nonlinearity = nonlinearity
        super().__init__(input_size, hidden_size, bias)

    def extra_repr(self) -> str:
        usual = self.nonlinearity == "tanh"
        return super().extra_repr() + ("" if usual else f", nonlinearity={self.nonlinearity}")

    def operation(self, x: Tensor, states: list[Tensor], weights: tuple) -> tuple[Tensor, ...]:
        """See ops/rnn.py."""
        return ops.rnn(x, *states, *weights, nonlinearity=self.nonlinearity)


class GRUCell(RNNCellBase):
    """One step of a GRU (gates r, z, n; see ops/gru.py). weight_ih: (3H, I), weight_hh: (3H, H)."""

    gates = 3

    def operation(self, x: Tensor, states: list[Tensor], weights: tuple) -> tuple[Tensor, ...]:
        """See ops/gru.py."""
        return ops.gru(x, *states, *weights)


class LSTMCell(RNNCellBase):
    """One step of an LSTM (gates i, f, g, o; see ops/lstm.py): hx and the result are (h, c).

    weight_ih: (4H, I), weight_hh: (4H, H).
    """

    gates, states = 4, "hc"

    def operation(self, x: Tensor, states: list[Tensor], weights: tuple) -> tuple[Tensor, ...]:
        """See ops/lstm.py."""
        return ops.lstm(x, *states, *weights)
