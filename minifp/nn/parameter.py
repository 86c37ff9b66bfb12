"""Parameters and buffers: the tensors a module owns."""

from typing import Any

import numpy as np

from minifp.autograd.memory import give_memory, write
from minifp.autograd.storage import Storage
from minifp.autograd.tape import Tensor
from minifp.errors import DTypeError
from minifp.numerics.amax_history import Histories
from minifp.numerics.formats import as_dtype, downcast, is_float
from minifp.numerics.policy import Precision, get_precision
from minifp.numerics.rules import gradient_format
from minifp.ops.creation import as_array
from minifp.runtime.callers import warn_once
from minifp.runtime.cuda.arrays import is_on_device
from minifp.runtime.device import as_device, device_of, empty, moved

SAY_FORMATS = ("weights", "norm_parameters")  # the switches that say how parameters are stored


class Parameter(Tensor):
    """A trained tensor, stored in the weight format of the precision it was created in.

    data: the initial values, float32 (or wider). requires_grad: False for one that is frozen.
    dtype: another storage format, by name; or the switch of the precision that says it:
        "norm_parameters" instead of "weights".

    If storing rounds, the unrounded numbers are in `exact`: the initial ones, until an optimizer
    claims them for its masters, and then the masters. So masters never start as a rounded copy, and
    every precision starts from the same numbers. The optimizer notices later assignments through
    `storage.version`. `name` is its path, once a module has listed it.
    """

    __slots__ = ("precision", "name", "stored_as", "__dict__")  # and what programs keep with it
    precision: Precision
    name: str | None
    stored_as: str  # a switch of the precision, or a format

    def __init__(self, data: Any, requires_grad: bool = True, *, dtype: str | None = None) -> None:
        if not isinstance(requires_grad, (bool, np.bool_)):
            raise DTypeError(f"Parameter: requires_grad={requires_grad!r}: expected True or False")
        data = as_array(data)
        self.precision, self.name = get_precision(), None
        self.stored_as = "weights" if dtype is None else dtype
        stored = self._stored_in(self.precision)
        place = device_of(data) if is_on_device(data) else as_device(None)
        empty = moved(np.empty(data.shape, stored), place)
        super().__init__(empty, requires_grad=bool(requires_grad))
        self.storage.histories = Histories()
        self.storage.share(self)
        if not self.precision.shapes_only:
            write(self, data)

    @property
    def data(self) -> Tensor:
        """A tensor on the same memory that remembers nothing: what is written into it in place
        arrives here, and unrounded where masters are, from which is computed too. Assigning gives
        this parameter the memory of another tensor, as in PyTorch (`n.weight.data = m.weight.data`
        ties the two); an optimizer takes it up at its next step."""
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        if isinstance(value, Tensor) and _is_cast_of(self, value):
            warn_once(
                "data in another format",
                f"p.data = p.data in {value.dtype} changes nothing: the parameter stays "
                f"{self.dtype}. To store it in another format, use module.half() or "
                "module.to(dtype) before you create the optimizer, or create the module under "
                "fp.precision(...)",
            )
            return
        give_memory(self, value)

    def _stored_in(self, precision):
        name = self.stored_as
        return as_dtype(getattr(precision, name) if name in SAY_FORMATS else name)

    def assign(self, precision: Precision) -> None:
        """Be as one that was made in a precision: the (unrounded) numbers are stored anew."""
        self.precision = precision
        self.convert(self._stored_in(precision))
        if self.requires_grad:
            self.gradient_dtype = gradient_format(self.dtype, self.ndim == 0, precision)

    def convert(self, dtype: np.dtype) -> None:
        """Store the (unrounded) numbers in another format; a gradient goes with them."""
        if dtype != self.dtype:
            exact = self.exact
            numbers = self.array if exact is None else exact
            frozen = not self.requires_grad
            self._store_anew(empty(self.shape, dtype, like=self.array))
            if not self.precision.shapes_only:
                write(self, numbers)
            of_gradient = gradient_format(dtype, self.ndim == 0, self.precision)
            self.gradient_dtype = None if frozen else of_gradient
            if self.grad is not None:
                self.grad.array = downcast(self.grad.array, of_gradient)

    def move(self, device: str) -> None:
        """Bring the numbers, and a gradient, to a device."""
        if device != self.device:
            exact = self.exact
            self._store_anew(moved(self.array, device))
            if exact is not None:
                self.storage.keep(self.array, moved(exact, device))
            if self.grad is not None:
                self.grad.array = moved(self.grad.array, device)

    def _store_anew(self, array):
        """Have other memory: tensors on the old one keep that, by themselves."""
        version, histories = self.storage.version, self.storage.histories
        self.array, self.storage = array, Storage()
        self.storage.version, self.storage.histories = version + 1, histories
        self.storage.share(self)

    def __deepcopy__(self, memo):
        new = memo[id(self)] = Tensor.__new__(type(self))
        Tensor.__init__(new, self.array.copy())
        new.storage.share(new)
        new.gradient_dtype, new.grad = self.gradient_dtype, Tensor.__deepcopy__(self, {}).grad
        new.storage.histories = known = Histories()
        if self.storage.histories is not None:
            known.load(self.storage.histories.state(self.storage.version), new.storage.version)
        new.precision, new.name, new.stored_as = self.precision, self.name, self.stored_as
        exact = self.exact
        if exact is not None:
            new.storage.keep(new.array, exact.copy())
        return new


def _is_cast_of(p, value):
    """Whether `value` is what a parameter stores, in another format, and not numbers of its own."""
    if value.dtype == p.dtype or not is_float(value.dtype) or value.shape != p.shape:
        return False
    on_host = type(p.array) is type(value.array) is np.ndarray  # a GPU would have to be waited for
    if not on_host or not p.array.size or (p.array == p.array.flat[0]).all():
        return False
    numbers = [p.array] if p.exact is None else [p.array, p.exact]
    return any(np.array_equal(downcast(n, value.dtype), value.array) for n in numbers)


class UninitializedParameter(Parameter):
    """The place of a parameter whose shape is not known yet, in a lazy layer (lazy.py).

    was_stored: the format that it had at first; another one is what the parameter shall have.
    """

    __slots__ = ("was_stored",)

    def __init__(self, data: Any, requires_grad: bool = True) -> None:
        super().__init__(data, requires_grad)
        self.was_stored = self.dtype


class Buffer(Tensor):
    """A tensor that a module keeps and saves but that is not trained.

    persistent: whether it is part of the module's state_dict.
    """

    __slots__ = ("persistent",)

    def __init__(self, data: Any, persistent: bool = True) -> None:
        self.persistent = persistent
        array = as_array(data)
        here = array if is_on_device(array) else moved(array, as_device(None))
        shares = isinstance(data, Tensor) and here is array
        if shares and data.storage.sharing is None:
            data.storage.share(data)
        super().__init__(here, storage=data.storage if shares else None)

    def move(self, device: str) -> None:
        """Bring the numbers to a device."""
        if device != self.device:
            self.array, self.storage = moved(self.array, device), Storage()

    def convert(self, dtype: np.dtype) -> None:
        """Store the numbers in another format."""
        if dtype != self.dtype:
            self.array, self.storage = downcast(self.array, dtype), Storage()

    def __deepcopy__(self, memo):
        memo[id(self)] = Buffer(self.array.copy(), self.persistent)
        return memo[id(self)]
