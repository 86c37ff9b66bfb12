"""Ablation: which combinations are trained, and what is said of each technique."""

import csv
from io import StringIO
from itertools import product

import pytest
from lab_blobs import blobs
from terminals import call

import minifp as fp
from minifp.lab.ablation import ablate, effects, factors
from minifp.lab.ablation.effects import ALONE, AVERAGE, TOGETHER
from minifp.lab.conclusions.scores import Score
from minifp.lab.results import products
from minifp.lab.run import DIVERGED, Run
from minifp.numerics import policy

MIXED = policy.as_precision("mixed")
SCORE = Score("gain", "metric", "", "max", 0.5, lambda run: run.metric)
SIX = (*factors.DEFAULT, "reduce", "norm_parameters", "optimizer_state")


def test_all_combinations_are_precisions_of_their_own():
    chosen = factors.as_factors(SIX, MIXED)
    cells = factors.combinations(MIXED, chosen)
    assert (len(set(cells.values())), cells[(True,) * 6]) == (2**6, "mixed")
    nothing = policy.as_precision(cells[(False,) * 6])
    assert nothing == policy.as_precision("float16,optimizer_state=float16")
    for present, text in list(cells.items())[::7]:
        one = policy.as_precision(text)
        there = [getattr(one, f.switch) == getattr(MIXED, f.switch) for f in chosen]
        assert tuple(there) == present


STATE = "mixed,optimizer_state=float8_e4m3fn,optimizer_state_scale=tensor"
PARTS = "mixed;*.wgrad:accumulate=float16;head=float32"


@pytest.mark.parametrize("given, base, names, nothing, count", [
    ("wgrad:accumulate", "float16,wgrad:accumulate=float32", "float32 sums of wgrad",
     "float16", 2),
    ("dgrad:accumulate wgrad:accumulate=chunked:8", "mixed",
     "float32 sums of dgrad; float32 sums of wgrad (not chunked:8)",
     "mixed,dgrad:accumulate=float16,wgrad:accumulate=chunked:8", 4),
    ("*.wgrad:accumulate head 0.fprop:accumulate", PARTS,
     "float16 sums of wgrad in *; float32 in head; float32 sums of fprop in 0",
     "mixed;0.fprop:accumulate=float16", 8),
    ("operands gradient_operands", "float8",
     "float8_e4m3fn operands; float8_e5m2 gradient operands",
     "bfloat16", 4),  # and no scale, which has nothing to multiply
    ("operand_scale=row", "float8", "current operand scale (not row)",
     "float8,operand_scale=row", 2),
    ("optimizer_state optimizer_state_scale", STATE, "float8_e4m3fn state; tensor state scale",
     "mixed,optimizer_state=float16", 4),
    ("optimizer_state=float32", STATE, "float8_e4m3fn state (not float32)", "mixed", 2),
    ("loss_scale=128", "float16", "no loss scaling (not 128)", "float16,loss_scale=128", 2),
    ("second_moment", "mixed,second_moment=e6m1", "e6m1 second moments", "mixed", 2),
])  # fmt: skip
def test_each_switch_is_a_technique(given, base, names, nothing, count):
    p = policy.as_precision(base)
    chosen = factors.as_factors(given.split(), p)
    cells = factors.combinations(p, chosen)
    assert [f.name for f in chosen] == names.split("; ")
    ends = cells[(True,) * len(chosen)], cells[(False,) * len(chosen)]
    assert ends == (str(p), nothing) and len(set(cells.values())) == count


@pytest.mark.parametrize("given, base, what", [
    ("wgrad:operands", "mixed", "wgrad:operands=off is what 'mixed' already has"),
    ("*.wgrad:operands", "mixed", "is what 'mixed' already has"),
    ("wgrd:accumulate", "mixed", "not a product: expected fprop, dgrad, wgrad"),
    ("wgrad:reduce", "mixed", "is not a switch of a product: expected accum"),
    ("head", "mixed;tail=float32", "the pattern of a part of the base"),
    ("", "mixed", "0 techniques"), ("loss_scaling", "mixed", "expected loss_scale"),
    ("loss_scale loss_scale=128", "mixed", "loss_scale appears twice"),
    ("master_weights", "autocast", "is what 'autocast' already has"),
    ("loss_scale=lots", "mixed", "loss_scale='lots'"),
    ("wgrad:accumulate accumulate", "mixed", "the same as another combination"),
    ("operands gradient_operands operand_scale", "float8", "leave one out"),
    ("operands", "bfloat16,operands=e4m3,fprop:operand_scale=row", "without operands: fprop"),
])  # fmt: skip
def test_what_cannot_be_taken_away_is_refused(given, base, what):
    p = policy.as_precision(base)
    with pytest.raises((fp.ArgumentError, fp.PrecisionError), match=what):
        factors.combinations(p, factors.as_factors(given.split(), p))
    with pytest.raises(fp.ArgumentError, match="a control, expected a precision"):
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
        found[way] = effects.effect("a", way, pairs, SCORE)
    claims = [found[way].claim for way in (TOGETHER, ALONE, AVERAGE)]
    assert [(c.low, c.difference, c.high) for c in claims] == [(5, 5, 5), (3, 3, 3), (4, 4, 4)]
    assert all(e.verdict == "DIFFERENT" and e.claim.is_weak for e in found.values())
    assert [found[way].runs for way in effects.WAYS] == [3, 3, 6]


def test_effects_are_judged_as_arms_are():
    """Few pairs are weak, p values are adjusted for all effects, equal metrics decide nothing."""

    def effect(*differences):
        pairs = [
            [(Run("a", i, metric=d, history={"loss": [1.0]}), Run("b", i, metric=0.0))]
            for i, d in enumerate(differences)
        ]
        for ((_, without),) in pairs:
            without.history = {"loss": [2.0]}
        return effects.effect("a", TOGETHER, pairs, SCORE)

    each = effect(2.0, 2.4, 1.0), effect(-0.1, 0.0, 0.1), effect(0, 0, 0)
    far, near, same = effects.together([*each])
    assert (far.verdict, far.told()["weak"], near.verdict) == ("DIFFERENT", True, "EQUIVALENT")
    raw = far.claim.p["different"]
    assert raw < 0.05 < far.claim.holm_of_verdict == 2 * raw
    assert (same.verdict, same.claim.coarse[:19]) == (None, "gain is exactly the")


def test_runs_that_diverged_are_counted_and_never_averaged():
    def pair(seed, lost):
        without = Run("b", seed, DIVERGED if lost else "finished", metric=-1e6 if lost else 1.0)
        return [(Run("a", seed, metric=2.0), without)]

    e = effects.effect("a", TOGETHER, [pair(0, True), pair(1, False), pair(2, False)], SCORE)
    assert (e.failed_with, e.failed_without) == (0, 1)
    assert (e.claim.pairs, e.claim.difference) == (2, 1.0)
    assert e.verdict == "DIVERGED"


def test_the_command_trains_compares_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(products, "save_figures", lambda *given: [])
    words = ["ablate", "mlp", "--factors", "loss_scale", "reduce", "--steps", "3", "-q"]
    for seeds in ("1", "2"):
        arguments = [*words, "--seeds", seeds, "--out", str(tmp_path), "--figures", "svg"]
        result = call(*arguments)
        assert result.exit_code == 0
    assert "loss scaling" in result.output and "float32 reduce" in result.output
    assert all(len(line) <= 100 for line in result.output.splitlines()[:-1])
    lines = list(csv.DictReader(StringIO((tmp_path / "effects.csv").read_text("utf-8"))))
    assert [(x["factor"], x["way"]) for x in lines] == [
        (factor, way) for factor in ("loss_scale", "reduce") for way in effects.WAYS
    ]
    assert ({x["pairs"] for x in lines}, len(fp.Comparison.load(tmp_path).runs)) == ({"2"}, 5 * 2)
    assert "<svg" in (tmp_path / "effects.html").read_text(encoding="utf-8")
    assert (tmp_path / "effects.svg").is_file()
