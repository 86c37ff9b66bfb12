"""Valid calls of all public operations, with one argument after the other made absurd."""

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
ABSURD = [
    *(None, "absurd", "", b"x", True, 0, -1, 3, 1.5, 2**40, 2**62, 2**70, 10**400, -(2**63), 1j),
    *(float("nan"), float("inf"), -float("inf"), 1e300, object(), int, fp, slice(None), {}, {1}),
    *([], (), [[1], [2, 3]], ["a"], [None], [1.5], (2**40, 2**40), range(3), lambda: 0, np.ndarray),
    *(np.float64("nan"), np.int64(2**62), np.bool_(True), np.float16(2), np.dtype("f4"), nn.ReLU()),
    *(np.array("a"), np.array(["a", "b"]), np.array([1j]), np.array([None]), np.zeros((3, 0))),
    *(np.array(["2020-01-01"], "M8[D]"), np.zeros(1, "f4,f4"), np.ones((2, 3)), fp.ones(1, 1, 1)),
    *(fp.tensor([-5, 2**60]), fp.tensor([True]), fp.tensor(np.float16(1))),
]


def valid_calls():
    """(function, positional arguments, others by name), as the cases or plain calls make them."""
    calls = {}

    def note(frame, event, _):
        if event == "call" and frame.f_code in CODES:
            names, several, others, values = inspect.getargvalues(frame)
            count = frame.f_code.co_argcount
            args = [values[n] for n in names[:count]] + list(values.get(several, ()))
            named = {n: values[n] for n in names[count:]} | values.get(others, {})
            calls.setdefault(CODES[frame.f_code], (args, named))

    for case in sorted(CORE, key=str):
        tensors = [fp.tensor(array) for array in case.arrays()]
        sys.setprofile(None if any(0 in shape for shape in case.shapes) else note)
        case.fn(*tensors)
        sys.setprofile(None)
    for function in {declared.function for declared in PUBLIC} - calls.keys():
        parameters = inspect.signature(function).parameters.values()
        needed = [p for p in parameters if p.default is p.empty and p.kind < p.VAR_POSITIONAL]
        calls[function] = ([fp.ones(2, 3) for _ in needed], {})
    return [(function, *call) for function, call in calls.items()]


def check(function, args, named):
    """A result, or an error of minifp's own or of memory that changes nothing; in a moment."""
    before, begun = [a.array.tobytes() for a in args if type(a) is fp.Tensor], time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            warnings.simplefilter("ignore", fp.PrecisionWarning)
            function(*args, **named)
    except (fp.MinifpError, MemoryError):
        assert before == [a.array.tobytes() for a in args if type(a) is fp.Tensor]
    assert time.process_time() - begun < 10  # which leaves a kernel time to be compiled


@pytest.mark.slow
def test_absurd_arguments_are_refused_by_errors_of_minifps_own(drawn):
    calls = valid_calls()
    absurd = [(c, i, k) for c in range(len(calls)) for i in range(9) for k in range(len(ABSURD))]
    with Claims() as claims:
        for c, i, k in drawn(absurd, 40):
            function, args, named = calls[c]
            if i < len(args) + len(named):
                changed = [*args, *named.values()]
                changed[i] = ABSURD[k]
                with claims("is refused", f"{function.__name__}, {i}: {ABSURD[k]!r:.60}"):
                    check(function, changed[: len(args)], dict(zip(named, changed[len(args) :])))
