"""Ablation: which combinations are trained, and what is said of each technique."""

import csv
from io import StringIO
from itertools import product

import pytest
from click.testing import CliRunner
from lab_blobs import blobs

import minifp as fp
from minifp.cli import main
from minifp.errors import ArgumentError, PrecisionError
from minifp.lab.ablation import ablate, effects, factors
from minifp.lab.ablation.effects import ALONE, AVERAGE, TOGETHER
from minifp.lab.run import DIVERGED, Run
from minifp.numerics import policy

MIXED = policy.as_precision("mixed")
TWO = ("master_weights", "loss_scale")


def test_all_combinations_are_precisions_of_their_own():
    chosen = factors.as_factors(factors.WITHOUT, MIXED)
    cells = factors.combinations(MIXED, chosen)
    assert len(set(cells.values())) == 2**6
    assert cells[(True,) * 6] == "mixed"
    nothing = policy.as_precision(cells[(False,) * 6])
    assert nothing == policy.as_precision("float16,optimizer_state=float16")
    for present, text in list(cells.items())[::7]:
        one = policy.as_precision(text)
        there = [getattr(one, f.switch) == getattr(MIXED, f.switch) for f in chosen]
        assert tuple(there) == present


@pytest.mark.parametrize(
    "given, base, what",
    [
        ((), "mixed", "0 techniques"),
        (("loss_scaling",), "mixed", "expected loss_scale"),
        (("loss_scale", "loss_scale=128"), "mixed", "loss_scale is given twice"),
        (("master_weights",), "autocast", "is what 'autocast' has already"),
        (("loss_scale=lots",), "mixed", "loss_scale='lots'"),
    ],
)
def test_what_cannot_be_taken_away_is_refused(given, base, what):
    with pytest.raises((ArgumentError, PrecisionError), match=what):
        factors.as_factors(given, policy.as_precision(base))


def test_a_base_is_no_control():
    with pytest.raises(ArgumentError, match="a control, expected a precision"):
        ablate(blobs(), base="mixed@ulp")


def test_effects_are_those_that_the_numbers_were_made_of():
    """A metric of 3 with a, 5 with b, and 2 more with both: paired effects, seed by seed."""
    cells = {there: str(there) for there in product((True, False), repeat=2)}
    noise = {0: 0.0, 1: 10.0, 2: -4.0}

    def run(there, seed):
        a, b = there
        return Run(cells[there], seed, metric=noise[seed] + 3 * a + 5 * b + 2 * a * b)

    runs = {(text, seed): run(there, seed) for there, text in cells.items() for seed in noise}
    found = {}
    for way in effects.WAYS:
        pairs = [
            [(runs[x, seed], runs[y, seed]) for x, y in effects.contexts(cells, 0, way)]
            for seed in noise
        ]
        found[way] = effects.effect("a", way, pairs, 0.5)
    assert [found[way].mean for way in (TOGETHER, ALONE, AVERAGE)] == [5, 3, 4]
    assert all(e.low == e.mean == e.high and e.verdict == "DIFFERENT" for e in found.values())
    assert [found[way].runs for way in effects.WAYS] == [3, 3, 6]


def test_runs_that_diverged_are_counted_and_never_averaged():
    def pair(seed, lost):
        without = Run("b", seed, DIVERGED if lost else "finished", metric=-1e6 if lost else 1.0)
        return [(Run("a", seed, metric=2.0), without)]

    e = effects.effect("a", TOGETHER, [pair(0, True), pair(1, False), pair(2, False)], 0.5)
    assert (e.failed_with, e.failed_without, e.pairs, e.mean) == (0, 1, 2, 1.0)
    assert e.verdict == "DIVERGED"


def test_the_command_trains_compares_and_goes_on(tmp_path):
    """Runs are those of compare: the second call trains one seed more."""
    words = ["ablate", "mlp", "--factors", "loss_scale", "reduce", "--steps", "3", "-q"]
    for seeds in ("2", "3"):
        arguments = [*words, "--seeds", seeds, "--out", str(tmp_path), "--figures", "svg"]
        result = CliRunner().invoke(main, arguments, catch_exceptions=False)
        assert result.exit_code == 0
    assert "loss scaling" in result.output and "float32 reduce" in result.output
    assert all(len(line) <= 100 for line in result.output.splitlines()[:-1])
    lines = list(csv.DictReader(StringIO((tmp_path / "effects.csv").read_text("utf-8"))))
    assert [(x["factor"], x["way"]) for x in lines] == [
        (factor, way) for factor in ("loss_scale", "reduce") for way in effects.WAYS
    ]
    assert {x["pairs"] for x in lines} == {"3"}
    held = fp.Comparison.load(tmp_path)
    assert len(held.runs) == 5 * 3
    assert "<svg" in (tmp_path / "effects.html").read_text(encoding="utf-8")
    assert (tmp_path / "effects.svg").is_file()


def test_an_ablation_shows_itself_in_a_notebook():
    ablation = fp.ablate(blobs(steps=2), TWO, 1, progress=False)
    assert "no verdict from 1 pair of runs" in repr(ablation)
    shown = ablation._repr_html_()
    assert "what each technique does" in shown and "report.html" not in shown
