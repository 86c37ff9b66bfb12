"""Parameters and buffers: the tensors a module owns."""

import numpy as np

from minifp.formats import FORMATS, float32
from minifp.policy import get_precision
from minifp.tape import Tensor, is_recording


def _on_exact(name):
    """Tensor's in-place operation, done on the unrounded numbers where there are any.

    Else a part that is written over, or a clamp, would round all the masters at every step.
    """

    def apply(self, *args):
        if self.exact is None or is_recording():
            return getattr(Tensor, name)(self, *args)
        wide = Tensor(self.exact.copy())
        getattr(wide, name)(*args)
        self.data = wide
        return self

    apply.__name__ = name
    apply.__doc__ = f"As `Tensor.{name}`, on the unrounded numbers."
    return apply


class Parameter(Tensor):
    """A tensor that is trained, stored in the weight format of the precision it was made in.

    data: the initial values, float32 (or wider). dtype: another storage format, by name, such as
    the precision's `norm_parameters`.

    Where storing rounds, the unrounded numbers are in `exact`: those it was given, until an
    optimizer claims them for its masters, and then the masters. So masters never begin as a rounded
    copy, and every precision begins from the same numbers. What is assigned later is noticed by the
    optimizer through `storage.version`. `name` is its path, once a module has listed it.
    """

    __slots__ = ("precision", "unrounded", "name")

    def __init__(self, data, dtype=None):
        data = data.array if isinstance(data, Tensor) else np.asarray(data)
        self.precision, self.name, self.unrounded = get_precision(), None, None
        stored = FORMATS[dtype or self.precision.weights].dtype
        super().__init__(np.empty(data.shape, stored), requires_grad=True)
        self.data = data

    @property
    def data(self):
        """The stored array. Assigning keeps the unrounded value for the optimizer's masters."""
        return self.array

    @data.setter
    def data(self, value):
        value = np.asarray(value.array if isinstance(value, Tensor) else value)
        Tensor.data.fset(self, value)
        wide = np.promote_types(self.dtype, float32)
        if self.dtype != wide:
            self.keep_exact(value.astype(wide))

    @property
    def exact(self):
        """The unrounded numbers behind what is stored; None where there are none."""
        if self.unrounded is not None and self.unrounded[0] != self.storage.version:
            self.unrounded = None  # written to since, by something that rounded
        return None if self.unrounded is None else self.unrounded[1]

    def keep_exact(self, array):
        """Take `array`, not copied, as the unrounded numbers of what is stored now."""
        self.unrounded = (self.storage.version, array)

    add_, sub_, mul_, div_ = map(_on_exact, ("add_", "sub_", "mul_", "div_"))
    __setitem__ = _on_exact("__setitem__")


class Buffer(Tensor):
    """A tensor that a module keeps and saves but that is not trained."""

    __slots__ = ()
