"""The process that measures: it is told which units, and tells what it found, one JSON object a
line. A unit is what is measured at once, such as a layer; a section has many."""

import importlib
import json
import os
import sys
import time
import traceback

from .gpu_timing import Machine, Settings, told

SECTIONS = ("device", "loading", "gemm", "optimizer", "steps", "bandwidth", "conv", "compiled")


def section(name):
    """The module of a section."""
    return importlib.import_module(f"benchmarks.gpu_{name}")


def measure_all(request, emit):
    """Measure what is asked for, and emit what is found.

    request: settings, the units as (section, unit), and when all has to have ended. Of the time
    that is left each section has a share, and what it does not need is left for the next ones.
    Returns whether the device can still be used.
    """
    machine = Machine(Settings(**request["settings"]))
    emit({"absent": machine.absent})
    waiting = {}
    for name, unit in request["units"]:
        waiting.setdefault(name, []).append(unit)
    for name in list(waiting):
        left = request["ends"] - time.time()
        share = section(name).WEIGHT / sum(section(n).WEIGHT for n in waiting)
        ends = time.time() + left * share
        for unit in waiting.pop(name):
            if time.time() > ends:
                emit({"left_out": [name, unit]})
                continue
            emit({"begin": [name, unit], "limit": section(name).LIMIT})
            found = measured(name, unit, machine)
            emit({"done": [name, unit], **found})
            if failed(found) and not is_usable(machine):
                return False
    return True


def measured(name, unit, machine):
    """The rows of a unit, or its error; and how long it took."""
    start = time.time()
    try:
        found = {"rows": section(name).measure(unit, machine)}
    except Exception as error:
        traceback.print_exc()
        found = {"error": told(error)}
    return {**found, "took": round(time.time() - start, 2)}


def failed(found):
    """Whether something of a unit has failed."""
    sides = [s for row in found.get("rows", []) for s in row.get("sides", {}).values()]
    return "error" in found or any("error" in s for s in sides)


def is_usable(machine):
    """Whether the device still does what it is told: some errors end all work of a process."""
    try:
        machine.tidy()
        machine.ours.renew()
        machine.ours.values((16,)).get()
        machine.ours.synchronize()
    except Exception:
        return False
    return True


def serve():
    """Be the child: read a request from stdin, answer on stdout."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no answer

    def emit(answer):
        print(json.dumps(answer), file=answers, flush=True)

    try:
        request = json.loads(sys.stdin.readline())
        usable = measure_all(request, emit)
        emit({"end": usable})
    except Exception as error:
        traceback.print_exc()
        emit({"fatal": told(error)})
