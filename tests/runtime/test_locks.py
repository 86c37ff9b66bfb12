"""Claims about who may write: one at a time, whoever ends how."""

import json
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

from minifp.runtime import locks

TESTS = Path(__file__).resolve().parents[1]
COUNT = """
from pathlib import Path
from minifp.runtime import locks
for _ in range(100):
    with locks.alone(Path("count.lock"), "another counts"):
        Path("count").write_text(str(1 + int(Path("count").read_text("ascii"))), "ascii")
"""
GUESS = """
from minifp.teach import progress
for i in range(20):
    progress.keep("predictions", f"{name} {i}", "a guess")
"""
RUNS = """
from lab_blobs import blobs
import minifp as fp
fp.compare(blobs(), precisions=["float32"], seeds=[int(name), int(name) + 2], out="out",
           progress=False)
"""
HOLD = """
from pathlib import Path
from minifp.runtime import locks
with locks.alone(Path("one.lock"), "another"):
    print("held", flush=True)
    input()
"""


def start(code, folder, name="0"):
    code = f"import sys; sys.path.append({str(TESTS)!r}); name = {name!r}\n{code}"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "encoding": "utf-8"}
    return subprocess.Popen([sys.executable, "-c", code], cwd=folder, **pipes)


@pytest.mark.skipif(sys.platform == "emscripten", reason="it has one process")
@pytest.mark.parametrize("code", [COUNT, GUESS, RUNS], ids=["count", "guesses", "runs"])
def test_two_programs_at_once_lose_nothing(code, tmp_path, monkeypatch):
    (tmp_path / "count").write_text("0", "ascii")
    monkeypatch.setenv("MINIFP_TEACH_FILE", str(tmp_path / "progress.json"))
    processes = [start(code, tmp_path, name) for name in "01"]
    assert [(process.communicate(), process.returncode)[1] for process in processes] == [0, 0]
    if code == COUNT:
        assert (tmp_path / "count").read_text("ascii") == "200"
    elif code == GUESS:
        kept = json.loads((tmp_path / "progress.json").read_text("utf-8"))
        assert len(kept["predictions"]) == 40
    else:
        results = json.loads((tmp_path / "out" / "results.json").read_text("utf-8"))
        assert sorted(run["seed"] for run in results["runs"]) == [0, 1, 2, 3]
    assert not [*tmp_path.rglob("*.lock")]


def test_who_was_killed_keeps_nobody_out(tmp_path):
    holder = start(HOLD, tmp_path)
    assert holder.stdout.readline() == "held\n"
    with pytest.warns(RuntimeWarning, match="another is at it for .* is not waited for any more"):
        with locks.alone(tmp_path / "one.lock", "another is at it", patience=0.1):
            pass
    holder.kill()
    holder.communicate()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with locks.alone(tmp_path / "one.lock", "another is at it", patience=20):
            with locks.alone(tmp_path / "one.lock", "another is at it", patience=0):
                pass  # it is the same one's


def test_threads_take_turns(tmp_path):
    inside = []

    def go():
        for _ in range(20):
            with locks.alone(tmp_path / "one.lock", "another"):
                inside.append(1)
                assert len(inside) == 1
                inside.pop()

    threads = [threading.Thread(target=go) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    with locks.alone(tmp_path / "new" / "one.lock", "another"):  # nobody waits
        assert (tmp_path / "new").is_dir()
    assert not inside and not [*tmp_path.iterdir()]
