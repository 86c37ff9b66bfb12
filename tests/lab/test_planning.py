"""How many seeds it takes, and what was said before the first run."""

import json
from dataclasses import replace
from functools import partial

import pytest
from lab_blobs import blobs, comparison_of
from refusals import refuses

import minifp as fp
from minifp.lab import Comparison, registration
from minifp.lab.conclusions.planning import counts, curve
from minifp.lab.page.power import section
from minifp.lab.run import Run
from minifp.lab.statistics.power import seeds_needed, tost_power
from minifp.report import rendering
from minifp.report.plain_text import WIDTH

BOTH = ["float32", "mixed"]


def pilot(differences=(0.4, -0.5, 0.1, 0.3, -0.2), **more):
    runs = [
        Run(arm, seed, metric=90.0 + 0.37 * seed + (d if arm == "mixed" else 0), steps=4)
        for seed, d in enumerate(differences)
        for arm in (*BOTH, "float32@ulp")
    ]
    return comparison_of(runs, **{"margin": 0.4, **more})


def test_the_seeds_that_a_pilot_asks_for_give_the_power_that_was_asked_for():
    whole = pilot()
    (need,) = fp.Plan(whole, 0.9).needs
    assert (need.arm, need.pairs, need.score) == ("mixed", 5, "accuracy")  # no control
    assert tost_power(need.seeds, need.sd, 0.4) >= 0.9 > tost_power(need.seeds - 1, need.sd, 0.4)
    assert need.at_best < need.seeds < need.at_worst and need.now < 0.9
    assert fp.Plan(whole, 0.9).seeds == need.seeds > fp.Plan(whole, 0.5).seeds
    others = [replace(run, precision="bfloat16") for run in whole.runs if run.precision == "mixed"]
    two = comparison_of([*whole.runs, *others], margin=0.4)
    (first, second), level = fp.Plan(two, 0.9).needs, 0.05 / 2  # with Holm's correction
    assert first.seeds == second.seeds == seeds_needed(need.sd, 0.4, 0.9, level) > need.seeds
    powers = curve(need, counts([need]))
    assert powers == sorted(powers) and powers[-1] > 0.9
    (group, table, _) = section(whole).parts
    assert group.panels[0].said == f"mixed needs {fp.Plan(whole).seeds} seeds."
    assert table.rows[1][6] == str(fp.Plan(whole).seeds) and not section(pilot((0.1,))).parts


def test_a_plan_shows_itself_in_a_table_with_its_curve():
    plan = fp.Plan(pilot())
    text, most = repr(plan), plan.needs[0].at_worst
    assert f"Take {plan.seeds} seeds, or to be cautious {most}." in text
    assert "Power, by the number of seeds" in text
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "no plan is possible" in repr(fp.Plan(pilot((0.1,))))
    assert fp.Plan(pilot((0.1,))).seeds is None
    for power in (0, 1.0, "0.8"):
        refuses(fp.ArgumentError, "between 0 and 1", fp.plan, blobs(steps=1), power=power)


@pytest.fixture
def no_page(monkeypatch):
    """Nothing is drawn: it takes longer than training."""
    monkeypatch.setattr(Comparison, "report", lambda comparison, path: path)


def interrupted(*args, **kwargs):
    raise KeyboardInterrupt


def registered(folder):
    return json.loads((folder / registration.FILE).read_text(encoding="utf-8"))


def test_margin_and_plan_are_hashed_before_the_first_run(tmp_path, monkeypatch, no_page):
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("minifp.lab.comparison.train_missing", interrupted)
        fp.compare(blobs(steps=2), BOTH, 2, out=tmp_path, progress=False)
    (entry,) = registered(tmp_path)
    assert (entry["runs"], entry["kind"], entry["seeds"]) == (0, "comparison", [0, 1])
    assert entry["claims"]["margin"] == 0.5 and len(entry["sha256"]) == 64
    result = fp.compare(blobs(steps=2), BOTH, 2, out=tmp_path, progress=False)
    assert registered(tmp_path) == [entry] == Comparison.load(tmp_path).registered
    page = rendering.page(result.document())
    assert "Registered before the first run" in page and entry["sha256"][:12] in page
    assert registration.warnings(result.registered) == []


def test_a_pilot_is_reused_and_more_seeds_after_it_are_no_afterthought(tmp_path, no_page):
    plan = fp.plan(blobs(steps=2, loss_margin=1), BOTH, 2, out=tmp_path, progress=False)
    assert f"The pilot's runs are in {tmp_path}" in " ".join(repr(plan).split())
    result = fp.compare(blobs(steps=2, loss_margin=1), BOTH, 3, out=tmp_path, progress=False)
    assert [e["kind"] for e in result.registered] == ["pilot", "comparison"]
    assert [e["runs"] for e in result.registered] == [0, 4] and len(result.runs) == 6
    assert registration.warnings(result.registered) == []
    more = fp.compare(blobs(steps=2, loss_margin=1), BOTH, 4, out=tmp_path, progress=False)
    assert any(note.startswith("1 seed more than first planned, after 6") for note in more.notes())
    late = fp.compare(blobs(steps=2), BOTH, 4, budget="1h", out=tmp_path, progress=False)
    assert any(note.startswith("LOOKS PLANNED AFTER 8 RUNS: a budget") for note in late.notes())


def test_a_plan_that_is_changed_after_the_fact_is_told_and_an_edited_one_refused(tmp_path, no_page):
    def again(**changes):
        return fp.compare(blobs(steps=2, **changes), BOTH, 1, out=tmp_path, progress=False)

    again()
    path = tmp_path / registration.FILE
    held, changed = path.read_text(encoding="utf-8"), again(margin=5.0)
    told = "CHANGED AFTER 2 RUNS: margin was 0.5 and is 5.0."
    assert told in changed.notes() and told in Comparison.load(tmp_path).notes()
    first, second = registered(tmp_path)
    assert second["before"] == first["sha256"] != second["sha256"]
    path.write_text(held.replace("0.5", "0.6"), encoding="utf-8")
    refuses(fp.ArgumentError, "does not match its hash", again)
    path.unlink()  # runs of before are no plan
    assert "Nothing was registered before the first 2 runs" in " ".join(again().notes())


def test_a_budget_is_spent_at_planned_looks_and_goes_on_after_an_interrupt(
    tmp_path, no_page, trained, monkeypatch
):
    how = {"precisions": BOTH, "out": tmp_path, "progress": False}
    spent = partial(fp.compare, blobs(steps=40, margin=30.0), seeds=12, budget="1h", **how)
    poor = spent(budget="0.001s")
    assert trained == [("float32", 0), ("mixed", 0)]  # which show how long they take
    assert "mixed is not decided within the budget of 0 s: the first look, at 3" in poor.notes()[-1]
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt, match="3 of 6 runs"):
        patch.setattr(Comparison, "save", interrupted)
        spent()
    result = spent()
    assert trained[2:] == [(arm, seed) for seed in range(1, 6) for arm in BOTH]  # 6 are not weak
    assert "Decided at look 1 of 5 planned looks" in Comparison.load(tmp_path).verdict_sentence()
    assert any("The budget was 0 s and is 60 min, after 2 runs" in n for n in result.notes())
    refuses(fp.ArgumentError, "looks cannot change", spent, seeds=13)
    refuses(fp.ArgumentError, "expected a time", spent, budget="soon")
