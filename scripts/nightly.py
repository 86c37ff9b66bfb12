"""Run what is too long for each change, part by part, and record it in tests/nightly.json.

    python scripts/nightly.py                        # all parts: `make nightly`
    python scripts/nightly.py --parts recipes nvrtc  # some; of the others the record stays
    python scripts/nightly.py --changed              # in `make test`: see below

Each part has a limit of time, and is recorded as it ends, so that --parts goes on from there.
--changed runs those parts of which files differ from the commit that they were recorded at, without
the ranges that --exhaustive has, and records nothing. PyTorch, which `parity` alone needs, goes
into an environment of its own, runs/parity.
"""

import argparse
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "tests" / "nightly.json"
TORCH = ROOT / "runs" / "parity"  # an environment
OLD = 50  # commits
WRITTEN = (":!tests/nightly.json", ":!tests/walk.csv")  # by this run
HEAD = ("rev-parse", "HEAD")
TEST_FILES = [str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("tests/**/test_*.py"))]


def mentioning(pattern: str) -> str:
    """The files of tests in which a pattern is."""
    return " ".join(f for f in TEST_FILES if re.search(pattern, (ROOT / f).read_text("utf-8")))


# ---- the parts ----------------------------------------------------------------------------------


class Part(NamedTuple):
    """Tests, the files whose change asks for them, and the minutes that they may take."""

    tests: str
    files: str = ""  # as git takes them: * stands for folders as well
    minutes: int = 15
    options: str = ""
    whole: str = "--exhaustive"  # further options, where all of it is run
    environment: dict = {}
    own: bool = True  # whether no other part runs these tests
    script: str = ""  # in place of tests


WORKERS = "--numprocesses auto --maxprocesses 8 --dist loadfile"
COVERED = "--cov=minifp --cov=models --cov=exhibits"
COVERED += " --cov-report=term:skip-covered --cov-fail-under=95"
PARTS = {
    "exhaustive": Part(  # all tests but those of parts that have their own
        "tests", minutes=90, options=WORKERS, whole=f"--exhaustive {COVERED}", own=False
    ),
    "references": Part(
        mentioning(r"mark\.references"),
        minutes=30,
        options=f"-m references {WORKERS}",
        environment={"MINIFP_KERNELS": "numpy"},
        own=False,
    ),
    "parity": Part(
        mentioning(r"\btorch\b"),
        "tests/*parity.py tests/beside_torch*.py tests/cases",
        minutes=60,
        options=WORKERS,
        own=False,
    ),
    "nvrtc": Part(
        "tests/cuda/test_compile.py",
        "minifp/*.cu minifp/*.cuh minifp/runtime/cuda minifp/derive/cuda.py tests/cuda/nvrtc.py "
        "tests/cuda/test_compile.py",
    ),
    "sanitizers": Part(
        "tests/cuda/test_imitation.py tests/cuda/test_standin.py",
        "minifp/*.cu minifp/*.cuh tests/cuda/*.cpp tests/cuda/*.h tests/cuda/fake_cupy.py "
        "tests/cuda/sanitized.py tests/cuda/standin tests/cuda/test_imitation.py "
        "tests/cuda/test_standin.py",
        minutes=30,
    ),
    "browsers": Part(
        "tests/web tests/lab/test_pages_in_a_browser.py "
        "tests/teach/test_progress_page_in_a_browser.py",
        "web tests/web tests/in_*.py tests/lab/test_pages_in_a_browser.py minifp/lab/page "
        "minifp/scope/page minifp/report/*.js minifp/report/*.py",
    ),
    "packaging": Part(
        "tests/project/test_packaging.py",
        "setup.py setup.cfg pyproject.toml MANIFEST.in tests/project/test_packaging.py",
    ),
    "recipes": Part(
        "tests/project/test_contributing.py",
        "CONTRIBUTING.md tests/project/test_contributing.py",
    ),
    "notebooks": Part(
        "tests/project/test_notebooks.py",
        "notebooks scripts/write_notebooks.py scripts/lessons tests/project/test_notebooks.py",
    ),
    "directions": Part("tests/lab/test_directions.py", "tests/lab/test_directions.py"),
    "walk": Part("", minutes=150, script="scripts/walk_docs.py"),
    "faults": Part("", minutes=60, script="scripts/plant_faults.py --count 20"),
}


def command(name: str, python: str, tests: list[str], options: str, report: Path) -> list[str]:
    """What runs a part, and leaves a report."""
    part = PARTS[name]
    if part.script:
        return [python, *part.script.split()]
    others = " ".join(p.tests for p in PARTS.values() if p.own).split()
    left_out = [] if part.own else [f"--ignore={path}" for path in others]
    words = [*tests, *options.split(), *part.options.split(), *left_out]
    return [python, "-m", "pytest", f"--junitxml={report}", *words]


def python_with_torch(may_install: bool) -> str | None:
    """This Python where it has PyTorch; else one beside it that has all that this has."""
    if importlib.util.find_spec("torch"):
        return sys.executable
    places = {"base": str(TORCH), "platbase": str(TORCH)}
    python, ready = sysconfig.get_path("scripts", "venv", places) + "/python", TORCH / "installed"
    if not ready.exists() and may_install:
        venv.create(TORCH, with_pip=True, clear=True)
        lent = Path(sysconfig.get_path("purelib", "venv", places)) / "lent.pth"
        lent.write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})")
        pip = [python, "-m", "pip", "install", "--quiet", "--editable", ".[parity]"]
        if subprocess.run(pip, cwd=ROOT).returncode == 0:
            ready.touch()
    return python if ready.exists() else None


# ---- running one --------------------------------------------------------------------------------


def run(name: str, tests: list[str], options: str, may_install: bool = True) -> dict[str, Any]:
    """Run a part: its result, counts of tests, seconds and seconds of processor time."""
    python = sys.executable if name != "parity" else python_with_torch(may_install)
    if python is None:
        return {"result": "not run: PyTorch is not installed"}
    began, used = time.monotonic(), processor_seconds()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        report = Path(folder, "tests.xml")
        words = command(name, python, tests, options, report)
        print(f"\nnightly: {name}: {' '.join(words[1:])[:200]}", flush=True)
        # In the checkout, what killed processes leave would read as files that are not committed.
        coverage = {"COVERAGE_FILE": str(Path(folder, "coverage"))}
        environment = {**os.environ, **coverage, **PARTS[name].environment}
        process = subprocess.Popen(words, cwd=ROOT, env=environment, start_new_session=True)
        result = ended(process, 60 * PARTS[name].minutes)
        return {
            "result": result,
            **counts_of(report),
            "seconds": round(time.monotonic() - began),
            "processor_seconds": round(processor_seconds() - used),
        }


def ended(process: subprocess.Popen, limit: float) -> str:
    """How a process ended; it and its children are killed at the limit, and when we are."""
    try:
        code = process.wait(limit)
        return "passed" if code == 0 else f"failed with {code}"
    except subprocess.TimeoutExpired:
        return f"took more than {limit / 60:.0f} minutes"
    finally:
        if process.poll() is None:
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.wait()


def processor_seconds() -> float:
    """Of all processes that were run and have ended."""
    used = os.times()
    return used.children_user + used.children_system


def counts_of(report: Path) -> dict[str, int]:
    """How many tests there were, and how many failed or were skipped."""
    if not report.exists():
        return {}
    suites = list(ET.parse(report).getroot().iter("testsuite"))
    names = {"tests": ["tests"], "failed": ["failures", "errors"], "skipped": ["skipped"]}
    return {
        name: sum(int(suite.get(word, 0)) for suite in suites for word in words)
        for name, words in names.items()
    }


# ---- the record ---------------------------------------------------------------------------------


def git(*words: str) -> str | None:
    """What git answers, or None where there is none, or it does not know."""
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def recorded() -> dict[str, Any]:
    """What is known of each part that there still is."""
    parts = json.loads(RECORD.read_text("utf-8"))["parts"] if RECORD.exists() else {}
    return {name: part for name, part in parts.items() if name in PARTS}


def clean_commit() -> str | None:
    """The commit that is tested; None where files differ from it, or there is no git."""
    return None if git("status", "--porcelain", "--", *WRITTEN) else git(*HEAD)


def write(parts: dict[str, Any]) -> None:
    """Record what is known of each part, and the commit at which that was written."""
    record = {"commit": git(*HEAD), "parts": {n: parts[n] for n in PARTS if n in parts}}
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def nightly(names: list[str]) -> bool:
    """Run parts and record each as it ends; whether all passed."""
    parts, commit = recorded(), clean_commit()
    if commit is None:
        print("nightly: some files are not committed, so no commit is recorded")
    for name in names:
        results = run(name, PARTS[name].tests.split(), PARTS[name].whole)
        parts[name] = {"commit": commit, **results}
        write(parts)
    for name in names:
        print(f"nightly: {name:12}", *(f"{key} {value}" for key, value in parts[name].items()))
    return all(parts[name]["result"] == "passed" for name in names)


# ---- what changed -------------------------------------------------------------------------------


def differing(commit: str, files: str) -> list[str]:
    """The files among those that differ from a commit."""
    return (git("diff", "--name-only", commit, "--", *files.split()) or "").splitlines()


def tests_of_change(name: str, commit: str) -> tuple[list[str], str]:
    """What a change asks of a part: files of tests, and options."""
    part = PARTS[name]
    if name == "exhaustive":  # its nightly tests, in files of tests that changed
        own = " ".join(p.tests for p in PARTS.values() if p.own).split()
        marked = {*mentioning(r"mark\.nightly").split()}
        files = marked.intersection(differing(commit, "tests"))
        return sorted(f for f in files if not f.startswith(tuple(own))), "-m nightly"
    return part.tests.split() if part.files and differing(commit, part.files) else [], ""


def nightly_of_changes() -> bool:
    """Run what changes since the record ask for, and record nothing; whether all passed."""
    parts, passed = recorded(), True
    commits = {name: part.get("commit") or "none" for name, part in parts.items()}
    known = {
        n: c for n, c in commits.items() if git("cat-file", "-e", f"{c}^{{commit}}") is not None
    }
    if unknown := [name for name in PARTS if name not in known]:
        print(f"nightly: not run, as git knows no commit at which they were: {', '.join(unknown)}")
    for name, commit in known.items():
        if parts[name]["result"] != "passed":
            print(f"nightly: {name} {parts[name]['result']} at {commit[:12]}")
        if int(git("rev-list", "--count", f"{commit}..HEAD") or 0) > OLD:
            print(f"nightly: {name} was run more than {OLD} commits ago; make nightly is due")
        tests, options = tests_of_change(name, commit)
        if tests:
            result = run(name, tests, options, may_install=False)["result"]
            print(f"nightly: {name} {result}")
            passed = passed and result.startswith(("passed", "not run"))
    return passed


def main() -> None:
    """The command line."""
    kind = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=kind)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=[*PARTS], metavar="PART",
                        help=f"of {', '.join(PARTS)}")  # fmt: skip
    parser.add_argument("--changed", action="store_true", help="what changes ask for")
    options = parser.parse_args()
    passed = nightly_of_changes() if options.changed else nightly(options.parts)
    sys.exit(not passed)


if __name__ == "__main__":
    main()
