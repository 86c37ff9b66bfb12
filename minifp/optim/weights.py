"""Weights: the numbers of several parameters as one flat buffer that an optimizer updates."""

import numpy as np

from minifp.errors import PrecisionError
from minifp.formats import narrow


class Weights:
    """The stored weights themselves: each parameter becomes a view of the flat buffer.

    flat: (n) in the parameters' own format. slices: where each parameter lies in it.
    """

    is_master = False

    def __init__(self, parameters):
        self.parameters = list(parameters)
        ends = np.cumsum([p.array.size for p in self.parameters])
        self.slices = [slice(e - p.array.size, e) for e, p in zip(ends, self.parameters)]
        self.flat = self.stored = np.empty(ends[-1], self.parameters[0].dtype)
        for p, s in zip(self.parameters, self.slices):
            self._adopt(p, s)
        self.versions = [p.storage.version for p in self.parameters]

    def _adopt(self, p, s):
        """Move a parameter's stored numbers into the flat buffer, of which it becomes a view."""
        self.stored[s] = p.array.reshape(-1)
        p.array = self.stored[s].reshape(p.shape)

    def check_formats(self):
        """Raise PrecisionError for a parameter that was given another format, or shape, since."""
        for p, s in zip(self.parameters, self.slices):
            if (p.dtype, p.array.size) != (self.stored.dtype, s.stop - s.start):
                name = getattr(p, "name", None) or "a parameter"
                raise PrecisionError(
                    f"{name} was stored in {self.stored.dtype} with {s.stop - s.start} elements "
                    f"when the optimizer was made, and is in {p.dtype} with {p.array.size} now: "
                    "change formats first (module.to), then make the optimizer"
                )

    def refresh(self):
        """Take up what was assigned to parameters since the last step."""
        self.check_formats()
        for i, (p, s) in enumerate(zip(self.parameters, self.slices)):
            if p.array.base is not self.stored:
                self._adopt(p, s)
            if p.storage.version != self.versions[i]:
                self._assigned(p, s)
                self.versions[i] = p.storage.version

    def _assigned(self, p, s):
        pass  # the flat buffer is what was assigned to

    def publish(self, first, last):
        """Store what the optimizer wrote for the parameters from `first` up to `last`."""
        for i in range(first, last):
            self.parameters[i].storage.version += 1
            self.versions[i] = self.parameters[i].storage.version
            getattr(self.parameters[i], "exact", None)  # lets go of numbers behind what was stored

    def assign(self, i, value):
        """Set a parameter to `value`, which may have more bits than are stored."""
        self.flat[self.slices[i]] = narrow(np.asarray(value).reshape(-1), self.flat.dtype)
        self.publish(i, i + 1)
