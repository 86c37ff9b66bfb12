"""The section "loading": what a batch takes from the host's memory to the device's."""

from time import perf_counter

import numpy as np

from minifp.runtime.cuda.arrays import cupy, empty, to_device

from .gpu_timing import Contestant, contest, fitting

WEIGHT, LIMIT = 3, 30
# name -> (shape, dtype) of a batch
BATCHES = {
    "pictures 128 x 1 x 28 x 28, float32": ((128, 1, 28, 28), "float32"),
    "pictures 128 x 3 x 32 x 32, float32": ((128, 3, 32, 32), "float32"),
    "pictures 128 x 3 x 32 x 32, float16": ((128, 3, 32, 32), "float16"),
    "pictures 64 x 3 x 224 x 224, float32": ((64, 3, 224, 224), "float32"),
    "pictures 64 x 3 x 224 x 224, float16": ((64, 3, 224, 224), "float16"),
    "codes 64 x 35, int64": ((64, 35), "int64"),
}


def units(settings):
    """Batches."""
    return list(BATCHES)[:2] if settings.tiny else list(BATCHES)


def measure(unit, machine):
    """One row."""
    shape, dtype = BATCHES[unit]
    host = np.zeros((2, *shape[1:]) if machine.settings.tiny else shape, dtype)
    mine = {
        "minifp, pageable": lambda: _copying(machine, lambda: to_device(host)),
        "minifp, pinned": lambda: _pinned(machine, host),
        "minifp, loader": lambda: _as_a_loader(machine, host),
    }
    other = {
        "PyTorch, pageable": lambda: _torch(machine, host, False),
        "PyTorch, pinned": lambda: _torch(machine, host, True),
    }
    sides = contest(machine.sides(mine, other), machine.settings.repeat)
    for side in sides.values():
        if side.get("seconds"):
            side["gb_s"] = 1e-9 * host.nbytes / side["seconds"]
    return [{"name": unit, "bytes": host.nbytes, "sides": sides}]


def _pinned(machine, host):
    memory = cupy().cuda.alloc_pinned_memory(host.nbytes)
    pinned = np.frombuffer(memory, host.dtype, host.size).reshape(host.shape)
    pinned[...] = host
    target, stream = empty(host.shape, host.dtype), machine.ours.stream
    contestant = _copying(machine, lambda: target.set(pinned, stream))
    contestant.held = memory, pinned
    return contestant


def _as_a_loader(machine, host):
    """As a DataLoader does for device="cuda": through pinned memory, on a stream of its own."""
    from minifp.runtime.cuda.transfer import Upload

    upload = Upload()
    return _copying(machine, lambda: upload(host))


def _torch(machine, host, is_pinned):
    source = machine.theirs.torch.from_numpy(host)
    source = source.pin_memory() if is_pinned else source
    call = lambda: source.to(machine.theirs.device, non_blocking=is_pinned, copy=True)  # noqa: E731
    return _copying(machine, call, machine.theirs.synchronize)


def _copying(machine, call, synchronize=None):
    """By the clock of the host, which is what a copy from pageable memory takes."""
    synchronize = synchronize or machine.ours.synchronize

    def timed(times):
        synchronize()
        start = perf_counter()
        for _ in range(times):
            call()
        synchronize()
        return (perf_counter() - start) / times

    timed(1)
    times = fitting(timed(1), machine.settings.seconds / 5, 100)
    return Contestant(lambda: timed(times), {"launches": times})
