"""What all recurrent layers share: layers, directions, states, sequences of different lengths."""

import math
import warnings
from typing import Any, TypeAlias

from minifp import ops
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, DTypeError
from minifp.nn import functional as F
from minifp.nn import initial
from minifp.nn.checks import positive, probability
from minifp.nn.module import Module
from minifp.nn.parameter import Parameter
from minifp.nn.utils.rnn import Lengths, PackedSequence, pack_padded_sequence, pad_packed_sequence
from minifp.ops.arguments import check_room
from minifp.runtime.device import device_of

State: TypeAlias = Tensor | tuple[Tensor, Tensor] | None  # h, or h and c; None for zeros


class RNNBase(Module):
    """What RNN, GRU and LSTM share: layers, directions, and sequences of different lengths.

    Input (T, B, I), or (B, T, I) with batch_first, or (T, I) for one sequence; result: the outputs
    (..., H), twice as wide where bidirectional, and the state after the last step (layers x
    directions, B, H), of which hx is the first one (zeros by default).

    Of sequences of different lengths a layer takes a PackedSequence and returns one
    (nn.utils.rnn); or, with `lengths=` (B integers), a padded batch, and returns outputs that are 0
    in the padding. Either way each sequence is as if alone: its state is that after its own last
    step, the backward direction begins there, and padding is never read.

    dropout: between layers, in training. Parameters weight_ih_l0, weight_hh_l0, bias_ih_l0,
    bias_hh_l0, and so on (with l0_reverse), all U(-1/sqrt(H), 1/sqrt(H)).
    """

    gates = 1  # blocks of H rows in the weights

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
    ) -> None:
        name = type(self).__name__
        positive(input_size=input_size, hidden_size=hidden_size, num_layers=num_layers)
        check_room(type(self).__name__, (num_layers, hidden_size, hidden_size))
        probability(name, dropout=dropout)
        if proj_size:
            positive(proj_size=proj_size)
            if proj_size >= hidden_size:
                raise ArgumentError(f"{name}: proj_size={proj_size}: expected 0 to hidden_size - 1")
        if dropout and num_layers == 1:
            warnings.warn(
                f"{name}: dropout={dropout} acts between layers, but there is only one layer",
                stacklevel=3,
            )
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, dropout
        self.bidirectional, self.proj_size = bidirectional, proj_size
        directions = ("", "_reverse") if bidirectional else ("",)
        self.suffixes = [f"l{k}{d}" for k in range(num_layers) for d in directions]
        for i, suffix in enumerate(self.suffixes):
            size = input_size if i < len(directions) else self.output_size * len(directions)
            for weight, shape in self._shapes(size).items():
                value = initial.uniform(shape, 1 / math.sqrt(hidden_size))
                setattr(self, f"{weight}_{suffix}", Parameter(value))

    @property
    def _flat_weights_names(self) -> list[str]:
        """The names of its weights, in PyTorch's order."""
        kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
        names = [f"{kind}_{suffix}" for suffix in self.suffixes for kind in kinds]
        return [name for name in names if hasattr(self, name)]

    @property
    def _flat_weights(self) -> list[Any]:
        """Its weights in that order, as they are now."""
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Any]]:
        """Its weights, of each layer and direction in a list."""
        count = len(self._flat_weights) // len(self.suffixes)
        weights = self._flat_weights
        return [weights[i : i + count] for i in range(0, len(weights), count)]

    def flatten_parameters(self) -> None:
        """Nothing: weights need not lie one behind the other in memory here."""

    @property
    def output_size(self) -> int:
        """How wide h is."""
        return self.proj_size or self.hidden_size

    @property
    def state_sizes(self) -> tuple[int, ...]:
        """How wide each tensor of the state is."""
        return (self.output_size,)

    def _shapes(self, inputs):
        """The shape of each weight of a layer with so many inputs, in PyTorch's order."""
        rows = self.gates * self.hidden_size
        shapes: dict[str, tuple[int, ...]]
        shapes = {"weight_ih": (rows, inputs), "weight_hh": (rows, self.output_size)}
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size:
            shapes |= {"weight_hr": (self.proj_size, self.hidden_size)}
        return shapes

    def operation(
        self, x: Tensor, states: list[Tensor], weights: dict[str, Any], **given: Any
    ) -> tuple[Tensor, ...]:
        """One layer in one direction: the outputs, and the last state."""
        raise ArgumentError(f"{type(self).__name__} does not define operation()")

    # ---- forward ----

    def forward(
        self, input: Tensor | PackedSequence, hx: State = None, *, lengths: Lengths | None = None
    ) -> tuple[Tensor | PackedSequence, Tensor | tuple[Tensor, ...]]:
        """The outputs, and the state after the last step.

        input: (T, B, I), (B, T, I) with batch_first, (T, I) of one sequence, or a PackedSequence.
        hx: the state before the first step, (layers x directions, B, H), or without B for one
        sequence; a pair (h, c) of them for an LSTM, where h may be projected; None is zeros.
        lengths: of the sequences of a padded batch, B integers, in any order.
        Outputs: as the input, but with H (x 2 where bidirectional) for I. The state: as hx.
        """
        y, states = self._of_any_form(input, self._as_states(hx), lengths)
        return y, tuple(states) if len(states) > 1 else states[0]

    def _of_any_form(self, input, states, lengths):
        if isinstance(input, PackedSequence):
            if lengths is not None:
                raise ArgumentError(f"{self!r}: lengths= with a PackedSequence, which has its own")
            return self._packed(input, states)
        self._check_input(input)
        if lengths is not None:
            return self._padded(input, states, lengths)
        if input.ndim == 2:
            return self._one(input, states)
        x = input.transpose(0, 1) if self.batch_first else input
        y, states = self._layers(x, states, x.shape[1])
        return y.transpose(0, 1) if self.batch_first else y, states

    def _one(self, input, states):
        """One sequence (T, I) is a batch of one."""
        for name, s in zip("hc", states or ()):
            if s.ndim != 2:
                raise ArgumentError(
                    f"{self!r}: initial {name} of shape {s.shape} for one sequence: expected "
                    f"({len(self.suffixes)}, H)"
                )
        states = states and [ops.unsqueeze(s, 1) for s in states]
        y, states = self._layers(ops.unsqueeze(input, 1), states, 1)
        return ops.squeeze(y, 1), [ops.squeeze(s, 1) for s in states]

    def _padded(self, input, states, lengths):
        """A padded batch is packed, and its outputs are padded again, with 0."""
        if input.ndim == 2:
            raise ArgumentError(f"{self!r}: lengths= for one sequence: shorten it instead")
        packed = pack_padded_sequence(input, lengths, self.batch_first, enforce_sorted=False)
        y, states = self._packed(packed, states)
        total = input.shape[1 if self.batch_first else 0]
        return pad_packed_sequence(y, self.batch_first, total_length=total)[0], states

    def _packed(self, packed, states):
        """The states come and go in the sequences' own order."""
        x, sizes = packed.data, tuple(packed.batch_sizes.tolist())
        if x.ndim != 2 or x.shape[1] != self.input_size:
            raise ArgumentError(
                f"{self!r} on packed rows {x.shape}: expected (N, {self.input_size})"
            )
        if packed.sorted_indices is None:
            y, states = self._layers(x, states, sizes[0], sizes)
        else:
            self._check_states(states, sizes[0])
            states = states and [s[:, packed.sorted_indices] for s in states]
            y, states = self._layers(x, states, sizes[0], sizes)
            states = [s[:, packed.unsorted_indices] for s in states]
        return packed._replace(data=y), states

    def _layers(self, x, states, batch, batch_sizes=None):
        """All layers on x (T, B, I), or on packed rows (N, I): outputs and last states."""
        self._check_states(states, batch)
        if states is None:
            place = device_of(getattr(x, "array", x))
            sizes = [(len(self.suffixes), batch, n) for n in self.state_sizes]
            states = [ops.zeros(size, device=place) for size in sizes]
        last, directions = [], 2 if self.bidirectional else 1
        for layer in range(self.num_layers):
            if layer and self.dropout:
                x = F.dropout(x, self.dropout, self.training)
            outputs = []
            for i in range(layer * directions, (layer + 1) * directions):
                first, reverse = [s[i] for s in states], i % directions == 1
                given = {"batch_sizes": batch_sizes, "reverse": reverse}
                y, *end = self.operation(x, first, self._weights(i), **given)
                outputs.append(y)
                last.append(end)
            x = outputs[0] if directions == 1 else ops.cat(outputs, -1)
        return x, [ops.stack(parts) for parts in zip(*last)]

    def _weights(self, i):
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
        return {
            short: getattr(self, f"{name}_{self.suffixes[i]}")
            for name, short in zip(names, ("w_ih", "w_hh", "b_ih", "b_hh", "w_hr"))
            if hasattr(self, f"{name}_{self.suffixes[i]}")
        }

    # ---- the state ----

    def _as_states(self, hx):
        """hx, a tensor or a pair of them, as a list; None for zeros."""
        if hx is None:
            return None
        states = hx if len(self.state_sizes) > 1 else [hx]
        if not isinstance(states, (tuple, list)) or len(states) != len(self.state_sizes):
            raise ArgumentError(f"{self!r}: hx of type {type(hx).__name__}: expected (h, c)")
        for s in states:
            if not isinstance(s, Tensor):
                raise DTypeError(f"{self!r}: hx with a {type(s).__name__}: expected tensors")
        return list(states)

    def _check_states(self, states, batch):
        shapes = [(len(self.suffixes), batch, n) for n in self.state_sizes]
        for name, s, shape in zip("hc", states or (), shapes):
            if s.shape != shape:
                raise ArgumentError(
                    f"{self!r}: initial {name} of shape {s.shape}, expected {shape}"
                )

    def _check_input(self, input):
        if not isinstance(input, Tensor):
            raise DTypeError(
                f"{self!r}: input is a {type(input).__name__}: expected a tensor or PackedSequence"
            )
        if input.ndim not in (2, 3) or input.shape[-1] != self.input_size:
            axes = "B, T" if self.batch_first else "T, B"
            raise ArgumentError(
                f"{self!r} on a tensor of shape {input.shape}: expected ({axes}, {self.input_size})"
                f", or (T, {self.input_size}) for one sequence"
            )

    def extra_repr(self) -> str:
        usual = {
            **{"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False},
            **{"dropout": 0, "bidirectional": False},
        }
        changed = [f"{n}={v}" for n in usual if (v := getattr(self, n)) != usual[n]]
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        changed += [] if nonlinearity == "tanh" else [f"nonlinearity={nonlinearity}"]
        return ", ".join([str(self.input_size), str(self.hidden_size), *changed])
