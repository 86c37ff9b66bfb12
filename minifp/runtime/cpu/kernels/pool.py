"""One pool of threads for all kernels.

A kernel's work is divided into chunks. Those that are added up depend on shapes alone, so that no
result depends on how many threads there are. The caller and the workers each make one call, which
takes chunks, one after the other, as it comes free: fast and slow cores both stay busy. Between
calls workers sleep. Work too small to be worth waking one stays on the caller's thread.

threads.py says how many there are. (Products divide their results, and recurrent layers the batch,
by that number: no sum of theirs goes from one chunk to another.)
"""

import os
import threading
from functools import lru_cache
from queue import SimpleQueue

import numpy as np
from llvmlite import ir

from minifp.runtime.cpu import threads
from minifp.runtime.cpu.compile.decorators import flat as flat  # for those who call kernels
from minifp.runtime.cpu.compile.decorators import from_text, function_of, inline, intrinsic, types
from minifp.runtime.cpu.compile.entries import CODES
from minifp.runtime.cpu.heap import keep_what_is_freed

WORTH_A_THREAD = 100_000  # nanoseconds of work; waking a thread and waiting for it takes 40,000


class Call:
    """One worker's part of a kernel: begun by the worker, or called off by the caller."""

    __slots__ = ("kernel", "counter", "chunks", "scratch", "args", "claim", "ended", "error")

    def __init__(self, kernel, counter, chunks, scratch, args):
        self.kernel, self.counter, self.chunks = kernel, counter, chunks
        self.scratch, self.args, self.error = scratch, args, None
        self.claim: dict = {}  # by whom: what is set first stays
        self.ended = threading.Lock()
        self.ended.acquire()

    def work(self):
        """Take chunks until there are no more, unless the caller has called this part off."""
        if self.claim.setdefault("by", "worker") == "worker":
            try:
                self.kernel(self.counter, self.chunks, scratch(self.scratch), *self.args)
            except BaseException as error:  # the caller raises it
                self.error = error
            finally:
                self.ended.release()

    def finish(self):
        """Call it off, or wait for it if it has begun; its error, or None. It may be said again."""
        if self.claim.setdefault("by", "caller") == "worker":
            with self.ended:
                pass
        return self.error


class Pool:
    """Workers that wait for calls; started when they are first needed."""

    def __init__(self):
        self.started, self.lock = 0, threading.Lock()
        self.calls: SimpleQueue = SimpleQueue()

    def start(self, count):
        """Start the workers that are missing of a count."""
        with self.lock:
            while self.started < count:
                name = f"minifp-{self.started + 1}"
                threading.Thread(target=self._serve, name=name, daemon=True).start()
                self.started += 1

    def _serve(self):
        while True:
            self.calls.get().work()

    def run(self, kernel, chunks, args, workspace=0):
        """The kernel on the caller's thread and on as many workers as there are chunks for."""
        helpers = min(threads.number, chunks) - 1
        if self.started < helpers:
            self.start(helpers)
        shared = np.zeros(2, np.int64)
        calls = [Call(kernel, shared, chunks, workspace, args) for _ in range(helpers)]
        try:
            for call in calls:
                self.calls.put(call)
            kernel(shared, chunks, scratch(workspace), *args)
        finally:
            errors = finish(calls)
        for error in errors:
            if error is not None:
                raise error


def finish(calls):
    """Wait for all, whatever a signal or another thread raises meanwhile: workers read and write
    arrays that may be gone later. Their errors, then what was raised."""
    interruption = None
    while True:
        try:
            errors = [call.finish() for call in calls]
            return errors if interruption is None else [interruption, *errors]
        except BaseException as error:
            interruption = error


POOL = Pool()


def _after_fork():
    """A child process has none of its parent's threads."""
    global POOL
    POOL = Pool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

# ---- workspace ----------------------------------------------------------------------------------

keep_what_is_freed()
NOTHING = np.empty(0, np.float32)


class Own(threading.local):
    """What each thread has: counters of chunks that are begun, and of those that are done; and a
    workspace, and what a call packs for all threads, with anything in them."""

    def __init__(self):
        self.counter, self.array, self.packed = np.zeros(2, np.int64), NOTHING, NOTHING


_own = Own()


def at_hand(size):
    """This thread's counters, at 0, and a float32 workspace of at least `size` numbers."""
    held, array = _own.counter, _own.array if size else NOTHING
    held.fill(0)
    return held, array if size <= array.size else scratch(size)


def scratch(size):
    """A float32 workspace of this thread of at least `size` numbers, with anything in it."""
    if not size:
        return NOTHING
    if _own.array.size < size:
        _own.array = aligned(size)
    return _own.array


def aligned(size):
    """A new array of float32 numbers that begins where a line of the cache does: vectors that lie
    across two lines are read at half the speed.
    """
    space = np.empty(size + 16, np.float32)
    start = -space.__array_interface__["data"][0] % 64 // 4
    return space[start : start + size]


def packed(size):
    """A float32 array of this thread of at least `size` numbers, with anything in it, for what a
    call packs before its chunks, on all threads, read it: until the next such call."""
    if _own.packed.size < size:
        _own.packed = aligned(size)
    return _own.packed


# ---- arrays ------------------------------------------------------------------------------------


def view(x):
    """A stored array as kernels take it: its bits, where numba does not know its format."""
    return x.view(CODES[x.dtype]) if x.dtype in CODES else x


# ---- kernels in chunks --------------------------------------------------------------------------


@intrinsic
def take_next(typing, counter):
    """Add 1 to counter[0], as if no other thread could do so meanwhile; what it was before."""

    def generate(context, builder, signature, args):
        data = context.make_array(counter)(context, builder, args[0]).data
        return builder.atomic_rmw("add", data, ir.Constant(ir.IntType(64), 1), "seq_cst")

    return types.int64(counter), generate


TEMPLATE = """
def {name}(counter, count, scratch, {args}):
    while True:
        chunk = take_next(counter)
        if chunk >= count:
            break
        body(chunk, scratch, {args})
"""


class Chunked:
    """A kernel `body(chunk, scratch, *args)` that is called for each chunk from 0 to a count.

    scratch: a float32 workspace, the thread's own. takes_rows: see `compiled`.
    """

    def __init__(self, body, made_for=None, takes_rows=False, **options):
        code = body.__code__
        args = ", ".join(code.co_varnames[2 : code.co_argcount])
        inner = inline(body, how="always", **options)
        known = {"take_next": take_next, "body": inner}
        name = f"{body.__name__}_chunks"
        text = TEMPLATE.format(args=args, name=name)
        self.kernel = from_text(text, name, made_for or body, known, takes_rows, **options)
        self.__doc__, self.__name__ = body.__doc__, body.__name__

    @classmethod
    def from_text(cls, text, name, made_for, known, **options):
        """One whose body is the function `name` of a text, which stands for `made_for`."""
        return cls(function_of(text, name, made_for, known), made_for, **options)

    def __call__(self, chunks, *args, cost=0, workspace=0):
        """Do all chunks. cost: nanoseconds on one core, roughly. workspace: float32 numbers."""
        if chunks > 1 and cost > WORTH_A_THREAD and threads.number > 1:
            POOL.run(self.kernel, chunks, args, workspace)
        else:
            counter, array = at_hand(workspace)
            for entry in self.kernel.entries:  # of which the first mostly takes these arguments
                if entry(counter, chunks, array, *args) is not NotImplemented:
                    return
            self.kernel(counter, chunks, array, *args)


def parallel(body=None, **options):
    """Make `body(chunk, scratch, *args)` a Chunked; options as those of `compiled`."""
    return (lambda body: Chunked(body, **options)) if body is None else Chunked(body, **options)


@lru_cache(1024)
def spans(n, least, most=64):
    """(count, size): into how many chunks n things are divided, of `size` each but the last.

    least: how many are worth a chunk. Depends on nothing but these numbers.
    """
    size = max(least, -(-n // most), 1)
    return -(-n // size), size
