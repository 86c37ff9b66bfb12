"""What compiling takes of the processor in a run of the tests, by what compiles.

    python scripts/time_compiling.py                   # as `make test` runs them
    python scripts/time_compiling.py -- tests/cuda --all  # other arguments for pytest
    python scripts/time_compiling.py --out FILE        # the seconds as JSON too

An empty folder stands for the user's cache. Counted are the tests' own processes, and what g++ does
for them; what programs compile that tests start is in the rest.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARTS = {"LLVM": "kernels derived from their references", "numba": "kernels by hand",
         "g++": "libraries of the imitated GPU"}  # fmt: skip
AS_MAKE_TEST = "--all --numprocesses auto --maxprocesses 8 --dist loadfile -q".split()
SECONDS: Counter[str] = Counter()
TIMES: Counter[str] = Counter()


def own() -> float:
    """Processor seconds of this thread."""
    return time.thread_time()


def of_children() -> float:
    """Processor seconds of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def counted(part, clock):
    """Count what is done within."""
    began = clock()
    try:
        yield
    finally:
        SECONDS[part] += clock() - began
        TIMES[part] += 1


def counting(function, part, clock):
    """The function, counted."""

    def call(*args, **kwargs):
        with counted(part, clock):
            return function(*args, **kwargs)

    return call


# ---- in each process of pytest's ----------------------------------------------------------------


def pytest_collection_finish():
    """Look on in each process that has tests."""
    from numba.core import event

    from minifp.runtime.cpu.compile import machine

    class Numba(event.Listener):
        """Hears when numba begins to compile and when it has done so; kernels may nest."""

        depth, began = 0, 0.0

        def on_start(self, event):
            self.began = own() if self.depth == 0 else self.began
            self.depth += 1

        def on_end(self, event):
            self.depth -= 1
            if self.depth == 0:
                SECONDS["numba"] += own() - self.began
                TIMES["numba"] += 1

    event.register("numba:compile", Numba())
    machine.object_code = counting(machine.object_code, "LLVM", own)
    if build := sys.modules.get("build"):  # tests/cuda
        build.run = counting(build.run, "g++", of_children)


def pytest_sessionfinish(session):
    """A worker tells the seconds to the process that started it."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["compiling"] = [dict(SECONDS), dict(TIMES)]


def pytest_testnodedown(node, error):
    """Add what a worker told."""
    seconds, times = getattr(node, "workeroutput", {}).get("compiling", ({}, {}))
    SECONDS.update(seconds)
    TIMES.update(times)


def pytest_unconfigure(config):
    """Hand the sums to `main`."""
    if not hasattr(config, "workerinput") and (path := os.environ.get("MINIFP_COMPILING")):
        Path(path).write_text(json.dumps([SECONDS, TIMES]), encoding="utf-8")


# ---- the run ------------------------------------------------------------------------------------


def main():
    """Run the tests with an empty cache, and print what compiled how long."""
    kind = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=kind, allow_abbrev=False)
    parser.add_argument("--out", type=Path, help="a file for the seconds, as JSON")
    parser.add_argument("words", nargs="*", metavar="ARGUMENT", help="pytest's, behind --")
    options = parser.parse_args()
    began = of_children()
    with tempfile.TemporaryDirectory() as folder:
        code, seconds, times = run_tests(options.words or AS_MAKE_TEST, Path(folder))
    total = of_children() - began
    rows = {p: {"seconds": seconds.get(p, 0.0), "times": times.get(p, 0)} for p in PARTS}
    for part, row in rows.items():
        print(f"{part:6}{row['seconds']:8.1f} s{row['times']:6d} times  {PARTS[part]}")
    print(f"all   {total:8.1f} s of the processor, with the tests")
    if options.out:
        text = json.dumps({"processor_seconds": total, **rows}, indent=1) + "\n"
        options.out.write_text(text, encoding="utf-8")
    sys.exit(code)


def run_tests(words, folder):
    """(pytest's code, seconds of each part, how often), with the folder as the user's cache."""
    sums = folder / "sums.json"
    path = os.pathsep.join(filter(None, [str(ROOT / "scripts"), os.environ.get("PYTHONPATH")]))
    environment = {"XDG_CACHE_HOME": str(folder), "MINIFP_COMPILING": str(sums), "PYTHONPATH": path}
    command = [sys.executable, "-m", "pytest", "-p", "time_compiling", *words]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **environment})
    return done.returncode, *json.loads(sums.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
