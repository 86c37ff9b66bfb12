"""The steps of layer_numba.py on a GPU: each is a product and a kernel, or two with a projection.

The state of all sequences is kept in one array, of which a step takes the first ones.
"""

import operator
from functools import cache

from minifp.derive.cuda import results_text
from minifp.derive.steps import ROUNDED
from minifp.derive.trace import Formulas
from minifp.numerics.formats import float32
from minifp.numerics.operands import rounded
from minifp.runtime.cuda.arrays import empty
from minifp.runtime.cuda.pointwise import cast, run
from minifp.runtime.cuda.product import multiply, product  # noqa: F401
from minifp.runtime.cuda.rows import contiguous  # noqa: F401
from minifp.runtime.cuda.source import THREADS, blocks_for, module_of, type_of

ADDED = Formulas(operator.add)
# A thread has one unit of one sequence; the step's rows begin at `start`.
TEXT = """
__device__ inline float {rounded}(float x) {{ return rounded<{stored}>(x); }}
{formula}
extern "C" __global__ void {name}(size count, size H, size start, {arrays}) {{
  for (size i = first_index(); i < count * H; i += all_threads()) {{
    size j = i % H, sequence = i / H, row = start + sequence;
    float results[{results}];
    f({values}, results);
{stores}
  }}
}}
"""
INDEX = {"row": "row", "sequence": "sequence", "sums": "sequence", "all": "0"}


@cache
def module(step, dtypes):
    """The module of a step, whose kernel has its name, for arrays of these dtypes."""
    formula = step.formula()

    def at(name, block):
        _, rows, blocks = step.operands[name]
        return f"{name}, ({INDEX[rows]} * {blocks} + {block}) * H + j"

    loads = [f"load({at(*step.reads[k])})" for k in formula.loads]
    stores = [
        f"    store({at(*place)}, results[{k}]);" for k, (_, place) in enumerate(step.results)
    ]
    arrays = [f"{type_of(dtype)} *{name}" for name, dtype in zip(step.operands, dtypes)]
    texts = {"arrays": ", ".join(arrays), "values": ", ".join(loads), "stores": "\n".join(stores)}
    texts |= {"stored": type_of(step.dtype), "formula": results_text(formula, "f")}
    text = TEXT.format(rounded=ROUNDED, name=step.name, results=len(stores), **texts)
    return module_of(text)


def launch(step, arrays, H, start, stop):
    """Compute the step that has these rows."""
    given, n = [arrays[name] for name in step.operands], stop - start
    kernel = module(step, tuple([a.dtype for a in given]))
    kernel.launch(step.name, blocks_for(n * H), THREADS, n, H, start, *given)


def entering(x, enter):
    """A state as it enters a product: rounded, or, where `enter` is None, as it is."""
    return x if enter is None else rounded(x, enter, enter.summed)


def take_steps(step, arrays, w_hh, w_hr, steps, enter=None):
    """Fill arrays forward. enter: how a state that enters a product is rounded, or None."""
    h, hs, qs = (arrays[name] for name in ("h", "hs", "qs"))
    a_h = arrays["a_h"] = empty((len(h), len(w_hh)), float32)
    for start, stop in steps:
        n = stop - start
        multiply(entering(h[:n], enter), w_hh.T, a_h[:n])
        launch(step, arrays, qs.shape[1], start, stop)
        if w_hr is not None:
            multiply(entering(qs[start:stop], enter), w_hr.T, hs[start:stop])
            h[:n] = hs[start:stop]


def take_steps_back(step, arrays, w_hh, w_hr, steps, enter=None):
    """Fill arrays backward. Where something comes to dh beside products, it waits in float32."""
    dh, dy, da = arrays["dh"], arrays["dy"], arrays.get("da_h", arrays["da"])
    carries, H = "carry" in step.operands, dh.shape[1] if w_hr is None else w_hr.shape[1]
    if carries:
        arrays["dh"] = arrays["carry"] = dh = cast(dh, float32)
    if w_hr is not None:
        arrays["dq"] = empty((len(dh), H), dh.dtype)
    for start, stop in reversed(steps):
        n = stop - start
        if w_hr is not None:
            dhs = arrays["dhs"][start:stop]
            dhs[...] = run(ADDED, (dh[:n], dy[start:stop]), dhs.dtype)
            multiply(entering(dhs, enter), w_hr, arrays["dq"][:n])
        launch(step, arrays, H, start, stop)
        multiply(entering(da[start:stop], enter), w_hh, dh[:n], accumulate=carries)
    arrays["dh"] = cast(dh, dy.dtype) if carries else dh
