"""Random numbers that depend on nothing but the seed, what they are for, and how often they were
asked for.

A draw is numbered, not taken from a running state: number i of call c for a purpose is a pure
function of (seed, purpose, c, i). So dropout masks, shuffles and initial weights are the same in
every precision, on every device and after a skipped step, and drawing more for one purpose moves
nothing in another.

The function is Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy
as 1, 2, 3", SC'11). A block is four 32-bit words:

    key      64 bits of blake2b(seed as 8 little-endian bytes, then the purpose as UTF-8)
    counter  words 0 and 1: the block's index; words 2 and 3: the call
    number i of a call uses word i % 4 of block i // 4

and a uniform number is the upper 24 bits of its word times 2^-24, which float32 holds exactly.
"""

import hashlib
import math
import operator
import threading
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeAlias, cast

import numpy as np

from minifp.errors import ArgumentError
from minifp.typing import F, Ints

__all__ = ["Streams", "advance", "bits", "calls", "get_state", "integers", "key", "manual_seed"]
__all__ += ["next_call", "normal", "permutation", "philox", "set_state", "uniform"]

Call: TypeAlias = int | None  # its number; None for the next

MULTIPLIERS = np.array([[0xD2511F53], [0xCD9E8D57]], np.uint64)
KEY_STEPS = np.array([[0x9E3779B9], [0xBB67AE85]], np.uint64)
LOW_WORD = np.uint64(0xFFFFFFFF)
WORD = np.uint64(32)
ROUNDS = 10
CHUNK = 16384  # blocks at a time: three buffers of 256 KB stay in the L2 cache
LARGEST = float(np.finfo(np.float32).max)


def philox(counter: Any, key: Any) -> np.ndarray:
    """Return the Philox 4x32-10 words (n, 4), uint32, of n counters under one key.

    `counter` is (n, 4) and `key` (2,), both words of 32 bits in Random123's order.
    """
    c = np.asarray(counter, np.uint64).T
    even, odd = np.ascontiguousarray(c[::2]), np.ascontiguousarray(c[1::2])
    return _rounds(even, odd, np.empty_like(even), np.asarray(key, np.uint64).reshape(2, 1))


def _rounds(even, odd, product, key):
    # Words 0 and 2 are the rows of `even`, words 1 and 3 of `odd`, each in 64 bits, so that one
    # call serves both multiplications. `odd` may carry rubbish above its 32 bits: a round masks
    # only what it multiplies next.
    for _ in range(ROUNDS):
        np.multiply(even, MULTIPLIERS, out=product)
        np.right_shift(product[::-1], WORD, out=even)
        even ^= odd
        even ^= key
        even &= LOW_WORD
        odd, product = product[::-1], odd
        key = (key + KEY_STEPS) & LOW_WORD
    words = np.empty((even.shape[1], 4), np.uint32)
    words.T[::2] = even
    words.T[1::2] = odd  # keeps the lower 32 bits
    return words


class Streams:
    """Independent streams of random numbers, one for each purpose, under one seed.

    The functions of this module are the methods of one such object: the global one, or, on a thread
    other than the main one which has set a seed, that thread's own. Every draw
    takes `purpose`, any text that names what the numbers are for, and `call`: None takes this
    purpose's next number and counts it, an integer repeats (or foresees) that call and counts
    nothing. Safe to use from several threads.
    """

    _calls: dict[str, int]

    def __init__(self, seed: int = 0) -> None:
        self._lock = threading.Lock()
        self.manual_seed(seed)

    def manual_seed(self, seed: int) -> None:
        """Set the seed, 0 to 2**64 - 1, and start every purpose at call 0 again."""
        seed = _integer("manual_seed", "seed", seed, 2**64 - 1)
        with self._lock:
            self._seed, self._calls = seed, {}

    @property
    def seed(self) -> int:
        """The seed that all draws are keyed by; change it by `manual_seed`."""
        return self._seed

    def get_state(self) -> dict:
        """Return the whole state, the seed and each purpose's count of calls, fit for JSON."""
        with self._lock:
            return {"seed": self._seed, "calls": dict(self._calls)}

    def set_state(self, state: dict) -> None:
        """Go back to a state that `get_state` returned."""
        try:
            seed = _integer("set_state", "seed", state["seed"], 2**64 - 1)
            calls = {
                _purpose("set_state", p): _integer("set_state", f"calls of {p!r}", n, 2**64 - 1)
                for p, n in state["calls"].items()
            }
        except (KeyError, TypeError, AttributeError) as error:
            raise ArgumentError(
                f"set_state: expected what get_state() returned, a dict with 'seed' and 'calls', "
                f"got {state!r}"
            ) from error
        with self._lock:
            self._seed, self._calls = seed, calls

    def next_call(self, purpose: str) -> int:
        """Take and count this purpose's next call, for who wants to draw it later or elsewhere."""
        return self._take("next_call", purpose)[1]

    def key(self, purpose: str) -> tuple[int, int]:
        """The key of a purpose's numbers, two words of 32 bits, for who draws them elsewhere."""
        first, second = _key(self._seed, _purpose("key", purpose)).reshape(-1).tolist()
        return first, second

    def calls(self, purpose: str) -> int:
        """The number of this purpose's next call."""
        with self._lock:
            return self._calls.get(_purpose("calls", purpose), 0)

    def advance(self, purpose: str, calls: int) -> None:
        """Count so many calls of a purpose, which were drawn elsewhere."""
        purpose, calls = _purpose("advance", purpose), _integer("advance", "calls", calls, 2**62)
        with self._lock:
            self._calls[purpose] = self._calls.get(purpose, 0) + calls

    def bits(self, n: int, *, purpose: str, call: Call = None, first: int = 0) -> np.ndarray:
        """Draw n words of 32 random bits, (n,) uint32: numbers `first` to `first` + n - 1."""
        n = _integer("bits", "n", n, 2**63 - 1)
        block, skipped = divmod(_integer("bits", "first", first, 2**63 - 1), 4)
        out = np.empty(_whole(skipped + n), np.uint32)
        for part, words in self._words("bits", skipped + n, purpose, call, block):
            out[part] = words
        return out[skipped : skipped + n]

    def uniform(
        self, shape: Ints, low: float = 0.0, high: float = 1.0, *, purpose: str, call: Call = None
    ) -> np.ndarray:
        """Draw float32 numbers, equally likely everywhere in [low, high)."""
        shape, n = _shape("uniform", shape)
        if not (-LARGEST <= low <= high <= LARGEST and high - low <= LARGEST):
            raise ArgumentError(
                f"uniform: low <= high must be finite in float32, and so must their distance; "
                f"got {low} and {high}"
            )
        low, high, span = np.float32(low), np.float32(high), np.float32(high - low)
        out = np.empty(_whole(n), np.float32)
        for part, words in self._words("uniform", n, purpose, call):
            words >>= 8
            out[part] = words.view(np.int32)  # below 2^24, and int32 converts faster than uint32
            out[part] *= np.float32(2.0**-24)
            if low != 0 or high != 1:
                out[part] *= span
                out[part] += low
                # the sum may round up to `high`, which is not in [low, high)
                top = np.nextafter(high, low)
                np.minimum(out[part], top, out=out[part])
        return out[:n].reshape(shape)

    def normal(
        self, shape: Ints, mean: float = 0.0, std: float = 1.0, *, purpose: str, call: Call = None
    ) -> np.ndarray:
        """Draw float32 numbers from the normal distribution.

        Numbers 2j and 2j + 1 are one pair of Box and Muller's method ("A note on the generation
        of random normal deviates", 1958), computed in float64 and rounded once.
        """
        shape, n = _shape("normal", shape)
        mean, std = float(mean), float(std)
        if not (math.isfinite(mean) and math.isfinite(std) and std >= 0):
            raise ArgumentError(
                f"normal: expected a finite mean and a finite std >= 0, got {mean} and {std}"
            )
        out = np.empty(_whole(n), np.float32)
        for part, words in self._words("normal", n, purpose, call):
            # half a step above 0 keeps the logarithm finite: |number| is at most 6.77 deviations
            radius = np.sqrt(-2.0 * np.log((words[::2] + 0.5) * 2.0**-32))
            angle = words[1::2] * (2.0 * math.pi * 2.0**-32)
            out[part][::2] = mean + std * (radius * np.cos(angle))
            out[part][1::2] = mean + std * (radius * np.sin(angle))
        return out[:n].reshape(shape)

    def permutation(self, n: int, *, purpose: str, call: Call = None) -> np.ndarray:
        """Draw an order of the indices 0 to n - 1, (n,) int64, every order equally likely."""
        n = _integer("permutation", "n", n, 2**62)
        # Sorting by 64-bit numbers: two of n are equal with probability n^2 / 2^65.
        pairs = self._pairs("permutation", n, purpose, call)
        return np.argsort(pairs, kind="stable").astype(np.int64, copy=False)

    def integers(
        self, low: int, high: int, shape: Ints, *, purpose: str, call: Call = None, first: int = 0
    ) -> np.ndarray:
        """Draw int64 numbers from low, low + 1, ..., high - 1; at most 2**32 different ones. The
        first one is number `first` of the call.

        A number is floor(x * (high - low) / 2^64) of a 64-bit x, so that no value is likelier
        than another by more than 2^-32 of itself (Lemire, "Fast random integer generation in an
        interval", 2019, without his rejection step).
        """
        shape, n = _shape("integers", shape)
        low = _integer("integers", "low", low, 2**63 - 1, at_least=-(2**63))
        high = _integer("integers", "high", high, 2**63 - 1, at_least=-(2**63))
        if not 0 < high - low <= 2**32:
            raise ArgumentError(
                f"integers: expected low < high and at most 2**32 values, got {low} and {high}"
            )
        first = _integer("integers", "first", first, 2**62)
        x, span = self._pairs("integers", n, purpose, call, first), np.uint64(high - low)
        # the upper half of a product of 96 bits, by halves of x so that nothing overflows
        drawn = ((x >> WORD) * span + (((x & LOW_WORD) * span) >> WORD)) >> WORD
        return (drawn.astype(np.int64) + low).reshape(shape)

    def _pairs(self, name, n, purpose, call, first=0):
        block, skipped = divmod(first, 2)
        n += skipped
        out = np.empty(_whole(2 * n) // 2, np.uint64)
        for part, words in self._words(name, 2 * n, purpose, call, block):
            wide = out[part.start // 2 : part.stop // 2]
            wide[:] = words[::2]
            wide <<= WORD
            wide |= words[1::2]
        return out[skipped:n]

    def _words(self, name, n, purpose, call, block=0):
        """Count the call, then return the chunks of (a slice, its words as (m,) uint32), which
        begin with those of a block."""
        key, call = self._take(name, purpose, call)
        return _chunks(_whole(n) // 4, key, call, block)

    def _take(self, name, purpose, call=None):
        purpose = _purpose(name, purpose)
        if call is not None:
            return _key(self._seed, purpose), _integer(name, "call", call, 2**64 - 1)
        with self._lock:
            call = self._calls.get(purpose, 0)
            self._calls[purpose] = call + 1
            return _key(self._seed, purpose), call


def _chunks(blocks, key, call, first=0):
    buffers = np.empty((3, 2, min(blocks, CHUNK)), np.uint64)
    for start in range(0, blocks, CHUNK):
        stop = min(start + CHUNK, blocks)
        even, odd, product = buffers[:, :, : stop - start]
        index = np.arange(first + start, first + stop, dtype=np.uint64)
        np.bitwise_and(index, LOW_WORD, out=even[0])
        np.right_shift(index, WORD, out=odd[0])
        even[1], odd[1] = call & 0xFFFFFFFF, call >> 32
        yield slice(4 * start, 4 * stop), _rounds(even, odd, product, key).reshape(-1)


def _whole(n):
    """Round a count of words up to whole blocks; results are cut to size at the end."""
    return -(-n // 4) * 4


def _key(seed, purpose):
    digest = hashlib.blake2b(seed.to_bytes(8, "little") + purpose.encode(), digest_size=8).digest()
    return np.frombuffer(digest, "<u4").astype(np.uint64).reshape(2, 1)


def _purpose(name, purpose):
    if isinstance(purpose, str) and purpose:
        return purpose
    raise ArgumentError(
        f"{name}: purpose must be a string that says what the numbers are for, such as 'dropout', "
        f"got {purpose!r}"
    )


def _integer(name, argument, value, at_most, at_least=0):
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or not at_least <= number <= at_most:
        raise ArgumentError(
            f"{name}: {argument} must be an integer from {at_least} to {at_most}, got {value!r}"
        )
    return number


def _shape(name, shape):
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    sizes = tuple(_integer(name, "each size of the shape", size, 2**62) for size in sizes)
    return sizes, math.prod(sizes)


_default = Streams()
_own: ContextVar[Streams | None] = ContextVar("streams", default=None)


def streams() -> Streams:
    """Those that draws here are taken from: the global ones, or the own ones of a thread that has
    set a seed (and of the threads that minifp starts for it)."""
    return _own.get() or _default


def _to_be_set():
    """What a seed is set of: on another thread than the main one of its own streams."""
    if _own.get() is None and threading.current_thread() is not threading.main_thread():
        own = Streams()
        own.set_state(_default.get_state())
        _own.set(own)
    return streams()


def _here(method: F, of: Callable[[], Streams] = streams) -> F:
    """A method of the streams of whoever calls it."""
    name = method.__name__

    @wraps(method)
    def call(*args, **settings):
        return getattr(of(), name)(*args, **settings)

    return cast(F, call)


manual_seed = _here(_default.manual_seed, _to_be_set)
set_state = _here(_default.set_state, _to_be_set)
get_state = _here(_default.get_state)
next_call = _here(_default.next_call)
key = _here(_default.key)
calls = _here(_default.calls)
advance = _here(_default.advance)
bits = _here(_default.bits)
uniform = _here(_default.uniform)
normal = _here(_default.normal)
permutation = _here(_default.permutation)
integers = _here(_default.integers)
