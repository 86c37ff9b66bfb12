"""Parameters and buffers: the tensors a module owns."""

import numpy as np

from minifp.errors import ShapeError
from minifp.formats import FORMATS, float32, narrow
from minifp.policy import get_precision
from minifp.tape import Tensor


class Parameter(Tensor):
    """A tensor that is trained, stored in the weight format of the precision it was made in.

    data: the initial values, float32 (or wider). dtype: another storage format, by name, such as
    the precision's `norm_parameters`.

    Where storing rounds, the unrounded value stays in `exact` until an optimizer claims it for its
    masters, so that masters never begin as a rounded copy and every precision begins from the same
    numbers. Assigning `.data` sets both, and is noticed by the optimizer through `storage.version`.
    `name` is its path, once a module has listed it.
    """

    __slots__ = ("precision", "exact", "name")

    def __init__(self, data, dtype=None):
        data = data.array if isinstance(data, Tensor) else np.asarray(data)
        self.precision, self.name = get_precision(), None
        stored = FORMATS[dtype or self.precision.weights].dtype
        super().__init__(np.empty(data.shape, stored), requires_grad=True)
        self._assign(data)

    @property
    def data(self):
        """The stored array. Assigning keeps the unrounded value for the optimizer's masters."""
        return self.array

    @data.setter
    def data(self, value):
        value = np.asarray(value.array if isinstance(value, Tensor) else value)
        if value.shape != self.shape:
            raise ShapeError(f".data of shape {self.shape} cannot be set to shape {value.shape}")
        self._assign(value)

    def _assign(self, value):
        np.copyto(self.array, narrow(value, self.dtype))
        wide = np.promote_types(self.dtype, float32)
        self.exact = None if self.dtype == wide else value.astype(wide)
        self.storage.version += 1


class Buffer(Tensor):
    """A tensor that a module keeps and saves but that is not trained."""

    __slots__ = ()
