"""Character and word error rates, with their intervals."""

import numpy as np
import pytest
from refusals import each_refused

from minifp import lab
from minifp.errors import ArgumentError
from minifp.lab.statistics.bootstrap import bca_interval, bca_ratio_interval


def slow_distance(h, r):
    if not h or not r:
        return len(h) + len(r)
    return min(
        slow_distance(h[1:], r) + 1,
        slow_distance(h, r[1:]) + 1,
        slow_distance(h[1:], r[1:]) + (h[0] != r[0]),
    )


def test_the_edit_distance_is_the_fewest_changes():
    random = np.random.default_rng(0)
    for _ in range(60):
        h, r = ("".join(random.choice([*"abc"], random.integers(0, 6))) for _ in range(2))
        assert lab.edit_distance(h, r) == slow_distance(h, r) == lab.edit_distance(r, h)
    assert lab.edit_distance("kitten", "sitting") == 3
    assert lab.edit_distance(np.array([1, 2, 3]), (3, 1, 2)) == 2


def test_rates_are_of_all_utterances_together():
    said, meant = ["12", "3456", ""], ["12", "356", "7"]
    rate = lab.character_error_rate(said, meant)
    assert (rate.errors, rate.tokens) == (2, 6) and rate.rate == pytest.approx(100 / 3)
    assert rate.low <= rate.rate <= rate.high
    words = lab.word_error_rate(["the cat  sat", "a b"], ["the cat sat", "a c d"])
    assert (words.errors, words.tokens) == (2, 6)
    alone = lab.character_error_rate(["ab"], ["ac"])
    assert (alone.rate, alone.low, alone.high, str(alone)) == (50, None, None, "50.00%")
    perfect = lab.character_error_rate(["a", "b"], ["a", "b"])
    assert (perfect.rate, perfect.low, perfect.high) == (0, 0, 0)
    assert str(perfect) == "0.00% [0.00, 0.00]"


def test_an_interval_holds_the_rate_and_is_that_of_a_mean_where_all_are_equally_long():
    """About as often as it says: of 200 sets of 60 utterances, in nine of ten."""
    random, held = np.random.default_rng(0), 0
    for _ in range(200):
        tokens = random.integers(3, 6, 60)
        low, high = bca_ratio_interval(random.binomial(tokens, 0.1), tokens, 0.9)
        held += low <= 0.1 <= high
    assert 165 <= held <= 194  # four deviations of a binomial of 200 around 180
    errors = np.random.default_rng(1).integers(0, 4, 40)
    ours = bca_ratio_interval(errors, np.full(40, 4), 0.9)
    np.testing.assert_allclose(ours, np.array(bca_interval(errors / 4, 0.9)), rtol=1e-12)


test_what_has_no_rate_is_refused = each_refused(
    (lambda: lab.character_error_rate(["a"], ["a", "b"]), "1 hypotheses for 2 references"),
    (lambda: lab.word_error_rate(["a"], [" "]), "all references are empty"),
    (lambda: lab.error_rate(["a"], ["a"], confidence=1.0), "confidence=1"),
    error=ArgumentError,
)
