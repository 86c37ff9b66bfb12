"""The process that has the others measure: it keeps what was found, and starts another one where
one has ended before its time, with the units after the one that it ended in."""

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, field
from typing import Any

STARTING, MORE = 180, 20  # seconds until the first answer; after the end of all time


@dataclass
class Found:
    """What was found so far. rows: by section. absent: why there is no PyTorch. errors, left_out:
    units as "section: unit", with the error. fatal: why nothing can be measured at all."""

    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    took: dict[str, float] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    left_out: list[list[str]] = field(default_factory=list)
    absent: str | None = None
    fatal: str | None = None

    def take(self, answer):
        """Keep an answer of a child."""
        if "absent" in answer:
            self.absent = answer["absent"]
        elif "left_out" in answer:
            self.left_out.append(answer["left_out"])
        elif "fatal" in answer:
            self.fatal = answer["fatal"]
        elif "done" in answer:
            name, unit = answer["done"]
            self.rows.setdefault(name, []).extend(answer.get("rows", []))
            self.took[name] = round(self.took.get(name, 0.0) + answer.get("took", 0.0), 2)
            if "error" in answer:
                self.errors[f"{name}: {unit}"] = answer["error"]

    def as_json(self):
        """As JSON takes it."""
        return asdict(self)


class Child:
    """A process that measures; `answers()` gives what it says."""

    def __init__(self, command, request, log=None):
        self.said = open(log, "ab+") if log else tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said,
            encoding="utf-8", start_new_session=os.name == "posix",
        )  # fmt: skip
        self.lines: queue.SimpleQueue = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            print(json.dumps(request), file=self.process.stdin, flush=True)
        except OSError:
            pass  # it has ended, which is seen when it is asked

    def _listen(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def answers(self, ends):
        """What it says, until it ends; the last may be {"died": why}."""
        limit = STARTING
        while True:
            try:
                line = self.lines.get(timeout=max(0.1, min(limit, ends + MORE - time.time())))
            except queue.Empty:
                late = time.time() >= ends + MORE
                yield {"died": "the time was over" if late else f"no answer within {limit:g} s"}
                return
            if line is None:
                yield {"died": f"the process ended with {self.process.wait()}: {self.last_words()}"}
                return
            answer = json.loads(line)
            limit = answer.get("limit", STARTING)
            yield answer
            if "end" in answer or "fatal" in answer:
                return

    def last_words(self):
        """The last line of what it said."""
        self.said.seek(0)
        lines = self.said.read().decode("utf-8", "replace").splitlines()
        return next((s.strip()[:200] for s in reversed(lines) if s.strip()), "nothing said")

    def close(self):
        """End it, and what it has started."""
        if self.process.poll() is None:
            if os.name == "posix":
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        try:
            self.process.stdin.close()
        except OSError:
            pass
        self.said.close()


def run(command, request, keep, log=None):
    """Have all units measured; `keep` is called with what was Found after each section.

    log: a file for what the processes say, such as where an error came from.
    """
    found, units, now = Found(), list(request["units"]), None
    while units and not found.fatal and time.time() < request["ends"] + MORE:
        child, has_begun = Child(command, {**request, "units": units}, log), False
        try:
            for answer in child.answers(request["ends"]):
                found.take(answer)
                if "begin" in answer:
                    has_begun = True
                    if answer["begin"][0] != now:
                        now = answer["begin"][0]
                        keep(found)
                        print(f"measuring: {now}", file=sys.stderr, flush=True)
                elif "done" in answer or "left_out" in answer:
                    units = units[1:]
                elif "died" in answer and has_begun and units:
                    found.errors[": ".join(units[0])] = answer["died"]
                    units = units[1:]
                elif "died" in answer:
                    found.fatal = answer["died"]
        finally:
            child.close()
    found.left_out += [list(unit) for unit in units]
    keep(found)
    return found


def in_this_process(request, keep):
    """The same without another process."""
    from .gpu_child import measure_all

    found = Found()
    measure_all(request, found.take)
    keep(found)
    return found
