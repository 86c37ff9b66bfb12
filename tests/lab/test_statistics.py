"""Verdicts, intervals and Student's t, against printed tables and cases worked by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minifp.errors import ArgumentError
from minifp.lab import statistics as stats

TABLE = {1: 6.3138, 2: 2.9200, 3: 2.3534, 4: 2.1318, 5: 2.0150, 9: 1.8331, 29: 1.6991, 120: 1.6577}

numbers = st.floats(-100, 100)
samples = st.lists(st.tuples(numbers, numbers), min_size=3, max_size=12)


@pytest.mark.parametrize("df", TABLE)
def test_95_percent_quantile_of_t_is_the_printed_one(df):
    assert stats.t_quantile(0.95, df) == pytest.approx(TABLE[df], abs=5e-5)


@pytest.mark.parametrize("df", [1, 2, 3, 8, 25])
def test_distribution_of_t_is_the_integral_of_its_density(df):
    def density(x):
        constant = math.gamma((df + 1) / 2) / math.gamma(df / 2) / math.sqrt(df * math.pi)
        return constant * (1 + x * x / df) ** (-(df + 1) / 2)

    step = 1e-3
    area = sum(density((i + 0.5) * step) for i in range(1500)) * step
    assert stats.t_cdf(1.5, df) == pytest.approx(0.5 + area, abs=1e-7)
    assert stats.t_cdf(-1.5, df) == pytest.approx(0.5 - area, abs=1e-7)


def test_a_worked_example_of_three_pairs():
    p = stats.compare_paired([91.0, 92.0, 93.5], [91.2, 91.8, 93.2], margin=0.5)
    assert p.n == 3
    assert p.mean == pytest.approx(0.1)
    assert p.sd == pytest.approx(0.26457513)
    assert (p.low, p.high) == pytest.approx((0.1 - 0.44603, 0.1 + 0.44603), abs=1e-4)
    assert p.verdict == "INCONCLUSIVE"
    assert p.needed == 4  # (2.927 * 0.2646 / 0.5)^2 = 2.4, but more than the three that there are


def test_small_differences_are_equivalent_and_large_ones_different():
    base = [96.0, 97.0, 96.5, 97.2, 96.8]
    near = [b + d for b, d in zip(base, (0.1, -0.1, 0.0, 0.05, -0.05))]
    far = [b + d for b, d in zip(base, (-70.0, -75.0, -68.0, -80.0, -71.0))]
    assert stats.compare_paired(near, base, 0.5).verdict == "EQUIVALENT"
    assert stats.compare_paired(far, base, 0.5).verdict == "DIFFERENT"


def test_a_difference_that_is_real_but_perhaps_within_the_margin_is_inconclusive():
    assert stats.judge(0.1, 0.7, 0.5) == "INCONCLUSIVE"
    assert stats.judge(-0.7, -0.6, 0.5) == "DIFFERENT"
    assert stats.judge(-0.5, 0.0, 0.5) == "INCONCLUSIVE"  # the border belongs to neither


def test_spoken_digits_with_eight_seeds_need_about_26():
    sd, margin = 1.72, 1.0
    assert stats.seeds_needed(sd, margin) == 26


def test_equal_runs_have_no_deviation_and_are_equivalent():
    p = stats.compare_paired([0.1, 0.2, 0.3], [0.1, 0.2, 0.3], margin=0.5)
    assert (p.mean, p.sd, p.low, p.high, p.verdict) == (0, 0, 0, 0, "EQUIVALENT")
    assert (p.p_low, p.p_high, p.sign_flip_p) == (0, 0, 1)


def test_one_constant_difference_beyond_the_margin_is_different():
    p = stats.compare_paired([3.0, 4.0, 4.0], [1.0, 2.0, 2.0], margin=0.5)
    assert (p.sd, p.verdict, p.p_high) == (0, "DIFFERENT", 1)
    assert p.pairing_gain == math.inf


@pytest.mark.parametrize("shift", [0.0, 5.0])
def test_two_pairs_are_too_few_for_a_verdict(shift):
    p = stats.compare_paired([1.0 + shift, 2.0 + shift], [1.0, 2.0], margin=0.5)
    assert (p.verdict, p.needed, p.mean, p.low) == (None, 3, shift, shift)


def test_three_pairs_cannot_go_below_a_sign_flip_p_of_a_quarter():
    assert stats.sign_flip_p([5.0, 6.0, 7.0]) == 0.25
    assert stats.sign_flip_p([5.0, -6.0, 1.0]) == 1.0


def test_sign_flips_of_many_seeds_go_in_blocks():
    assert stats.sign_flip_p([1.0] * 40) == 2 / 2**16


@pytest.mark.parametrize("values, baseline", [([1.0], [1.0]), ([1.0, 2.0], [1.0]), ([], [])])
def test_fewer_than_two_pairs_are_refused(values, baseline):
    with pytest.raises(ArgumentError, match="at least 2"):
        stats.compare_paired(values, baseline, 0.5)


@given(samples)
def test_the_verdict_is_that_of_the_two_one_sided_tests(pairs):
    p = stats.compare_paired(*zip(*pairs), margin=10.0)
    largest = max(p.p_low, p.p_high)
    if abs(largest - 0.05) > 1e-6:
        assert (p.verdict == "EQUIVALENT") == (largest < 0.05)


@given(samples)
def test_swapping_the_sides_mirrors_the_interval(pairs):
    a, b = zip(*pairs)
    p, q = stats.compare_paired(a, b, 10.0), stats.compare_paired(b, a, 10.0)
    assert (p.low, p.high, p.verdict) == (-q.high, -q.low, q.verdict)
