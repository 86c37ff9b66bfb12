"""The exhibits of speech recognition, on tones in place of the recordings."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import recordings

import minifp as fp
from minifp import data
from minifp.exhibits import speech
from minifp.lab.exhibits.exhibit import SCALES

TINY = {"features": 40, "hidden": 8, "layers": 1, "channels": (2, 2), "context": 1}


@pytest.fixture
def tones(tmp_path, monkeypatch):
    monkeypatch.setenv("MINIFP_DATA", str(recordings.write_folder(tmp_path / "tones")))
    monkeypatch.setattr(speech, "SIZES", {**speech.SIZES, **TINY})
    for lengths in ("KNOWN", "NEW"):
        monkeypatch.setattr(speech, lengths, dict.fromkeys(SCALES, (24, 10, 1)))


def test_the_exhibit_trains_in_all_precisions_and_keeps_what_was_recognised(tones, tmp_path):
    shown = fp.gallery("spoken-digits", "quick", seeds=1, out=tmp_path / "kept", progress=False)
    (line,) = shown.lines
    assert {run.precision for run in shown.comparisons[0].runs} == {
        *("float32", "mixed", "mixed,loss_scale=1", "float32@order", "float32@ulp")
    }  # fmt: skip
    for run in shown.comparisons[0].runs:
        assert run.metric == run.metrics["CER"][-1]
        assert run.metrics["string error rate"][-1] >= 0
        kept = (tmp_path / "kept").rglob("recognised.txt")
        assert all(len(path.read_text(encoding="utf-8").splitlines()) == 10 for path in kept)
    assert "2.20 / 1.99" in shown.table() and line.exhibit.published.mixed == 1.99


def test_what_is_recognised_is_compared_with_what_was_meant(tones):
    """A model that always says 1 2, whatever it hears."""
    _, test_set = speech.strings(2, 10)
    said = np.full((5, 11), -9.0, np.float32)
    said[range(5), [0, 2, 2, 0, 3]] = 9

    def model(x, lengths):
        return fp.tensor(np.repeat(said[:, None], len(x), 1)), fp.tensor(np.full(len(x), 5))

    found = speech.recognised(SimpleNamespace(model=model), test_set)
    errors = [fp.lab.edit_distance("12", test_set.text(labels)) for labels in test_set.labels]
    assert found["CER"] == pytest.approx(100 * sum(errors) / sum(map(len, test_set.labels)))
    assert found["string error rate"] == 100 * np.mean(np.array(errors) > 0)
    assert found["recognised"].splitlines()[0] == f"{test_set.text(test_set.labels[0])} 12"
    said[0, 0] = np.nan
    found = speech.recognised(SimpleNamespace(model=model), test_set)
    assert all(math.isnan(v) for v in found.values()) and "CER" in found


def test_a_new_speaker_is_heard_in_tests_alone(tones):
    for speaker in (None, "bert"):
        task = speech.recogniser("evening", name="tones", speaker=speaker)
        train, test = task.data()
        assert bool({*train.speakers} & {*test.speakers}) == (speaker is None)
        assert train.alphabet == data.strings.DIGITS and train.inputs[0].shape[1] == 40
