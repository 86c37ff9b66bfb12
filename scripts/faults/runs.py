"""Tests of a scratch copy of a checkout, with a fault or without."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

WALL = 900  # seconds that a run may stand still for: threads may wait for each other
FLAGS = ["-x", "-q", "-m", "not site", "-p", "no:randomly", "-p", "no:cacheprovider"]
FLAGS += ["-p", "pytest_order", "--tb=line"]


@dataclass
class Outcome:
    """verdict: "killed", "timed out", or "survived"; killer: the test, and what it said."""

    verdict: str
    killer: str = ""
    why: str = ""
    tests: tuple = ()  # that were run
    items: int = 0
    stopped: bool = False
    durations: dict | None = None
    failures: tuple = ()


class Scratch:
    """A copy of a checkout's files, with the tests of a folder, that faults are planted in."""

    def __init__(self, work, checkout, tests, seed):
        self.work, self.root = Path(work), Path(work) / "checkout"
        self.seed = seed
        copy_tracked(checkout, self.root)
        if tests != checkout / "tests":
            shutil.rmtree(self.root / "tests", ignore_errors=True)
            compiled = shutil.ignore_patterns("__pycache__")
            shutil.copytree(tests, self.root / "tests", ignore=compiled)
        for name in ("kernels", "tmp"):
            (self.work / name).mkdir(exist_ok=True)

    def environment(self, plan):
        """That of the tests: with caches of their own, as what is compiled here is of no use."""
        path = os.pathsep.join([str(self.root), str(Path(__file__).parent)])
        own = {"FAULTS_PLAN": str(plan), "PYTHONPATH": path, "MINIFP_SAMPLE_SEED": self.seed}
        own |= {"NUMBA_CACHE_DIR": str(self.work / "kernels"), "TMPDIR": str(self.work / "tmp")}
        return {**os.environ, **own}

    def run(self, tests, limit, *, names=(), stems=(), reach=(), broken=(), measure=None,
            include=(), all_failures=False, limit_of_one=100):  # fmt: skip
        """The outcome of some tests. limit, limit_of_one: seconds of processor time."""
        report, plan = self.work / "report.jsonl", self.work / "plan.json"
        report.write_text("")
        words = {
            "report": str(report), "limit": limit, "limit_of_one": limit_of_one,
            "names": [*names], "stems": [*stems], "reach": [*reach], "broken": [*broken],
            "measure": measure and str(measure), "include": [*include],
        }  # fmt: skip
        plan.write_text(json.dumps(words))
        flags = [flag for flag in FLAGS if not (all_failures and flag == "-x")]
        flags += [f"--ignore={test.split()[0]}" for test in broken if "::" not in test]
        command = [sys.executable, "-m", "pytest", *flags, *tests]
        with (self.work / "output.txt").open("w") as output:
            process = subprocess.Popen(
                command, cwd=self.root, env=self.environment(plan), start_new_session=True,
                stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            hung = waited(process, report)
        shutil.rmtree(self.work / "tmp" / "pytest-of-root", ignore_errors=True)
        return outcome_of(report, process.returncode, hung)


def waited(process, report):
    """Whether a process had to be ended because it no longer does anything."""
    last = None
    while True:
        try:
            process.wait(WALL)
            return False
        except subprocess.TimeoutExpired:
            now = report.stat().st_size
            if now == last:
                os.killpg(process.pid, 9)
                process.wait()
                return True
            last = now


def outcome_of(report, code, hung):
    """What a run's report and exit status say."""
    told = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    tests = [line["test"] for line in told if "test" in line]
    failures = [(line["failed"], line["why"]) for line in told if "failed" in line]
    stopped = any("left" in line for line in told)
    items = next((line["items"] for line in told if "items" in line), 0)
    took = [line["took"] for line in told if "took" in line]
    kept = {
        "tests": tests[: len(tests) - stopped], "items": items, "stopped": stopped,
        "durations": dict(zip(tests, took)), "failures": tuple(failures),
    }  # fmt: skip
    if failures:
        return Outcome("killed", *failures[0], **kept)
    last = tests[-1] if tests else "collecting"
    if hung or code == -24:  # SIGXCPU
        return Outcome("timed out", last, "", **kept)
    if code not in (0, 5) and not stopped:
        return Outcome("killed", last, f"the process ended with {code}", **kept)
    return Outcome("survived", **kept)


def copy_tracked(checkout, root):
    """The files that git knows or does not ignore."""
    command = ["git", "-C", str(checkout), "ls-files", "-coz", "--exclude-standard"]
    done = subprocess.run(command, capture_output=True, check=True)
    shutil.rmtree(root, ignore_errors=True)
    for name in filter(None, done.stdout.decode().split("\0")):
        source, target = checkout / name, root / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
