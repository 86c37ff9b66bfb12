"""Sequences of different lengths: padded to one tensor, or packed without padding.

A PackedSequence holds the rows of all sequences step by step, the longest sequence first: what a
recurrent layer needs of every step is then one block, and no time goes into padding.
"""

from collections import namedtuple
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from minifp import ops
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.ops.recurrent.packing import pack, unpack
from minifp.runtime.device import is_array_like, moved

Lengths: TypeAlias = Tensor | np.ndarray | Sequence[int]  # (B) integers


class PackedSequence(
    namedtuple("PackedSequence", "data batch_sizes sorted_indices unsorted_indices")
):
    """Sequences without padding. Made by `pack_padded_sequence` and `pack_sequence`.

    data: (N, ...), the rows of step 0 of all sequences, then those of step 1, and so on, sequences
    in the order of falling length. batch_sizes: (T) integers, how many sequences have each step.
    sorted_indices: which sequence comes where, and unsorted_indices: where each is; None where they
    came in falling length.
    """

    __slots__ = ()

    def __new__(cls, data, batch_sizes, sorted_indices=None, unsorted_indices=None):
        if not is_array_like(data):
            raise DTypeError(f"PackedSequence: data is a {type(data).__name__}: expected a tensor")
        sizes = as_integers("PackedSequence: batch_sizes", batch_sizes)
        if sizes.ndim != 1 or not len(sizes):
            raise ArgumentError(
                f"PackedSequence: batch_sizes={batch_sizes!r}: expected one size per step"
            )
        if sorted_indices is not None and unsorted_indices is None:
            order = as_integers("PackedSequence: sorted_indices", sorted_indices)
            unsorted_indices = Tensor(np.argsort(order))
        return super().__new__(cls, data, Tensor(sizes), sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> "PackedSequence":
        """The same sequences with `data.to(...)`."""
        return self._replace(data=self.data.to(*args, **kwargs))


def as_integers(name: str, values: Any) -> np.ndarray:
    """A tensor, array or list of integers as an array. Raises DTypeError for anything else."""
    try:
        array = np.asarray(moved(values.array, "cpu") if isinstance(values, Tensor) else values)
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind not in "iu":
        raise DTypeError(f"{name}: {values!r}: expected integers")
    return array


def as_lengths(name: str, lengths: Lengths, batch: int, steps: int) -> np.ndarray:
    """The lengths of a batch of sequences (B), as integers from 1 to the number of steps."""
    array = as_integers(f"{name}: lengths", lengths)
    if array.shape != (batch,):
        raise ShapeError(
            f"{name}: lengths of shape {array.shape} for {batch} sequences: expected ({batch},)"
        )
    if batch and not 1 <= array.min() <= array.max() <= steps:
        raise ArgumentError(f"{name}: lengths {array.tolist()}: expected 1 to {steps}")
    return array


def pack_padded_sequence(
    input: Tensor, lengths: Lengths, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """The PackedSequence of a padded batch (T, B, ...), or (B, T, ...) with batch_first.

    lengths: (B) integers from 1 to T, as a tensor, array or list. With enforce_sorted they must
    fall; without, sequences are sorted here and the layers' results are put back in their order.
    Raises ShapeError, DTypeError or ArgumentError for lengths that do not fit, and for no sequence.
    """
    name = "pack_padded_sequence"
    x = _steps_first(name, input, batch_first)
    lengths = as_lengths(name, lengths, x.shape[1], x.shape[0])
    if enforce_sorted and (np.diff(lengths) > 0).any():
        raise ArgumentError(
            f"{name}: lengths {lengths.tolist()} are not in falling order: sort the sequences, or "
            "pass enforce_sorted=False"
        )
    order = np.argsort(-lengths, kind="stable")
    sizes = np.sum(lengths > np.arange(lengths.max())[:, None], axis=1)
    data = pack(x, places=_places(sizes, order))
    indices = None if enforce_sorted else Tensor(order)
    return PackedSequence(data, Tensor(sizes), indices)


def _steps_first(name, x, batch_first):
    """A padded batch as (T, B, ...), or an error."""
    if not is_array_like(x):
        raise DTypeError(f"{name}: {type(x).__name__}: expected a padded tensor")
    if x.ndim < 2 or 0 in x.shape[:2]:
        raise ShapeError(
            f"{name}: a tensor of shape {x.shape}: expected (T, B, ...), or (B, T, ...) with "
            "batch_first, with at least one step of one sequence"
        )
    return ops.transpose(x, 0, 1) if batch_first else x


def _places(sizes, order):
    """For each packed row, its row of a (T, B) table of the sequences in their own order."""
    t, b = np.nonzero(np.arange(len(order)) < sizes[:, None])
    return t * len(order) + order[b]


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The padded batch (T, B, ...) of a PackedSequence, or (B, T, ...), and its lengths (B).

    total_length: the T to pad to, by default the longest sequence's. Raises ArgumentError for one
    that is shorter, DTypeError for what is no PackedSequence.
    """
    if not isinstance(sequence, PackedSequence):
        raise DTypeError(
            f"pad_packed_sequence: {type(sequence).__name__}: expected a PackedSequence"
        )
    sizes = sequence.batch_sizes.array
    steps, batch = len(sizes), sizes[0]
    total = steps if total_length is None else total_length
    if not isinstance(total, (int, np.integer)) or total < steps:
        raise ArgumentError(
            f"pad_packed_sequence: total_length={total!r}: expected at least {steps}, the length "
            "of the longest sequence"
        )
    order = np.arange(batch)
    if sequence.sorted_indices is not None:
        order = as_integers("pad_packed_sequence: sorted_indices", sequence.sorted_indices)
    shape = (total, batch, *sequence.data.shape[1:])
    y = unpack(sequence.data, places=_places(sizes, order), shape=shape, value=padding_value)
    lengths = np.empty(batch, sizes.dtype)
    lengths[order] = np.sum(sizes[:, None] > np.arange(batch), axis=0)
    return (ops.transpose(y, 0, 1) if batch_first else y), Tensor(lengths)


def pad_sequence(
    sequences: Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences (L, ...) of different lengths L as one tensor (T, B, ...), or (B, T, ...).

    padding_side: where the padding is, "right" (at the end) or "left". Raises ShapeError for no
    sequence and for sequences whose rows differ in shape.
    """
    sequences = _tensors("pad_sequence", sequences)
    if padding_side not in ("right", "left"):
        raise ArgumentError(
            f"pad_sequence: padding_side={padding_side!r}: expected 'right' or 'left'"
        )
    lengths, batch = [s.shape[0] for s in sequences], len(sequences)
    steps = max(lengths)
    first = [0 if padding_side == "right" else steps - n for n in lengths]
    places = [(np.arange(n) + t) * batch + b for b, (n, t) in enumerate(zip(lengths, first))]
    shape = (steps, batch, *sequences[0].shape[1:])
    y = unpack(ops.cat(sequences), places=np.concatenate(places), shape=shape, value=padding_value)
    return ops.transpose(y, 0, 1) if batch_first else y


def _tensors(name, sequences):
    """A list of tensors (L, ...) that can lie in one batch, or an error."""
    if not hasattr(sequences, "__iter__"):
        raise DTypeError(f"{name}: {type(sequences).__name__}: expected a list of tensors")
    sequences = list(sequences)
    if not all(is_array_like(s) for s in sequences):
        kinds = ", ".join(type(s).__name__ for s in sequences)
        raise DTypeError(f"{name}: a list of {kinds}: expected tensors")
    shapes = [s.shape for s in sequences]
    if not shapes or () in shapes or len({s[1:] for s in shapes}) != 1:
        raise ShapeError(
            f"{name}: sequences of shapes {shapes}: expected (L, ...), alike but for L"
        )
    return sequences


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """The PackedSequence of a list of tensors (L, ...). As pack_padded_sequence otherwise."""
    sequences = _tensors("pack_sequence", sequences)
    lengths = [s.shape[0] for s in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, False, enforce_sorted)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Lengths, batch_first: bool = False
) -> list[Tensor]:
    """The sequences (L, ...) of a padded batch (T, B, ...), or (B, T, ...), as a list of views."""
    x = _steps_first("unpad_sequence", padded_sequences, batch_first)
    lengths = as_lengths("unpad_sequence", lengths, x.shape[1], x.shape[0])
    return [x[:n, b] for b, n in enumerate(lengths.tolist())]


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences (L, ...) of a PackedSequence, in their own order, as a list."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences))
