"""What a rule keeps of each weight, as it is stored: momentum, moments.

State is in the format that the precision says, and a rule reads and writes it in place. In formats
of few bits it may have scales (numerics/state_format.py): then a rule is given pieces of it, one
after the other, in float32, and they are rounded when it is done. Beside its codes such a state
takes four bytes for each scale, and while it is updated a piece of each: PIECE numbers, or a whole
parameter if that has one scale and more numbers.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from minifp.errors import ArgumentError, PrecisionError
from minifp.numerics.formats import as_stored, downcast, float32, format_of, is_narrow, upcast
from minifp.numerics.state_format import (
    BLOCK,
    count_of,
    decode,
    encode,
    length_of,
    scales_of,
    text_of,
)
from minifp.optim.weights import Weights
from minifp.runtime.cuda.arrays import is_on_device, to_host
from minifp.runtime.device import full, moved, placed

PIECE = 2**18  # numbers: in 1 MiB of float32 each, with which calls are a fifth of the time


class State:
    """One state of all weights of a block, as it is. array: (n), of the format `dtype`."""

    def __init__(self, weights: Weights, dtype: np.dtype, initial: float) -> None:
        self.weights, flat = weights, weights.flat
        self.array = full(flat.shape, as_stored(initial, dtype), dtype, like=flat)

    @property
    def dtype(self) -> np.dtype:
        """The format in which it is stored."""
        return self.array.dtype

    @property
    def arrays(self) -> list:
        """All that it holds."""
        return [self.array]

    def bytes_of(self, i: int) -> int:
        """How many bytes it takes for parameter i."""
        return self.weights.sizes[i] * self.dtype.itemsize

    def room(self, n: int) -> Any:
        """What `opened` may write n numbers into, None where it need not."""
        return None

    def opened(self, part: slice, room: Any = None) -> Any:
        """The state of this part as a rule is to update it, perhaps in the room that there is."""
        return self.array[part]

    def close(self, part: slice, x: Any) -> None:
        """Keep what a rule made of opened state. Here it is kept where it was updated."""

    def numbers(self, i: int) -> Any:
        """The state of parameter i, (n), in the format in which a rule would read it."""
        return self.opened(self.weights.slices[i])

    def assign(self, i: int, x: Any) -> None:
        """Let the state of parameter i be these numbers, (n)."""
        x = placed(downcast(x, self.dtype), like=self.array)
        self.array[self.weights.slices[i]] = x

    def saved(self, i: int) -> Any:
        """A copy of the state of parameter i for a checkpoint: what `numbers_in` reads."""
        part = self.array[self.weights.slices[i]].reshape(self.weights.parameters[i].shape)
        return to_host(part) if is_on_device(part) else part.copy()


class ScaledState(State):
    """State in few bits with scales. array: codes, (n); scales: (k) float32, as `layout` says."""

    def __init__(self, weights: Weights, dtype: np.dtype, initial: float, layout: "Layout") -> None:
        self.layout = layout
        scale = scales_of(np.array(abs(initial), float32), format_of(dtype))
        super().__init__(weights, dtype, initial * float(scale))
        self.scales = np.full(len(layout.starts) - 1, scale)

    @property
    def arrays(self) -> list:
        return [self.array, self.scales]

    def bytes_of(self, i: int) -> int:
        scales = self.scales[self.layout.of(self.weights.slices[i])]
        return super().bytes_of(i) + scales.nbytes

    def room(self, n: int) -> Any:
        return np.empty(n, float32)

    def opened(self, part: slice, room: Any = None) -> Any:
        n = part.stop - part.start
        x = (self.room(n) if room is None else room)[:n]
        codes, scales, starts = self._stored(part)
        decode(codes, scales, starts, x)
        return x

    def close(self, part: slice, x: Any) -> None:
        codes, scales, starts = self._stored(part)
        if x.size:
            encode(x, starts, codes, scales)

    def _stored(self, part):
        """The codes of a part, their scales, and where in the part each scale begins."""
        among = self.layout.of(part)
        return self.array[part], self.scales[among], self.layout.starts[among] - part.start

    def assign(self, i: int, x: Any) -> None:
        self.close(self.weights.slices[i], upcast(downcast(moved(x, "cpu"), float32), float32))

    def saved(self, i: int) -> Any:
        return {
            "codes": super().saved(i),
            "scales": self.scales[self.layout.of(self.weights.slices[i])].copy(),
            "scale_of": text_of(self.layout.length),
        }


def saved_numbers(saved: Any) -> np.ndarray:
    """The numbers of a state that was `saved`, (n)."""
    if not isinstance(saved, dict):
        return np.asarray(saved).reshape(-1)
    codes, length = saved["codes"].reshape(-1), length_of(saved["scale_of"])
    starts = np.arange(len(saved["scales"]), dtype=np.int64) * (length or 0)
    x = np.empty(codes.size, float32)
    decode(codes, saved["scales"], starts, x)
    return x


def check_scaled(what: str, saved: dict, shape: tuple) -> None:
    """Raise ArgumentError, which begins with `what`, for no state with scales of this shape."""
    try:
        codes, scales, length = saved["codes"], saved["scales"], length_of(saved["scale_of"])
        count = count_of(codes.size, length)
        fits = len(saved) == 3 and codes.shape == shape and is_narrow(codes.dtype)
        fits &= (scales.shape, scales.dtype) == ((count,), float32) and bool((scales > 0).all())
    except (AttributeError, KeyError, PrecisionError, TypeError):
        fits = False
    if not fits:
        raise ArgumentError(
            f"{what} is not state with scales: expected codes of shape {shape}, scale_of as in "
            f"optimizer_state_scale={BLOCK}:2048, and as many scales, positive and in float32"
        )


class Layout:
    """Which numbers of a block have one scale: `length` of a parameter, the last ones fewer; None:
    all of a parameter. starts: (k + 1), where they begin, and the last ones end.

    Raises PrecisionError for weights on a GPU.
    """

    def __init__(self, weights: Weights, length: int | None) -> None:
        if is_on_device(weights.flat):
            raise PrecisionError(
                f"optimizer_state_scale={text_of(length)}: state has scales on the CPU only: "
                "expected parameters there, or optimizer_state_scale=off"
            )
        self.length = length
        starts = [
            np.arange(count_of(n, length), dtype=np.int64) * (length or 0) + start
            for n, start in zip(weights.sizes, weights.starts)
        ]
        self.starts = np.concatenate([*starts, weights.starts[-1:]])

    def of(self, part: slice) -> slice:
        """Which scales are those of a part, which begins and ends where some do."""
        first, last = np.searchsorted(self.starts, (part.start, part.stop)).tolist()
        return slice(first, last)

    def pieces(self, part: slice) -> Iterator[slice]:
        """A part in pieces of at most PIECE numbers, if those of one scale are not more."""
        start = part.start
        while start < part.stop:
            fit = np.searchsorted(self.starts, start + PIECE, "right") - 1
            next_one = np.searchsorted(self.starts, start, "right")
            stop = min(int(self.starts[max(fit, next_one)]), part.stop)
            yield slice(start, stop)
            start = stop
