"""SECURITY.md: each promise names a test that is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_each_promise_names_a_test_that_is_there():
    lines = (ROOT / "SECURITY.md").read_text(encoding="utf-8").splitlines()
    promises = [line for line in lines if line.startswith("- ")]
    named = [re.search(r"`(tests/\S+\.py)::(test_\w+)`$", line) for line in promises]
    assert len(promises) > 10 and all(named)
    for file, test in (match.groups() for match in named):
        assert f"\ndef {test}(" in (ROOT / file).read_text(encoding="utf-8"), test
