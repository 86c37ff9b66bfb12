"""The recipes of CONTRIBUTING.md, done as they are printed in a copy of the checkout."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.nightly
ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = TEXT[TEXT.index("## Add an operation") : TEXT.index("## How a test is written")]
STEPS = re.findall(r"^```(\w+)\n(.*?)^```", RECIPES, re.MULTILINE | re.DOTALL)
NEEDED = "minifp models exhibits scripts tests pyproject.toml docs README.md".split()


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    copy = tmp_path_factory.mktemp("checkout")
    left_out = shutil.ignore_patterns("__pycache__", "bundled.*", "*.pyc")
    for name in NEEDED:
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, copy / name, ignore=left_out)
        else:
            shutil.copy(path, copy)
    return copy


def write(folder, block):
    """Do what a block says: its first line names the file, and the place in it."""
    head, _, body = block.partition("\n")
    where, _, name = head.removeprefix("# ").rpartition(" ")
    path = folder / name
    if not where:
        assert not path.exists()
        path.write_text(body, encoding="utf-8")
        return
    text = path.read_text(encoding="utf-8")
    changed = text + body  # "at the end of", "a line of"
    if where == "among the imports of":
        changed = text.replace('"""\n\n', '"""\n\n' + body, 1)
    elif named := re.fullmatch("in (.+) of", where):
        changed = re.sub(rf"^{named[1]} = .\n", lambda m: m[0] + body, text, count=1, flags=re.M)
    assert changed != text
    path.write_text(changed, encoding="utf-8")


def run(folder, line):
    python, *words = shlex.split(line)
    assert python == "python"
    options = ["-p", "no:cacheprovider"] if "pytest" in words else []
    done = subprocess.run(
        [sys.executable, *words, *options],
        cwd=folder, capture_output=True, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_recipes_work_as_printed(checkout):
    """Each step in its order: what is written, and what is then run, which finds the new tests."""
    pytest.importorskip("numba")
    passed = []
    for language, block in STEPS:
        if language != "sh":
            write(checkout, block)
            continue
        for line in block.splitlines():
            output = run(checkout, line)
            passed += [int(n) for n in re.findall(r"(\d+) passed", output)]
    assert len(passed) == 3 and min(passed) > 0, "one line of tests for each of three recipes"
    tables = (checkout / "minifp" / "nn" / "functional.py").read_text(encoding="utf-8")
    assert "bent_identity" in tables
