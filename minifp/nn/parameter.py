"""Parameters and buffers: the tensors a module owns."""

from typing import Any

import numpy as np

from minifp.cuda.arrays import is_on_device
from minifp.device import as_array, as_device, device_of, empty, moved, placed
from minifp.errors import DTypeError
from minifp.formats import FORMATS, float32, narrow
from minifp.in_place import FUNCTIONS
from minifp.policy import Precision, get_precision, gradient_format
from minifp.tape import Tensor, is_recording


def _on_exact(name):
    """Tensor's in-place operation, done on the unrounded numbers where there are any.

    Else a part that is written over, or a clamp, would round all the masters at every step.
    """

    def apply(self: Any, *args: Any, **settings: Any) -> Tensor:
        if self.exact is None or (self.requires_grad and is_recording()):
            return getattr(Tensor, name)(self, *args, **settings)
        wide = Tensor(self.exact.copy())
        getattr(wide, name)(*args, **settings)
        self.data = wide
        return self

    apply.__name__ = name
    apply.__doc__ = f"As `Tensor.{name}`, on the unrounded numbers."
    return apply


class Parameter(Tensor):
    """A tensor that is trained, stored in the weight format of the precision it was made in.

    data: the initial values, float32 (or wider). requires_grad: False for one that is frozen.
    dtype: another storage format, by name, such as the precision's `norm_parameters`.

    Where storing rounds, the unrounded numbers are in `exact`: those it was given, until an
    optimizer claims them for its masters, and then the masters. So masters never begin as a rounded
    copy, and every precision begins from the same numbers. What is assigned later is noticed by the
    optimizer through `storage.version`. `name` is its path, once a module has listed it.
    """

    __slots__ = ("precision", "unrounded", "name")
    precision: Precision
    unrounded: tuple[int, np.ndarray] | None  # the version for which they hold, and the numbers
    name: str | None

    def __init__(self, data: Any, requires_grad: bool = True, *, dtype: str | None = None) -> None:
        if not isinstance(requires_grad, (bool, np.bool_)):
            raise DTypeError(f"Parameter: requires_grad={requires_grad!r}: expected True or False")
        data = as_array(data.array if isinstance(data, Tensor) else data)
        self.precision, self.name, self.unrounded = get_precision(), None, None
        stored = FORMATS[dtype or self.precision.weights].dtype
        place = device_of(data) if is_on_device(data) else as_device(None)
        empty = moved(np.empty(data.shape, stored), place)
        super().__init__(empty, requires_grad=bool(requires_grad))
        self.data = data

    @property
    def data(self) -> np.ndarray:
        """The stored array. Assigning keeps the unrounded value for the optimizer's masters."""
        return self.array

    @data.setter
    def data(self, value: Any) -> None:
        value = as_array(value.array if isinstance(value, Tensor) else value)
        vars(Tensor)["data"].fset(self, value)
        wide = np.promote_types(self.dtype, float32)
        if self.dtype != wide:
            self.keep_exact(placed(value.astype(wide), like=self.array))

    @property
    def exact(self) -> np.ndarray | None:
        """The unrounded numbers behind what is stored; None where there are none."""
        if self.unrounded is not None and self.unrounded[0] != self.storage.version:
            self.unrounded = None  # written to since, by something that rounded
        return None if self.unrounded is None else self.unrounded[1]

    def keep_exact(self, array: np.ndarray) -> None:
        """Take `array`, not copied, as the unrounded numbers of what is stored now."""
        self.unrounded = (self.storage.version, array)

    def convert(self, dtype: np.dtype) -> None:
        """Store the (unrounded) numbers in another format; a gradient goes with them."""
        if dtype != self.dtype:
            numbers, frozen = (
                self.array if self.exact is None else self.exact,
                not self.requires_grad,
            )
            self.array = empty(self.shape, dtype, like=self.array)
            self.data = numbers
            of_gradient = gradient_format(dtype, self.ndim == 0, self.precision)
            self.gradient_dtype = None if frozen else of_gradient
            if self.grad is not None:
                self.grad.array = narrow(self.grad.array, of_gradient)

    def move(self, device: str) -> None:
        """Bring the numbers, and a gradient, to a device."""
        if device != self.device:
            exact = self.exact
            self.array = moved(self.array, device)
            self.storage.version += 1
            if exact is not None:
                self.keep_exact(moved(exact, device))
            if self.grad is not None:
                self.grad.array = moved(self.grad.array, device)

    def __deepcopy__(self, memo):
        new = memo[id(self)] = Tensor.__new__(type(self))
        Tensor.__init__(new, self.array.copy())
        new.gradient_dtype, new.grad = self.gradient_dtype, Tensor.__deepcopy__(self, {}).grad
        new.precision, new.name, new.unrounded = self.precision, self.name, None
        if self.exact is not None:
            new.keep_exact(self.exact.copy())
        return new


for _name in (*(f"{name}_" for name in FUNCTIONS), "__setitem__"):
    setattr(Parameter, _name, _on_exact(_name))


class Buffer(Tensor):
    """A tensor that a module keeps and saves but that is not trained.

    persistent: whether it is part of the module's state_dict.
    """

    __slots__ = ("persistent",)

    def __init__(self, data: Any, persistent: bool = True) -> None:
        self.persistent = persistent
        data = as_array(data.array if isinstance(data, Tensor) else data)
        super().__init__(data if is_on_device(data) else moved(data, as_device(None)))

    def move(self, device: str) -> None:
        """Bring the numbers to a device."""
        self.array = moved(self.array, device)
        self.storage.version += 1

    def convert(self, dtype: np.dtype) -> None:
        """Store the numbers in another format."""
        if dtype != self.dtype:
            self.array = narrow(self.array, dtype)
            self.storage.version += 1

    def __deepcopy__(self, memo):
        memo[id(self)] = Buffer(self.array.copy(), self.persistent)
        return memo[id(self)]
