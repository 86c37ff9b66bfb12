"""Claims about the way of a call: how many functions it goes through, and how many files. Counted
are calls of functions of minifp's that are defined with `def`, once everything is warm."""

import sys
from pathlib import Path

import pytest

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim
from minifp.runtime.cpu import can_compile, kernels_mode

PACKAGE = str(Path(fp.__file__).parent)
LOWERED = [f"runtime/cpu/kernels/{name}" for name in ("gemm", "sums")]
LOWERED += ["ops/convolution/conv_correlation_numba"]


def way_of(call, prepare=lambda: None):
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


def test_the_way_of_a_call_gets_no_longer():
    """Whoever makes a way shorter lowers its numbers here."""
    shipped = pytest.importorskip("minifp.runtime.cpu.compile.shipped") if can_compile() else None
    lowered = shipped and [shipped.index(f"{PACKAGE}/{file}.py") for file in LOWERED]
    if not lowered or {} in lowered or shipped.variant() == "none" or kernels_mode() == "checked":
        pytest.skip("kernels that numba calls, or that are checked, go another way")
    x, dy, pictures = (fp.randn(*n, requires_grad=True) for n in ((4, 8), (4, 8), (2, 3, 8, 8)))
    linear, norm, conv, batch = nn.Linear(8, 8), nn.LayerNorm(8), nn.Conv2d(3, 4, 3), x.detach()
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    step = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.01)).minimize
    for name, calls, files, *way in (
        ("x + y", 10, 6, lambda _: x + x),
        ("softmax", 15, 8, lambda _: F.softmax(x, -1)),
        ("its backward", 23, 10, lambda y: y.backward(dy), lambda: F.softmax(x, -1)),
        ("nn.Linear", 16, 10, lambda _: linear(x)),
        ("nn.Conv2d", 28, 10, lambda _: conv(pictures)),
        ("nn.LayerNorm", 19, 9, lambda _: norm(x)),
        ("minimize", 126, 24, step, lambda: model(batch).sum()),
    ):
        counts = way_of(*way)
        assert counts[0] <= calls and counts[1] <= files, (name, counts)
