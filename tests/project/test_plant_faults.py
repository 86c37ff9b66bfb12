"""scripts/plant_faults.py: which faults it draws, and that it tells which of them tests see."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
from faults import cuda_sites, mutants, sites  # noqa: E402

PYTHON = """
def f(x, n: a < b = 1) -> c + d:
    "x + y"
    {}
def __repr__(self):
    return x + y
"""


def becomes(line, find, text="{}"):
    result, lines = {}, text.format(line).splitlines()
    for site in find(text.format(line)):
        old = lines[site.line - 1]
        new = (old[: site.start] + site.new + old[site.stop :]).strip()
        result.setdefault(site.operator, set()).add(new)
    return result


@pytest.mark.parametrize(("line", "expected"), [
    ("if x < n: pass", {"bound": {"if x <= n: pass"}}),
    ("for i in range(n): pass", {"bound": {"for i in range(n - 1): pass"}}),
    ("y = x * n", {"term": {"y = x"}}),
    ("y = x + n", {"term": {"y = x", "y = x - n", "y = x + 2 * n"}}),
    ("y = x.sum(axis=-1)", {"stride": {"y = x.sum(axis=0)"}}),
    ("y = x[i, j]", {"stride": {"y = x[j, i]"}}),
    ("with LOCK: pass", {"barrier": {"if True: pass"}}),
    ("blocks = -(-n // m)", {"tail": {"blocks = (n // m)"}}),
    ("return dx, dw", {"swap": {"return dw, dx"}}), ("y = downcast(x, n)", {"format": {"y = x"}}),
    ("y -= x", {"sign": {"y += x"}}), ('raise ValueError(f"{x + 1}")', {}), ('y = "a" + x', {}),
])  # fmt: skip
def test_faults_in_python_are_edits_of_arithmetic_alone(line, expected):
    assert becomes(line, sites.sites_of, PYTHON) == expected


@pytest.mark.parametrize(("line", "operator", "new"), [
    ("if (i < n) a;  // i < n", "bound", "if (i <= n) a;  // i < n"),
    ("s = a + b;", "term", "s = a - b;"), ("s = x[i];", "stride", "s = x[i + 1];"),
    ("__syncthreads();", "barrier", ""), ("u += all_threads()", "tail", "u += (1ll << 40)"),
    ("s = c ? a : b;", "swap", "s = c ? b : a;"), ("double s;", "format", "float s;"),
    ("store(y, i, v);", "sign", "store(y, i, -(v));"),
])  # fmt: skip
def test_faults_in_cuda_texts_are_edits_of_tokens(line, operator, new):
    assert new in becomes(line, cuda_sites.sites_of)[operator]


def test_a_seed_draws_the_same_faults_again_in_all_rooms_and_by_all_operators():
    root, rooms = SCRIPTS.parent, [*mutants.ROOMS]
    first, again, other = (mutants.drawn(root, seed, 48, rooms) for seed in ("a", "a", "b"))
    assert first == again != other and len(first) == 48
    assert {m.room for m in first} == {*rooms}
    assert {m.operator for m in first} == {*mutants.OPERATORS}
    for mutant in first:
        lines = (root / mutant.file).read_text(encoding="utf-8").split("\n")
        assert lines[mutant.line - 1] == mutant.old != mutant.new


DOUBLE = "def double(x):\n    return x + x\n"
UNSEEN = "\n\ndef unseen(x):\n    return x * 2.0\n"
TESTS = """
from minifp.{}.a import double

def test_double_that_is_broken():
    assert double(1) == 3

def test_a():
    assert double(2.0) == 4, double
"""


def test_what_tests_see_is_killed_the_rest_survives_and_the_checkout_stays_as_it_is(tmp_path):
    sources = {"optim": DOUBLE + UNSEEN, "ops": DOUBLE}
    for room, text in sources.items():
        for path in (tmp_path / "minifp" / room / "a.py", tmp_path / "tests" / room / "test_a.py"):
            path.parent.mkdir(parents=True)
            (path.parent / "__init__.py").touch()
            path.write_text(TESTS.format(room) if "test" in path.stem else text, encoding="utf-8")
    (tmp_path / "minifp" / "__init__.py").touch()
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    command = [sys.executable, SCRIPTS / "plant_faults.py", "--checkout", tmp_path, "--count", "9"]
    command += ["--list", tmp_path / "list.csv", "--work", tmp_path / "work"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "list.csv").open(encoding="utf-8") as file:
        rows = [row.values() for row in csv.DictReader(file)]
    verdicts = [(room, line, after) for room, _, line, *_, after, _, _, _ in rows]
    killed = [("ops", "2", "killed"), ("optim", "2", "killed")]
    assert verdicts == [*killed, ("optim", "6", "survived")] and "1 survived" in done.stdout
    assert all("::test_a: AssertionError" in killer for *_, killer, _, _ in rows[:2])
    assert all((tmp_path / "minifp" / room / "a.py").read_text("utf-8") == sources[room]
               for room in sources)  # fmt: skip
