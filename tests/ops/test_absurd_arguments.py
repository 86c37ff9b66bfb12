"""Valid calls of all public operations, with one argument after the other made absurd.

Each gives a result or one of minifp's errors (of memory, also Python's): in a moment, without a
warning of NumPy's; what is refused leaves the arguments as they were.
"""

import inspect
import sys
import time
import warnings

import numpy as np
import pytest
from cases import CORE
from claims import Claims

import minifp as fp
from minifp import nn
from minifp.ops.public import DECLARED

PUBLIC = [declared for declared in DECLARED if declared.where]
CODES = {inspect.unwrap(declared.function).__code__: declared.function for declared in PUBLIC}


class NoArray:
    def __array__(self, *args, **settings):
        raise fp.DTypeError("no array")


ABSURD = [
    *(None, "absurd", "", b"x", True, 0, -1, 3, 1.5, 2**40, 2**62, 2**70, 10**400, -(2**63), 1j),
    *(float("nan"), float("inf"), -float("inf"), 1e300, object(), int, fp, slice(None), {}, {1}),
    *([], (), [[1], [2, 3]], ["a"], [None], [1.5], (2**40, 2**40), range(3), lambda: 0, np.ndarray),
    *(np.float64("nan"), np.int64(2**62), np.bool_(True), np.float16(2), np.dtype("f4"), NoArray()),
    *(np.array("a"), np.array(["a", "b"]), np.array([1j]), np.array([None]), np.zeros((3, 0))),
    *(np.array(["2020-01-01"], "M8[D]"), np.zeros(1, "f4,f4"), np.ones((2, 3)), nn.ReLU()),
    *(fp.tensor([-5, 2**60]), fp.tensor([True]), fp.tensor(np.float16(1)), fp.ones(1, 1, 1, 1, 1)),
]


def valid_calls():
    """(function, positional arguments, others, all by name), as the cases and plain calls make."""
    calls = {}

    def note(frame, event, _):
        if event == "call" and frame.f_code in CODES:
            names, several, others, values = inspect.getargvalues(frame)
            count = frame.f_code.co_argcount
            args = [values[n] for n in names[:count]] + list(values.get(several, ()))
            given = {n: values[n] for n in names[count:]} | values.get(others, {})
            calls.setdefault(CODES[frame.f_code], (args, given))

    for case in sorted(CORE, key=str):
        if not any(0 in shape for shape in case.shapes):
            tensors = [fp.tensor(array) for array in case.arrays()]
            sys.setprofile(note)
            try:
                case.fn(*tensors)
            finally:
                sys.setprofile(None)
    for function in {declared.function for declared in PUBLIC} - calls.keys():
        parameters = inspect.signature(function).parameters.values()
        needed = [p for p in parameters if p.default is p.empty and p.kind < p.VAR_POSITIONAL]
        calls[function] = ([fp.ones(2, 3) for _ in needed], {})
    return [(fn.__name__, fn, *call) for fn, call in calls.items()]


def outcome(function, args, given):
    """What is wrong with how a call ends; "" if nothing is."""
    before = [a.array.tobytes() for a in args if isinstance(a, fp.Tensor)]
    begun, wrong = time.process_time(), ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            warnings.simplefilter("ignore", fp.PrecisionWarning)
            function(*args, **given)
    except Exception as error:
        if not isinstance(error, (fp.MinifpError, MemoryError)):
            wrong = f"{type(error).__name__}: {error}"
        if before != [a.array.tobytes() for a in args if isinstance(a, fp.Tensor)]:
            wrong += " it changed what it was given"
    if time.process_time() - begun > 10:
        wrong += " it takes long"
    return wrong


@pytest.mark.slow
def test_absurd_arguments_are_refused_by_errors_of_minifps_own(drawn):
    calls = valid_calls()
    assert len(calls) > 200
    absurd = [(c, i, k) for c in range(len(calls)) for i in range(9) for k in range(len(ABSURD))]
    with Claims() as claims:
        for c, i, k in drawn(absurd, 40):
            name, function, args, given = calls[c]
            if i < len(args) + len(given):
                changed = [*args, *given.values()]
                changed[i] = ABSURD[k]
                others = dict(zip(given, changed[len(args) :]))
                with claims("is refused, or done", f"{name}, argument {i}: {ABSURD[k]!r:.60}"):
                    assert not outcome(function, changed[: len(args)], others)
