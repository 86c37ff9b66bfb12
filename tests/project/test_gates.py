"""Claims about what each change must pass: what it may cost, and what runs when."""

import fnmatch
import sys

import pytest
from loading import SCRIPTS, script

ROOT = SCRIPTS.parent
CHANGED, COUNT, NIGHTLY = map(script, ("changed_rooms", "count_code", "nightly"))


def test_who_adds_a_test_takes_as_much_away():
    files = (ROOT / "tests").rglob("*.py")
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    assert lines <= 56_000


def test_who_adds_code_takes_as_much_away_and_the_numbers_follow():
    lines = COUNT.counts()
    wrong = {n: c for n, c in lines.items() if not -COUNT.SLACK <= c - COUNT.ROOMS[n][1] <= 0}
    assert not wrong, "more lines of code than ROOMS allows, or far less: lower the number"
    assert sum(lines.values()) <= COUNT.MOST
    assert sum(lines[name] for name in COUNT.SHOWING) <= COUNT.MOST_SHOWING
    assert COUNT.skips() <= 60 and COUNT.participles() <= COUNT.Counter(COUNT.PARTICIPLES_OF)


def test_lines_of_code_are_those_without_blanks_comments_and_docstrings(tmp_path):
    for name, text, count in (
        ("a.py", '"""A module."""\n\n# why\nx = """\n# text\n\n"""  # y\n', 3),
        ("b.cu", '/* a\nb */ int x; // y\n\nchar *s = "/* s */";\n// z\n', 2),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert COUNT.code_lines(tmp_path / name) == count


@pytest.mark.parametrize(("file", "runs", "leaves"), [
    ("minifp/lab/page/power.py", "lab scope teach shell", "ops nn cuda project compat data"),
    ("minifp/lab/commands/compare.py", "lab shell", "scope ops project"),
    ("minifp/ops/pooling/max_pool.cu", "ops nn optim training cuda lab", "numerics runtime"),
    ("minifp/errors.py", "derive runtime ops cuda shell", "project web"),
    ("minifp/__init__.py", "shell project", "ops lab"),
    ("models/lenet.py", "lab scope compat", "nn cuda"),
    ("exhibits/gan.py", "exhibits", "lab scope models project"),
    ("docs/gpu.md", "project", "ops lab"),
    ("tests/lab/test_run.py", "lab", "scope ops"),
    ("tests/update_rules.py", "optim training cuda", "ops lab"),
    ("tests/conftest.py", "ops lab project", ""),
])  # fmt: skip
def test_a_change_asks_for_the_tests_of_its_room_and_of_those_above(file, runs, leaves):
    layout, *folders = CHANGED.tests_of([file])
    assert layout == CHANGED.LAYOUT
    assert {f"tests/{name}" for name in runs.split()} <= {*folders}
    assert not {f"tests/{name}" for name in leaves.split()} & {*folders}


def test_each_nightly_part_names_what_there_is():
    folders = [ROOT / name for name in ("minifp", "notebooks", "scripts", "tests", "web")]
    paths = [*ROOT.glob("*"), *folders, *(path for f in folders for path in f.rglob("*"))]
    names = [str(path.relative_to(ROOT)) for path in paths]
    for name, part in NIGHTLY.PARTS.items():
        files = (part.tests + " " + part.files).split()
        missing = [f for f in files if not fnmatch.filter(names, f)]
        assert (part.tests or part.script) and not missing, name


def test_no_test_is_left_out_of_the_nightly_run():
    """The exhaustive part leaves out what others have, and nothing else."""
    whole = NIGHTLY.PARTS["exhaustive"].whole
    words = NIGHTLY.command("exhaustive", "python", ["tests"], whole, "report")
    left_out = {word.removeprefix("--ignore=") for word in words if word.startswith("--ignore=")}
    own = [part.tests.split() for part in NIGHTLY.PARTS.values() if part.own]
    assert left_out == {path for paths in own for path in paths}
    assert not {"-m", "-k", "--all"} & {*words[3:]} and "--cov-fail-under=95" in words
    some = NIGHTLY.command("exhaustive", "python", ["tests/project"], "-m nightly", "report")
    assert not any(word.startswith("--cov") for word in some)  # some tests cannot reach the floor


def test_a_change_asks_for_the_nightly_parts_of_its_files_alone(monkeypatch):
    recorded = {name: {"commit": "c", "result": "passed"} for name in NIGHTLY.PARTS}
    ran = []

    def git(*words):
        return "CONTRIBUTING.md" if words[0] == "diff" and "CONTRIBUTING.md" in words else "0"

    def run(name, *_, **__):
        ran.append(name)
        return {"result": "failed with 1"}

    monkeypatch.setattr(NIGHTLY, "recorded", lambda: recorded)
    monkeypatch.setattr(NIGHTLY, "differing", lambda commit, files: [
        file for file in files.split() if file == "CONTRIBUTING.md"])  # fmt: skip
    monkeypatch.setattr(NIGHTLY, "git", git)
    monkeypatch.setattr(NIGHTLY, "run", run)
    assert not NIGHTLY.nightly_of_changes() and ran == ["recipes"]


def test_without_a_commit_that_git_knows_no_part_runs_and_it_is_said(monkeypatch, capsys):
    recorded = {"recipes": {"commit": "c", "result": "passed"}}
    monkeypatch.setattr(NIGHTLY, "recorded", lambda: recorded)
    monkeypatch.setattr(NIGHTLY, "git", lambda *_: None)
    assert NIGHTLY.nightly_of_changes()
    assert "git knows no commit" in capsys.readouterr().out


def test_a_part_beyond_its_limit_is_ended_and_recorded(monkeypatch, tmp_path):
    part = NIGHTLY.Part("tests", minutes=0)
    monkeypatch.setattr(NIGHTLY, "PARTS", {"long": part})
    monkeypatch.setattr(NIGHTLY, "RECORD", tmp_path / "nightly.json")
    monkeypatch.setattr(NIGHTLY, "command", lambda *_: [sys.executable, "-c", "input()"])
    assert not NIGHTLY.nightly(["long"])
    assert NIGHTLY.recorded()["long"]["result"] == "took more than 0 minutes"
