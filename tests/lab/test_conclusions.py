"""What follows from runs: scores, claims, resolution, controls, in numbers and in words."""

import math

import numpy as np
import pytest
from lab_blobs import blobs, comparison_of

import minifp as fp
from minifp.lab.conclusions.scores import loss_margin, margin_of, primary
from minifp.lab.page import verdicts
from minifp.lab.results import latex
from minifp.lab.run import Run
from minifp.report import rendering


def made_up(arm, seed, course, losses=(0.5, 0.4, 0.3, 0.3), status="finished", **more):
    """A run that was never trained: its metric at steps 10, 20, ... and its test losses."""
    evaluations = [(10 * i, v, loss) for i, (v, loss) in enumerate(zip(course, losses), 1)]
    run = Run(arm, seed, status, metric=course[-1], steps=40, evaluations=evaluations, **more)
    run.history["loss"] = [1.0, course[-1] / 100]
    return run


def settled(end):
    return (end - 30, end - 1e-3, end, end)


def from_runs(runs, **task):
    return comparison_of(runs, **{"margin": 1.0, **task})


def ends(**arms):
    """Runs of arms (with "at" for "@") that end at numbers by seed."""
    return [
        made_up(arm.replace("_at_", "@"), seed, settled(end))
        for arm, values in arms.items()
        for seed, end in enumerate(values)
    ]


BASE = [95.13, 96.02, 94.77, 95.61, 95.94, 94.98]


def moved(by, seed):
    """The baseline's ends, each moved by a number of that size, either way or by its sign."""
    draw = np.random.default_rng(seed)
    return [end + by * draw.choice((-1, 1)) * draw.uniform(0.5, 1) for end in BASE]


def test_several_claims_are_adjusted_together_and_the_raw_p_stay():
    whole = from_runs(ends(float32=BASE, mixed=moved(0.9, 1), autocast=moved(0.2, 2)))
    claims = [c for c in whole.claims() if c.decides]
    raw = [c.paired.p_equivalent for c in claims]
    assert len(claims) == 2 and not any(c.is_weak or c.score.name != "accuracy" for c in claims)
    assert {c.together for c in whole.claims() if c.verdict and not c.decides} == {4}  # with all
    low, high = sorted((0, 1), key=lambda i: raw[i])
    assert claims[low].holm["equivalent"] == pytest.approx(2 * raw[low])
    assert claims[high].holm["equivalent"] == pytest.approx(max(2 * raw[low], raw[high]))
    told = next(s for s in [c.told() for c in whole.claims()] if s["verdict"])
    assert told["p_equivalent"] in raw and told["score"] == "accuracy"
    assert "ith Holm's correction for 2 claims" in whole.verdict_sentence()


def test_each_metric_has_its_own_margin_and_direction():
    metrics = [fp.Metric("error", None, goal="min", margin=0.2), fp.Metric("seen", None)]
    runs = ends(float32=BASE, mixed=[b - 0.5 for b in BASE])
    for run in runs:
        worse = 0.5 if run.precision == "mixed" else 0.0
        run.metrics = {"error": [1.0 + run.seed / 7, 1.0 + run.seed / 7 + worse], "seen": [3.0]}
    whole = from_runs(runs, metrics=metrics, evaluate=lambda *_: {})
    claims = {c.score.name: c for c in whole.claims()}
    assert claims["accuracy"].verdict == "EQUIVALENT" and claims["error"].verdict == "DIFFERENT"
    assert claims["accuracy"].p["not_worse"] < 0.05 < claims["error"].p["not_worse"]
    assert claims["seen"].verdict is None and claims["seen"].p == {}
    assert claims["accuracy"].decides and not claims["error"].decides


def test_ratios_decide_what_points_leave_open_and_signs_that_contradict_are_told():
    """Errors that double in all pairs: of points one far pair makes the interval wide."""
    base, more = [0.3, 1.2, 0.5, 12.0, 0.9, 0.7], (2.0, 2.2, 1.8, 2.1, 1.9, 2.0)
    runs = ends(float32=base, mixed=[b * r for b, r in zip(base, more)])
    points, ratios = (from_runs(runs, goal="min", relative=r, margin=5.0) for r in (False, True))
    (claim,) = (c for c in ratios.claims() if c.decides)
    logs = [math.log(r) for r in more]
    assert claim.difference == pytest.approx(100 * (math.exp(np.mean(logs)) - 1))
    ends_of_mean = np.mean(logs) + np.array([-1, 1]) * 2.015 * np.std(logs, ddof=1) / 6**0.5
    assert [claim.low, claim.high] == pytest.approx(100 * np.expm1(ends_of_mean), rel=1e-3)
    told = ratios.verdict_sentence()
    assert "DIFFERENT at a margin of 5 %; difference +99.6 %" in told and "sign" not in told
    row = points.row("mixed")
    assert row.verdict == "INCONCLUSIVE" and row.low < 0
    assert f"INCONCLUSIVE at a margin of 5 points; about {row.needed}" in points.verdict_sentence()
    assert f"about {row.needed} seeds would decide" in points.table()
    assert "signs of the differences there is one (sign-flip p: 0.031)" in points.verdict_sentence()
    runs[0].metric = 0.0
    (claim,) = (c for c in ratios.claims() if c.score.kind == "metric")
    assert (claim.verdict, claim.coarse) == (None, "accuracy is 0 in a run, which has no ratio")


def test_steps_to_a_target_and_the_area_stand_beside_the_end():
    runs = [made_up("float32", s, (80, 90, 95, 95.1 + s / 9)) for s in range(3)]
    runs += [made_up("mixed", s, (70, 80, 90, 95.2 + s / 9)) for s in range(3)]
    runs[-1].evaluations[-2:] = [(30, 85.0, 0.3), (40, 89.0, 0.3)]
    whole = from_runs(runs, target=90.0)
    claims = {c.score.kind: c for c in whole.claims()}
    steps = claims["steps"]
    assert (steps.score.name, steps.difference) == ("steps to accuracy 90 %", 10)
    assert (steps.pairs, steps.reached, steps.average) == (2, 2, 30)  # the slowest never came
    assert claims["area"].score.name == "mean accuracy over training"
    assert claims["area"].difference < -5
    assert "steps to accuracy 90 %: 30 (2 arrived)" in whole.table()


def test_a_metric_that_moves_in_steps_larger_than_the_margin_leaves_it_to_the_loss():
    runs = []
    for arm in ("float32", "mixed"):
        for seed in range(5):
            right = 280 + seed + (arm == "mixed")
            course = [100 * n / 300 for n in (250, right, right, right)]
            runs.append(made_up(arm, seed, course, (1, 1, 1, 0.5 + seed / 50)))
    whole = from_runs(runs, margin=0.1)
    row = whole.row("mixed")
    assert row.coarse.endswith("moves in steps of 0.33 points, too coarse for a margin of 0.1")
    assert (row.verdict, row.decided_by) == ("EQUIVALENT", "test loss")
    loss = next(c for c in whole.claims() if c.decides)
    assert loss.score.margin == 0.046  # a tenth of what the last half does
    said = whole.verdict_sentence()
    assert "decides (the test loss's margin of 0.046 follows from these runs: at its end" in said
    (statement,) = verdicts.statements(whole)
    assert "so the test loss decides: 0.000" in statement.text and "inside its" in statement.text
    given = from_runs(runs, margin=0.1, loss_margin=0.004)
    assert next(c for c in given.claims() if c.decides).score.margin == 0.004
    assert from_runs(runs, margin=0.5).row("mixed").decided_by == "accuracy"
    whole.registered.append({"budget": {"seconds": 1, "looks": [3, 5]}, "seeds": [*range(5)]})
    margin, said = loss_margin(whole)  # that of the first look, in which the loss falls by 0.48
    assert margin == 0.048 and "follows from the runs of the first look: at its end" in said


def test_what_was_declared_decides_and_the_metric_stands_beside_it():
    runs = ends(float32=BASE, mixed=BASE[:5])
    for run in runs:
        run.metrics = {"averaged test loss": [0.3 + run.seed - 0.01 * (run.precision == "mixed")]}
    whole = from_runs(runs, average=0.5, loss_margin=0.005, decides="averaged test loss")
    row = whole.row("mixed")
    assert (row.verdict, row.decided_by, row.difference) == ("DIFFERENT", "averaged test loss", 0)
    assert "averaged test loss: DIFFERENT at a margin of 0.005" in whole.verdict_sentence()
    assert "as declared, the averaged test loss decides" in verdicts.statements(whole)[0].text
    assert "that of the averaged test loss, which was" in " ".join(whole.table().split())
    told = latex.table(whole)
    row = "$-0.0100$ & $[-0.0100, -0.0100]$ & $<0.001$ & DIFFERENT by averaged test loss & $0."
    assert row in told  # with its adjusted p, then the test loss's


def test_a_margin_of_the_loss_lies_between_checkpoints_a_point_apart_or_is_a_tenth_of_the_end():
    course = [(10, 80.0, 1.0), (20, 90.0, 0.6), (30, 92.0, 0.5), (40, 93.5, 0.4)]
    score = primary(from_runs(ends(float32=BASE)))
    found, steep = (margin_of(score, [[(s, m, k * y) for s, m, y in course]] * 2) for k in (1, -1))
    assert found.apart == pytest.approx(0.1 / 1.5) and found.half == pytest.approx(0.2)
    assert (found.value, found.metric) == (0.02, pytest.approx(3.5)) and steep.value is None


def test_the_steps_of_an_accuracy_are_those_of_its_test_examples():
    """Of runs that happen to differ by four pictures of 80 a step is still one picture."""
    runs = ends(float32=[80.0, 85.0, 90.0, 95.0], mixed=[80.0, 85.0, 95.0, 95.0])
    for run in runs:
        run.evaluations = run.evaluations[-1:]
    assert not from_runs(runs, margin=1.3).row("mixed").coarse
    assert from_runs(runs, margin=1.2).row("mixed").coarse.startswith("accuracy over 80 test")
    draw = np.random.default_rng(7)
    runs = ends(float32=draw.uniform(90, 99, 4), mixed=draw.uniform(90, 99, 4))
    assert not from_runs(runs, margin=1e-4).row("mixed").coarse  # it has no steps
    wrong = {"target": math.nan, "loss_margin": 0, "average": 2, "decides": "test loss"}
    for field, value in (*wrong.items(), ("target", "90"), ("decides", "averaged accuracy")):
        with pytest.raises(fp.ArgumentError, match=f"Task 'blobs': {field} is"):
            blobs(**{field: value})


def test_runs_that_still_become_better_are_not_converged():
    late = [made_up("float32", s, (60, 70, 80, 92.0 + s)) for s in range(3)]
    whole = from_runs([*late, *(made_up("mixed", s, settled(93.0 + s)) for s in range(3))])
    assert whole.row("float32").improving == 13 and whole.row("mixed").improving == 0
    (said,) = (note for note in whole.notes() if note.startswith("Not converged"))
    assert "accuracy of float32 still improved by 13 points" in said
    assert "Not converged" not in " ".join(from_runs(ends(float32=BASE)).notes())


CONTROLS = {
    "float32_at_order": moved(0.5, 3),
    "float32_at_ulp": moved(0.3, 4),
    "float32_at_kernels": moved(0.4, 5),
}


def test_an_arm_within_what_controls_do_is_nothing_special():
    whole = from_runs(ends(float32=BASE, mixed=moved(0.4, 6), **CONTROLS))
    (answer,) = whole.answers()
    assert answer.special is False and answer.p > 0.1 and answer.seeds == 6
    assert "float32@order" in answer.as_far and [m.arm for m in answer.moved][0] == "mixed"
    assert answer.moved[0].mean == pytest.approx(np.mean(np.subtract(moved(0.4, 6), BASE)))
    said = " ".join(whole.table().split())
    assert "mixed does no more than a harmless perturbation (@order" in said


def test_an_arm_that_always_ends_elsewhere_is_special_and_controls_get_no_verdict():
    arms = {"float32": BASE, "mixed": [b - 3 for b in BASE], **CONTROLS}
    whole = from_runs(ends(**arms, mixed_at_ulp=[b - 3.1 for b in BASE]))
    (answer,) = whole.answers()
    assert answer.special is True and answer.p < 0.01
    assert answer.controls == ["float32@order", "float32@ulp", "float32@kernels"]
    told = "mixed is special, which no harmless perturbation is: seed by seed its accuracy ends"
    assert told in whole.table()
    for row in whole.rows():
        if row.is_control:
            assert row.verdict is None and row.needed is None
    assert whole.row("mixed@ulp").difference == pytest.approx(-0.1)  # from mixed, not float32
    assert whole.baseline == "float32"
    assert not any("@" in c.arm for c in whole.claims() if c.verdict or c.holm)
    arms = {"float32": BASE[:2], "mixed": [b - 3 for b in BASE[:2]]}
    whole = from_runs(ends(**arms, float32_at_ulp=BASE[:2]))  # two seeds tell neither
    (answer,) = whole.answers()
    assert answer.special is None and answer.least_p > 0.05
    assert "not so that 2 seeds could tell it from one" in " ".join(whole.answer_sentences())
    runs = ends(float32=BASE, mixed=BASE, float32_at_order=moved(1, 1))
    for run in runs[6:8]:
        run.status = "diverged"  # where no control does
    (said,) = from_runs(runs).answer_sentences()
    assert said.startswith("mixed is special: 2 runs of it diverged where float32 did not")


def test_a_repetition_must_be_exactly_zero_and_a_control_needs_what_it_disturbs():
    runs = ends(float32=BASE, mixed=BASE, float32_at_repeat=BASE)
    whole = from_runs(runs)
    assert not any("NOT REPEATABLE" in note for note in whole.notes())
    assert whole.answers() == []  # a repetition is no disturbance
    runs[-1].history["loss"][1] += 1e-12
    whole = from_runs(runs)
    told = "NOT REPEATABLE: float32@repeat, seed 5: loss differs at step 2"
    assert whole.notes()[0].startswith(told)
    assert whole.table().startswith("NOT REPEATABLE")
    assert verdicts.headline(whole).startswith("not repeatable; ")
    whole = from_runs(ends(float32=BASE, mixed_at_ulp=BASE))
    assert "mixed@ulp has nothing to compare with: add mixed" in " ".join(whole.notes())
    assert whole.row("mixed@ulp").difference is None


def test_real_controls_have_bands_of_distances_and_a_section():
    arms = ["float32", "mixed", "float32@order", "float32@ulp", "float32@repeat"]
    whole = fp.compare(blobs(steps=12), arms, 2, progress=False)
    (answer,) = whole.answers()
    bands = {band.kind: band for band in answer.bands}
    assert list(bands) == ["weights", "outputs", "predictions"]
    weights = bands["weights"]
    assert weights.steps == [1, 2, 4, 8, 10, 12] and weights.inside_from == 1
    assert all(0 <= low <= high for low, high in zip(weights.low, weights.high))
    assert weights.high[-1] == weights.ends["float32@order"] > weights.arm[-1] > 0
    assert not any("NOT REPEATABLE" in note for note in whole.notes())
    page = rendering.page(whole.document())
    assert "Special, or what any perturbation does?" in page and "another order of the data" in page
