"""Modules made of modules."""

from collections.abc import Iterable, Iterator
from typing import Any

from minifp.errors import ArgumentError
from minifp.nn.module import Module


class Sequential(Module):
    """Modules called one after the other, named 0, 1, 2, ..."""

    def __init__(self, *modules: Module) -> None:
        for i, module in enumerate(modules):
            if not isinstance(module, Module):
                raise ArgumentError(
                    f"Sequential: argument {i} is a {type(module).__name__}, not a Module"
                )
            setattr(self, str(i), module)

    def forward(self, x: Any) -> Any:
        for module in self.children():
            x = module(x)
        return x

    def __len__(self) -> int:
        return len(self.children())

    def __getitem__(self, i: int) -> Module:
        return self.children()[i]

    def __iter__(self) -> Iterator[Module]:
        return iter(self.children())


class ModuleList(Sequential):
    """A list of modules, named 0, 1, 2, ...; it is not called itself."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__(*modules)

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        self._take_name(self._name)

    def _take_name(self, name):
        super()._take_name(name)
        for n, child in self.named_children():  # called without it, they carry its name
            child._take_name(f"{name}.{n}" if name else n)

    def forward(self, *args: Any) -> Any:
        raise ArgumentError("a ModuleList is not called: call its modules")

    def append(self, module: Module) -> "ModuleList":
        """Add one at the end."""
        setattr(self, str(len(self)), module)
        return self


class ModuleDict(Module):
    """Modules by name, in order; it is not called itself."""

    def __init__(self, modules: Any = ()) -> None:
        self.update(modules)

    def update(self, modules: Any) -> None:
        """Add modules: a dict of them, or (name, module) pairs."""
        for name, module in dict(modules).items():
            self[name] = module

    def __setitem__(self, name: str, module: Module) -> None:
        if not isinstance(module, Module):
            raise ArgumentError(f"ModuleDict: {name!r} is a {type(module).__name__}, not a Module")
        if hasattr(Module, str(name)):
            raise ArgumentError(f"ModuleDict: {name!r} is the name of something every module has")
        self.add_module(name, module)

    def __getitem__(self, name: str) -> Module:
        found = dict(self.named_children())
        if name not in found:
            raise KeyError(f"ModuleDict has no {name!r}: expected one of {', '.join(found)}")
        return found[name]

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        del self.__dict__[name]

    def __contains__(self, name: object) -> bool:
        return name in dict(self.named_children())

    def __len__(self) -> int:
        return len(self.children())

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def keys(self) -> list[str]:
        """The names."""
        return [name for name, _ in self.named_children()]

    def values(self) -> list[Module]:
        """The modules."""
        return self.children()

    def items(self) -> list[tuple[str, Module]]:
        """(name, module) of each."""
        return self.named_children()

    def forward(self, *args: Any) -> Any:
        raise ArgumentError("a ModuleDict is not called: call its modules")
