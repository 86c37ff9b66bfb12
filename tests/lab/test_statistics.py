"""Verdicts, intervals and distributions, against SciPy, printed tables and cases worked by hand."""

import math
from itertools import combinations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from minifp.errors import ArgumentError
from minifp.lab.conclusions.prices import seeds_to_decide
from minifp.lab.statistics import bootstrap, course, distributions, paired, permutation, power
from minifp.lab.statistics.holm import holm
from minifp.lab.statistics.looks import bounds, compare_at_looks, least_level, planned_looks, spent
from minifp.lab.statistics.proportion import clopper_pearson

SAMPLE = np.array([0.31, -0.12, 0.28, 0.05, 0.44, -0.2, 0.17, 0.09])

numbers = st.floats(-100, 100)
samples = st.lists(st.tuples(numbers, numbers), min_size=3, max_size=12)


@pytest.mark.parametrize("df", [1, 2, 3, 4, 9, 30, 121])
def test_distributions_are_scipys(df):
    for x in (0.01, 0.7, 2.5, 11.0, 140.0):
        assert distributions.t_cdf(-x, df) == pytest.approx(scipy.stats.t.cdf(-x, df), abs=1e-14)
        ours = distributions.chi_square_cdf(x, df)
        assert ours == pytest.approx(scipy.stats.chi2.cdf(x, df), abs=1e-13)
    assert distributions.t_quantile(0.95, df) == pytest.approx(scipy.stats.t.ppf(0.95, df))
    for p in (0.1, 0.9):
        ours = distributions.chi_square_quantile(p, df)
        assert ours == pytest.approx(scipy.stats.chi2.ppf(p, df))


def test_both_tests_and_the_interval_are_scipys():
    base = np.linspace(90, 92, len(SAMPLE))
    p = paired.compare_paired(base + SAMPLE, base, 0.25)
    low = scipy.stats.ttest_1samp(SAMPLE, -0.25, alternative="greater")
    high = scipy.stats.ttest_1samp(SAMPLE, 0.25, alternative="less")
    assert (p.p_low, p.p_high) == pytest.approx((low.pvalue, high.pvalue))
    interval = scipy.stats.ttest_1samp(SAMPLE, 0).confidence_interval(0.90)
    assert (p.low, p.high) == pytest.approx((interval.low, interval.high))
    assert p.p_different == pytest.approx(1 - high.pvalue) and p.p_equivalent == p.p_high
    assert (p.p_not_worse("max"), p.p_not_worse("min")) == (p.p_low, p.p_high)
    p = paired.compare_paired([91.0, 92.0, 93.5], [91.2, 91.8, 93.2], margin=0.5)  # by hand
    assert p.n == 3 and (p.mean, p.sd) == pytest.approx((0.1, 0.26457513))
    assert (p.low, p.high) == pytest.approx((0.1 - 0.44603, 0.1 + 0.44603), abs=1e-4)
    assert (p.verdict, p.needed) == ("INCONCLUSIVE", 5)
    for count, n in ((0, 3), (0, 10), (1, 10), (4, 7), (10, 10), (7, 2000), (1000, 2000)):
        theirs = scipy.stats.binomtest(count, n).proportion_ci(0.95, "exact")
        assert clopper_pearson(count, n) == pytest.approx((theirs.low, theirs.high))


def test_small_differences_are_equivalent_and_large_ones_different():
    assert paired.judge(0.1, 0.7, 0.5) == "INCONCLUSIVE"
    assert paired.judge(-0.7, -0.6, 0.5) == "DIFFERENT"
    assert paired.judge(-0.5, 0.0, 0.5) == "INCONCLUSIVE"  # the border belongs to neither
    p = paired.compare_paired([0.1, 0.2, 0.3], [0.1, 0.2, 0.3], margin=0.5)  # equal runs
    assert (p.mean, p.sd, p.low, p.high, p.verdict) == (0, 0, 0, 0, "EQUIVALENT")
    assert (p.p_low, p.p_high, p.sign_flip_p) == (0, 0, 1)
    p = paired.compare_paired([3.0, 4.0, 4.0], [1.0, 2.0, 2.0], margin=0.5)  # 2 apart
    assert (p.sd, p.verdict, p.p_high, p.pairing_gain) == (0, "DIFFERENT", 1, math.inf)
    for shift in (0.0, 5.0):  # two pairs are too few for a verdict
        p = paired.compare_paired([1.0 + shift, 2.0 + shift], [1.0, 2.0], margin=0.5)
        assert (p.verdict, p.needed, p.mean, p.low) == (None, 3, shift, shift)
    for values, baseline in (([1.0], [1.0]), ([1.0, 2.0], [1.0]), ([], [])):
        with pytest.raises(ArgumentError, match="at least 2"):
            paired.compare_paired(values, baseline, 0.5)


@settings(max_examples=20)
@given(samples)
def test_the_verdict_is_that_of_the_tests_and_mirrored_if_the_sides_are_swapped(pairs):
    a, b = zip(*pairs)
    p, q = paired.compare_paired(a, b, 10.0), paired.compare_paired(b, a, 10.0)
    if abs(p.p_equivalent - 0.05) > 1e-6:
        assert (p.verdict == "EQUIVALENT") == (p.p_equivalent < 0.05)
    if abs(p.p_different - 0.05) > 1e-6:
        assert (p.verdict == "DIFFERENT") == (p.p_different < 0.05)
    assert (p.low, p.high, p.verdict) == (-q.high, -q.low, q.verdict)


def test_looks_that_are_planned_err_as_one_and_later_ones_only_narrow_the_interval():
    plan, base = planned_looks(12), np.zeros(8)
    assert (plan, planned_looks(5)) == ((3, 4, 6, 8, 12), (3, 4, 5))
    drawn, crossed = np.random.default_rng(7).normal(size=(100_000, 12)), np.zeros(100_000, bool)
    for k, (n, c, level) in enumerate(zip(plan, bounds(plan), spent(plan, 0.05))):
        crossed |= drawn[:, :n].mean(1) > c * drawn[:, :n].std(1, ddof=1) / math.sqrt(n)
        assert crossed.mean() == pytest.approx(level, abs=0.002)
        assert least_level([-9.0] * k + [c], plan) == pytest.approx(0.05, rel=0.02)
    both = compare_at_looks(SAMPLE, base, 0.25, (8,)), paired.compare_paired(SAMPLE, base, 0.25)
    ours, usual = ([p.low, p.high, p.p_low, p.p_high] for p in both)
    assert ours == pytest.approx(usual, rel=2e-3)
    assert [seeds_to_decide(both[1], m, 0.05) for m in (0.7, 0.25, 1e-3)] == [9, 33, 28]
    few, more, last = (compare_at_looks(SAMPLE[:n], base[:n], 0.7, (3, 4, 6, 8)) for n in (3, 5, 8))
    assert [(p.n, p.decided) for p in (few, more, last)] == [(3, None), (4, 2), (8, 2)]
    assert few.low <= more.low <= last.low < last.high <= more.high and few.needed == 4


def test_sign_flips_are_scipys_and_of_many_seeds_a_sample_that_never_says_zero():
    flips = {"permutation_type": "samples", "n_resamples": 2 ** len(SAMPLE)}
    theirs = scipy.stats.permutation_test((SAMPLE,), np.sum, **flips)
    assert permutation.sign_flip_p(SAMPLE) == pytest.approx(theirs.pvalue)
    assert permutation.sign_flip_p([5.0, 6.0, 7.0]) == 0.25  # three pairs cannot go below it
    assert permutation.sign_flip_p([5.0, -6.0, 1.0]) == 1.0
    many = np.tile(SAMPLE, 4) - SAMPLE.mean() + 0.04
    error = many.std() / math.sqrt(len(many))
    normal = 2 * scipy.stats.norm.sf(many.mean() / error)
    assert permutation.sign_flip_p(many) == pytest.approx(normal, abs=0.02)
    assert permutation.sign_flip_p([1.0] * 40) == 1 / (permutation.SAMPLES + 1)


def test_one_of_them_by_hand_and_as_often_right_as_it_says():
    """Two seeds, one control: of four choices one has the first column twice."""
    assert permutation.one_of_them_p([[5.0, 0.0], [5.0, 0.0]]) == (0.5, 0.25)
    assert permutation.one_of_them_p([[0.0, 1.0], [0.0, -1.0]]) == (1.0, 1.0)
    draw = np.random.default_rng(3)
    p = [permutation.one_of_them_p(draw.normal(size=(4, 4)))[0] for _ in range(300)]
    assert 0.01 < np.mean(np.array(p) <= 0.05) < 0.09
    rows = draw.normal(size=(9, 4))  # 4^9 choices: sampled
    rows[:, 0] += 5
    assert max(permutation.one_of_them_p(rows)) < 0.001


def test_the_bootstrap_is_scipys():
    theirs = scipy.stats.bootstrap(
        (SAMPLE,), np.mean, confidence_level=0.9, n_resamples=bootstrap.RESAMPLES, method="BCa",
        rng=np.random.default_rng(bootstrap.SEED),
    ).confidence_interval  # fmt: skip
    ours = bootstrap.bca_interval(SAMPLE, 0.9)
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.002)
    assert bootstrap.bca_interval([2.0, 2.0], 0.9) == (2.0, 2.0)


def test_holm_is_the_closed_test_of_bonferronis():
    p = [0.01, 0.04, 0.03, 0.005, 0.2]
    every = [c for k in range(1, 6) for c in combinations(range(5), k)]
    closed = [max(min(1, len(c) * min(p[j] for j in c)) for c in every if i in c) for i in range(5)]
    assert holm(p) == pytest.approx(closed)
    assert holm([0.02]) == [0.02] and holm([]) == []


@pytest.mark.parametrize("n, sd, difference", [(3, 0.2, 0.0), (6, 0.5, 0.2), (25, 1.5, -0.1)])
def test_power_is_the_share_of_simulated_experiments_that_show_equivalence(n, sd, difference):
    drawn = np.random.default_rng(5).normal(difference, sd, (40_000, n))
    half = scipy.stats.t.ppf(0.95, n - 1) * drawn.std(1, ddof=1) / math.sqrt(n)
    shown = np.mean(np.abs(drawn.mean(1)) + half < 1)
    assert power.tost_power(n, sd, 1.0, difference) == pytest.approx(shown, abs=0.01)


@pytest.mark.parametrize("sd, margin", [(1.72, 1.0), (0.1, 1.0), (0.6, 0.5)])
def test_the_seeds_needed_are_the_fewest(sd, margin):
    n = power.seeds_needed(sd, margin)
    assert power.tost_power(n, sd, margin) >= 0.8
    assert n == 2 or power.tost_power(n - 1, sd, margin) < 0.8
    assert power.seeds_needed(1000.0, 1.0) == pytest.approx(8.564e6, rel=1e-3)


def test_the_limits_of_a_deviation_hold_as_often_as_they_say():
    sds = np.random.default_rng(1).normal(0, 2, (1000, 4)).std(1, ddof=1)
    low, high = np.transpose([power.deviation_limits(sd, 4) for sd in sds])
    assert np.mean((low < 2) & (high > 2)) == pytest.approx(0.80, abs=0.04)


def test_steps_to_a_target_with_the_mean_of_mlperf_and_the_area_under_a_curve():
    points = [(10, 80.0), (20, None), (30, 91.0), (40, 89.0)]
    assert course.steps_to_target(points, 90.0, "max") == 30
    assert course.steps_to_target(points, 80.0, "min") == 10
    assert course.steps_to_target(points, 99.0, "max") is None
    assert course.olympic_mean([10, 90, 30, 50]) == 40
    assert course.olympic_mean([10, None, 30]) == 30  # it is the slowest, and left out
    assert course.olympic_mean([10, None, None]) is None
    assert course.olympic_mean([20, 10]) == 15
    steps, values = [10, 20, 40, 80], [50.0, 70.0, 80.0, 90.0]
    theirs = scipy.integrate.trapezoid(values, steps) / 70
    assert course.area_under_curve(list(zip(steps, values))) == pytest.approx(theirs)
    assert course.area_under_curve([(10, 5.0)]) is None
    assert course.area_under_curve([(10, 5.0), (20, None)]) is None
