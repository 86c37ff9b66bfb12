"""Comparisons without what takes most of their time, and what of them is really trained."""

import pytest

from minifp.lab.workers import in_process


@pytest.fixture(scope="module")
def no_pictures():
    """Pages are made without them, in a tenth of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("minifp.report.drawing.is_available", lambda: False)
        yield


@pytest.fixture
def trained(monkeypatch):
    """The (arm, seed) pairs that are trained in this process from now on, in order."""
    pairs, train = [], in_process.train

    def counted(task, arm, seed, *args, **kwargs):
        pairs.append((arm, seed))
        return train(task, arm, seed, *args, **kwargs)

    monkeypatch.setattr(in_process, "train", counted)
    return pairs
