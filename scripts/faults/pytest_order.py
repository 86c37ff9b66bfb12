"""A plugin of pytest, in the processes that plant_faults.py starts: the nearest tests run first.

What is to be done is in the file that FAULTS_PLAN names; what happened is written into a file line
by line, so that it is there too when the process was killed.
"""

import json
import os
import re
import resource
import time
from pathlib import Path

import pytest

PLAN = json.loads(Path(os.environ["FAULTS_PLAN"]).read_text(encoding="utf-8"))


def tell(**what):
    """One line of the report."""
    with open(PLAN["report"], "a", encoding="utf-8") as file:
        file.write(json.dumps(what) + "\n")


def used():
    """Processor time until now, with that of processes that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Nearness:
    """How near a test is to a fault: by the names in it, in its file, and by what it costs."""

    def __init__(self):
        self.words = [re.compile(rf"(?<![a-z]){re.escape(w)}(?![a-z])") for w in PLAN["names"]]
        self.files, self.reach = {}, {test: i for i, test in enumerate(PLAN["reach"])}

    def of_file(self, path):
        """Of a file: whether it is named as the mutated one, and says its names."""
        if path not in self.files:
            text = path.read_text(encoding="utf-8")
            named = any(path.stem.startswith(f"test_{stem}") for stem in PLAN["stems"])
            self.files[path] = 3 * named + sum(bool(word.search(text)) for word in self.words)
        return self.files[path]

    def __call__(self, item):
        """The least is the nearest."""
        slow = item.get_closest_marker("slow") is not None
        if item.nodeid in self.reach:
            return slow, -1, self.reach[item.nodeid]
        code = getattr(getattr(item, "function", None), "__code__", None)
        called = " ".join(code.co_names) if code else ""
        says = sum(3 * bool(word.search(item.nodeid)) + bool(word.search(called))
                   for word in self.words)  # fmt: skip
        near = says + self.of_file(item.path)
        return slow, 0, -near


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """The nearest first, and none that fails without a fault."""
    left_out = set(PLAN["broken"])
    items[:] = [item for item in items if item.nodeid not in left_out]
    items.sort(key=Nearness())
    tell(items=len(items))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """A test that takes too long ends the process; when all have taken too long, the last was."""
    if used() > PLAN["limit"]:
        item.session.shouldstop = "the limit of time"
        tell(left=True)
    tell(test=item.nodeid)
    most = int(time.process_time() + PLAN["limit_of_one"])
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    begin = used()
    if PLAN["measure"]:
        COVERAGE.switch_context(item.nodeid)
    result = yield
    if PLAN["measure"]:
        COVERAGE.switch_context("")
        tell(took=used() - begin)
    return result


def pytest_runtest_logreport(report):
    if report.failed:
        tell(failed=report.nodeid, why=first_line(report))


def pytest_collectreport(report):
    if report.failed:
        tell(failed=f"{report.nodeid} (collected)", why=str(report.longrepr).strip()[-150:])


def first_line(report):
    """What a failure says."""
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = (crash.message if crash else str(report.longrepr)).strip().splitlines() or [""]
    return lines[0][:160]


def pytest_sessionfinish(session):
    if not PLAN["measure"]:
        return
    COVERAGE.stop()
    data, reach = COVERAGE.get_data(), {}
    for file in data.measured_files():
        by_line = data.contexts_by_lineno(file)
        reach[os.path.relpath(file, session.config.rootpath)] = by_line
    Path(PLAN["measure"]).write_text(json.dumps(reach), encoding="utf-8")


if PLAN["measure"]:
    import coverage

    COVERAGE = coverage.Coverage(data_file=None, include=PLAN["include"], config_file=False)
    COVERAGE.start()
