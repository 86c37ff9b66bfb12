"""Weights: the numbers of several parameters as one flat buffer that an optimizer updates."""

from typing import Any

import numpy as np

from minifp.autograd.gradients import name_of as numbered
from minifp.autograd.storage import overlap
from minifp.derive.dtypes import name_of
from minifp.errors import ArgumentError, DeviceError, PrecisionError
from minifp.numerics.formats import as_native, downcast, float32, format_of
from minifp.runtime.callers import warn_once
from minifp.runtime.cuda.arrays import is_on_device
from minifp.runtime.device import device_of, empty, placed

SINGLE = format_of(float32)


class Weights:
    """The stored weights themselves: each parameter becomes a view of the flat buffer.

    flat: (n) in the parameters' own format, which is what an optimizer updates. stored: (n), what
    the parameters are views of; the same. slices, starts, sizes: where each parameter lies in it.
    """

    is_master = is_stochastic = False
    compensation: Any = None  # (n), what the last rounding left over of each weight
    is_narrow: bool  # whether they are stored in a format with a smaller range than float32

    def __init__(self, parameters):
        self.parameters = list(parameters)
        self.sizes = [p.array.size for p in self.parameters]
        self.starts = np.cumsum([0, *self.sizes], dtype=np.int64)  # as kernels read it
        ends = self.starts.tolist()
        self.slices = [slice(*pair) for pair in zip(ends, ends[1:])]
        first = self.parameters[0].array
        if len({device_of(p.array) for p in self.parameters}) > 1:
            raise DeviceError(
                "parameters of one optimizer on the CPU and on the GPU: move the whole module, "
                "with module.to('cuda'), before you create the optimizer"
            )
        self.flat = self.stored = empty((ends[-1],), first.dtype, like=first)
        self.format = format_of(first.dtype)
        self.is_narrow = self.format.max < SINGLE.max
        self.is_wide = self.format.holds(SINGLE)  # they are stored in no less than float32
        self.views: list = [None] * len(self.parameters)
        self.storages: list = [None] * len(self.parameters)  # of what lies there
        for i in range(len(self.parameters)):
            self._adopt(i)
        self.versions = [p.storage.version for p in self.parameters]

    def _adopt(self, i):
        """Move a parameter's stored numbers into the flat buffer, of which it becomes a view.

        Tensors that it has left there, by `p.data = t`, keep their numbers in memory of their own.
        """
        p, s = self.parameters[i], self.slices[i]
        if self.storages[i] is p.storage and overlap(p.array, self.views[i]):
            p.storage.copied_for(p)  # as after p.data = p.data.t()
        if self.storages[i] not in (None, p.storage):  # else another optimizer has moved it
            self._vacate(i)
        if p.storage.has_strangers(p.array) or p.storage.larger(p.array):
            warn_once(
                "part of a larger tensor",
                f"{name_of_parameter(p)} shares a part of a larger tensor's memory (p.data = "
                "v[...]), and an optimizer moves parameters to memory of its own: the larger "
                "tensor keeps its old numbers, while in PyTorch it would follow. Read the "
                "weights from the parameters",
            )
        self.stored[s] = p.array.reshape(-1)
        self.views[i] = self.stored[s].reshape(p.shape)
        p.storage.move(p.array, self.views[i])
        p.array, self.storages[i] = self.views[i], p.storage
        p.storage.in_buffer = True

    def _vacate(self, i):
        storage, view = self.storages[i], self.views[i]
        if storage.sharers():
            storage.move(view, view.copy())
            if storage.unrounded is not None:
                storage.move_behind(storage.unrounded.numbers.copy())

    def have_moved(self):
        """Whether some parameter is on other memory than the flat buffer."""
        return any(p.array is not view for p, view in zip(self.parameters, self.views))

    def check_formats(self):
        """Raise PrecisionError for a parameter that was given another format, or shape, since,
        DeviceError for one that was moved, and ArgumentError for one that `p.data = t` has given
        memory of which another tensor has more, or in another order."""
        for p, view, n in zip(self.parameters, self.views, self.sizes):
            if p.array is not view and device_of(p.array) != device_of(view):
                name = name_of_parameter(p)
                raise DeviceError(
                    f"{name} was on device {device_of(view)!r} when the optimizer was made, and is "
                    f"on {device_of(p.array)!r} now: move the module first (module.to), then "
                    "create the optimizer; move its state with state_dict and load_state_dict"
                )
            if p.array is view:
                continue
            name = name_of_parameter(p)
            if (p.dtype, p.array.size) != (self.stored.dtype, n):
                raise PrecisionError(
                    f"{name} was stored in {name_of(self.stored.dtype)} with {n} elements "
                    f"when the optimizer was made, and is in {p.dtype} with {p.array.size} now: "
                    "change formats first (module.to), then create the optimizer"
                )
            check_whole(p, name)

    def refresh(self):
        """Take up what was assigned to parameters since the last step. Raises as check_formats."""
        self.check_formats()
        self.take_up_assigned()

    def take_up_assigned(self):
        """Take up what was assigned to parameters since the last step, whose formats are right."""
        for i, (p, view, version) in enumerate(zip(self.parameters, self.views, self.versions)):
            if p.array is not view:
                self._adopt(i)
            elif p.storage.version == version:
                continue
            self._assigned(i)
            self.versions[i] = p.storage.version

    def _assigned(self, i):
        pass  # the flat buffer is what was assigned to

    @property
    def kept(self):
        """What an optimizer's state has of them besides the rule's: name -> (n) array."""
        return {}

    def take_up(self, i, kept):
        """Go on with what was kept of parameter i: name -> array."""

    def opened(self, part):
        """The weights of this part as a rule is to update them."""
        return self.flat[part]

    def close(self, part, w, draw):
        """Keep what a rule made of opened weights. draw: the random numbers of the step."""

    def publish(self, first, last):
        """Store what the optimizer wrote for the parameters from `first` up to `last`."""
        self.written(first, last)

    def written(self, first, last):
        """Take note that these parameters' stored numbers are what the optimizer wrote."""
        storages = [p.storage for p in self.parameters[first:last]]
        for storage in storages:
            storage.version += 1
            storage.unrounded = None  # behind what was stored before
        self.versions[first:last] = [storage.version for storage in storages]

    def are_beyond(self):
        """Whether a stored weight is Inf or NaN, of narrow ones; two passes over their codes. On a
        GPU it is not looked for."""
        format = self.format
        if not self.is_narrow or is_on_device(self.stored) or not self.stored.size:
            return False
        bytes, largest = self.stored.itemsize, format.largest_code
        if format.bits != 8 * bytes:
            return not np.isfinite(as_native(self.stored)).all()
        signed, unsigned = (self.stored.view(f"{kind}{bytes}") for kind in "iu")
        return signed.max() > largest or unsigned.max() > largest | 1 << format.bits - 1

    def beyond(self):
        """(name, number) of each parameter that has a finite number which is stored as none."""
        lost = []
        for i, (p, s) in enumerate(zip(self.parameters, self.slices)):
            numbers, stored = self.flat[s], as_native(self.stored[s])
            at = np.flatnonzero(~np.isfinite(stored) & ~np.isnan(as_native(numbers)))
            at = [n for n in at if not self.is_master or np.isfinite(numbers[n])]
            if at:
                lost.append((numbered(p, i), float(as_native(numbers[at[:1]])[0])))
        return lost

    def assign(self, i, value):
        """Set a parameter to `value`, which may have more bits than are stored."""
        value = downcast(np.asarray(value).reshape(-1), self.flat.dtype)
        self.flat[self.slices[i]] = placed(value, like=self.flat)
        self.publish(i, i + 1)


def name_of_parameter(p):
    """A parameter's path, where a module has listed it."""
    return getattr(p, "name", None) or "a parameter"


def check_whole(p, name):
    """Raise ArgumentError for a leaf that would not take along all that shares its memory."""
    if p.storage.is_part(p):
        raise ArgumentError(
            f"{name} of shape {tuple(p.shape)} shares memory with a larger tensor, or one in "
            "another order, which would not follow when an optimizer moves this leaf: pass a "
            "clone, x.detach().clone().requires_grad_(), or p.data = t.clone()"
        )


def check_apart(parameters):
    """Raise ArgumentError for two parameters on one memory."""
    by_storage: dict[int, list] = {}
    for p in parameters:
        by_storage.setdefault(id(p.storage), []).append(p)
    for alike in by_storage.values():
        for i, p in enumerate(alike):
            for q in alike[:i]:
                if overlap(p.array, q.array):
                    names = [getattr(t, "name", None) or f"one of shape {t.shape}" for t in (q, p)]
                    raise ArgumentError(
                        f"{names[0]} and {names[1]} share memory, and one optimizer should train "
                        "both: tie them as one parameter (n.weight = m.weight), give the "
                        "optimizer only one, or separate them (n.weight.data = "
                        "m.weight.data.clone())"
                    )
