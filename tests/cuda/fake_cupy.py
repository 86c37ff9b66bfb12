"""What minifp uses of CuPy, on a machine without a GPU: arrays, streams, graphs, kernels, memory.

Arrays lie in the host's memory, but behave as CuPy's do: NumPy cannot read them, they do not mix
with NumPy's, memory comes from a pool and holds NaN until it is written, and while a stream is
captured nothing is computed, and what would read a result is refused. Kernels are the same texts,
compiled for the host (see shim.h). What CuPy has and this has not is an AttributeError.

Inside of `late(seed)` work is done as late as it can be, in an order that only events limit.
"""

import ctypes
import gc
import itertools
import math
import os
import threading
import weakref
from contextlib import contextmanager
from functools import cache, partial
from operator import attrgetter
from types import ModuleType, SimpleNamespace

import build
import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

__name__ = "cupy"
__version__ = "14.0-imitated"
WORKSPACE = 2**20  # bytes from which on memory is aligned, whatever else is wanted
POISON = 0xFF  # bytes of a NaN in every floating format
COPIED_ANYWAY = (bool, int, float, complex, np.generic)


class CapturedRead(RuntimeError):
    """What CUDA says of a read while a stream is captured."""


class OutOfMemoryError(MemoryError):
    """CuPy's, which a pool raises at its limit."""


class MemoryPointer:
    """A place in memory that is given back, to its stream's, when nobody knows it any more."""

    def __init__(self, pool, arena, bytes, size):
        self.pool, self.arena, self.bytes, self.size = pool.weak, arena, bytes, size
        self.ptr = bytes.ctypes.data

    @property
    def mem(self):
        return self

    def __del__(self):
        pool = self.pool()
        if pool is not None:  # or else it is lost, as part of a block would be
            pool.free(self)

    def copy_from_host_async(self, memory, size, stream=None):
        _copy_from_host(self.ptr, memory, size, stream)


class MemoryPool:
    """A pool, as CuPy's: blocks of multiples of 512 bytes, kept for who asks next on a stream.

    At its limit, and where the device is full, which is when `allocator` raises CUDARuntimeError,
    it gives back what nobody uses, and tries again.
    """

    def __init__(self, allocator=None):
        self.freed, self.total, self.used, self.limit = {}, 0, 0, 0
        self.allocator = allocator or (lambda size: None)
        self.weak = weakref.ref(self)

    def malloc(self, size):
        """A place of at least so many bytes, which hold NaN."""
        global live
        size = max(512, -(-size // 512) * 512) if not flags or size >= WORKSPACE else max(size, 1)
        stream = get_current_stream()
        arena = self.freed.setdefault(stream.ptr, {})
        if not arena.get(size):
            self._make_room(size)
            aligned = size % 512 == 0
            block = np.empty(size + 512 * aligned, np.uint8)
            start = -block.ctypes.data % 512 if aligned else 0
            bytes = block[start : start + size]
            self.total += size
            live += size
        else:
            bytes = arena[size].pop()
        self.used += size
        if not _late or not stream.is_capturing():  # a queue may still need what is there
            _fill(bytes, POISON)
        return MemoryPointer(self, stream.ptr, bytes, size)

    def _make_room(self, size):
        def is_beyond():
            return self.limit and self.total + size > self.limit

        if is_beyond():
            self.free_all_blocks()
        for give_back in () if is_beyond() else (lambda: None, self.free_all_blocks, self._collect):
            give_back()
            try:
                self.allocator(size)
                return
            except CUDARuntimeError:
                pass
        raise OutOfMemoryError(
            f"Out of memory allocating {size:,} bytes (allocated so far: {self.used:,} "
            f"bytes, limit set to: {self.limit:,} bytes)."
        )

    def _collect(self):
        gc.collect()
        self.free_all_blocks()

    def free(self, pointer):
        arena = self.freed.setdefault(pointer.arena, {})
        arena.setdefault(pointer.size, []).append(pointer.bytes)
        self.used -= pointer.size

    def free_all_blocks(self, stream=None):
        """Give the memory that nobody uses back to the host. Waits for the device."""
        global live
        _wait_for_all()
        unused = self.free_bytes()
        self.total -= unused
        live -= unused
        self.freed.clear()

    def n_free_blocks(self):
        return sum(len(held) for arena in self.freed.values() for held in arena.values())

    def free_bytes(self):
        return self.total - self.used

    def total_bytes(self):
        return self.total

    def used_bytes(self):
        return self.used

    def set_limit(self, size=None, fraction=None):
        self.limit = size or 0


live = 0  # bytes that pools have taken from the host and not given back
_default_pool = MemoryPool()
_here = threading.local()


def get_default_memory_pool():
    return _default_pool


def _malloc(size):
    return getattr(_here, "allocator", _default_pool.malloc)(size)


@contextmanager
def _using_allocator(allocator=None):
    before = getattr(_here, "allocator", _default_pool.malloc)
    _here.allocator = allocator or _default_pool.malloc
    try:
        yield
    finally:
        _here.allocator = before


_pinned: dict = {}  # by size, memory of the host's that nobody uses: for who asks next


def _alloc_pinned_memory(size):
    """Memory of the host's that a device could read by itself."""
    size = max(512, 1 << (size - 1).bit_length())
    unused = _pinned.setdefault(size, [])
    memory = unused.pop() if unused else (ctypes.c_char * size)()
    view = (ctypes.c_char * size).from_buffer(memory)
    weakref.finalize(view, unused.append, memory).atexit = False
    return view


class CUDARuntimeError(RuntimeError):
    """What CUDA refuses."""


class Stream:
    null: "Stream"

    def __init__(self, null=False, non_blocking=False, ptds=False, priority=None):
        self.ptr = 0 if null else build.runtime().rig_stream()
        self.non_blocking, self.pool, self.nodes, self.before = non_blocking, None, [], []

    @property
    def pointer(self):
        """Its address for C++. Raises CUDARuntimeError while its capture is invalid."""
        self.is_capturing()
        return ctypes.c_void_p(self.ptr)

    def __enter__(self):
        self.before.append(get_current_stream())
        _here.stream = self
        return self

    def __exit__(self, *error):
        _here.stream = self.before.pop()

    def synchronize(self):
        _never_in_capture("to wait for a stream", self)
        build.runtime().rig_wait(self.pointer)
        _raise_late()

    def wait_event(self, event):
        if event.captured != self.is_capturing():
            build.runtime().rig_invalidate(ctypes.c_void_p(self.ptr))
            raise CUDARuntimeError("cudaErrorStreamCaptureIsolation: an event of another capture")
        if not event.captured:
            build.runtime().rig_wait_event(self.pointer, event.pointer)

    def record(self, event=None):
        event = event or Event()
        event.captured = self.is_capturing()
        if not event.captured:
            build.runtime().rig_record(self.pointer, event.pointer)
        return event

    def begin_capture(self, mode=None):
        """Do nothing from now on but note what there is to do."""
        if not self.ptr:
            raise RuntimeError("cannot capture on the default (legacy) stream")
        self.nodes = []
        build.runtime().rig_begin_capture(self.pointer)

    def is_capturing(self):
        status = build.runtime().rig_is_capturing(ctypes.c_void_p(self.ptr))
        if status == 2:
            raise CUDARuntimeError("cudaErrorStreamCaptureInvalidated: operation failed due to a "
                                   "previous error during capture")  # fmt: skip
        return bool(status)

    def end_capture(self):
        pointer = ctypes.c_void_p(self.ptr)
        if not build.runtime().rig_is_capturing(pointer):
            raise CUDARuntimeError("cudaErrorIllegalState: the stream is not capturing")
        nodes, self.nodes = self.nodes, []
        graph = build.runtime().rig_end_capture(pointer)
        if not graph:
            raise CUDARuntimeError("cudaErrorStreamCaptureInvalidated: there is no graph")
        return Graph(graph, nodes)


class Graph:
    def __init__(self, pointer, nodes):
        self.pointer, self.nodes = ctypes.c_void_p(pointer), nodes

    def launch(self, stream=None):
        build.runtime().rig_graph_launch(self.pointer, (stream or get_current_stream()).pointer)

    def __len__(self):
        return build.runtime().rig_graph_nodes(self.pointer)

    def __del__(self):
        _wait_for_all()
        build.runtime().rig_graph_free(self.pointer)
        for number in self.nodes:
            del _works[number]


class Event:
    def __init__(self, *flags, **settings):
        self.pointer, self.captured = ctypes.c_void_p(build.runtime().rig_event()), False

    def __del__(self):
        build.runtime().rig_event_free(self.pointer)

    def record(self, stream=None):
        (stream or get_current_stream()).record(self)

    def synchronize(self):
        if self.captured:
            _never_in_capture("to wait for an event", get_current_stream())
        build.runtime().rig_wait_for(self.pointer)
        _raise_late()


Stream.null = Stream(null=True)


def get_current_stream(device_id=-1):
    return getattr(_here, "stream", Stream.null)


def _refuse_in_capture(what):
    if get_current_stream().is_capturing():
        raise CapturedRead(f"{what} is not allowed while the stream captures")


def _never_in_capture(what, stream):
    """What CUDA itself refuses, and not CuPy before it, makes the capture invalid."""
    if stream.is_capturing():
        build.runtime().rig_invalidate(ctypes.c_void_p(stream.ptr))
        raise CUDARuntimeError(f"cudaErrorStreamCaptureUnsupported: {what} while it captures")


_works: dict = {}  # by number, what a queue or a graph has to do in Python
_numbers = itertools.count()
_failed: list = []  # what was raised where nobody could catch it
_late = 0


@ctypes.CFUNCTYPE(None, ctypes.c_long)
def _work(number):
    try:
        _works[number]()
    except BaseException as error:
        _failed.append(error)


def _do(work):
    """Do it: now, or when a queue comes to it, or a graph that is captured is launched."""
    stream = get_current_stream()
    if not _late and not stream.is_capturing():
        work()
        return
    number = next(_numbers)
    if stream.is_capturing():
        _works[number] = work
        stream.nodes.append(number)
    else:
        _works[number] = lambda: (_works.pop(number), work())
    build.runtime().rig_callback(stream.pointer, _work, ctypes.c_long(number))


@contextmanager
def late(seed):
    """Let work wait in its stream's queue until it has to be done, in a `with` block.

    seed: which of the streams that can go on is first: the last made (1), the first (2), any.
    """
    global _late
    before, _late = _late, seed
    build.runtime().rig_set_late(seed)
    try:
        yield
    finally:
        _late = before
        build.runtime().rig_set_late(before)
    _raise_late()


def _wait_for_all():
    if _late:
        build.runtime().rig_wait_all()


def _raise_late():
    if _failed:
        raise _failed.pop(0)


def _fill(bytes, value):
    pointer = get_current_stream().pointer if _late else None
    build.runtime().rig_fill(
        pointer, ctypes.c_void_p(bytes.ctypes.data), value, ctypes.c_size_t(bytes.size)
    )


def _copy_from_host(target, memory, size, stream):
    """Copy from an address of the host's, whose memory must last until it is done."""
    _refuse_in_capture("a copy from the host")
    build.runtime().rig_copy(
        (stream or get_current_stream()).pointer, ctypes.c_void_p(target),
        ctypes.c_void_p(getattr(memory, "value", memory)), ctypes.c_size_t(size),
    )  # fmt: skip


class Flags:
    """What CuPy says of how an array lies in memory."""

    def __init__(self, host, owns):
        self.c_contiguous, self.f_contiguous = host.flags.c_contiguous, host.flags.f_contiguous
        self.forc, self.fnc, self.owndata = host.flags.forc, host.flags.fnc, owns


class ndarray(NDArrayOperatorsMixin):
    """A CuPy array: `ndarray(shape, dtype)`, C-contiguous."""

    __array_priority__ = 100

    def __init__(self, shape, dtype=float, memptr=None, strides=None, order="C"):
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        dtype = np.dtype(dtype)
        memory = memptr or _malloc(math.prod(shape) * dtype.itemsize)
        host = memory.bytes[: math.prod(shape) * dtype.itemsize].view(dtype).reshape(shape)
        self._set(host, memory, None)

    def _set(self, host, memory, base):
        self.host, self.memory, self.base = host, memory, base
        return self

    def _as_view(self, host, type=None):
        base = self if self.base is None else self.base
        return ndarray.__new__(type or self.__class__)._set(host, self.memory, base)

    # -- what it is

    shape, dtype, strides, ndim, size, itemsize, nbytes = (
        property(attrgetter(f"host.{name}"))
        for name in ("shape", "dtype", "strides", "ndim", "size", "itemsize", "nbytes")
    )
    flags = property(lambda self: Flags(self.host, self.base is None))
    T = property(lambda self: self._as_view(self.host.T))
    device = property(lambda self: Device(0))
    __cuda_array_interface__ = property(
        lambda self: (
            {"shape": self.shape, "typestr": self.dtype.str, "version": 3}
            | {"data": (self.host.ctypes.data, False), "strides": self.strides}
        )
    )

    @property
    def data(self):
        return _Place(self)

    __len__ = lambda self: len(self.host)  # noqa: E731
    __iter__ = lambda self: (self[i] for i in range(len(self)))  # noqa: E731
    __repr__ = lambda self: repr(self.get())  # noqa: E731

    # -- views

    def __getitem__(self, key):
        if _is_basic(key):
            key = key if isinstance(key, tuple) else (key,)
            return self._as_view(self.host[key if Ellipsis in key else (*key, ...)])
        _check_dtype(self)
        parts = key if isinstance(key, tuple) else (key,)
        if any(isinstance(p, ndarray) and p.dtype == bool for p in parts):
            _wait_for_a_size()
        host, places = self.host, _unwrapped(key)  # key itself lives on until it is read
        return _computed(lambda: host[places])

    def __setitem__(self, key, value):
        if isinstance(value, np.ndarray):
            raise TypeError(f"Unsupported type {type(value)}")
        _check_dtype(self, value)
        # Only places in memory wait to be read and written: who owns them may be gone by then.
        host, key, value = self.host, _unwrapped(key), _unwrapped(value)

        def work():
            with np.errstate(all="ignore"):
                host[key] = value

        _do(work)

    def reshape(self, *shape, order="C"):
        shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        made = self.host.reshape(shape, order=order)
        if np.shares_memory(made, self.host) or not made.size:
            return self._as_view(made)
        return self.copy().reshape(shape)

    def ravel(self, order="C"):
        return self.reshape(-1)

    transpose = lambda self, *axes: self._as_view(self.host.transpose(*axes))  # noqa: E731
    swapaxes = lambda self, *axes: self._as_view(self.host.swapaxes(*axes))  # noqa: E731
    squeeze = lambda self, axis=None: self._as_view(self.host.squeeze(axis))  # noqa: E731

    def view(self, dtype=None, type=None):
        """The same memory, perhaps as other numbers, or of a class that is derived from this."""
        return self._as_view(self.host.view() if dtype is None else self.host.view(dtype), type)

    # -- copies

    def copy(self, order="C"):
        made = ndarray(self.shape, self.dtype)
        made[...] = self
        return made

    def astype(self, dtype, copy=True, **settings):
        made = ndarray(self.shape, dtype)
        with np.errstate(all="ignore"):
            made[...] = self
        return made

    def fill(self, value):
        self[...] = value

    def set(self, array, stream=None):
        _check_dtype(self)
        _refuse_in_capture("a copy from the host")
        host, copied = self.host, np.array(array)
        _do(lambda: host.__setitem__(..., copied))

    def get(self, stream=None, order="C", out=None, blocking=True):
        _check_dtype(self)
        _refuse_in_capture("a copy to the host")
        get_current_stream().synchronize()
        if out is not None:
            out[...] = self.host
            return out
        return np.array(self.host, order="C")

    item = lambda self, *place: self.get().item(*place)  # noqa: E731
    tolist = lambda self: self.get().tolist()  # noqa: E731
    __bool__ = lambda self: bool(self.get())  # noqa: E731
    __float__ = lambda self: float(self.get())  # noqa: E731
    __int__ = lambda self: int(self.get())  # noqa: E731
    __index__ = lambda self: self.get().__index__()  # noqa: E731

    def __array__(self, *args, **settings):
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    # -- NumPy's functions

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **settings):
        _check_operands(inputs)
        _check_dtype(*inputs)
        if ufunc in NO_UFUNCS:
            return NotImplemented
        refused = settings.keys() - {"dtype", "casting"} if method == "__call__" else ()
        if refused:
            raise TypeError(f"Wrong arguments {settings}")
        if method in ("reduce", "accumulate", "reduceat", "at"):
            return _by_method(ufunc, method)(*inputs, **settings)
        if method == "outer":
            shapes = [np.shape(a) for a in inputs]
            (a, b), tail = inputs, (1,) * len(shapes[1])
            return ufunc(a.reshape(*shapes[0], *tail), b, **settings)
        if out is not None:
            (target,) = out
            if not isinstance(target, ndarray):
                raise TypeError("Unsupported type for out")

            given, place = _unwrapped(inputs), target.host

            def work():
                with np.errstate(all="ignore"):
                    ufunc(*given, out=place, **settings)

            _do(work)
            return target

        given = _unwrapped(inputs)
        return _computed(lambda: ufunc(*given, **settings))

    def __array_function__(self, function, types, args, settings):
        if function not in FUNCTIONS and function.__name__ not in PARAMETERS:
            return NotImplemented
        _check_parameters(function.__name__, args, settings)
        return FUNCTIONS.get(function, _results(function))(*args, **settings)


def _as_strided(x, shape=None, strides=None):
    return x._as_view(np.lib.stride_tricks.as_strided(x.host, shape, strides))


lib = SimpleNamespace(stride_tricks=SimpleNamespace(as_strided=_as_strided))


class _Place:
    def __init__(self, array):
        self.array, self.ptr = array, array.host.ctypes.data
        self.mem = array.memory

    def copy_from_host_async(self, memory, size, stream=None):
        _copy_from_host(self.ptr, memory, size, stream)

    def copy_from_device_async(self, source, size, stream=None):
        stream = stream or get_current_stream()
        build.runtime().rig_copy(
            stream.pointer, ctypes.c_void_p(self.ptr), ctypes.c_void_p(source.ptr),
            ctypes.c_size_t(size),
        )  # fmt: skip


def _is_basic(key):
    parts = key if isinstance(key, tuple) else (key,)
    return all(p is None or p is Ellipsis or isinstance(p, (int, np.integer, slice)) for p in parts)


def _unwrapped(a):
    if isinstance(a, ndarray):
        return a.host
    return type(a)(_unwrapped(part) for part in a) if isinstance(a, (tuple, list)) else a


def _check_dtype(*arrays):
    """No kernel takes arrays whose dtype has fields, not even to copy them: only views are made."""
    for a in arrays:
        if isinstance(a, ndarray) and a.dtype.kind == "V":
            raise TypeError(f"Unsupported dtype {a.dtype}")


def _check_operands(inputs):
    for a in inputs:
        if not isinstance(a, (ndarray, *COPIED_ANYWAY)):
            raise TypeError(f"Unsupported type {type(a)}")
        if type(a) is int and not -(2**63) <= a < 2**64:
            raise OverflowError("Python int too large to convert to C long")


def _computed(compute):
    """The arrays that a function of the host's computes, now or when a graph is launched."""
    with np.errstate(all="ignore"):
        try:
            first = compute()
        except IndexError:  # of an index that waits to be computed
            get_current_stream().synchronize()
            first = compute()
    several = isinstance(first, (tuple, list))
    parts = [np.asarray(part) for part in (first if several else (first,))]
    made = [ndarray(part.shape, part.dtype) for part in parts]
    hosts = [part.host for part in made]

    def store(results):
        with np.errstate(all="ignore"):
            for host, result in zip(hosts, results if several else (results,)):
                host[...] = result

    if _late or get_current_stream().is_capturing():
        _do(lambda: store(compute()))
    else:
        store(first)
    return tuple(made) if several else made[0]


def _views(function):
    """Of NumPy's functions those that return a view."""

    def apply(array, *args, **settings):
        return array._as_view(function(array.host, *args, **settings))

    return apply


def _wait_for_a_size():
    _refuse_in_capture("waiting for a size")
    get_current_stream().synchronize()


def _of_unknown_size(function):
    """Those whose results are as large as numbers say, for which CuPy waits."""

    def apply(*args, **settings):
        _check_host(args)
        _wait_for_a_size()
        made = function(*_unwrapped(args), **settings)
        return _computed(lambda: made)

    return apply


def _with_table(function):
    """Those for which CuPy copies a table of addresses from the host."""

    def apply(*args, **settings):
        _refuse_in_capture("a copy from the host")
        return function(*args, **settings)

    return apply


def _writeable(host):
    host.flags.writeable = True
    return host


def _results(function):
    def apply(*args, **settings):
        _check_host([*args, *settings.values()])
        given, others = _unwrapped(args), {n: _unwrapped(a) for n, a in settings.items()}
        return _computed(lambda: function(*given, **others))

    return apply


def _check_host(args):
    """Arrays of the host's are not taken, nor those of which there are codes alone."""
    for a in args:
        parts = a if isinstance(a, (tuple, list)) else [a]
        if any(isinstance(part, np.ndarray) for part in parts):
            raise TypeError(f"Unsupported type {np.ndarray}")
        _check_dtype(*parts)


def _check_parameters(name, args, settings):
    """CuPy's functions have other parameters than NumPy's."""
    known = PARAMETERS.get(name)
    if known is not None and (unknown := settings.keys() - {*known}):
        raise TypeError(f"{name}() got an unexpected keyword argument '{min(unknown)}'")


def _by_method(ufunc, method):
    """reduce and accumulate, which CuPy has of a sum and a product."""
    by_name = {"add": ("sum", "cumsum"), "multiply": ("prod", "cumprod")}
    if method not in ("reduce", "accumulate") or ufunc.__name__ not in by_name:
        raise NotImplementedError(f"`cupy_{ufunc.__name__}.{method}` is not supported yet")
    function = getattr(np, by_name[ufunc.__name__][method == "accumulate"])

    def apply(array, axis=0, dtype=None, out=None, **settings):
        return function(array, axis=axis, dtype=dtype, **settings)

    return apply


def _copied(target, source, *, where=None):
    if where is None:
        target[...] = source
        return
    _check_host([source, where])
    host, source, where = target.host, _unwrapped(source), _unwrapped(where)
    _do(lambda: np.copyto(host, source, where=where))


def _put_along(target, indices, values, axis):
    _check_host([indices, values])
    host, indices, values = target.host, _unwrapped(indices), _unwrapped(values)
    _do(lambda: np.put_along_axis(host, indices, values, axis))


def _chosen(condition, *args):
    if not hasattr(condition, "astype"):
        raise AttributeError(f"{type(condition).__name__!r} object has no attribute 'astype'")
    return _results(np.where)(condition, *args)


LISTED = [line.split() for line in (build.HERE / "cupy_functions.txt").read_text().splitlines()]
PARAMETERS = {name: others for name, *others in LISTED if name != "#"}
NO_UFUNCS = {np.isnat, np.matvec, np.spacing, np.vecdot, np.vecmat}
FUNCTIONS = {
    **{f: _views(f) for f in (np.broadcast_to, np.expand_dims, np.moveaxis, np.swapaxes)},
    **{f: _views(f) for f in (np.transpose, np.squeeze, np.flip)},
    np.diagonal: _views(lambda a, *args: _writeable(np.diagonal(a, *args))),
    **{f: _with_table(_results(f)) for f in (np.concatenate, np.stack)},
    **{f: _of_unknown_size(f) for f in (np.argwhere, np.nonzero, np.flatnonzero, np.bincount)},
    **{f: _of_unknown_size(f) for f in (np.unique, np.extract, np.compress, np.unravel_index)},
    np.ravel_multi_index: _results(partial(np.ravel_multi_index, mode="wrap")),
    **{np.where: _chosen, np.put_along_axis: _put_along},
    np.asarray: lambda a, *args, **settings: asarray(a, *args, **settings),
    np.broadcast_arrays: lambda *args: [
        a._as_view(np.broadcast_to(a.host, np.broadcast_shapes(*[b.shape for b in args])))
        for a in args
    ],
    np.lib.stride_tricks.as_strided: _as_strided,
    np.split: lambda a, ends, axis=0: [
        a._as_view(part) for part in np.split(a.host, ends, axis=axis)
    ],
    np.reshape: lambda a, shape, order="C": a.reshape(shape, order=order),
    **{np.ravel: lambda a, order="C": a.ravel(order), np.shape: lambda a: a.shape},
    **{np.ndim: lambda a: a.ndim, np.size: lambda a: a.size, np.copyto: _copied},
    np.shares_memory: lambda a, b: np.shares_memory(_unwrapped(a), _unwrapped(b)),
    np.may_share_memory: lambda a, b: np.may_share_memory(_unwrapped(a), _unwrapped(b)),
}


def _method(name):
    function = getattr(np, name)

    def method(self, *args, **settings):
        _check_parameters("." + name, args, settings)
        return function(self, *args, **settings)

    return method


IN_PLACE = {"sort", "partition", "put"}
for _name in {name[1:] for name in PARAMETERS if name[0] == "." and hasattr(np, name[1:])}:
    if _name not in vars(ndarray).keys() | IN_PLACE:
        setattr(ndarray, _name, _method(_name))


def empty(shape, dtype=float, order="C"):
    return ndarray(shape, dtype)


def zeros(shape, dtype=float, order="C"):
    return full(shape, 0, dtype)


def ones(shape, dtype=float, order="C"):
    return full(shape, 1, dtype)


def full(shape, value, dtype=None, order="C"):
    made = ndarray(shape, dtype or np.asarray(value).dtype)
    made.fill(value)
    return made


def asarray(a, dtype=None, order=None):
    if isinstance(a, ndarray):
        return a if dtype is None or a.dtype == dtype else a.astype(dtype)
    host = np.asarray(a, dtype)
    made = ndarray(host.shape, host.dtype)
    made.set(host)
    return made


array = asarray


def ascontiguousarray(a):
    return a if a.flags.c_contiguous else a.copy()


@cache
def _library(text, flags):
    return build.kernels(text, *flags)


# More of them for the host's compiler, such as -fsanitize=address; then memory has the size that
# was asked for, so that one byte beyond it is seen.
flags = tuple(os.environ.get("MINIFP_IMITATED_FLAGS", "").split())
launches: list = []  # (name of a kernel, grid, block) of each launch, where somebody appends None


class RawModule:
    """CUDA C++ text. compile() is at the first kernel."""

    def __init__(self, *, code=None, path=None, options=(), backend="nvrtc", **settings):
        self.code, self.options = code, options

    def get_function(self, name):
        return RawKernel(_library(self.code, flags), name, build.bounds(self.code)[name])


class RawKernel:
    """A kernel: kernel(grid, block, args)."""

    def __init__(self, library, name, bound):
        self.name, self.call, self.bound = name, getattr(library, f"rig_call_{name}"), bound
        sizes = (ctypes.c_int * 512)()
        count = getattr(library, f"rig_sizes_{name}")(sizes)
        self.sizes = sizes[:count]

    def __call__(self, grid, block, args, *, shared_mem=0, stream=None):
        grid, block = ((*t, 1, 1)[:3] for t in (grid, block))
        assert shared_mem == 0, "imitated CuPy: shared memory of a size told at the launch"
        assert math.prod(block) <= 1024 and 0 < min(grid) and grid[0] < 2**31, (grid, block)
        assert max(grid[1:]) < 65536, f"a grid of {grid}"
        if math.prod(block) > self.bound:
            raise CUDARuntimeError(
                f"cudaErrorLaunchOutOfResources: {math.prod(block)} threads of {self.name}, "
                f"whose registers are enough for {self.bound}"
            )
        values = [_as_argument(a) for a in args]
        sizes = [ctypes.sizeof(v) for v in values]
        if sizes != self.sizes:
            raise TypeError(f"{self.name}: arguments of {sizes} bytes, expected {self.sizes}")
        if launches:
            launches.append((self.name, grid, block))
        addresses = (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values])
        build.runtime().rig_launch(
            get_current_stream().pointer, self.call, (ctypes.c_uint * 3)(*grid),
            (ctypes.c_uint * 3)(*block), addresses, (ctypes.c_int * len(sizes))(*sizes),
            len(values),
        )  # fmt: skip


TYPES = {
    **{np.dtype(n): getattr(ctypes, f"c_{n}") for n in ("int32", "int64", "uint32", "uint64")},
    **{np.dtype(n): getattr(ctypes, f"c_{n}") for n in ("int8", "uint8")},
    **{np.dtype("float32"): ctypes.c_float, np.dtype("float64"): ctypes.c_double},
    **{np.dtype("bool"): ctypes.c_bool, np.dtype("float16"): ctypes.c_uint16},
}


def _as_argument(a):
    if a is None:
        return ctypes.c_void_p(0)
    if isinstance(a, ndarray):
        return ctypes.c_void_p(a.data.ptr)
    if isinstance(a, (MemoryPointer, _Place)):
        return ctypes.c_void_p(a.ptr)
    if isinstance(a, bool):
        return ctypes.c_bool(a)
    if isinstance(a, int):  # as CuPy has it
        return ctypes.c_longlong(a)
    if isinstance(a, float):
        return ctypes.c_double(a)
    if isinstance(a, np.generic):
        if a.dtype == "float16":
            return ctypes.c_uint16(int(a.view(np.uint16)))
        return TYPES[a.dtype](a.item())
    raise TypeError(f"Unsupported type {type(a)}")


class Device:
    compute_capability = "90"
    mem_info = (8 * 2**30, 16 * 2**30)  # free and all bytes
    attributes = {"MultiProcessorCount": 4, "MaxSharedMemoryPerBlock": 49152}

    def __init__(self, device=None):
        self.id = 0 if device is None else int(device)
        if self.id != 0:
            raise CUDARuntimeError("cudaErrorInvalidDevice: invalid device ordinal")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def synchronize(self):
        _never_in_capture("to wait for a device", get_current_stream())
        _wait_for_all()
        _raise_late()


def _module(name, **members):
    made = ModuleType(f"{__name__}.{name}")
    vars(made).update(members)
    return made


def is_available():
    return True


_PUBLIC = (Stream, Event, Graph, Device, MemoryPool, get_current_stream, is_available)
cuda = _module(
    "cuda",
    **{member.__name__: member for member in _PUBLIC},
    using_allocator=_using_allocator,
    alloc=_malloc,
    alloc_pinned_memory=_alloc_pinned_memory,
    memory=_module("memory", OutOfMemoryError=OutOfMemoryError),
    runtime=_module(
        "runtime",
        getDeviceCount=lambda: 1,
        getDeviceProperties=lambda i: {"name": b"an imitated GPU", "totalGlobalMem": 16 * 2**30},
        runtimeGetVersion=lambda: 13000,
        driverGetVersion=lambda: 13000,
        CUDARuntimeError=CUDARuntimeError,
    ),
)
