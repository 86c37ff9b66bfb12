"""Recurrent layers over whole sequences."""

from typing import Any

from minifp import ops
from minifp.autograd.tape import Tensor
from minifp.checks import arguments_in
from minifp.nn.rnn_base import RNNBase
from minifp.ops.recurrent.rnn import check_nonlinearity


class RNN(RNNBase):
    """Elman's network: h_t = tanh(W_ih x_t + b_ih + W_hh h_{t-1} + b_hh), or relu.

    nonlinearity: "tanh" or "relu". For all else see RNNBase. weight_ih_l0: (H, I).
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
    ) -> None:
        check_nonlinearity("RNN", nonlinearity)
        self.nonlinearity = nonlinearity
        super().__init__(
            input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional
        )

    def operation(
        self, x: Tensor, states: list[Tensor], weights: dict[str, Any], **given: Any
    ) -> tuple[Tensor, ...]:
        """See ops/rnn.py."""
        (h,) = states
        return ops.rnn(x, h, **weights, nonlinearity=self.nonlinearity, **given)


class GRU(RNNBase):
    """Gated recurrent units (gates r, z, n; see ops/gru.py and RNNBase). weight_ih_l0: (3H, I)."""

    gates = 3

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
    ) -> None:
        super().__init__(**arguments_in(locals()))

    def operation(
        self, x: Tensor, states: list[Tensor], weights: dict[str, Any], **given: Any
    ) -> tuple[Tensor, ...]:
        """See ops/gru.py."""
        (h,) = states
        return ops.gru(x, h, **weights, **given)


class LSTM(RNNBase):
    """Long short-term memory (gates i, f, g, o; see ops/lstm.py and RNNBase). weight_ih_l0: (4H, I)

    hx, and what comes after the outputs, is (h, c), each (layers x directions, B, H). proj_size: P,
    for h of P < H numbers, projected by weight_hr_l0 (P, H).
    """

    gates = 4

    @property
    def state_sizes(self) -> tuple[int, ...]:
        """Of h and of c."""
        return self.output_size, self.hidden_size

    def operation(
        self, x: Tensor, states: list[Tensor], weights: dict[str, Any], **given: Any
    ) -> tuple[Tensor, ...]:
        """See ops/lstm.py."""
        h, c = states
        return ops.lstm(x, h, c, **weights, **given)
