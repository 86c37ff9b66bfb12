"""`minifp teach grade`: what is right earns its point, and nothing else does."""

import csv
import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from terminals import call

from minifp.runtime import confinement
from minifp.teach.exercise import all_exercises, drawn_from
from minifp.teach.grading.grade import Runner
from minifp.teach.grading.process import Limits, Process

SOURCES = Path(__file__).resolve().parents[2] / "notebooks" / "source"
NAME = "rounding_error"  # of lesson 13; the right function is 2.0 ** -(bits + 1)
# Each is the body of a function that then returns 1.0, which is wrong: (body, what it is held to, a
# part of the reason).
WRONG, KILLED = "and you say 1", "no answer after 1 seconds"
FILES, CHILDREN, NETWORK = confinement.FILES, confinement.CHILDREN, confinement.NETWORK
ATTACKS = {
    "check is replaced": ("from minifp import teach; teach.check = lambda *a: True", "", WRONG),
    "the judge is replaced": (
        "from minifp.teach.exercise import all_exercises as every\n"
        "object.__setattr__(every()['rounding_error'], 'judge', lambda answer: None)", "", WRONG,
    ),
    "== is always true": (
        "class Yes(float):\n  __eq__ = __ne__ = __le__ = lambda *a: True\nreturn Yes(1)", "", WRONG,
    ),
    "an object that unpickles": (
        "class Evil:\n  __reduce__ = lambda self: (print, (1,))\nreturn Evil()", "", "a Evil",
    ),
    "frames are searched": (
        "import sys\nframe = sys._getframe()\nwhile frame:\n  if 'right' in frame.f_locals:\n"
        "    return frame.f_locals['right']\n  frame = frame.f_back", "", WRONG,
    ),
    "modules are exchanged": (
        "import sys, types\nfor name in [*sys.modules]:\n  if 'checking' in name:\n"
        "    sys.modules[name] = types.SimpleNamespace(judged=lambda *a: '')", "", WRONG,
    ),
    "it speaks at its end": (
        "import atexit, os\natexit.register(os.write, 1, b'1')\nraise SystemExit", "", "SystemExit",
    ),
    "its process ends": ("import os; os._exit(0)", "", "its process ended with the exit code 0"),
    "output is faked": (
        "import os\nprint('1 point', flush=True)\nfor pipe in range(3, 40):\n"
        "  try: os.write(pipe, b'points,1,' * 8)\n  except OSError: pass", "", "bytes: expected",
    ),
    "more is answered than is asked": (
        "from minifp.teach.grading import wire\nimport os\nfor pipe in range(3, 40):\n"
        "  try: os.write(pipe, 99 * wire.packed(['result', 1.0]))\n  except OSError: pass",
        "", WRONG,
    ),
    "a file is written": ("open({target!r}, 'w').write('x')", confinement.WRITING, "Error"),
    "a file is made elsewhere": ("open({target!r}, 'w')", FILES, "PermissionError"),
    "a file is removed": ("import os; os.remove({other!r})", FILES, "PermissionError"),
    "another's answer is read": ("return eval(open({other!r}).read())", FILES, "PermissionError"),
    "an endless loop": ("while True: pass", "", KILLED),
    "all memory": ("x = [bytearray(2**28) for _ in range(99)]", confinement.MEMORY, "MemoryError"),
    "a fork bomb": ("import os\nwhile True: os.fork()", CHILDREN, "PermissionError"),
    "a child that stays": (
        "import subprocess as s; s.Popen(['sleep', '99'], start_new_session=True)", CHILDREN,
        "PermissionError",
    ),
    "the cases of lessons by heart": (
        "known = 2, 3, 7, 10, 23, *__import__('numpy').random.default_rng(0).integers(4, 40, 5)\n"
        "if bits in known: return 2.0 ** -(bits + 1)", "", WRONG,
    ),
    "the grading process is killed": ("import os; os.kill(os.getppid(), 9)", CHILDREN, "Errno 1"),
    "its memory is read": ("import os; open(f'/proc/{{os.getppid()}}/mem')", FILES, "Errno 13"),
    "its output is written to": (
        "import os; open(f'/proc/{{os.getppid()}}/fd/1', 'w')", FILES, "PermissionError",
    ),
    "the network": ("import socket; socket.socket()", NETWORK, "PermissionError"),
    "rights are changed": ("import os; os.chmod({other!r}, 0)", CHILDREN, "PermissionError"),
    "times are changed": ("import os; os.utime({other!r}, (0, 0))", CHILDREN, "PermissionError"),
    "it would be root elsewhere": (
        "import ctypes; return ctypes.CDLL(None).unshare(0x10000000)", CHILDREN, "and you say -1",
    ),
    "limits are lifted": (
        "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (99, 99))", CHILDREN, "Error",
    ),
    "a message without end": ("return [0] * 400_000", "", "bytes: expected"),
    "an answer without end": ("return iter(int, 1)", "", KILLED),
}  # fmt: skip


def as_function(body, **names):
    lines = body.format(**names).splitlines() if "{" in body else body.splitlines()
    return "\n  ".join([f"def {NAME}(bits):", *lines, "return 1.0\n"])


@pytest.mark.parametrize("name", ATTACKS)
def test_no_attack_earns_a_point_or_reaches_anything(name, tmp_path):
    body, held_to, reason = ATTACKS[name]
    target, other = tmp_path / "made", tmp_path / "bert.py"
    other.write_text("2.0 ** -(bits + 1)", encoding="utf-8")
    source = as_function(body, target=str(target), other=str(other))
    limits = Limits(1 if reason == KILLED else 30, 2**30)
    with Runner([("anna.py", source)], limits) as runner, drawn_from(8):
        mark = runner.mark(all_exercises()[NAME])
        if held_to and held_to not in runner.held:
            pytest.skip(f"this system does not hold a process to: {held_to}")
        assert mark.points == 0 and reason in mark.reason, mark.reason
        again = runner.mark(all_exercises()["amdahl"])  # and the next exercise is graded
    assert again.reason == "not in the file"
    assert other.stat().st_mode & 0o400 and not (target.exists() and target.read_bytes())


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux holds it all")
def test_linux_holds_everything():
    process = Process([("anna.py", "")], Limits(2))
    process.end()
    assert process.held == [*confinement.ALL] and not os.path.exists(process.folder)
    assert process.process.poll() is not None


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A class of which one has all of lessons 1, 5 and 13, and others have not."""
    folder = tmp_path_factory.mktemp("class") / "submitted"
    (folder / "anna" / ".ipynb_checkpoints").mkdir(parents=True)
    for name in ("01-sixteen-bits", "05-the-bathtub", "13-float16-strikes-back"):
        shutil.copy(SOURCES / f"{name}.py", folder / "anna")
    cells = ["%matplotlib inline\nzero_up_to = 2**-25", "def f(:", "trained = forever()", "=1+1"]
    cells += ["half = 1024\nhalf -= 1", "below_normal = half"]
    cells += ["def gap_above(x): raise OSError('\x1b[31m')"]
    told = [{"cell_type": "code", "source": [source]} for source in cells]
    (folder / "bert.ipynb").write_text(json.dumps({"cells": told}), encoding="utf-8")
    (folder / "=cleo().ipynb").write_text("{", encoding="utf-8")
    (folder / "dora.py").write_text("clipped = ...", encoding="utf-8")
    result = call("teach", "grade", folder, "--out", folder.parent / "g.csv", "--seed", 7, "-q")
    with open(folder.parent / "g.csv", encoding="utf-8", newline="") as file:
        return result, [*csv.DictReader(file)]


def test_a_class_is_graded_with_a_reason_for_each_missing_point(graded):
    result, rows = graded
    assert result.exit_code == 0, result.output
    cleo, anna, bert, dora = rows
    assert anna["points"] == anna["of"] == "10" and not anna["remarks"]
    assert (bert["points"], bert["zero_up_to"], bert["below_normal"]) == ("2", "1", "1")
    assert bert["gap_above: reason"] == "it raised OSError: [31m (line 1 of cell 7)"
    assert bert["clipped: reason"] == "not in the file" and "cell 2 is no Python" in bert["remarks"]
    assert cleo["student"] == "'=cleo()" and "cannot be read: JSONDecodeError" in cleo["remarks"]
    assert (dora["points"], dora["clipped: reason"]) == ("0", "it is not written yet")
    words = " ".join(result.output.split())
    assert "4 students, 10 exercises" in words and "seed 7: --seed 7" in words
    assert "gap_above: it raised OSError" in words and "1 round_f16, 2 zero_up_to" in words


@pytest.mark.slow
def test_every_solution_of_the_lessons_earns_its_point(tmp_path):
    shutil.copytree(SOURCES, tmp_path / "all" / "teacher")
    said = call("teach", "grade", tmp_path / "all", "--seconds", 60, "-q").output
    assert f" {len(all_exercises())}\n" in said and ": " not in said.split("Exe")[0]


def test_a_folder_without_exercises_is_refused(tmp_path):
    for text, said in (("", "has no notebooks"), ("x = 1", "has an exercise of a lesson")):
        if text:
            (tmp_path / "anna.py").write_text(text, encoding="utf-8")
        result = call("teach", "grade", tmp_path, "-q")
        assert result.exit_code == 2 and said in " ".join(result.output.split())
