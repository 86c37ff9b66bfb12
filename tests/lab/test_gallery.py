"""The gallery: what is trained for a claim, and what is said of it."""

import json
import math
import re
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from lab_blobs import blobs
from minifp.exhibits.classification import EXHIBITS
from refusals import refuses
from terminals import call

import minifp as fp
from minifp import exhibits
from minifp.exhibits import detection
from minifp.lab.conclusions.claims import Claim
from minifp.lab.conclusions.rows import Row
from minifp.lab.exhibits import bathtub, catalog, departures, failures, spread
from minifp.lab.exhibits import doses as doses_module
from minifp.lab.exhibits.catalog import meant_by
from minifp.lab.exhibits.doses import Response, responses, slope, slope_text
from minifp.lab.exhibits.exhibit import SCALES, Exhibit
from minifp.lab.exhibits.failures import NOTHING
from minifp.lab.exhibits.finding import finding
from minifp.lab.exhibits.showing import Line
from minifp.lab.results import products
from minifp.lab.run import Run
from minifp.lab.task_info import TaskInfo
from minifp.lab.tasks import is_own
from minifp.lab.workers.travel import ticket
from minifp.numerics.policy import as_precision
from minifp.scope import beforehand

LIMIT = 6e6  # multiply-adds a picture


STRANGERS = """
from lab_blobs import blobs
from minifp.lab import Exhibit, Published

def small(scale):
    return blobs(steps={"quick": 2, "evening": 4, "full": 8}[scale])

ARMS, NUMBERS = ("mixed,loss_scale=1", "mixed"), Published(70.0, 70.1, "accuracy, %", "table 1")
EXHIBITS = [Exhibit("blobs", "Blobs", "it matches", small, ARMS, NUMBERS)]
"""


@pytest.fixture(autouse=True)
def no_pictures_of_comparisons(monkeypatch):
    monkeypatch.setattr(products, "save_figures", lambda *given: [])


@pytest.fixture
def strangers(tmp_path, monkeypatch):
    """An exhibit of a task that trains in no time, in a file of somebody else's."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(STRANGERS, encoding="utf-8")
    return meant_by("mine.py:blobs")[0]


def test_an_exhibit_of_any_file_is_trained_kept_and_gone_on_with(strangers):
    words = ["gallery", "mine.py", "--quick", "-q", "--out", "out", "--figures", "none", "--seeds"]
    for seeds in ("1", "2"):
        result = call(*words, seeds)
        assert result.exit_code == 0 and "70.0 / 70.1" in result.output
    told = {path.name: path.read_text(encoding="utf-8") for path in Path("out").glob("*.*")}
    (blob,) = json.loads(told["gallery.json"])["exhibits"]
    assert blob["seeds"] == [0, 1]
    assert blob["results"].keys() == {"float32", "mixed,loss_scale=1", "mixed"}
    assert len(told["gallery.csv"].splitlines()) == 1 + 3 * 2
    assert len(re.findall(r"(?m),1,\d\S+,,$", told["courses.csv"])) == 6
    assert 'href="blobs/report.html"' in told["gallery.html"]
    assert "| Blobs | 70.0 / 70.1 |" in told["gallery.md"]
    assert "| minifp gallery mine.py:blobs --quick |" in told["gallery.md"]
    again = Path("out/blobs/reproduce.sh").read_text(encoding="utf-8")
    assert "minifp compare mine.py:blobs:quick" in again
    for said in ("12 runs, 6 of which are there", "looks at 3 and 4 seeds"):
        assert said in call(*words, "4", "--dry-run", "--budget", "1h").output
    with pytest.raises(fp.ArgumentError, match="steps was 2 and is now 4"):
        fp.gallery(strangers, "evening", seeds=1, out="out", progress=False)


def test_a_task_of_an_exhibit_is_found_by_its_name_and_scale(strangers):
    """Of a stranger's no file that is read, such as a checkpoint, may name any."""
    specs = ("skips:quick", "skips", "mine.py:blobs:full", f"{catalog.OWN}.skips:skips:full")
    found = [fp.load_task(spec) for spec in specs]
    assert [task.epochs for task in found] == [1, 4, 4, 10] and found[2].steps == 8
    assert [ticket(task, {}, task).load().name for task in found] == [t.name for t in found]
    assert [is_own(spec) for spec in specs] == [True, True, False, False]


CLAIM = Claim("mixed", "float32", None, pairs=5, decides=True)
INTERVALS = {f"mixed,loss_scale=dynamic+growth_interval={n}": n for n in (2, 4, 40)}
SCALES_TRIED = {str(as_precision(f"mixed,loss_scale={s}")): s for s in (1024, 2**100)}


def test_each_kind_of_exhibit_has_its_part_in_one_document(strangers, monkeypatch, tmp_path):
    """Lines, whose controls are told; all combinations, but not what the scale lacks; doses, where
    a scale that doubles every 2 good steps is soon too large; and scales, at 2^100 too large."""
    arms = ("mixed,loss_scale=1", "mixed")
    one = replace(strangers, arms=("float32@order", *arms))
    apart = replace(one, name="apart", title="Apart", claim="", kind="ablation", arms=arms)
    late = replace(apart, name="late", seeds={"quick": 0, "evening": 3, "full": 5})
    doses = replace(
        one, name="doses", title="Doses", published=None, arms=(*INTERVALS,), doses=INTERVALS,
        dose="growth interval", kind="doses", task=lambda scale: blobs(steps=40, margin=30.0),
    )  # fmt: skip
    tub = replace(
        doses, name="tub", title="Tub", arms=(*SCALES_TRIED,), doses=SCALES_TRIED, kind="bathtub",
        task=lambda scale: blobs(steps=60, margin=30.0),
    )  # fmt: skip
    monkeypatch.setattr(exhibits, "GROUPS", {"all": (one, apart, late, doses, tub)})
    shown = fp.gallery("all", "quick", seeds=2, out=tmp_path, figures="svg", progress=False)
    first, *_, last = responses(doses, shown.comparisons[2])
    assert first.dose == 2 and 0.2 < first.share <= 1 / 3 and last.share <= 1 / 40
    good, high = bathtub.places(tub, shown.comparisons[3])
    assert (good.power, good.failures) == (10.0, {}) and high.failures == {failures.GAVE_UP: 2}
    assert (high.power, high.share) == (100.0, 1.0)
    text = " ".join(shown.table().split())
    for said in (
        "1 exhibit at the scale 'quick', 2 seeds", "minifp gallery blobs --quick",
        "Blobs, controls: runs that are disturbed a little differ from those",
        "Apart: master weights: no verdict from 2 pairs", f"above: {failures.GAVE_UP}",
        "S = 2\N{SUPERSCRIPT ONE}\N{SUPERSCRIPT ZERO} trains, to accuracy of at",
    ):  # fmt: skip
        assert said in text
    assert text.count("float32@order") == 1
    written = (tmp_path / "gallery.md").read_text(encoding="utf-8")
    for row in ("| technique | with all others |", "| master_weights |", "| 40 |"):
        assert row in written
    told = json.loads((tmp_path / "gallery.json").read_text(encoding="utf-8"))["exhibits"]
    assert [e["name"] for e in told] == ["blobs", "apart", "doses", "tub"]
    assert len(told[1]["effects"]) == 9 and told[2]["responses"][0]["skipped"] == first.share
    assert all(e["registered"][0]["runs"] == 0 for e in told[:2])  # before any
    assert told[3]["scales"][1]["came_to_nothing"] == {failures.GAVE_UP: 2}
    names = ("apart-effects", "differences-blobs", "doses", "tub")
    assert {f"{name}.svg" for name in names} <= {p.name for p in tmp_path.iterdir()}
    page = (tmp_path / "gallery.html").read_text(encoding="utf-8")
    for part in ("Effects, with 90% intervals", "apart/effects.html", 'href="doses/report.html"'):
        assert part in page
    assert page.count('<svg class="panel"') == 5


def test_the_slope_is_that_of_least_squares_over_seeds():
    """Runs that lose 2 points, or 3, for each percent of steps that they skip."""
    exhibit = Exhibit("d", "D", "c", blobs, (*INTERVALS,), doses=INTERVALS, dose="interval")
    made = fp.compare(blobs(steps=1), "float32", 2, progress=False)
    base = [replace(run, metric=90.0, status="finished") for run in made.runs]
    runs = [
        replace(
            base[seed], precision=arm, steps=1000, skipped=10 * percent,
            metric=90.0 - (2 + seed) * percent,
        )
        for seed in (0, 1)
        for arm, percent in zip(INTERVALS, (4, 2, 1))
    ]  # fmt: skip
    c = replace(made, precisions=["float32", *INTERVALS], runs=[*base, *runs])
    found = slope(exhibit, c)
    assert (found.n, found.mean) == (2, pytest.approx(-2.5))
    assert re.search("changes by -2.500 points .* 2 seeds", slope_text(exhibit, c))
    assert slope(exhibit, replace(c, runs=[*base, *runs[:4]])) is None


@pytest.mark.parametrize("verdicts, said", [
    (("EQUIVALENT",) * 3, "as claimed, at intervals 2, 4 and 40, where 1.00% to 4.00%"),
    (("DIFFERENT", "EQUIVALENT", "INCONCLUSIVE"), "not as claimed at interval 2"),
    (("EQUIVALENT", "INCONCLUSIVE", "INCONCLUSIVE"), "undecided at intervals 4 and 40: about 9"),
])  # fmt: skip
def test_what_follows_for_a_claim_with_doses(monkeypatch, verdicts, said):
    exhibit = Exhibit("d", "D", "c", blobs, (*INTERVALS,), doses=INTERVALS, dose="interval")
    found = [
        Response(dose, Row(arm, n=5, verdict=verdict, needed=9), share, share, share)
        for (arm, dose), verdict, share in zip(INTERVALS.items(), verdicts, (0.04, 0.02, 0.01))
    ]
    monkeypatch.setattr(doses_module, "responses", lambda *of: found)
    made = fp.Comparison(TaskInfo.of(blobs(), range(3)), 0, ["float32"], [0], [], {}, {})
    assert said in doses_module.finding(exhibit, made)


def test_what_is_not_there_is_refused(strangers):
    Path("other.py").write_text("EXHIBITS = [3]", encoding="utf-8")
    techniques = "preact-resnet-50-techniques"
    for names, settings, message in (
        *(("vgg-d", {"seeds": 0}, "seeds=0: expected how many"), ("vgg-e", {}, "expected vgg-d")),
        (techniques, {"scale": "quick"}, "'quick', expected evening or full: on"),
        (["vgg-d", techniques], {"scale": "quick"}, "'quick', expected evening or full: on"),
        ([], {}, "no exhibit is named: expected one of class"),
        ("mine.py:blob", {}, "nothing in .*mine.py is called 'blob': expected blobs"),
        (["mine.py", replace(strangers)], {"seeds": 1}, "two exhibits are called blobs"),
        ("other.py", {}, "EXHIBITS has 3: expected an Exhibit"),
        ("lab_blobs:x", {}, "lab_blobs: expected EXHIBITS, a list of"),
        ("vgg-d", {"scale": "large"}, "'quick', 'evening', 'full'"),
    ):
        refuses(fp.ArgumentError, message, fp.gallery, names, **settings)
    refuses(fp.ArgumentError, "no task 'vgg-d:fast': .* scales", fp.load_task, "vgg-d:fast")
    refuses(fp.ArgumentError, "expected blobs:quick or ev", fp.load_task, "mine.py:blobs:fast")
    for settings in ({"name": "a/b"}, {"kind": "table"}, {"arms": ("mixed",)}, {"seeds": {"a": 1}}):
        refuses(fp.ArgumentError, "expected", replace, strangers, **settings)


@pytest.mark.parametrize(
    "exhibit",
    [*EXHIBITS, *detection.EXHIBITS, *exhibits.residual.EXHIBITS, *exhibits.bathtub.EXHIBITS],
    ids=lambda e: e.name,
)
def test_networks_are_as_small_as_is_said(exhibit):
    """Tasks of all scales are built without their pictures; published detectors have 26 and 137
    million weights."""
    tasks = [exhibit.task(scale) for scale in SCALES]
    if exhibit not in EXHIBITS:
        assert len({task.steps for task in tasks}) == 3 and len({task.dial for task in tasks}) == 1
        assert sum(p.numel() for p in tasks[0].model().parameters()) < 3e6
        return
    assert len({(task.epochs, exhibit.seeds[s]) for task, s in zip(tasks, SCALES)}) == 3
    found = fp.summary(tasks[0].model, (3, 32, 32), precisions=["mixed"])
    assert found.multiply_adds <= LIMIT and found.layers[0].output == (1, 10)


SCALED = EXHIBITS[0]
FAILING, BETTER = replace(SCALED, expects="fails"), replace(SCALED, expects="better")


@pytest.mark.parametrize("exhibit, without, scaled, said", [
    (SCALED, "EQUIVALENT", "EQUIVALENT", "^as in the paper"),
    (SCALED, "DIFFERENT", "EQUIVALENT", "not as in .* with dynamic S it does$"),
    (SCALED, "DIVERGED", "INCONCLUSIVE", "nor, so far, with it"),
    (SCALED, "INCONCLUSIVE", "EQUIVALENT", "about 7 seeds .*; with dynamic S it matches$"),
    (FAILING, "DIFFERENT", "EQUIVALENT", r"^as in .* \(2 of 5 learned nothing\), and with dyn"),
    (FAILING, "DIVERGED", "INCONCLUSIVE", "^as in .*; undecided with dynamic S .about 7"),
    (FAILING, "EQUIVALENT", "EQUIVALENT", "^not as in the paper: .* matches float32$"),
    (BETTER, "EQUIVALENT", "EQUIVALENT", "^not as in the paper: .* is no better"),
    (BETTER, "DIFFERENT", "EQUIVALENT", "^not as in the paper: .* ends worse$"),
    (BETTER, "INCONCLUSIVE", "EQUIVALENT", "^undecided .* .about 7 seeds"),
    (FAILING, "INCONCLUSIVE", "EQUIVALENT", "^undecided .* .about 7 seeds .*with dyn.* match"),
    (FAILING, None, "EQUIVALENT", "^undecided .* .at least 7 seeds are needed"),
    (FAILING, "DIFFERENT", "DIVERGED", "^not as in .* but with dynamic S it does not"),
    (FAILING, "DIVERGED", "DIFFERENT", "^not as in .* but with dynamic S it does not match"),
])  # fmt: skip
def test_a_finding_is_what_the_verdicts_say(exhibit, without, scaled, said):
    arms = dict(zip(exhibit.tested, (without, scaled)))
    rows = {a: Row(a, n=5, verdict=v, needed=7, difference=-9.0) for a, v in arms.items()}
    came = {exhibit.tested[0]: Counter({NOTHING: 2})}
    line = Line(exhibit, Row("float32", n=5), rows, came, 1.0, claims=dict.fromkeys(rows, CLAIM))
    assert re.search(said, finding(line))


def test_a_finding_says_on_how_little_it_rests_and_a_run_how_it_came_to_nothing():
    arms = SCALED.tested
    row = Row(arms[0], n=3, verdict="EQUIVALENT", weak=True, pairs=3, decided_by="test loss")
    line = Line(SCALED, Row("float32", n=3), {arms[0]: row, arms[1]: row}, {}, 1.0, "accuracy")
    judged = {"verdict": "EQUIVALENT", "holm": {"equivalent": 0.36}, "together": 9}
    line.claims |= dict.fromkeys(arms, replace(CLAIM, pairs=3, **judged))
    assert finding(line).endswith(
        "loss scaling (weak, of 3 pairs; by its test loss; not with Holm's correction for 9 "
        "claims, adjusted p 0.36)"
    )
    failing = replace(line, exhibit=FAILING, failures={arms[0]: Counter({NOTHING: 3})})
    failing.tested[arms[0]] = replace(row, verdict="DIFFERENT", difference=-9.0)
    assert re.search(r"\(3 of 3 learned nothing; weak.*S = 1 \(weak, of 3", finding(failing))
    line.baseline.mean = 14.0  # of ten classes
    assert finding(line).startswith("float32 itself has learned nothing")
    base, losses = Run("float32", 0, metric=80.0), {"loss": [1.0, 2.0]}
    runs = {
        None: Run("mixed", 0, metric=21.0),
        NOTHING: Run("mixed", 0, metric=19.0),
        failures.GAVE_UP: Run("mixed", 0, status="stopped", metric=80.0),
        failures.NOT_FINITE: Run("mixed", 0, status="diverged", history={"loss": [math.nan]}),
        failures.ROSE: Run("mixed", 0, status="diverged", history=losses, metric=80.0),
    }
    assert [failures.failure(run, base) for run in runs.values()] == [*runs]
    assert failures.failures_text(Counter({NOTHING: 2}), 3) == "2 of 3 learned nothing"


@pytest.mark.nightly
def test_detectors_are_looked_at_trained_and_their_boxes_drawn(monkeypatch, tmp_path):
    monkeypatch.setitem(detection.DIGIT_STEPS, "quick", 3)
    monkeypatch.setattr(detection, "SCENES", partial(detection.data.digit_scenes, 64, 8))
    for _ in range(2):  # what was seen, and all runs, are read the second time
        how = {"out": tmp_path, "progress": False, "look": beforehand.look}
        shown = fp.gallery("ssd-digits", "quick", seeds=1, **how)
    assert shown.seen["ssd-digits"].findings.count == 3
    assert shown.comparisons[0].runs_of("mixed")[0].history.keys() >= {"classification"}
    shown.save(tmp_path, "png")
    pictures = {path.name for path in tmp_path.glob("*.png")}
    wanted = ("differences-ssd-digits", *(f"ssd-digits-{n}" for n in ("boxes", "losses")))
    assert pictures == {f"{name}.png" for name in (*wanted, "ssd-digits-beforehand")}
    (told,) = json.loads((tmp_path / "gallery.json").read_text(encoding="utf-8"))["exhibits"]
    gradients = told["beforehand"]["activation_gradients"]
    assert 0.3 < gradients["zeros"] < 0.9 and len(gradients["by_exponent"]) > 10
    page = (tmp_path / "gallery.html").read_text(encoding="utf-8")
    assert "what the microscope saw beforehand" in page and page.count('<svg class="panel"') == 4


def test_a_run_parts_where_its_loss_leaves_the_range_for_good():
    """Windows of 3 steps, of 300: one that comes back, one that stays, one that is lost at once."""
    steps = np.arange(1, 301)
    fine, wild = np.full(300, 1.0), np.where((steps > 30) & (steps < 60), 9.0, 0.9)
    parted, late = np.where(steps > 150, 2.0, 1.0), np.where(steps > 290, 2.0, 1.0)
    lost = np.where(steps > 2, np.nan, 1.0)[:4]

    def run(loss, finished=True):
        history = {"step": [*steps[: len(loss)]], "loss": [*loss]}
        return SimpleNamespace(history=history, finished=finished)

    base, others = [run(fine), run(fine - 0.1)], [*map(run, (wild, parted, late)), run(lost, False)]
    arms = {"float32": base, "mixed": others}
    c = SimpleNamespace(baseline="float32", runs=[*base, *others], runs_of=arms.get)
    assert [departures.parts_at(c, r) for r in others] == [None, 151, None, 1]
    assert departures.partings(c, ["mixed"]) == {"mixed": [1, 151]}
    exhibit = SimpleNamespace(title="A net", tested=["mixed"], warns="")
    assert departures.note(exhibit, c).endswith("with dynamic S in 2 of 4 runs, at step 1 and 151.")
    assert not departures.note(SimpleNamespace(title="", tested=["float32"], warns="zeros"), c)
    shares = (steps > 100) & (steps < 110), steps > 99, steps < 0, np.zeros(4)
    for run, share in zip(others, shares):  # a false alarm, one in time, none, and none in time
        run.history["zeros"] = [*share.astype(float)]
    assert [departures.warned_at(c, r, "zeros") for r in others] == [102, 102, None, None]
    exhibit.warns = "zeros"
    assert departures.note(exhibit, c).endswith(
        "The share of zeros is above one half with dynamic S in 2 of 4 runs, at step 102: known "
        "before the loss parts in 1 of the 2 runs that part."
    )


def test_it_is_counted_who_ends_within_the_range_of_float32():
    """A run that came to nothing has no end, and one float32 run no range."""
    arms = {"float32": [30.0, 31.5, 30.2], "mixed": [31.4, 29.9, math.nan], "mixed@order": [30.5]}
    runs = {arm: [SimpleNamespace(metric=m) for m in metrics] for arm, metrics in arms.items()}
    task = SimpleNamespace(metric_name="BLEU", margin=1.0, relative=False)
    c = SimpleNamespace(baseline="float32", runs_of=lambda arm: runs[arm], task=task)
    exhibit = SimpleNamespace(title="French", tested=["mixed"])
    assert spread.note(exhibit, c) == (
        "French: float32's runs end at a BLEU from 30.0 to 31.5; within that range end 1 of 3 with "
        "dynamic S."
    )
    del runs["float32"][1:]
    assert spread.note(exhibit, c) == ""
