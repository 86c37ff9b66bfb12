"""Every operation with tensors on the GPU: values and gradients are those of the CPU.

What each kernel errs is told by test_device_kernels.py; here it is what lies between kernels that
is tested.
"""

import warnings
from itertools import cycle, permutations

import numpy as np
import pytest

pytest.importorskip("hypothesis")
from cases import CASES, CORE, MEETING

import minifp as fp
from minifp.numerics import kernels
from minifp.numerics.formats import format_of
from minifp.numerics.policy import precision

MEET = "bfloat16", "float8_e4m3fn", "float16", "float32"
# Two refuse a source of another format; boxes in coarse ones have corners, where gradients jump.
ONE_FORMAT = {"scatter", "scatter_add", "index_add", "encode_boxes"}
ULPS = 64  # of float16, of the largest number: results of one operation that were rounded apart


def results(case, device, monkeypatch, *formats):
    """The values and gradients of a case on a device, as arrays of the host's. formats: those of
    its inputs in turn, and what is given is in float32 then."""
    monkeypatch.setenv("MINIFP_DEVICE", device)  # for tensors that the case makes itself
    fp.manual_seed(0)
    dtypes = cycle(formats or [None])
    leaves = [fp.tensor(a, dtype, requires_grad=True) for a, dtype in zip(case.arrays(), dtypes)]
    y = case.fn(*leaves)
    outputs = [out for out in (y if isinstance(y, (tuple, list)) else (y,)) if out is not None]
    for out in outputs:
        assert out.device == device
        if out.requires_grad:
            out.backward(gradient=np.ones(out.shape), retain_graph=True)
    for leaf in leaves:
        assert leaf.grad is None or leaf.grad.device == device
    found = [*outputs, *(leaf.grad for leaf in leaves if leaf.grad is not None)]
    return [(t.float() if formats else t).detach().numpy() for t in found]


@pytest.mark.sampled(8, core=lambda case: case in CORE)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_operation_gives_on_the_gpu_what_it_gives_on_the_cpu(case, monkeypatch):
    with warnings.catch_warnings(), precision("float32,storage=float16"):
        warnings.simplefilter("ignore", kernels.OnHostWarning)
        warnings.filterwarnings("ignore", "numbers of a gradient were read")
        expected, found = results(case, "cpu", monkeypatch), results(case, "cuda", monkeypatch)
    assert len(expected) == len(found)
    for a, b in zip(expected, found):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        if a.dtype.kind == "f" and a.size:
            a, b = a.astype(np.float64), b.astype(np.float64)
            largest = np.max(np.abs(np.where(np.isfinite(a), a, 0)), initial=2.0**-14)
            assert np.allclose(a, b, rtol=0, atol=ULPS * 2.0**-10 * largest, equal_nan=True)
        else:
            assert np.array_equal(a, b)


@pytest.mark.parametrize("pair", [*permutations(MEET, 2)], ids="-".join)
def test_formats_that_meet_give_on_the_gpu_what_they_give_on_the_cpu(pair, monkeypatch, drawn):
    within = max(ULPS * 2.0**-10, *(2 * format_of(name).eps for name in pair))  # rounded apart
    cases = [case for case in MEETING if case.operation not in ONE_FORMAT]
    with warnings.catch_warnings(), precision("float32"):
        warnings.simplefilter("ignore", kernels.OnHostWarning)
        warnings.filterwarnings("ignore", "numbers of a gradient were read")
        for case in drawn(cases, 12):
            runs = [results(case, device, monkeypatch, *pair) for device in ("cpu", "cuda")]
            for a, b in zip(*runs, strict=True):
                atol = within * np.abs(a).max(initial=2.0**-14)
                np.testing.assert_allclose(b, a, rtol=0, atol=atol, err_msg=str(case))


def test_autocast_in_bfloat16_is_what_it_is_on_the_cpu():
    given, sums = np.linspace(-1, 1, 12, dtype="f4").reshape(3, 4), []
    for device in ("cpu", "cuda"):
        x = fp.tensor(given, device=device, requires_grad=True)
        with fp.autocast(device, dtype="bfloat16"):
            assert (x + x).dtype == "float32"
            y = x @ x.T
        assert y.dtype == "bfloat16"
        y.sum().backward()
        sums.append((y.cpu().float().tolist(), x.grad.cpu().tolist()))
    assert sums[0] == sums[1]
