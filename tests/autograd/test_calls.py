"""Claims about the way of a call: how many functions it goes through, and how many files.

Counted are calls of functions of minifp's that are defined with `def`, once everything is warm.
Whoever makes a way shorter lowers its numbers here.
"""

import sys
from pathlib import Path

import pytest

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim
from minifp.runtime.cpu import can_compile

PACKAGE = str(Path(fp.__file__).parent)


def way_of(call, prepare):
    """(calls, files) of a call of what `prepare` returned."""
    for _ in range(4):
        call(prepare())
    calls, thing = [], prepare()

    def on_event(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and code.co_name[0] != "<":
            calls.append(code.co_filename)

    sys.setprofile(on_event)
    try:
        call(thing)
    finally:
        sys.setprofile(None)
    return len(calls), len({*calls})


@pytest.mark.skipif(not can_compile(), reason="of compiled kernels")
def test_the_way_of_a_call_gets_no_longer():
    x, dy = fp.randn(4, 8, requires_grad=True), fp.randn(4, 8)
    linear, norm, conv = nn.Linear(8, 8), nn.LayerNorm(8), nn.Conv2d(3, 4, 3)
    pictures = fp.randn(2, 3, 8, 8, requires_grad=True)
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.01))
    ways = {
        "x + y": (lambda _: x + x, 12, 8),
        "softmax": (lambda _: F.softmax(x, -1), 17, 11),
        "its backward": (lambda y: y.backward(dy), 51, 19, lambda: F.softmax(x, -1)),
        "nn.Linear": (lambda _: linear(x), 28, 16),
        "nn.Conv2d": (lambda _: conv(pictures), 33, 13),
        "nn.LayerNorm": (lambda _: norm(x), 24, 13),
        "minimize": (lambda loss: optimizer.minimize(loss), 272, 45, lambda: model(x).sum()),
    }
    for name, (call, calls, files, *prepare) in ways.items():
        way = way_of(call, *prepare or [lambda: None])
        assert way[0] <= calls and way[1] <= files, (name, way)
