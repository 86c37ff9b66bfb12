"""The demonstration shows what it says: every part's claim, with one seed."""

from dataclasses import replace
from functools import cache

import pytest

from minifp.lab.demo import PARTS
from minifp.lab.run import train

PART = {part.key: part for part in PARTS}


@cache
def run(key, precision, steps=None):
    """The run of one part in one precision, seed 0, or its first steps."""
    assert precision in PART[key].precisions
    return train(replace(PART[key].task(), steps=steps or PART[key].task().steps), precision, 0)


def test_there_are_four_parts_with_three_seeds_in_folders_of_their_own():
    assert [part.key for part in PARTS] == ["a", "b", "c", "d"]
    assert len({part.name for part in PARTS}) == 4
    assert {part.seeds for part in PARTS} == {3}
    for part in PARTS:
        assert part.title and part.claim and part.look
        assert part.precisions[:2] == ("float32", "mixed")
        assert ("Exponent dial" in part.honest) == (part.task().dial != 0)


@pytest.mark.slow
def test_lenet_in_mixed_precision_ends_where_float32_ends():
    single, mixed = run("a", "float32"), run("a", "mixed")
    assert single.metric > 90
    assert abs(mixed.metric - single.metric) < 1.5
    assert mixed.bytes["activations"] * 2 == single.bytes["activations"]


@pytest.mark.nightly
@pytest.mark.slow
def test_without_masters_a_tiny_learning_rate_loses_most_of_the_accuracy():
    single, mixed, without = (run("b", p) for p in PART["b"].precisions)
    assert single.metric > 60
    assert without.metric < single.metric / 2
    assert abs(mixed.metric - single.metric) < 1.5


@pytest.mark.nightly
@pytest.mark.slow
def test_without_loss_scaling_the_dialled_lstm_diverges_and_with_it_it_matches():
    assert run("c", "mixed,loss_scale=off").status == "diverged"
    assert run("c", "mixed,loss_scale=128").metric == pytest.approx(
        run("c", "float32").metric, abs=0.03
    )


@pytest.mark.slow
def test_float16_sums_of_raw_pixels_end_at_the_level_of_guessing():
    assert run("d", "mixed").metric > 85
    assert run("d", "mixed,reduce=float16").metric < 25
