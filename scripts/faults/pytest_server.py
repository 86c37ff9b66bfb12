"""A plugin of pytest that collects tests once, and runs them with each fault in a fork of itself.

A fork has imported the sources without the fault, so that functions get the code of the text with
it. Where that is not all there is to it, it tells so, and the tests are run in a new process: what
is no function's code, and functions that were called before the fork, while modules were imported
and tests collected.
"""

import gc
import json
import os
import re
import sys
from pathlib import Path
from types import CodeType, FunctionType

import pytest
import pytest_order

PIPES = [int(number) for number in os.environ["FAULTS_PIPES"].split()]
COMPILED = re.compile(r"_numba\.py$|runtime/cpu/")
CALLED = set()  # before the fork: functions' files, lines and names


def key_of(code):
    """What a function's code is known by."""
    return code.co_filename, code.co_firstlineno, code.co_name


def note(frame, event, arg):
    """Note, as Python's profiler, that a function is called."""
    if event == "call":
        CALLED.add(key_of(frame.f_code))


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    """Serve requests, each of which is a plan, until there are none."""
    sys.setprofile(None)
    gc.collect()
    gc.freeze()
    with open(PIPES[0]) as requests, open(PIPES[1], "w") as answers:
        for line in requests:
            child = os.fork()
            if not child:
                os.setsid()
                pytest_order.PLAN.clear()
                pytest_order.PLAN.update(json.loads(line))
                run(session)
            print(child, file=answers, flush=True)
            _, status, usage = os.wait4(child, 0)
            seconds = usage.ru_utime + usage.ru_stime
            print(os.waitstatus_to_exitcode(status), seconds, file=answers, flush=True)
    return True


def run(session):
    """Run the tests with a fault, and end the process."""
    code = 70  # of what goes wrong here
    try:
        plan, items = pytest_order.PLAN, [*session.items]
        if plan["text"] and not is_planted(plan["file"], plan["text"]):
            pytest_order.tell(elsewhere=True)
            items = []
        pytest_order.pytest_collection_modifyitems(session.config, items)
        for item, following in zip(items, [*items[1:], None]):
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldfail or session.shouldstop or item.nodeid == plan["until"]:
                break
        code = 0
    finally:
        os._exit(code)


def is_planted(file, text):
    """Whether functions of a file now have the code of a text, in which the fault is.

    text: that without the fault; the file has the one with it.
    """
    if not file.endswith(".py"):
        return True  # it is read when it is needed
    if COMPILED.search(file):
        return False  # a kernel may be that of a file that was lowered before
    old, new = (compile(t, file, "exec") for t in (text, Path(file).read_text(encoding="utf-8")))
    functions = {}
    for thing in gc.get_objects() if old != new else ():
        if isinstance(thing, FunctionType) and thing.__code__.co_filename == file:
            functions.setdefault(key_of(thing.__code__), []).append(thing)
    gc.unfreeze()
    return is_replaced(old, new, functions, inside=False)


def is_replaced(old, new, functions, inside):
    """Give functions their new code. False where some that differs is not of functions alone.

    inside: whether it is in a function that has its new code.
    """
    if old == new:
        return True
    if own(old) != own(new) and key_of(old) in CALLED:
        return False
    same = functions.get(key_of(old), [])
    for function in same:
        function.__code__ = new
    inside = inside or bool(same)
    parts = zip(*([c for c in code.co_consts if isinstance(c, CodeType)] for code in (old, new)))
    nested = [is_replaced(*pair, functions, inside) for pair in parts]
    return all(nested) and (inside or own(old) == own(new))


def own(code):
    """What a code is without those that are in it."""
    constants = [c for c in code.co_consts if not isinstance(c, CodeType)]
    return code.co_code, code.co_names, code.co_varnames, repr(constants)


sys.setprofile(note)
