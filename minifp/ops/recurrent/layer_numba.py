"""The loops of layer.py in compiled kernels: the formulas of a cell, for any device.

The products of all inputs come first, in float32, so that sums are never rounded. Then
sequence_numba.py or sequence_cuda.py goes through the steps: products, and the cell behind them.
"""

from functools import cache

from minifp.derive.dtypes import COMPILED, name_of
from minifp.derive.steps import Step
from minifp.numerics.formats import float32
from minifp.numerics.operands import rounds
from minifp.ops.recurrent import sequence_cuda, sequence_numba
from minifp.ops.recurrent.layer import results
from minifp.runtime.cuda.arrays import is_on_device

FLOATS = COMPILED

# ---- formulas of a cell -------------------------------------------------------------------------


@cache
def forward_step(cell, dtype, is_biased, has_c, is_projected, settings):
    """The Step of `Cell.forward`."""
    step = Step(cell.forward.__name__, dtype)
    a, a_h = (step.read(n, r, cell.sums, "float32") for n, r in (("a", "row"), ("a_h", "sums")))
    biases = [step.read(b, "all", cell.sums) if is_biased else None for b in ("b_ih", "b_hh")]
    (state,) = step.read("c" if has_c else "h", "sequence")
    how = {"accumulate": lambda x: x, "store": step.store, **dict(settings)}
    gates, c, q = cell.forward(a, a_h, *biases, state, **how)
    if gates:
        step.write("gates", "row", *gates)
        step.begin_loop()
    if has_c:
        step.write("c", "sequence", c)
        step.write("cs", "row", c)
    step.write("qs", "row", q)
    if not is_projected:
        step.write("h", "sequence", q)
    return step


@cache
def backward_step(cell, dtype, has_c, is_projected, settings):
    """The Step of `Cell.backward`: d is what is stored of the sums dq, or of dh, plus dy."""
    step = Step(cell.backward.__name__, dtype)
    if is_projected:
        d = step.store(step.read("dq", "sums", 1, "float32")[0])
    else:
        d = step.store(step.read("dh", "sequence")[0]) + step.read("dy", "row")[0]
    dc = step.read("dc", "sequence")[0] if has_c else None
    saved = [b for k, n in enumerate(cell.saved) for b in step.read(f"saved{k}", "row", n)]
    of_a, of_a_h, of_h, of_c = cell.backward(d, dc, *saved, store=step.store, **dict(settings))
    step.write("da", "row", *of_a)
    if of_a_h is not None:
        step.write("da_h", "row", *of_a_h)
    if of_h is not None:
        step.write("carry", "sums", of_h, dtype="float32")
    if has_c:
        step.write("dc", "sequence", of_c)
    return step


# ---- on any device ------------------------------------------------------------------------------


def forward(cell, x, h, c, weights, *, steps, to, enter=None, **settings):
    """As layer.forward; None for what is not ours. enter: to what states are rounded, or None."""
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    if not (are_ours(to, x, h, c, *weights) and can_enter(enter)):
        return None
    on = sequence_cuda if is_on_device(x) else sequence_numba
    dtype, N, size = x.dtype, len(x), len(w_hh) // cell.sums
    arrays = {"a": on.product(x, w_ih.T, float32), "h": h.copy()}
    arrays["hs"] = on.empty((N, h.shape[1]), dtype)
    if b_ih is not None:
        arrays |= {"b_ih": on.contiguous(b_ih), "b_hh": on.contiguous(b_hh)}
    if c is not None:
        arrays |= {"c": c.copy(), "cs": on.empty((N, size), dtype)}
    if cell.gates:
        arrays["gates"] = on.empty((N, cell.gates * size), dtype)
    arrays["qs"] = arrays["hs"] if w_hr is None else on.empty((N, size), dtype)
    has = b_ih is not None, c is not None, w_hr is not None
    step = forward_step(cell, name_of(dtype), *has, tuple(settings.items()))
    on.take_steps(step, arrays, w_hh, w_hr, steps, enter)
    names = "hs", "cs", *(["qs"] if has[2] else []), "gates", "h", "c"
    return results(*map(arrays.get, names))


def backward(cell, dy, dh, dc, saved, w_hh, w_hr, *, steps, to, enter=None, **settings):
    """As layer.backward; None for what is not ours."""
    if not (are_ours(to, dy, dh, dc, *saved, w_hh, w_hr) and can_enter(enter)):
        return None
    on = sequence_cuda if is_on_device(dy) else sequence_numba
    step = backward_step(
        cell, name_of(dy.dtype), dc is not None, w_hr is not None, tuple(settings.items())
    )
    arrays = {"dy": on.contiguous(dy), "dh": dh.copy()}
    arrays |= {f"saved{k}": on.contiguous(s) for k, s in enumerate(saved)}
    if dc is not None:
        arrays["dc"] = dc.copy()
    for name in {"da", "da_h"} & {*step.operands}:
        arrays[name] = on.empty((len(dy), len(w_hh)), dy.dtype)
    if w_hr is not None:
        arrays["dhs"] = on.empty(dy.shape, dy.dtype)
    on.take_steps_back(step, arrays, w_hh, w_hr, steps, enter)
    return results(*map(arrays.get, ("da", "da_h", "dhs", "dh", "dc")))


def can_enter(enter):
    """Whether states can be rounded to this, a Rounding or None, in the loops."""
    return enter is None or rounds(enter.format)


def are_ours(to, *arrays):
    """Whether all arrays are stored in one format, which is that of all results, and none is
    empty."""
    there = results(*arrays)
    dtypes = {*to, *[a.dtype for a in there]}
    return len(dtypes) == 1 and dtypes <= FLOATS and all(a.size for a in there)
