"""Measuring on a GPU: minifp and PyTorch in turn, each by what its kernels take.

What is measured is repeated inside of one CUDA graph, so that the time of Python is not in it, and
timed by events around that. Both libraries do so, in turn, round after round: what happens to the
clocks of the GPU meets both alike, and ratios are medians of the ratios in each round.
"""

import gc
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from minifp.runtime.cuda import product
from minifp.runtime.cuda.arrays import cupy


@dataclass(frozen=True)
class Settings:
    """How to measure. seconds: of one sample of training steps; kernels take less. repeat: samples
    of each. quick: fewer sizes and kernels. tiny: sizes that measure nothing, to try the tools."""

    seconds: float = 0.1
    repeat: int = 5
    quick: bool = False
    tiny: bool = False
    torch: bool = True


class Absent(Exception):
    """Why something was not measured."""


def told(error):
    """An error in one line."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:300]}"


# ---- taking turns -------------------------------------------------------------------------------


@dataclass
class Contestant:
    """What is measured of one side. sample: seconds of one call, measured now. about: what else is
    to be known. held: what has to live as long."""

    sample: Callable[[], float]
    about: dict[str, Any] = field(default_factory=dict)
    held: Any = None


def contest(makers, rounds):
    """By name what was found: median seconds, those of each round; or the error.

    makers: by name a function that makes a Contestant.
    """
    there, found = {}, {}
    for name, make in makers.items():
        try:
            there[name] = make()
        except Exception as error:
            found[name] = {"error": told(error)}
    samples: dict[str, list[float]] = {name: [] for name in there}
    for i in range(rounds):
        names = list(there)
        turn = i % max(len(names), 1)
        for name in [*names[turn:], *names[:turn]]:
            try:
                samples[name].append(there[name].sample())
            except Exception as error:
                found[name] = {"error": told(error)}
                del there[name]
    for name, contestant in there.items():
        rounded = [float(f"{s:.5g}") for s in samples[name]]
        found[name] = {"seconds": median(rounded), "rounds": rounded, **contestant.about}
    return {name: found[name] for name in makers}


def fastest(makers, tries=2):
    """The Contestant that is the fastest of several that do the same; "layout" tells which it is.

    makers: by the name of a layout, as in `contest`. What fails is out, unless all do.
    """
    best, least, errors = None, float("inf"), []
    for name, make in makers.items():
        try:
            made = make()
            seconds = min(made.sample() for _ in range(tries))
        except Exception as error:
            errors.append(error)
            continue
        if seconds < least:
            best, least = made, seconds
            best.about["layout"] = name
    if best is None:
        raise errors[0]
    return best


def ratio(sides, name, base):
    """Seconds of one side over those of another, None where one is missing."""
    a, b = sides.get(name, {}).get("rounds"), sides.get(base, {}).get("rounds")
    pairs = [(x, y) for x, y in zip(a or [], b or []) if y > 0]
    return median(x / y for x, y in pairs) if pairs else None


# ---- minifp -------------------------------------------------------------------------------------


@contextmanager
def without_collecting():
    """Without the garbage collector, which may free memory at any moment, also in a capture."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def make_handle(stream):
    """Let a stream have its handle of cuBLAS now, whose workspace outlives any one graph."""
    with cupy().cuda.using_allocator(cupy().get_default_memory_pool().malloc), stream:
        product.current_handle()


class Ours:
    """CuPy's device, as minifp uses it."""

    def __init__(self):
        self.stream, self.sources = None, {}
        self.renew()

    def renew(self):
        """Take a new stream: one on which something failed may not be usable any more."""
        self.stream = cupy().cuda.Stream(non_blocking=True)
        make_handle(self.stream)

    def synchronize(self):
        """Wait until all is done."""
        cupy().cuda.Device().synchronize()

    def values(self, shape, dtype="float32", low=0.25, high=0.75):
        """Random numbers on the device: some, again and again."""
        n = int(np.prod(shape))
        if (low, high) not in self.sources:
            some = np.random.default_rng(0).uniform(low, high, 2**20 - 3)
            self.sources[low, high] = cupy().asarray(some.astype("f4"))
        source, flat = self.sources[low, high], cupy().ndarray((n,), np.dtype(dtype))
        for at in range(0, n, source.size):
            flat[at : at + source.size] = source[: min(source.size, n - at)]
        return flat.reshape(shape)

    def seconds(self, run):
        """What the device takes from the first to the last of what is launched."""
        start, end = cupy().cuda.Event(), cupy().cuda.Event()
        start.record(self.stream)
        run()
        end.record(self.stream)
        end.synchronize()
        return cupy().cuda.get_elapsed_time(start, end) / 1e3

    def repeated(self, call, seconds, most=100, **about):
        """A Contestant that calls it as often as fits, in one graph; else one by one."""
        pool = cupy().cuda.MemoryPool()
        self.synchronize()  # arguments were made on another stream
        with cupy().cuda.using_allocator(pool.malloc):
            with self.stream:
                call()
                self.stream.synchronize()
                times = fitting(self.seconds(call), seconds, most)
            try:
                graph = self._captured(call, times)
            except Exception as error:
                self.renew()
                about["without_a_graph"] = told(error)
                graph = None

        def run():
            if graph is not None:
                graph.launch(self.stream)
                return
            with self.stream:
                for _ in range(times):
                    call()

        self.seconds(run)
        sample = lambda: self.seconds(run) / times  # noqa: E731
        return Contestant(sample, {"launches": times, **about}, (pool, graph, call))

    def _captured(self, call, times):
        with without_collecting(), self.stream:
            self.stream.begin_capture()
            try:
                for _ in range(times):
                    call()
            finally:
                graph = self.stream.end_capture()
        return graph

    def tidy(self):
        """Give unused memory back."""
        cupy().get_default_memory_pool().free_all_blocks()


def fitting(one, seconds, most):
    """How often something that takes so long fits."""
    return min(max(round(seconds / max(one, 1e-7)), 1), most)


# ---- PyTorch ------------------------------------------------------------------------------------

LAYOUTS = "NCHW", "NHWC"  # of pictures: channels before pixels, and behind them (channels_last)


class Theirs:
    """PyTorch on the same device. Raises Absent where it cannot be there."""

    device = "cuda"

    def __init__(self):
        try:
            import torch
        except Exception as error:
            raise Absent(f"PyTorch cannot be imported ({told(error)})") from None
        if not torch.cuda.is_available():
            raise Absent("PyTorch has no CUDA: torch.cuda.is_available() is False")
        self.torch = torch
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True

    def synchronize(self):
        """Wait until all is done."""
        self.torch.cuda.synchronize()

    def values(self, shape, dtype="float32", low=0.25, high=0.75):
        """Random numbers on the device."""
        made = self.torch.rand(shape, device=self.device) * (high - low) + low
        return made.to(getattr(self.torch, dtype))

    def laid(self, values, layout):
        """Pictures in a layout: of LAYOUTS."""
        form = self.torch.channels_last if layout == "NHWC" else self.torch.contiguous_format
        return values.contiguous(memory_format=form)

    def forget_peak(self):
        """Begin to look for the most memory in use; what is in use now."""
        self.torch.cuda.reset_peak_memory_stats()
        return self.torch.cuda.memory_allocated()

    def peak(self):
        """The most memory that was in use since."""
        return self.torch.cuda.max_memory_allocated()

    def seconds(self, run):
        """What the device takes from the first to the last of what is launched."""
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1e3

    def repeated(self, call, seconds, most=100, **about):
        """A Contestant that calls it as often as fits, in one graph; else one by one."""
        torch = self.torch
        with torch.no_grad():
            call()
            torch.cuda.synchronize()
            times = fitting(self.seconds(call), seconds, most)
            try:
                graph = self._captured(call, times)
            except Exception as error:
                about["without_a_graph"] = told(error)
                graph = None

        def run():
            if graph is not None:
                graph.replay()
                return
            with torch.no_grad():
                for _ in range(times):
                    call()

        self.seconds(run)
        sample = lambda: self.seconds(run) / times  # noqa: E731
        return Contestant(sample, {"launches": times, **about}, (graph, call))

    def _captured(self, call, times):
        torch = self.torch
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            call()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with without_collecting(), torch.cuda.graph(graph, stream=side):
            for _ in range(times):
                call()
        return graph

    def tidy(self):
        """Give unused memory back."""
        self.torch.cuda.empty_cache()


class Machine:
    """Both sides. theirs: None, with the reason in `absent`, where PyTorch is not to be had."""

    def __init__(self, settings):
        self.settings, self.theirs, self.absent = settings, None, None
        try:
            if not settings.torch:
                raise Absent("not asked for")
            self.theirs = Theirs()  # first, so that it has the libraries that it was made with
        except Absent as error:
            self.absent = str(error)
        self.ours = Ours()

    def sides(self, ours, theirs):
        """Makers of Contestants, PyTorch's only where it is there."""
        return {**ours, **(theirs if self.theirs is not None else {})}

    def tidy(self):
        """Give unused memory of both sides back."""
        self.ours.tidy()
        if self.theirs is not None:
            self.theirs.tidy()
