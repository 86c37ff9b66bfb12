"""Parameters in a list or a dict, so that a module owns them."""

from collections.abc import Iterable, Iterator
from typing import Any

from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, DTypeError
from minifp.nn.container import _Named
from minifp.nn.module import Module
from minifp.nn.parameter import Parameter


class _Parameters(Module):
    multiplies = False

    def _own(self):
        return {n: p for n, p in vars(self).items() if isinstance(p, (Parameter, _Parameters))}

    def _put(self, name, value):
        kind = type(self).__name__
        if not isinstance(value, (Tensor, _Parameters)):
            raise DTypeError(
                f"{kind}: {name} is a {type(value).__name__}: expected a Parameter or a tensor"
            )
        if isinstance(name, str) and hasattr(self, name) and name not in self._own():
            raise ArgumentError(f"{kind}: {name!r} is an attribute of every module")
        owned = isinstance(value, (Parameter, _Parameters))
        setattr(self, name, value if owned else Parameter(value))

    def __len__(self) -> int:
        return len(self._own())

    def forward(self, *args: Any) -> Any:
        raise ArgumentError(f"a {type(self).__name__} cannot be called: use its parameters")

    def __repr__(self):
        lines = [
            f"\n  ({n}): "
            + (f"Parameter of {p.dtype} {p.shape}" if isinstance(p, Tensor) else f"{p}")
            for n, p in self._own().items()
        ]
        return f"{type(self).__name__}({''.join(lines)}" + ("\n)" if lines else ")")


class ParameterList(_Parameters):
    """A list of parameters, and of lists and dicts of them, named 0, 1, 2, ...; of a tensor that is
    none it makes one."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        self.extend(() if values is None else values)

    def append(self, value: Tensor) -> "ParameterList":
        """Add one at the end."""
        self._put(str(len(self)), value)
        return self

    def extend(self, values: Iterable[Any]) -> "ParameterList":
        """Add several at the end."""
        if isinstance(values, Tensor) or not isinstance(values, Iterable):
            raise DTypeError(f"ParameterList: {type(values).__name__}: expected several parameters")
        for value in values:
            self.append(value)
        return self

    def __getitem__(self, index: int | slice) -> Any:
        found = list(self)[index]
        return ParameterList(found) if isinstance(index, slice) else found

    def __setitem__(self, index: int, value: Tensor) -> None:
        self._put(list(self._own())[index], value)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self._own().values())

    def __iadd__(self, values: Iterable[Any]) -> "ParameterList":
        return self.extend(values)


class ParameterDict(_Parameters, _Named):
    """Parameters by name, in order; of a tensor that is none it makes one."""

    def __init__(self, parameters: Any = None) -> None:
        self.update(() if parameters is None else parameters)

    def __setitem__(self, name: str, value: Tensor) -> None:
        self._put(name, value)
