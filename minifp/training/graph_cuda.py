"""A training step as a CUDA graph: captured after ordinary ones, and from then on repeated.

What is repeated is what was launched: see runtime/cuda/capturing.py for what that asks of a step.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any
from weakref import finalize, proxy

import numpy as np

from minifp.autograd import memory
from minifp.autograd.tape import Tensor
from minifp.errors import CaptureError
from minifp.runtime.callers import is_of_user, line_at, warn_once
from minifp.runtime.cuda import capturing
from minifp.runtime.cuda.arrays import cupy, is_on_device, to_device
from minifp.runtime.cuda.capturing import Notes, beside_the_step, noting
from minifp.runtime.cuda.pools import PrivatePool, retire
from minifp.runtime.device import address
from minifp.training.step_result import PendingResult
from minifp.training.warm_up import WarmUp

MANY = 3  # times that a step is captured anew before somebody is told


class GraphRun:
    """The steps with arguments of one kind: ordinary ones first, and then one graph.

    A graph writes wherever its step had memory while it was captured, also where that was given
    back. So a graph has a pool of its own, from which nothing is taken after it is captured.
    """

    def __init__(self, owner: Any) -> None:
        self.owner = proxy(owner)  # which has it
        self.warm_up, self.times = WarmUp(), 0
        self.held = SimpleNamespace()
        self._hold_nothing()
        finalize(self, drop, self.held).atexit = False

    def _hold_nothing(self):
        vars(self.held).update(graph=None, memory=PrivatePool(), departures={})

    @property
    def graph(self) -> Any:
        """The graph, None until there is one."""
        return self.held.graph

    @property
    def pool(self) -> Any:
        """CuPy's pool, which its memory is of."""
        return self.held.memory.pool

    def __call__(self, args: Any) -> Any:
        """A step."""
        stream = cupy().cuda.get_current_stream()
        self.owner.stream.wait_event(stream.record())
        try:
            with self.owner.stream:
                if self.graph is None:
                    with cupy().cuda.using_allocator(self.held.memory.malloc):
                        if not self.warm_up.is_over:
                            return self._look(args)
                        self._capture(args)
                return self._repeat(args)
        finally:
            stream.wait_event(self.owner.stream.record())

    def _look(self, args):
        self.warm_up.check()
        inputs = [on_device(a) for a in args]
        return self.warm_up.step(self.owner.step, inputs, Notes(captures=False))

    def _repeat(self, args):
        for own, a in zip(self.held.inputs, args):
            if isinstance(own, Tensor):
                _copy(own.array, a.array if isinstance(a, Tensor) else a)
        for prepare in self.held.notes.before.values():
            prepare()
        if self.held.departures and self._has_lost_a_tensor():
            return self._ordinary_again(args)
        self.graph.launch(self.owner.stream)
        for finish in self.held.notes.after.values():
            finish()
        return _copied(self.held.outputs)

    def _capture(self, args):
        self.warm_up.check()
        self.warm_up.compare()
        last = self.warm_up.notes[-1]
        inputs = [on_device(a, copied=True) for a in args]
        for prepare in last.before.values():
            prepare()
        stream = self.owner.stream
        stream.synchronize()
        notes = Notes(captures=True)
        try:
            with without_collecting(), noting(notes):
                outputs, graph = self._captured(stream, notes, inputs)
            capturing.compare(last, notes)
        except BaseException:
            for undo in (last.undo | notes.undo).values():
                undo()
            self._begin_anew()
            raise
        vars(self.held).update(graph=graph, inputs=inputs, outputs=outputs, notes=notes)
        memory.watching.append(self.held.departures)
        self.warm_up.notes.clear()

    def _has_lost_a_tensor(self):
        """Whether `x.data = y` has left some tensor on other memory than while it was captured: of
        which a graph would not know."""
        departures = self.held.departures
        for key, (tensor, array) in list(departures.items()):
            now = tensor()
            if now is not None and not _are_one_place(now.array, array):
                return True
            del departures[key]
        return False

    def _ordinary_again(self, args):
        """Make ordinary steps again, and then another graph."""
        self.times += 1
        if self.times == MANY:
            warn_once(
                "captured again and again",
                f"a captured step was captured again {MANY} times, because x.data = y gives a "
                "tensor other memory. Write x.data.copy_(y), which keeps the memory that the "
                "graph uses",
                self,
            )
        drop(self.held)
        self._hold_nothing()
        with cupy().cuda.using_allocator(self.held.memory.malloc):
            return self._look(args)

    def _begin_anew(self):
        """Take another stream and another pool: who knows what a failed capture left of these."""
        self.owner.drop_stream()
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
            reason = f"{type(error).__name__}: {error}"
            raise CaptureError(
                f"a step could not be captured ({reason}): {_line(error)}"
            ) from error


def drop(held: SimpleNamespace) -> None:
    """Give back what a captured step held: its graph first, then the memory it writes to."""
    own = held.memory
    memory.watching[:] = [d for d in memory.watching if d is not held.departures]
    vars(held).clear()
    retire(own)


def on_device(a: Any, copied: bool = False) -> Any:
    """An argument on the GPU: a tensor, or a constant as it is."""
    if not isinstance(a, Tensor) and not hasattr(a, "dtype"):
        return a
    array = a.array if isinstance(a, Tensor) else a
    if is_on_device(array):
        return Tensor(array.copy()) if copied else a if isinstance(a, Tensor) else Tensor(array)
    return Tensor(to_device(np.asarray(array)))


def _are_one_place(a, b):
    kinds = [(address(x), x.shape, x.strides, x.dtype) for x in (a, b)]
    return kinds[0] == kinds[1]


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
        make = getattr(outputs, "_make", type(outputs))  # of named tuples
        return make(_copied(part) for part in outputs)
    if isinstance(outputs, dict):
        return {name: _copied(part) for name, part in outputs.items()}
    return outputs


@contextmanager
def without_collecting() -> Iterator[None]:
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
    line, trace = "minifp itself", error.__traceback__
    while trace is not None:
        if is_of_user(trace.tb_frame):
            line = line_at(trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        trace = trace.tb_next
    return line
