"""Convolutions by cuDNN, through its frontend: an accelerator to choose; nothing depends on it.

It is chosen by the environment variable MINIFP_CONVOLUTIONS=cudnn, or by `use(True)`, and is
installed with the extra "cudnn13" or "cudnn12". The default, "gemm", is products of cuBLAS: see
ops/conv_cuda.py.

A convolution is a graph of one operation, or two with a bias: it is added before the result is
rounded. Its plan, which kernel cuDNN runs for it, is made once for each geometry. cuDNN is let
choose among what keeps minifp's promises only: sums in float32 of inputs that are not rounded, no
other arithmetic than the sums themselves (no Fourier transform, no Winograd), the same bits at
every run, and tensor cores where the math mode has them (math_modes.py). Where nothing is left, or
cuDNN does not know the geometry, there is no plan: that is remembered, and the convolution goes the
way of the others. `refused()` tells which and why.

Pictures stay as minifp stores them, NCHW. cuDNN's tensor cores want NHWC: for float16 its
heuristics may find nothing in this layout, or what transposes in its workspace first. No figure of
a GPU says yet whether this is faster than products.

Source: the cuDNN frontend 1.22.1: `graph_interface.h`, `plans.h`, and `pygraph` in its Python
package.
"""

import os
import threading
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from minifp.errors import ArgumentError, DeviceError
from minifp.runtime import variables
from minifp.runtime.cuda import arrays, capturing
from minifp.runtime.cuda.math_modes import may_use_tensor_cores

INSTALL = 'pip install "minifp[cudnn13]" (or "minifp[cudnn12]", for a CuPy of CUDA 12)'
MOST_WORKSPACE = 2**28  # bytes that a plan may ask for

# ---- the choice ---------------------------------------------------------------------------------

chosen: bool | None = None  # None: as the environment says


def use(by_cudnn: bool) -> None:
    """Let convolutions on the GPU be cuDNN's from now on, or again products of cuBLAS.

    A step that is captured already stays as it is. Raises DeviceError where cuDNN or its frontend
    is missing, with what installs it.
    """
    global chosen
    if not isinstance(by_cudnn, bool):
        raise ArgumentError(f"cudnn.use({by_cudnn!r}): expected True or False")
    if by_cudnn:
        library()
    chosen = by_cudnn


def is_chosen() -> bool:
    """Whether convolutions are cuDNN's. The environment is read when this is first asked.

    Raises what `named_in` and `library` do.
    """
    if chosen is None:
        use(named_in(os.environ))
    return bool(chosen)


def named_in(environment: Mapping[str, str]) -> bool:
    """Whether MINIFP_CONVOLUTIONS is "cudnn", and not "gemm" or nothing, which is the same.

    Raises ArgumentError for anything else.
    """
    return variables.read("MINIFP_CONVOLUTIONS", environment) == "cudnn"


def library() -> Any:
    """The frontend's module. Raises DeviceError where it, or cuDNN itself, is missing."""
    try:
        found = import_module("cudnn")
        found.backend_version()
    except Exception as error:  # ImportError, and whatever it raises where there is no cuDNN
        raise DeviceError(
            f"convolutions by cuDNN were chosen (MINIFP_CONVOLUTIONS=cudnn, or cudnn.use(True)), "
            f"which cannot be loaded ({error}): {INSTALL}"
        ) from None
    return found


# ---- graphs -------------------------------------------------------------------------------------

OPERANDS = {  # by kind: what of a convolution enters, what comes out, and what the frontend says
    "fprop": ("x", "w", "y", ("image", "weight")),
    "dgrad": ("y", "w", "x", ("loss", "filter")),
    "wgrad": ("x", "y", "w", ("image", "loss")),
}
FORMATS = {"float16": "HALF", "float32": "FLOAT"}
FORBIDDEN = ["NONDETERMINISTIC", "REDUCED_PRECISION_REDUCTION", "DOWN_CONVERT_INPUTS", "FFT"]
FORBIDDEN += ["WINOGRAD", *(f"WINOGRAD_TILE_{n}x{n}" for n in (4, 6, 13))]
FIRST, SECOND, RESULT, BIAS = 1, 2, 3, 4  # how a graph names its arrays


class Geometry(NamedTuple):
    """A convolution, all that a plan is made for. Shapes have four axes, the others two.

    kind: of OPERANDS. dtype: the operands' format. out: the result's. bias: its own, or None.
    tensor_cores: whether they may multiply.
    """

    kind: str
    first: tuple[int, ...]
    second: tuple[int, ...]
    result: tuple[int, ...]
    dtype: str
    out: str
    bias: str | None
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    tensor_cores: bool

    @property
    def numbers(self) -> tuple[int, ...]:
        """All its sizes."""
        return sum((field for field in self if isinstance(field, tuple)), ())

    @property
    def is_usual(self) -> bool:
        """Whether nothing is empty and the windows are all there are, as cuDNN wants it."""
        held = dict(zip(OPERANDS[self.kind], (self.first, self.second, self.result)))
        x, w, y = (held[name] for name in "xwy")
        each = zip(x[2:], w[2:], self.stride, self.padding, self.dilation)
        counts = tuple([(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in each])
        return min(*x, *w, *y) > 0 and y == (x[0], w[0], *counts) and x[1] % w[1] == 0


def strides_of(shape: tuple[int, ...]) -> list[int]:
    """Elements from neighbour to neighbour along each axis, in C order."""
    found = [1]
    for n in reversed(shape[1:]):
        found.insert(0, n * found[0])
    return found


def graph_of(cudnn: Any, geometry: Geometry, handle: int) -> Any:
    """The graph of a convolution, not yet looked at by cuDNN. Arrays are named by numbers."""
    g, kinds = geometry, cudnn.data_type
    made = cudnn.pygraph(
        name=f"minifp_{g.kind}",
        io_data_type=getattr(kinds, FORMATS[g.dtype]),
        intermediate_data_type=kinds.FLOAT,
        compute_data_type=kinds.FLOAT,
        handle=handle,
    )

    def entering(shape, dtype, uid):
        dtype = getattr(kinds, FORMATS[dtype])
        return made.tensor(dim=list(shape), stride=strides_of(shape), data_type=dtype, uid=uid)

    operands = (entering(g.first, g.dtype, FIRST), entering(g.second, g.dtype, SECOND))
    result = getattr(made, f"conv_{g.kind}")(
        **dict(zip(OPERANDS[g.kind][3], operands)),
        padding=list(g.padding),
        stride=list(g.stride),
        dilation=list(g.dilation),
    )
    if g.bias is not None:
        # The sums before it are in float32, and in no memory.
        _shape(result, g.result).set_data_type(kinds.FLOAT)
        bias = entering((1, g.result[1], 1, 1), g.bias, BIAS)
        result = made.bias(input=result, bias=bias)
    _shape(result, g.result).set_output(True).set_data_type(getattr(kinds, FORMATS[g.out]))
    result.set_uid(RESULT)
    return made


def _shape(tensor, shape):
    """Give a result its shape, which the frontend cannot always infer, and C order, which it never
    does."""
    tensor.set_dim(list(shape))
    return tensor.set_stride(strides_of(shape))


# ---- plans --------------------------------------------------------------------------------------


class Plan(NamedTuple):
    """A graph that can be executed, and the bytes of workspace that it takes."""

    graph: Any
    workspace: int


def plan_of(cudnn: Any, geometry: Geometry, handle: int) -> Plan | str:
    """The best plan that cuDNN has for a convolution, or why there is none."""
    if not geometry.is_usual:
        return "empty, or not all windows that there are"
    try:
        made = graph_of(cudnn, geometry, handle)
        made.validate()
        made.build_operation_graph()
        made.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
        # Only now: the frontend strikes out of the list that it has, and forgets what it was told.
        notes = FORBIDDEN if geometry.tensor_cores else (*FORBIDDEN, "TENSOR_CORE")
        made.deselect_numeric_notes([getattr(cudnn.numerical_note, name) for name in notes])
        made.deselect_workspace_greater_than(MOST_WORKSPACE)
        made.check_support()
        made.build_plans(cudnn.build_plan_policy.HEURISTICS_CHOICE)
        return Plan(made, made.get_workspace_size())
    except (cudnn.cudnnGraphNotSupportedError, RuntimeError) as error:
        return str(error)


class Place:
    """cuDNN on one stream of a device, for one thread: its handle, and memory for its plans.

    A captured step has the memory that was there at its capture, so none is ever given back.
    """

    def __init__(self, cudnn: Any, stream: int) -> None:
        self.handle = cudnn.create_handle()
        cudnn.set_stream(handle=self.handle, stream=stream)
        self.memory: list[Any] = []

    def workspace(self, size: int) -> int:
        """The address of so many bytes, the same ones for all plans that they are enough for."""
        if not size:
            return 0
        if not self.memory or self.memory[-1].size < size:
            self.memory.append(arrays.lasting((size,), np.uint8))
        return self.memory[-1].data.ptr


@cache
def place(device: int, stream: int, thread: int) -> Place:
    """The place of a device's stream and a thread, made when it is first asked for."""
    return Place(library(), stream)


plans: dict[tuple[int, Geometry], Plan | str] = {}  # by device; a reason where there is none


def refused() -> dict[Geometry, str]:
    """The convolutions that were left to cuBLAS so far, and what cuDNN said of them."""
    return {geometry: why for (_, geometry), why in plans.items() if isinstance(why, str)}


# ---- calls --------------------------------------------------------------------------------------


class Steps(NamedTuple):
    """How a kernel goes over pictures, or sequences: a number for each axis."""

    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]


def convolution(
    kind: str, first, second, bias, shape: tuple[int, ...], dtype: np.dtype, steps: Steps
) -> Any:
    """A convolution or a gradient of one, in a new array of this shape and format; None for what is
    not done here: operands of two formats, others than float16 and float32, and what cuDNN has no
    plan for.

    kind: "fprop", of pictures, weights and perhaps a bias; "dgrad", the gradient for the pictures,
    of that for the result and weights; "wgrad", that for the weights, of pictures and the gradient
    for the result. Sequences are pictures of one row. Groups are as many as the shapes say.
    """
    formats = {first.dtype.name, dtype.name} | ({bias.dtype.name} if bias is not None else set())
    if first.dtype != second.dtype or not FORMATS.keys() >= formats:
        return None
    one = (1,) * (2 - len(steps.stride))
    sizes = [s[:2] + one + s[2:] for s in (first.shape, second.shape, shape)]
    named = first.dtype.name, dtype.name, None if bias is None else bias.dtype.name
    pairs = one + steps.stride, (0,) * len(one) + steps.padding, one + steps.dilation
    may = may_use_tensor_cores(first.dtype.name)
    geometry = Geometry(kind, sizes[0], sizes[1], sizes[2], *named, *pairs, may)
    cuda = arrays.cupy().cuda
    device = cuda.Device().id
    here = place(device, cuda.get_current_stream().ptr, threading.get_ident())
    plan = plans.get((device, geometry))
    if plan is None:
        if capturing.now is not None and capturing.now.captures:
            return None  # making one loads kernels, which no stream that captures allows
        plan = plans[device, geometry] = plan_of(library(), geometry, here.handle)
    if isinstance(plan, str):
        return None
    capturing.launched(f"cudnn.{kind}", geometry.numbers)
    given = {FIRST: first, SECOND: second}
    if bias is not None:
        given[BIAS] = bias
    given = {uid: _as_planned(a) for uid, a in given.items()}
    result = given[RESULT] = arrays.empty(shape, dtype)
    pointers = {uid: a.data.ptr for uid, a in given.items()}
    plan.graph.execute(pointers, here.workspace(plan.workspace), handle=here.handle)
    return result


def _as_planned(a):
    """An array in C order, from where 16 bytes can be read at once: a copy only if it is not."""
    return a if a.flags.c_contiguous and arrays.is_aligned(a) else a.copy()
