"""`fp.capture`: a whole training step as one CUDA graph, captured once and repeated.

Launched one by one, the kernels of a small model take less time than Python takes to launch them. A
graph has them all, from the first of forward to the last of the update, and is launched at once.
What is repeated is what was launched: see runtime/cuda/capturing.py for what that asks of a step.
"""

from collections.abc import Callable
from typing import Any
from weakref import finalize

from minifp.autograd import tape
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, CaptureError
from minifp.numerics import kernels
from minifp.runtime.cuda.arrays import is_on_device
from minifp.runtime.cuda.streams import Lease
from minifp.runtime.device import as_device
from minifp.training import mixed
from minifp.training.graph_cuda import GraphRun, on_device
from minifp.training.warm_up import HostRun

MOST = 8  # graphs of one step, for arguments of different shapes


def capture(step: Callable[..., Any], *, device: str | None = None) -> "CapturedStep":
    """A step that is captured as a CUDA graph at its fourth call, and repeated from then on.

        step = fp.capture(step)
        for x, t in loader:
            loss = step(x, t)

    step: a function of tensors (and constants) that does all of a training step and returns tensors
    (or a StepResult, None, or tuples, lists and dicts of these). What it returns is a copy, which
    the next step does not change. Its first calls are ordinary steps, so nothing is lost, and
    losses have the same bits as without capture. Arguments of another shape, such as a smaller last
    batch, get another graph. Arguments on the CPU are copied to the GPU. While somebody observes
    (see fp.microscope), steps are ordinary ones.

    The optimizer is a MixedOptimizer; learning rates and the loss scale may change at any time.
    device: by default "cuda" if an argument is there, else the default device. On the CPU nothing
    is captured, but the step is checked in the same way: anything that would fail on a GPU is an
    error.

    Raises CaptureError for a step that cannot be captured, with the line that did it (on a GPU
    before anything is changed by that call; on the CPU its third call was made): one that reads a
    result on the CPU (`loss.item()`, `if`), copies from it, does something else every time, or uses
    a number that changes.
    """
    if not callable(step):
        raise ArgumentError(f"capture: a {type(step).__name__}: expected a function")
    return CapturedStep(step, None if device is None else as_device(device))


class CapturedStep:
    """What `fp.capture` returns: call it as the step itself. `graphs` says how many there are."""

    def __init__(self, step: Callable[..., Any], device: str | None) -> None:
        self.step, self.device = step, device
        self.runs: dict[tuple, Any] = {}
        self.lease: Lease | None = None
        self.__doc__ = step.__doc__

    @property
    def stream(self) -> Any:
        """The stream of all its graphs, whose cuBLAS handle is there before any capture."""
        if self.lease is None:
            self.lease = Lease()
            self.lease.prepare()
            self.give_back = finalize(self, self.lease.give_back)
            self.give_back.atexit = False
        return self.lease.stream

    def drop_stream(self) -> None:
        """Take another stream from now on: who knows what a failed capture left of this one.

        Its handles are kept where there are graphs: these write to the handles' workspaces.
        """
        if self.lease is not None:
            self.give_back.detach()
            if not self.graphs:
                self.lease.drop()
            self.lease = None

    @property
    def graphs(self) -> int:
        """How many graphs were captured so far."""
        return sum(run.graph is not None for run in self.runs.values())

    def __call__(self, *args: Any) -> Any:
        """Do the step. Raises CaptureError: see `fp.capture`."""
        if self.device is None:
            there = any(is_on_device(getattr(a, "array", a)) for a in args)
            self.device = "cuda" if there else as_device(None)
        if self.device == "cuda" and any((tape.observers, kernels.observers, mixed.observers)):
            return self.step(*[on_device(a) for a in args])  # a graph has nothing to observe
        key = tuple(_kind(a) for a in args)
        run = self.runs.get(key)
        if run is None:
            if len(self.runs) == MOST:
                raise CaptureError(
                    f"capture: more than {MOST} different kinds of arguments, the last {key}: "
                    "each kind needs its own graph. Pass changing numbers as tensors, and "
                    "batches of one size (DataLoader(..., drop_last=True))"
                )
            run = self.runs[key] = (GraphRun if self.device == "cuda" else HostRun)(self)
        return run(args)


def _kind(a):
    """What of an argument a graph is made for."""
    array = a.array if isinstance(a, Tensor) else a
    if hasattr(array, "shape") and hasattr(array, "dtype"):
        return array.shape, array.dtype.str
    if isinstance(a, (int, float, str, bool, type(None))):
        return a
    raise ArgumentError(f"a captured step's argument is a {type(a).__name__}: expected tensors")
