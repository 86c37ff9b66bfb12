"""`fp.capture`: a whole training step as one CUDA graph, captured once and repeated.

Launched one by one, the kernels of a small model take less time than Python takes to launch them. A
graph has them all, from the first of forward to the last of the update, and is launched at once.
What is repeated is what was launched: see runtime/cuda/capturing.py for what that asks of a step.
"""

import gc
from collections.abc import Callable
from contextlib import contextmanager, suppress
from functools import cached_property
from types import SimpleNamespace
from typing import Any
from weakref import finalize, proxy

import numpy as np

from minifp.autograd import tape
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, CaptureError
from minifp.numerics import kernels
from minifp.runtime.callers import is_of_user
from minifp.runtime.cuda import capturing
from minifp.runtime.cuda.arrays import cupy, is_on_device, to_device
from minifp.runtime.cuda.capturing import Notes, beside_the_step, noting
from minifp.runtime.cuda.pools import PrivatePool, retire
from minifp.runtime.device import as_device
from minifp.training import mixed
from minifp.training.step_result import PendingResult

WARM_UP = 3  # steps before the first that is captured: kernels are compiled, memory is laid out
MOST = 8  # graphs of one step, for arguments of different shapes


def capture(step: Callable[..., Any], *, device: str | None = None) -> "CapturedStep":
    """A step that is captured as a CUDA graph at its fourth call, and from then on repeated.

        step = fp.capture(step)
        for x, t in loader:
            loss = step(x, t)

    step: a function of tensors (and constants) that does all of a training step and returns tensors
    (or a StepResult, None, or tuples, lists and dicts of these). What it returns is a copy, which
    the next step does not change. Its first calls are ordinary steps; so is nothing lost, and
    losses are the same, bit for bit, as without. For arguments of another shape, such as a last,
    smaller batch, another graph is made. Arguments on the CPU are copied to the GPU. While somebody
    observes (see fp.microscope), steps are ordinary ones.

    The optimizer is a MixedOptimizer; learning rates and the loss scale may change at any time.
    device: by default "cuda" if an argument is there, or else the default device. On the CPU
    nothing is captured, but the step is looked at in the same way: what would not go on a GPU is
    refused.

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
        self.__doc__ = step.__doc__

    @cached_property
    def stream(self) -> Any:
        """The stream of all its graphs."""
        return cupy().cuda.Stream(non_blocking=True)

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
            return self.step(*[_on_device(a) for a in args])  # a graph has nothing to observe
        key = tuple(_kind(a) for a in args)
        run = self.runs.get(key)
        if run is None:
            if len(self.runs) == MOST:
                raise CaptureError(
                    f"capture: arguments of more than {MOST} different kinds, lastly "
                    f"{key}: a graph is for one. Give numbers that change as tensors, and batches "
                    "of one size (DataLoader(..., drop_last=True))"
                )
            run = self.runs[key] = (Run if self.device == "cuda" else Look)(self)
        return run(args)


def _kind(a):
    """What of an argument a graph is made for."""
    array = a.array if isinstance(a, Tensor) else a
    if hasattr(array, "shape") and hasattr(array, "dtype"):
        return array.shape, array.dtype.str
    if isinstance(a, (int, float, str, bool, type(None))):
        return a
    raise ArgumentError(f"a captured step's argument is a {type(a).__name__}: expected tensors")


class Look:
    """Steps on the CPU: the first ones are looked at, and refused if no graph could do them."""

    graph = None

    def __init__(self, owner):
        self.owner, self.seen = owner, []

    def __call__(self, args):
        """A step."""
        if len(self.seen) >= WARM_UP:
            return self.owner.step(*args)
        if len(self.seen) == WARM_UP - 1:
            self.check()
        notes = Notes(captures=False)
        seen = OnCalls(notes)
        kernels.observers.append(seen)
        try:
            with noting(notes):
                result = self.owner.step(*args)
        finally:
            kernels.observers.remove(seen)
        self.seen.append(notes)
        if len(self.seen) == WARM_UP:
            capturing.compare(*self.seen[-2:])
        return result

    def check(self):
        """Raise CaptureError for what was refused so far."""
        for notes in self.seen:
            notes.check()


class OnCalls:
    """Notes the kernels that are called on the CPU, and the numbers they are given."""

    def __init__(self, notes):
        self.notes = notes

    def on_kernel(self, kernel, args, results, formats):
        """Called by the backend."""
        numbers = tuple(a for a in args if isinstance(a, (int, float)))
        self.notes.launches.append((kernel.name, numbers, capturing.line_of_user()))


class Run:
    """The steps with arguments of one kind: ordinary ones first, and then one graph.

    A graph writes wherever its step had memory while it was captured, also where that was given
    back. So a graph has a pool of its own, from which nothing is taken after it is captured.
    """

    def __init__(self, owner):
        self.owner = proxy(owner)  # which has it
        self.seen: list[Notes] = []
        self.held = SimpleNamespace(graph=None, memory=PrivatePool())
        finalize(self, drop, self.held).atexit = False

    @property
    def graph(self):
        """The graph, None until there is one."""
        return self.held.graph

    @property
    def pool(self):
        """CuPy's pool, which its memory is of."""
        return self.held.memory.pool

    def __call__(self, args):
        """A step."""
        stream = cupy().cuda.get_current_stream()
        self.owner.stream.wait_event(stream.record())
        try:
            with self.owner.stream:
                if self.graph is None:
                    with cupy().cuda.using_allocator(self.held.memory.malloc):
                        if len(self.seen) < WARM_UP:
                            return self._look(args)
                        self._capture(args)
                return self._repeat(args)
        finally:
            stream.wait_event(self.owner.stream.record())

    def _look(self, args):
        self._check()
        given = [_on_device(a) for a in args]
        with noting(Notes(captures=False)) as notes:
            result = self.owner.step(*given)
        self.seen.append(notes)
        return result

    def _repeat(self, args):
        for own, a in zip(self.held.inputs, args):
            if isinstance(own, Tensor):
                _copy(own.array, a.array if isinstance(a, Tensor) else a)
        for prepare in self.held.notes.before.values():
            prepare()
        self.graph.launch(self.owner.stream)
        for finish in self.held.notes.after.values():
            finish()
        return _copied(self.held.outputs)

    def _check(self):
        for notes in self.seen:
            notes.check()

    def _capture(self, args):
        self._check()
        capturing.compare(*self.seen[-2:])
        inputs = [_on_device(a, copied=True) for a in args]
        for prepare in self.seen[-1].before.values():
            prepare()
        stream = self.owner.stream
        stream.synchronize()
        notes = Notes(captures=True)
        try:
            with without_collecting(), noting(notes):
                outputs, graph = self._captured(stream, notes, inputs)
            capturing.compare(self.seen[-1], notes)
        except BaseException:
            for undo in (self.seen[-1].undo | notes.undo).values():
                undo()
            self._begin_anew()
            raise
        vars(self.held).update(graph=graph, inputs=inputs, outputs=outputs, notes=notes)
        self.seen.clear()

    def _begin_anew(self):
        """Take another stream and another pool: who knows what a failed capture left of these."""
        del self.owner.stream
        retire(self.held.memory)
        self.held.memory = PrivatePool()

    def _captured(self, stream, notes, inputs):
        stream.begin_capture()
        try:
            outputs = self.owner.step(*inputs)
            with beside_the_step():
                for finish in notes.last:
                    finish()
            notes.check()  # of what was raised, and caught by the step
            return outputs, stream.end_capture()
        except BaseException as error:
            with suppress(Exception):  # it must be ended, also where it is not valid any more
                stream.end_capture()
            if isinstance(error, CaptureError) or not isinstance(error, Exception):
                raise
            raise CaptureError(
                f"a step could not be captured ({type(error).__name__}: {error}): {_line(error)}"
            ) from error


def drop(held):
    """Give back what a captured step held: its graph first, then the memory it writes to."""
    memory = held.memory
    vars(held).clear()
    retire(memory)


def _on_device(a, copied=False):
    """An argument on the GPU: a tensor, or a constant as it is."""
    if not isinstance(a, Tensor) and not hasattr(a, "dtype"):
        return a
    array = a.array if isinstance(a, Tensor) else a
    if is_on_device(array):
        return Tensor(array.copy()) if copied else a if isinstance(a, Tensor) else Tensor(array)
    return Tensor(to_device(np.asarray(array)))


def _copy(target, array):
    if is_on_device(array):
        target[...] = array
    else:
        target.set(np.ascontiguousarray(array))


def _copied(outputs):
    """What a step returns, in memory that the next one does not write to."""
    if isinstance(outputs, Tensor):
        return Tensor(outputs.array.copy())
    if isinstance(outputs, PendingResult):
        return outputs.copied()
    if isinstance(outputs, (tuple, list)):
        return type(outputs)(_copied(part) for part in outputs)
    if isinstance(outputs, dict):
        return {name: _copied(part) for name, part in outputs.items()}
    return outputs


@contextmanager
def without_collecting():
    """Without the garbage collector, which would free memory at any moment."""
    gc.collect()
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _line(error):
    """The last line of the user's on the way to an error."""
    found, trace = "minifp itself", error.__traceback__
    while trace is not None:
        if is_of_user(trace.tb_frame):
            found = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found
