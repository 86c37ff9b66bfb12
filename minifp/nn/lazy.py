"""Layers that learn the size of their input from the first one that they are called on.

Before that a layer holds an UninitializedParameter, which no optimizer takes: call the model once,
then create the optimizer. After it the layer is of the ordinary class.
"""

import inspect
from typing import Any, ClassVar

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.errors import ShapeError
from minifp.nn.conv import Conv1d, Conv2d, ConvTranspose1d, ConvTranspose2d
from minifp.nn.linear import Linear
from minifp.nn.module import Module
from minifp.nn.normalization import BatchNorm1d, BatchNorm2d, InstanceNorm1d, InstanceNorm2d
from minifp.nn.parameter import UninitializedParameter
from minifp.numerics import policy


class _Lazy(Module):
    """size_of: the axis of the input whose size the ordinary layer is made with, before all other
    arguments. Raises as that does, when it is made, and TypeError for arguments it does not take.
    """

    ordinary: ClassVar[type]
    size_of: ClassVar[int]
    __signature__: ClassVar[inspect.Signature]
    weight: Any
    _made_with: tuple[tuple, dict]

    def __init_subclass__(cls, size_of: int | None = None) -> None:
        if size_of is not None:
            cls.ordinary, cls.size_of = cls.__mro__[2], size_of
            ordinary = inspect.signature(cls.ordinary)
            cls.__signature__ = ordinary.replace(parameters=[*ordinary.parameters.values()][1:])

    def __init__(self, *args: Any, **settings: Any) -> None:
        try:
            self.__signature__.bind(*args, **settings)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}{self.__signature__}: {error}") from None
        self.__dict__["_made_with"] = args, settings
        self.weight = UninitializedParameter(np.zeros(0, np.float32))

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """The ordinary layer's, of which this is one from now on."""
        x = inputs[0]
        if not isinstance(x, Tensor) or x.ndim < max(-self.size_of, self.size_of + 1):
            shape = getattr(x, "shape", type(x).__name__)
            raise ShapeError(f"{type(self).__name__}: input of shape {shape}: expected more axes")
        args, settings = self.__dict__.pop("_made_with")
        lazy, before = type(self), self.__dict__.pop("weight")
        try:
            with policy.precision(self._precision or policy.get_precision()):
                object.__setattr__(self, "__class__", lazy.ordinary)
                self.__init__(x.shape[lazy.size_of], *args, **settings)  # type: ignore[misc]
        except Exception:
            object.__setattr__(self, "__class__", lazy)
            self.__dict__.update(_made_with=(args, settings), weight=before)
            raise
        self.to(before.device if before.was_stored == before.dtype else before)
        self.requires_grad_(before.requires_grad)
        return self.forward(*inputs, **named)

    def extra_repr(self) -> str:
        args, settings = self._made_with
        told = [*map(repr, args), *(f"{name}={value!r}" for name, value in settings.items())]
        return ", ".join(["?", *told])


class LazyLinear(_Lazy, Linear, size_of=-1):
    """nn.Linear(in_features, ...) without in_features."""


class LazyConv1d(_Lazy, Conv1d, size_of=-2):
    """nn.Conv1d(in_channels, ...) without in_channels."""


class LazyConv2d(_Lazy, Conv2d, size_of=-3):
    """nn.Conv2d(in_channels, ...) without in_channels."""


class LazyConvTranspose1d(_Lazy, ConvTranspose1d, size_of=-2):
    """nn.ConvTranspose1d(in_channels, ...) without in_channels."""


class LazyConvTranspose2d(_Lazy, ConvTranspose2d, size_of=-3):
    """nn.ConvTranspose2d(in_channels, ...) without in_channels."""


class LazyBatchNorm1d(_Lazy, BatchNorm1d, size_of=1):
    """nn.BatchNorm1d(num_features, ...) without num_features."""


class LazyBatchNorm2d(_Lazy, BatchNorm2d, size_of=1):
    """nn.BatchNorm2d(num_features, ...) without num_features."""


class LazyInstanceNorm1d(_Lazy, InstanceNorm1d, size_of=-2):
    """nn.InstanceNorm1d(num_features, ...) without num_features."""


class LazyInstanceNorm2d(_Lazy, InstanceNorm2d, size_of=-3):
    """nn.InstanceNorm2d(num_features, ...) without num_features."""
