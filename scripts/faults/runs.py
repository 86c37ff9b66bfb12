"""Tests of a scratch copy of a checkout, with a fault or without."""

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from select import select

WALL = 240  # seconds that a run may stand still for: threads may wait for each other
WRONG = 70  # the exit status of a fork that failed itself
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
    seconds: float = 0.0  # of processor time


class Scratch:
    """A copy of a checkout's files, with the tests of a folder, that faults are planted in."""

    def __init__(self, work, checkout, tests, seed):
        self.work, self.root = Path(work), Path(work) / "checkout"
        self.seed, self.report = seed, self.work / "report.jsonl"
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

    def plan(self, limit, *, names=(), stems=(), reach=(), broken=(), measure=None, include=(),
             limit_of_one=100):  # fmt: skip
        """What a process is told. limit, limit_of_one: seconds of processor time."""
        self.report.write_text("")
        return {
            "report": str(self.report), "limit": limit, "limit_of_one": limit_of_one,
            "names": [*names], "stems": [*stems], "reach": [*reach], "broken": [*broken],
            "measure": measure and str(measure), "include": [*include],
        }  # fmt: skip

    def run(self, tests, limit, *, all_failures=False, broken=(), **words):
        """The outcome of some tests, in a new process."""
        plan, report = self.work / "plan.json", self.report
        plan.write_text(json.dumps(self.plan(limit, broken=broken, **words)))
        flags = [flag for flag in FLAGS if not (all_failures and flag == "-x")]
        flags += [f"--ignore={test.split()[0]}" for test in broken if "::" not in test]
        command = [sys.executable, "-m", "pytest", *flags, *tests]
        begin = os.times()
        with (self.work / "output.txt").open("w") as output:
            process = subprocess.Popen(
                command, cwd=self.root, env=self.environment(plan), start_new_session=True,
                stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            hung = waited(ended(process), report, process.pid)
            process.wait()
        shutil.rmtree(self.work / "tmp" / "pytest-of-root", ignore_errors=True)
        outcome, end = outcome_of(report, process.returncode, hung), os.times()
        outcome.seconds = sum(end[2:4]) - sum(begin[2:4])
        return outcome


class Server:
    """A process that has collected some tests, and forks for each fault; see pytest_server.py."""

    def __init__(self, scratch, tests):
        self.scratch, self.work, self.tests = scratch, scratch.work, tests
        plan = self.work / "plan.json"
        plan.write_text(json.dumps(scratch.plan(0)))
        command = [sys.executable, "-m", "pytest", *FLAGS, "-p", "pytest_server", *tests]
        (theirs, requests), (answers, to_us) = os.pipe(), os.pipe()
        environment = scratch.environment(plan) | {"FAULTS_PIPES": f"{theirs} {to_us}"}
        with (self.work / "output.txt").open("w") as output:
            self.process = subprocess.Popen(
                command, cwd=scratch.root, env=environment, start_new_session=True,
                pass_fds=(theirs, to_us), stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT,
            )  # fmt: skip
        os.close(theirs)
        os.close(to_us)
        self.requests, self.answers = open(requests, "w"), open(answers, "rb", buffering=0)

    def run(self, limit, file="", text="", until="", **words):
        """The outcome of all tests with a fault in a file; None where that needs a new process.

        text: the file's, without the fault; "": there is none. until: the last test to be run.
        """
        plan = self.scratch.plan(limit, **words)
        plan |= {"file": str(file), "text": text, "until": until}
        try:
            print(json.dumps(plan), file=self.requests, flush=True)
            child = int(self.answers.readline())
        except (OSError, ValueError):
            return None
        report = self.scratch.report
        hung = waited(
            lambda seconds: bool(select([self.answers], [], [], seconds)[0]), report, child
        )
        code, seconds = self.answers.readline().split()
        shutil.rmtree(self.work / "tmp" / "pytest-of-root", ignore_errors=True)
        if '"elsewhere"' in report.read_text(encoding="utf-8") or int(code) == WRONG:
            return None
        outcome = outcome_of(report, int(code), hung)
        outcome.seconds = float(seconds)
        return outcome

    def close(self):
        """End the process."""
        self.requests.close()
        self.process.wait()
        self.answers.close()


def waited(ends, report, group):
    """Whether a process had to be ended because it no longer does anything.

    ends(seconds): whether it ends within these.
    """
    last = None
    while not ends(WALL):
        now = report.stat().st_size
        if now == last:
            os.killpg(group, signal.SIGKILL)
            return True
        last = now
    return False


def ended(process):
    """Of a process: whether it ends within some seconds."""

    def ends(seconds):
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        return process.returncode is not None

    return ends


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
