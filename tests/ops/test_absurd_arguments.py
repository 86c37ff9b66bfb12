"""Valid calls of all public operations and constructors, with one argument after the other made
absurd."""

import inspect
import sys
import time
import warnings
from contextlib import suppress
from itertools import product

import numpy as np
import pytest
from cases import CORE
from claims import Claims

import minifp as fp
from minifp import data, models, nn, optim
from minifp.checks import shown
from minifp.ops.public import DECLARED

LEFT_OUT = {"lr_lambda", "sampler", "width", "config"}  # any function is called, network made
PLACES = {"fp": fp, "F": nn.functional, "Tensor": fp.Tensor}
PUBLIC = [getattr(PLACES[d.where[0]], d.names[0]) for d in DECLARED if d.where]
CODES = {inspect.unwrap(function).__code__: function for function in PUBLIC}
ABSURD = [
    *(None, "absurd", "", b"x", True, 0, -1, 3, 1.5, 2**40, 2**62, 2**70, 10**400, -(2**63), 1j),
    *(float("nan"), float("inf"), -float("inf"), 1e300, object(), int, fp, slice(None), {}, {1}),
    *([], (), [[1], [2, 3]], ["a"], [None], [1.5], (2**40, 2**40), range(3), lambda: 0, np.ndarray),
    *(np.float64("nan"), np.int64(2**62), np.bool_(True), np.float16(2), np.dtype("f4"), nn.ReLU()),
    *(10**5000, [10**5000]),
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
    for function in {*PUBLIC} - calls.keys():
        parameters = inspect.signature(function).parameters.values()
        needed = [p for p in parameters if p.default is p.empty and p.kind < p.VAR_POSITIONAL]
        calls[function] = ([fp.ones(2, 3) for _ in needed], {})
    return [(function, *call) for function, call in calls.items()]


def valid_constructions():
    """(class, (), arguments by name) of those that these make, small enough for thousands."""
    held, weights = data.TensorDataset(np.ones((6, 2)), np.arange(6)), [nn.Parameter([1.0])]
    sizes = {
        "num_groups": 2, "normalized_shape": 4, "size": 32, "words": 9, "hidden": 4, "samples": 4,
        "width": 1 / 16, "num_heads": 1, "projection": 2, "div_value": 1.0, "total_steps": 9,
        "d_model": 4, "nhead": 1, "dim_feedforward": 4, "config": models.GPTConfig(n_embd=12),
    }  # fmt: skip
    needed = {
        "params": weights, "optimizer": optim.SGD(weights, lr=0.1), "cutoffs": [2], "mode": True,
        "lr_lambda": float, "gamma": 1, "datasets": [held], "dataset": held, "lengths": [1, 2, 3],
        "text": "to be or not " * 9, "indices": [0, 1], "milestones": [1], "modules": [nn.ReLU()],
        "sources": ["a"], "targets": ["b"], "inputs": [np.ones((2, 3))], "labels": [1],
        "name": "e5m2", "data": [1.0], "data_source": held, **sizes,
    }  # fmt: skip
    places = fp, nn, optim, optim.lr_scheduler, data, models
    for kind in {
        getattr(place, name): place for place in places for name in {*dir(place)} - {"Tensor"}
    }:
        if not isinstance(kind, type) or issubclass(kind, (Exception, np.generic, fp.Size)):
            continue
        parameters = inspect.signature(kind).parameters.values()
        parameters = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        asked = [p.name for p in parameters if p.default is p.empty or p.name in sizes]
        named = {name: needed.get(name, 3) for name in asked}
        with suppress(fp.MinifpError):  # of those that take a file, or more thought
            kind(**named)
            yield kind, (), {**{p.name: p.default for p in parameters}, **named}


def check(function, args, named):
    """A result, or an error of minifp's own or of memory that changes nothing; in a moment."""
    before, begun = [a.array.tobytes() for a in args if type(a) is fp.Tensor], time.process_time()
    try:
        with warnings.catch_warnings(), fp.enable_grad():  # which some of them set
            warnings.simplefilter("ignore")
            warnings.simplefilter("error" if args else "ignore", RuntimeWarning)
            function(*args, **named)
    except (fp.MinifpError, MemoryError):
        assert before == [a.array.tobytes() for a in args if type(a) is fp.Tensor]
    assert time.process_time() - begun < 10  # which leaves a kernel time to be compiled


@pytest.mark.slow
@pytest.mark.parametrize(("made", "least"), [(valid_calls, 240), (valid_constructions, 170)])
def test_absurd_arguments_are_refused_by_errors_of_minifps_own(drawn, made, least):
    calls = [*made()]
    assert len(calls) > least
    names = [[""] * len(args) + [*named] for _, args, named in calls]
    places = [
        (c, i) for c in range(len(calls)) for i, n in enumerate(names[c]) if n not in LEFT_OUT
    ]
    with Claims() as claims:
        for (c, i), k in drawn([*product(places, range(len(ABSURD)))], 40):
            function, args, named = calls[c]
            changed = [*args, *named.values()]
            changed[i] = ABSURD[k]
            with claims("is refused", f"{function.__name__}, {i}: {shown(ABSURD[k])}"):
                check(function, changed[: len(args)], dict(zip(named, changed[len(args) :])))
