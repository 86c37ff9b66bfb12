"""What a comparison leaves in its folder: tables, results that follow their schema."""

import copy
import csv
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from lab_blobs import blobs

import minifp as fp
from minifp.lab.page import end_tables
from minifp.lab.results import store, summary
from minifp.report import rendering

ARMS = ("float32", "float32@order", "mixed,loss_scale=1e30")  # of which the last gives up


def nearness(outputs, targets):
    """A second metric: the mean of the outputs that should be largest."""
    return float(np.mean(outputs[np.arange(len(targets)), targets]))


def of_names(**changes):
    """A task whose second metric and own column are named as columns are."""

    def step(state, batch):
        x, t = batch
        loss = task.loss(state.model(x), t)
        state.optimizer.minimize(loss)
        return {"loss": loss, "twice": 2 * loss.item()}

    task = blobs(metrics=[fp.Metric("seed", nearness), fp.Metric("twice", nearness)], **changes)
    return blobs(metrics=task.metrics, step=step, **changes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    fp.compare(of_names(steps=60, dial=1), ARMS, 2, out=out, progress=False)
    return out


def table(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_each_precision_has_files_of_its_own_that_every_system_can_name():
    texts = [f"mixed;{part}=float32" for part in ("fc*", "fc?", "fc")]
    texts += ["mixed;*=" + "float32," * 99 + end for end in ("x=float16", "y=float16")]
    names = [store.run_path(Path(), text, 3).name for text in texts]
    assert names[0] == "mixed;fc~=float32,seed=3.json" and len({*names}) == len(texts)
    assert not [name for name in names if set(name) & set('<>"/\\|?*')]


def test_a_comparison_with_parts_is_found_again_and_controlled(tmp_path):
    part = "mixed;1=float32"  # the activation between two layers
    arms = ("float32", "float32;*=float32", part, f"{part}@kernels")
    made = fp.compare(blobs(steps=4), arms, 1, out=tmp_path, progress=False)
    single, parts, _, kernels = (made.runs_of(arm)[0] for arm in arms)
    assert parts.history["loss"] == single.history["loss"] and kernels.steps == 4
    assert fp.Comparison.load(tmp_path).done() == {(arm, 0) for arm in arms}
    assert store.run_path(tmp_path, arms[1], 0).is_file()


def test_runs_are_a_row_each(folder):
    rows, runs = table(folder / "runs.csv"), fp.Comparison.load(folder).runs
    assert list(rows[0]) == [
        "arm", "precision", "control", "seed", "dial", "status", "note", "accuracy", "test seed",
        "twice", "test_loss", "steps", "skipped", "final_scale", "bytes_weights", "bytes_masters",
        "bytes_optimizer_state", "bytes_activations", "bytes_gradients", "seconds_per_step",
        "seconds", "processor_seconds", "made",
    ]  # fmt: skip
    assert [(row["arm"], int(row["seed"])) for row in rows] == [(r.precision, r.seed) for r in runs]
    control = next(row for row in rows if row["control"])
    assert (control["arm"], control["precision"], control["control"], control["dial"]) == (
        "float32@order", "float32", "order", "1",
    )  # fmt: skip
    for row, run in zip(rows, runs):
        assert float(row["accuracy"]) == run.metric == run.metrics["accuracy"][-1]
        assert float(row["test seed"]) == run.metrics["seed"][-1]
        assert float(row["test_loss"]) == run.evaluations[-1][2]
        assert int(row["bytes_weights"]) == run.bytes["weights"]
        assert float(row["seconds"]) == run.seconds
    assert {row["status"] for row in rows} == {"finished", "stopped"}


def test_the_history_has_own_columns_and_test_metrics_at_their_steps(folder):
    lines = table(folder / "history.csv")
    assert list(lines[0])[5:] == [
        "step", "loss", "grad_norm", "scale", "skipped", "twice", "test_loss", "accuracy",
        "test seed", "test twice",
    ]  # fmt: skip
    for run in fp.Comparison.load(folder).runs:
        mine = [x for x in lines if (x["arm"], int(x["seed"])) == (run.precision, run.seed)]
        assert len(mine) == run.steps
        tested = [
            (int(x["step"]), float(x["accuracy"]), float(x["test_loss"]))
            for x in mine
            if x["accuracy"]
        ]
        assert tested == run.evaluations and len(tested) >= 1
        assert [float(x["test twice"]) for x in mine if x["test twice"]] == run.metrics["twice"]
        for x in mine:
            loss, twice = float(x["loss"]), float(x["twice"] or "nan")
            assert twice == 2 * loss or (run.status == "stopped" and math.isnan(twice))


def test_a_history_is_read_back_to_the_last_bit_and_another_file_refused(folder, tmp_path):
    first = fp.Comparison.load(folder)
    first.save(tmp_path)
    for name in ("runs.csv", "history.csv", "results.json"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
    (run, *_) = first.runs
    assert run.history["twice"] == [2 * loss for loss in run.history["loss"]]


def test_the_table_for_a_paper_has_every_arm_and_no_bold_number(folder):
    text = (folder / "table.tex").read_text(encoding="utf-8")
    comments = [line for line in text.splitlines() if line.startswith("% ")]
    body = [line for line in text.splitlines() if not line.startswith("% ")]
    assert body[0] == r"\begin{tabular}{lrrrrrrrrlrr}" and body[-1] == r"\end{tabular}"
    rows = [line.removesuffix(r" \\").split(" & ") for line in body if line.endswith(r"\\")]
    assert {len(row) for row in rows} == {12} and r"\textbf" not in text
    head, base, gave_up, control = rows
    assert head[1] == r"accuracy (\%)" and head[2:5] == ["seed", "twice", "test loss"]
    assert gave_up[:3] == [r"\texttt{mixed,loss\_scale=1e+30}", "--", "--"]
    assert gave_up[5:] == ["0/2", *["--"] * 3, "DIVERGED", "--", "--"]
    assert base[-6:] == ["baseline", "", "", "", "", ""]
    assert re.fullmatch(r"\$\d+\.\d\d \\pm \d+\.\d\d\$", base[1])
    assert re.fullmatch(r"\$\[-\d+\.\d\d, \+\d+\.\d\d\]\$", control[7])
    assert control[8:10] == ["--", "control"]
    assert control[0] == r"\texttt{float32@order}" and body.count(r"\midrule") == 2
    said = " ".join(comments)
    assert "paired by seed" in said and "±0.5 points" in said and "dial k = 1" in said


def test_further_metrics_have_two_digits_of_their_deviation_and_names_are_escaped():
    for values, text in (
        *(([0.123456, 0.123556], r"$0.123506 \pm 0.000071$"), ([1234.0, 1300.0], r"$1267 \pm 47$")),
        *(([2.0], "$2.000$"), ([0.0, 0.0], r"$0.0 \pm 0.0$"), ([], "--")),
    ):
        assert rendering.latex_cell(end_tables.spread(*end_tables.moments(values))) == text
    assert rendering.latex_cell(end_tables.p_text(0.0321)) == "$0.032$"
    assert rendering.escaped("a_b 50% {x}^2\n\\~ #1 & $") == (
        r"a\_b 50\% \{x\}\textasciicircum{}2 \textbackslash{}\textasciitilde{} \#1 \& \$"
    )


@pytest.fixture(scope="module")
def validator():
    validation = pytest.importorskip("jsonschema").Draft202012Validator
    validation.check_schema(summary.schema())
    return validation(summary.schema())


def held(folder):
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))


def put(value, *path):
    def change(whole):
        *way, last = path
        for key in way:
            whole = whole[key]
        whole[last] = value

    return change


def test_results_follow_the_published_schema_which_takes_nothing_else(folder, validator):
    validator.validate(held(folder))
    assert held(folder)["schema"] == summary.schema()["$id"] == summary.SCHEMA
    for change in (
        *(put("urn:minifp:results:0", "schema"), put(1, "something else")),
        *(put("done", "runs", 0, "status"), put([[1, 2.0]], "runs", 0, "evaluations")),
        *(put(-1, "runs", 0, "seed"), put("one", "rows", 0, "mean")),
        put({"weights": 1, "stars": 2}, "rows", 0, "bytes"),
        *(put("PERHAPS", "rows", 1, "verdict"), put(0, "task", "margin")),
        lambda whole: whole["runs"][0].pop("metrics"),
    ):
        other = copy.deepcopy(held(folder))
        change(other)
        assert not validator.is_valid(other), change


def test_results_of_another_version_are_not_read(folder, tmp_path):
    for name in ("results.json", "history.csv"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    other = held(folder) | {"schema": "urn:minifp:results:99"}
    (tmp_path / "results.json").write_text(json.dumps(other), encoding="utf-8")
    with pytest.raises(fp.DataError, match="no comparison of this version.*results:99"):
        fp.Comparison.load(tmp_path)


def test_the_documentation_names_every_file_and_every_entry(folder):
    text = (Path(__file__).parents[2] / "docs" / "comparing.md").read_text(encoding="utf-8")
    part = text[text.index("## What comes out") : text.index("## Repeat and merge")]
    named = set(re.findall(r"`([\w./]+)`", part))
    written = {path.name for path in folder.iterdir()}
    assert written <= named and set(summary.schema()["properties"]) <= named
