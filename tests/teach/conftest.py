"""Progress of its own for each test, which begins outside of any lesson."""

import pytest

from minifp.teach import checking, lessons, progress


@pytest.fixture(autouse=True)
def own_file(tmp_path, monkeypatch):
    file = tmp_path / "kept" / "progress.json"
    monkeypatch.setenv(progress.ENVIRONMENT, str(file))
    monkeypatch.setattr(checking, "_tries", {})
    monkeypatch.setattr(lessons, "current", None)
    monkeypatch.chdir(tmp_path)
    return file
