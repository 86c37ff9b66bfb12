"""Random streams: the published Philox, numbered draws, and the distributions made from them."""

import hashlib
import json
from contextvars import copy_context
from functools import partial
from threading import Barrier

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from watching import at_once

from minifp.errors import ArgumentError
from minifp.runtime import random

WORDS = st.integers(0, 2**32 - 1)

# Random123, tests/kat_vectors: counter, key, answer
KNOWN_ANSWERS = [
    ("00000000 " * 4, "00000000 " * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff " * 4, "ffffffff " * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
]  # fmt: skip

GOLDEN_UNIFORM = [0.9384313225746155, 0.41654258966445923, 0.7226713299751282, 0.765019953250885]
GOLDEN_ORDER = [5, 6, 1, 7, 0, 4, 2, 3]
GOLDEN_NORMAL = [0.45312920212745667, -0.746012806892395, 0.9563252329826355, -0.295541912317276]


def philox_in_plain_python(counter, key):
    """One block by the paper's definition, in Python's integers."""
    (a, b, c, d), (k, l) = counter, key
    for _ in range(10):
        low, high = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (high >> 32) ^ b ^ k, high % 2**32, (low >> 32) ^ d ^ l, low % 2**32
        k, l = (k + 0x9E3779B9) % 2**32, (l + 0xBB67AE85) % 2**32
    return a, b, c, d


def chi_squared(counts):
    """How far counts are from equal, in standard deviations of that measure."""
    expected, degrees = counts.sum() / counts.size, counts.size - 1
    return (((counts - expected) ** 2).sum() / expected - degrees) / (2 * degrees) ** 0.5


@pytest.mark.parametrize("counter, key, answer", KNOWN_ANSWERS)
def test_philox_gives_the_known_answers_of_random123(counter, key, answer):
    counter, key = ([int(word, 16) for word in text.split()] for text in (counter, key))
    assert " ".join(f"{word:08x}" for word in random.philox([counter], key)[0]) == answer


@given(st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS), min_size=1, max_size=9), WORDS, WORDS)
def test_philox_is_the_papers_for_any_counters_and_key(counters, k, l):
    expected = [philox_in_plain_python(counter, (k, l)) for counter in counters]
    assert random.philox(counters, (k, l)).tolist() == [list(words) for words in expected]


@given(st.integers(0, 2**64 - 1), st.text(min_size=1), st.integers(0, 2**64 - 1))
def test_a_draw_is_keyed_by_seed_and_purpose_and_counted_by_block_and_call(seed, purpose, call):
    content = seed.to_bytes(8, "little") + purpose.encode()
    digest = hashlib.blake2b(content, digest_size=8).digest()
    key = int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:], "little")
    counters = [(block, 0, call % 2**32, call >> 32) for block in range(2)]
    words, drawn = random.philox(counters, key).reshape(-1), random.Streams(seed)
    np.testing.assert_array_equal(drawn.bits(7, purpose=purpose, call=call), words[:7])
    uniform = drawn.uniform(7, purpose=purpose, call=call)
    assert uniform.tolist() == [(int(word) >> 8) / 2**24 for word in words[:7]]


def test_the_numbers_of_seed_0_stay_what_they_are():
    """Whoever repeats an experiment with a later version must get the same one."""
    assert random.uniform(4, purpose="dropout").tolist() == GOLDEN_UNIFORM
    assert random.permutation(8, purpose="shuffle").tolist() == GOLDEN_ORDER
    np.testing.assert_array_max_ulp(
        random.normal(4, purpose="weights"), np.array(GOLDEN_NORMAL, np.float32), maxulp=1
    )


@pytest.mark.parametrize("draw", ["bits", "uniform", "normal", "permutation", "integers"])
def test_chunks_change_no_number(draw, monkeypatch):
    def numbers(n):
        arguments = (0, 1000, n) if draw == "integers" else (n,)
        return getattr(random, draw)(*arguments, purpose="x", call=3)

    whole = [numbers(n) for n in (0, 1, 27, 28, 29, 64)]
    monkeypatch.setattr(random, "CHUNK", 7)
    for expected in whole:
        np.testing.assert_array_equal(numbers(len(expected)), expected)


@pytest.mark.parametrize("draw", [random.bits, random.uniform, random.normal])
def test_a_short_draw_is_the_beginning_of_a_long_one_and_may_begin_anywhere(draw):
    """So the numbers of a tensor do not depend on how it is cut into blocks."""
    long = draw(100_003, purpose="x", call=0)
    for n in (0, 1, 2, 3, 4, 5, 65_536, 65_537):
        np.testing.assert_array_equal(draw(n, purpose="x", call=0), long[:n])
    bits = random.bits(70_003, purpose="x", call=0)
    for first in (0, 1, 3, 4, 65_537, 70_003):
        part = random.bits(70_003 - first, purpose="x", call=0, first=first)
        np.testing.assert_array_equal(part, bits[first:])
    # blocks beyond 2^32 count on in the second word
    expected = random.philox([(1, 7, 5, 0)], random.key("x"))
    words = random.bits(3, purpose="x", call=5, first=4 * (7 * 2**32 + 1) + 1)
    np.testing.assert_array_equal(words, expected[0][1:])


def test_each_call_draws_new_numbers_which_no_other_purpose_moves():
    first, second = (random.uniform(8, purpose="dropout") for _ in range(2))
    assert not np.array_equal(first, second)
    for call, expected in enumerate((first, second)):  # named, a call repeats them
        np.testing.assert_array_equal(random.uniform(8, purpose="dropout", call=call), expected)
    assert random.get_state()["calls"] == {"dropout": 2}
    random.manual_seed(0)  # which starts every purpose again
    for expected in (first, second):
        random.normal(1000, purpose="weights")
        np.testing.assert_array_equal(random.uniform(8, purpose="dropout"), expected)
    random.manual_seed(1)
    assert not np.array_equal(random.uniform(8, purpose="dropout"), first)
    before = random.get_state()  # which streams of another seed leave alone
    np.testing.assert_array_equal(random.Streams(0).uniform(8, purpose="dropout"), first)
    assert random.get_state() == before


def test_a_state_goes_through_json_and_threads_never_draw_the_same_call():
    random.manual_seed(2**64 - 1)
    random.uniform(3, purpose="dropout")
    state = json.loads(json.dumps(random.get_state()))
    expected = random.uniform(3, purpose="dropout")
    random.manual_seed(5)
    random.set_state(state)
    np.testing.assert_array_equal(random.uniform(3, purpose="dropout"), expected)
    random.manual_seed(5)
    drawn = []

    def draw():
        drawn.extend(random.next_call("dropout") for _ in range(500))

    at_once(*[draw] * 8)
    assert sorted(drawn) == list(range(4000))


@pytest.mark.parametrize("state", [
    None, {}, {"seed": 1}, {"seed": -1, "calls": {}}, {"seed": 1, "calls": {"x": -1}},
    {"seed": 1, "calls": 3},
])  # fmt: skip
def test_a_state_that_is_none_is_refused_and_changes_nothing(state):
    random.uniform(3, purpose="dropout")
    before = random.get_state()
    refuses(ArgumentError, "set_state", random.set_state, state)
    assert random.get_state() == before


def test_streams_of_other_seeds_purposes_and_calls_are_uncorrelated():
    n = 100_000
    keys = [(s, p, c) for s in (0, 1) for p in ("dropout", "dropouts") for c in (0, 1, 2**32)]
    draws = [random.Streams(s).uniform(n, -1, 1, purpose=p, call=c) for s, p, c in keys]
    assert np.abs(np.corrcoef(draws) - np.eye(len(keys))).max() < 5 / n**0.5


def test_bits_uniform_numbers_integers_and_orders_are_equally_likely():
    n = 200_000
    words = random.bits(n, purpose="x")
    ones = [np.count_nonzero(words >> bit & 1) for bit in range(32)]
    assert np.abs(np.array(ones) - n / 2).max() < 5 * (n / 4) ** 0.5
    x = random.uniform((1000, 200), purpose="x")
    assert x.shape == (1000, 200) and x.dtype == np.float32
    counts, _ = np.histogram(x, bins=1000, range=(0, 1))
    assert abs(chi_squared(counts)) < 5
    x = random.integers(-3, 4, (100, 700), purpose="x")
    assert x.shape == (100, 700) and x.dtype == np.int64
    values, counts = np.unique(x, return_counts=True)
    assert values.tolist() == list(range(-3, 4)) and abs(chi_squared(counts)) < 5
    orders = [tuple(random.permutation(4, purpose="shuffle").tolist()) for _ in range(4800)]
    counts = np.unique(orders, axis=0, return_counts=True)[1]
    assert len(counts) == 24 and abs(chi_squared(counts)) < 5


@given(st.floats(width=32, allow_nan=False, allow_infinity=False), st.floats(0, 2.0**99, width=32))
def test_uniform_numbers_never_reach_the_upper_end(low, span):
    low, high = sorted((low, float(np.float32(low) + np.float32(span))))
    if high - low > random.LARGEST or not np.isfinite(high):
        return
    x = random.uniform(500, low, high, purpose="x", call=0)
    assert x.dtype == np.float32 and (low <= x).all()
    assert (x < high).all() or low == high


def test_normal_numbers_have_their_moments_and_are_shifted_before_the_one_rounding():
    n = 400_000
    z = random.normal(n, purpose="x").astype(np.float64)
    moments, spread = [(z**k).mean() for k in (1, 2, 3, 4)], np.sqrt([1, 2, 15, 96]) / n**0.5
    assert (np.abs(np.array(moments) - [0, 1, 0, 3]) < 5 * spread).all()
    assert abs((z[::2] * z[1::2]).mean()) < 5 / n**0.5  # the two of a pair
    below = np.count_nonzero(z < -1.0) / n
    assert abs(below - 0.158655) < 5 * (0.158655 * 0.841345 / n) ** 0.5
    z = random.normal(1000, purpose="x", call=0).astype(np.float64)
    x = random.normal(1000, 100.0, 0.5, purpose="x", call=0)
    assert x.dtype == np.float32
    np.testing.assert_allclose(x, 100 + 0.5 * z, rtol=2**-23)
    assert (random.normal(5, 3.0, 0.0, purpose="x") == 3).all()


@pytest.mark.parametrize("word", [0, 2**32 - 1])
def test_normal_numbers_are_finite_for_the_smallest_and_the_largest_word(word, monkeypatch):
    monkeypatch.setattr(
        random, "_rounds", lambda even, *_: np.full((even.shape[1], 4), word, np.uint32)
    )
    assert (np.abs(random.normal(4, purpose="x")) < 6.77).all()


@given(st.integers(-(2**63), 2**63 - 2), st.integers(1, 2**32))
def test_integers_are_the_upper_half_of_a_product(low, span):
    high = min(low + span, 2**63 - 1)
    words = [int(word) for word in random.bits(20, purpose="x", call=1)]
    expected = [low + ((a << 32 | b) * (high - low) >> 64) for a, b in zip(words[::2], words[1::2])]
    assert random.integers(low, high, 10, purpose="x", call=1).tolist() == expected


def test_a_shape_is_a_number_or_several():
    for shape, expected in ((3, (3,)), ((), ()), ((2, 0), (2, 0)), ([2, 3], (2, 3))):
        assert random.uniform(shape, purpose="x").shape == expected
        assert random.normal(shape, purpose="x").shape == expected
        assert random.integers(0, 2, shape, purpose="x").shape == expected


@pytest.mark.parametrize("draw, message", [
    (lambda: random.manual_seed(-1), "seed must be an integer from 0"),
    (lambda: random.manual_seed(2**64), "seed must be an integer from 0"),
    (lambda: random.manual_seed(1.0), "seed must be an integer .* got 1.0"),
    (lambda: random.manual_seed(True), "seed must be an integer .* got True"),
    (lambda: random.uniform(3, purpose=""), "uniform: purpose must be a string"),
    (lambda: random.uniform(3, purpose=None), "uniform: purpose must be a string .* got None"),
    (lambda: random.uniform(3, purpose="x", call=-1), "uniform: call must be an integer"),
    (lambda: random.uniform((3, -1), purpose="x"), "uniform: each size .* got -1"),
    (lambda: random.uniform((3, 1.5), purpose="x"), "uniform: each size .* got 1.5"),
    (lambda: random.uniform(3, 1.0, 0.0, purpose="x"), "uniform: low <= high"),
    (lambda: random.uniform(3, 0.0, float("nan"), purpose="x"), "uniform: .* finite"),
    (lambda: random.uniform(3, -3e38, 3e38, purpose="x"), "uniform: .* distance"),
    (lambda: random.normal(3, std=-1.0, purpose="x"), "normal: .* std >= 0"),
    (lambda: random.normal(3, mean=float("inf"), purpose="x"), "normal: .* finite mean"),
    (lambda: random.permutation(-1, purpose="x"), "permutation: n must be an integer"),
    (lambda: random.integers(3, 3, 5, purpose="x"), "integers: expected low < high"),
    (lambda: random.integers(0, 2**32 + 1, 5, purpose="x"), "integers: .* at most 2\\*\\*32"),
    (lambda: random.integers(0.5, 3, 5, purpose="x"), "integers: low must be an integer"),
])  # fmt: skip
def test_what_cannot_be_drawn_is_refused_and_counts_no_call(draw, message):
    before = random.get_state()
    refuses(ArgumentError, message, draw)
    assert random.get_state() == before


def test_a_thread_that_sets_a_seed_has_it_alone_and_what_it_starts_has_it_too():
    random.manual_seed(3)
    before = random.get_state()

    def work(seed):
        random.manual_seed(seed)
        barrier.wait()
        return at_once(partial(copy_context().run, random.get_state))[0]["seed"]

    barrier = Barrier(2)
    assert at_once(lambda: work(1), lambda: work(2)) == [1, 2]
    assert random.get_state() == before and at_once(random.get_state) == [before]
