"""The gallery: what is trained for a claim, and what is said of it."""

import json
import re

import pytest
from click.testing import CliRunner
from lab_blobs import blobs

import minifp as fp
from minifp.cli import main
from minifp.errors import ArgumentError
from minifp.lab.conclusions.rows import Row
from minifp.lab.exhibits import Exhibit, Published, showing
from minifp.lab.exhibits.classification import EXHIBITS
from minifp.lab.exhibits.exhibit import SCALES
from minifp.lab.exhibits.showing import Line
from minifp.lab.exhibits.shown import finding

LIMIT = 6e6  # multiply-adds a picture


def small(scale):
    return blobs(steps={"quick": 2, "evening": 4, "full": 8}[scale])


@pytest.fixture
def wing(monkeypatch):
    """One exhibit, of a task that trains in no time."""
    numbers = Published(70.0, 70.1, "accuracy, %", "a paper, table 1")
    one = Exhibit("blobs", "Blobs", "it matches", numbers, small, ("mixed,loss_scale=1", "mixed"))
    monkeypatch.setattr(showing, "WINGS", {"classification": (one,)})


def test_the_command_trains_keeps_and_goes_on(wing, tmp_path):
    words = ["gallery", "--quick", "-q", "--out", str(tmp_path), "--figures", "none", "--seeds"]
    for seeds in ("2", "3"):
        result = CliRunner().invoke(main, [*words, seeds], catch_exceptions=False)
        assert result.exit_code == 0 and "70.00 / 70.10" in result.output
    held = json.loads((tmp_path / "gallery.json").read_text(encoding="utf-8"))
    (blob,) = held["exhibits"]
    assert blob["seeds"] == [0, 1, 2] and blob["results"].keys() == {
        "float32", "mixed,loss_scale=1", "mixed"
    }  # fmt: skip
    lines = (tmp_path / "gallery.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + 3 * 3
    assert 'href="blobs/report.html"' in (tmp_path / "gallery.html").read_text(encoding="utf-8")
    assert "| Blobs | 70.00 / 70.10 |" in (tmp_path / "gallery.md").read_text(encoding="utf-8")
    dry = CliRunner().invoke(main, [*words, "4", "--dry-run"]).output
    assert "12 runs, 9 of which are there" in dry


def test_another_scale_does_not_mix_with_what_is_there(wing, tmp_path):
    fp.gallery(scale="quick", seeds=1, out=tmp_path, progress=False)
    with pytest.raises(ArgumentError, match="steps was 2 and is now 4"):
        fp.gallery(scale="evening", seeds=1, out=tmp_path, progress=False)


def test_what_is_not_there_is_refused():
    with pytest.raises(ArgumentError, match="seeds=0: expected how many"):
        fp.gallery("vgg-d", seeds=0)
    with pytest.raises(ArgumentError, match="expected vgg-d"):
        fp.gallery("vgg-e")
    with pytest.raises(ArgumentError, match="nothing of this at the scale 'quick'"):
        fp.gallery("preact-resnet-50-techniques", scale="quick")
    with pytest.raises(ArgumentError, match="'quick', 'evening', 'full'"):
        fp.gallery("vgg-d", scale="large")


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda e: e.name)
def test_networks_are_as_small_as_is_said(exhibit):
    """Tasks of all scales are built without their pictures."""
    tasks = [exhibit.task(scale) for scale in SCALES]
    assert len({(task.epochs, exhibit.seeds[s]) for task, s in zip(tasks, SCALES)}) == 3
    found = fp.summary(tasks[0].model, (3, 32, 32), precisions=["mixed"])
    assert found.multiply_adds <= LIMIT and found.layers[0].output == (1, 10)


@pytest.mark.parametrize(
    "without, scaled, said",
    [
        ("EQUIVALENT", "EQUIVALENT", "as in the paper"),
        ("DIFFERENT", "EQUIVALENT", "not as in the paper: without .* with a dynamic scale it does"),
        ("DIVERGED", "INCONCLUSIVE", "nor, so far, with it"),
        (
            "INCONCLUSIVE",
            "EQUIVALENT",
            "about 7 seeds would decide; with a .* it matches",
        ),
    ],
)
def test_a_finding_is_what_the_verdicts_say(without, scaled, said):
    rows = [Row("mixed", n=5, verdict=verdict, needed=7) for verdict in (without, scaled)]
    assert re.search(said, finding(Line(EXHIBITS[0], Row("float32", n=5), *rows, 1.0)))
