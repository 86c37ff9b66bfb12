"""Modules made of modules."""

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any, TypeVar, overload

from minifp.errors import ArgumentError
from minifp.nn.module import Module

N = TypeVar("N", bound="_Numbered")


class _Held(Module):
    """What holds modules for another one and is not called: they carry its name in paths."""

    multiplies = False

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        self._take_name(self._name)

    def _take_name(self, name):
        super()._take_name(name)
        for n, child in self.named_children():  # called without it, they carry its name
            child._take_name(f"{name}.{n}" if name else n)

    def forward(self, *args: Any) -> Any:
        raise ArgumentError(f"a {type(self).__name__} cannot be called: call its modules")


class _Numbered(Module):
    """A list of modules, named 0, 1, 2, ... in their order, whatever is put in or taken out.

    kinds: what it may hold.
    """

    kinds: tuple[type, ...] = (Module,)

    def _items(self):
        return self.named_children()

    def append(self: N, module: Module) -> N:
        """Add one at the end."""
        return self.extend([module])

    def extend(self: N, modules: Iterable[Module]) -> N:
        """Add several at the end."""
        for module in self._checked(modules, len(self)):
            setattr(self, str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Put one before that at `index`, from -len to len."""
        if not -len(self) <= index <= len(self):
            raise IndexError(f"{type(self).__name__} of {len(self)}: no index {index} to insert at")
        modules = [*self]
        modules.insert(index, *self._checked([module], index))
        self._hold(modules)

    def pop(self, index: int = -1) -> Module:
        """Take one out, and return it."""
        module = self[index]
        del self[index]
        return module

    def __setitem__(self, index: int, module: Module) -> None:
        name = self._items()[index][0]
        (module,) = self._checked([module], index)
        setattr(self, name, module)

    def __delitem__(self, index: int | slice) -> None:
        modules = [*self]
        del modules[index]
        self._hold(modules)

    def __iadd__(self: N, modules: Iterable[Module]) -> N:
        return self.extend(modules)

    def __len__(self) -> int:
        return len(self._items())

    @overload
    def __getitem__(self, index: int) -> Module: ...
    @overload
    def __getitem__(self: N, index: slice) -> N: ...
    def __getitem__(self: N, index: int | slice) -> Module | N:
        """One of them, or, of a slice, a container like this one with the same modules."""
        if not isinstance(index, slice):
            return self._items()[index][1]
        chosen = type(self)()
        for i, (name, module) in enumerate(self._items()[index]):
            # not as an attribute is set: on the tape they go by where they are first of all
            vars(chosen)[name if isinstance(self, Sequential) else str(i)] = module
        return chosen

    def __iter__(self) -> Iterator[Module]:
        return iter([module for _, module in self._items()])

    def _hold(self, modules):
        for name, _ in self._items():
            del vars(self)[name]
        for i, module in enumerate(modules):
            setattr(self, str(i), module)

    def _checked(self, modules, start):
        kind = type(self).__name__
        if not isinstance(modules, Iterable):
            raise ArgumentError(f"{kind}: {type(modules).__name__}: expected several modules")
        modules = list(modules)
        for i, module in enumerate(modules, start):
            if not isinstance(module, self.kinds):
                raise ArgumentError(
                    f"{kind}: argument {i} is a {type(module).__name__}, not a Module"
                )
        return modules


class Sequential(_Numbered):
    """Modules called one after the other, named 0, 1, 2, ..., or as a single argument, a dict of
    them, says.

    A slice is a Sequential in which they keep their names, as in PyTorch. What is put in or taken
    out in the middle makes all names numbers again.
    """

    multiplies = False

    @overload
    def __init__(self, *modules: Module) -> None: ...
    @overload
    def __init__(self, modules: Mapping[str, Module], /) -> None: ...
    def __init__(self, *modules: Any) -> None:
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                _put(self, name, module)
        else:
            self.extend(modules)

    def forward(self, x: Any) -> Any:
        for module in [m for m in vars(self).values() if isinstance(m, Module)]:
            x = module(x)
        return x


class ModuleList(_Held, _Numbered):
    """A list of modules, named 0, 1, 2, ...; it is not called itself. Some of them may be None."""

    kinds = Module, type(None)

    def _items(self):
        return [
            (name, vars(self)[name]) for name in sorted(filter(str.isdigit, vars(self)), key=int)
        ]

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        self.extend(modules)


def _put(container, name, module):
    """Own a module by a name that is not one of something else."""
    kind = type(container).__name__
    if not isinstance(module, Module):
        raise ArgumentError(f"{kind}: {name!r} is a {type(module).__name__}, not a Module")
    taken = isinstance(name, str) and hasattr(container, name)
    if taken and not isinstance(vars(container).get(name), Module):
        raise ArgumentError(f"{kind}: {name!r} is an attribute of every module")
    container.add_module(name, module)


class _Named(Module, MutableMapping):
    """What a subclass finds by `_own()`, as a dict of it, in order."""

    __eq__, __hash__ = object.__eq__, object.__hash__  # of modules, not of what they hold

    def _own(self):
        return dict(self.named_children())

    def update(self, given: Any = ()) -> None:  # type: ignore[override]
        """Add what a dict has, or a container like this one, or (name, value) pairs."""
        try:
            pairs = dict(given)
        except (TypeError, ValueError) as error:
            raise ArgumentError(
                f"{type(self).__name__}: {type(given).__name__}: expected a dict, or pairs of a "
                "name and what has it"
            ) from error
        for name, value in pairs.items():
            self[name] = value

    def __getitem__(self, name: str) -> Any:
        found = self._own()
        if name not in found:
            names = ", ".join(found)
            raise KeyError(f"{type(self).__name__} has no {name!r}: expected one of {names}")
        return found[name]

    def __delitem__(self, name: str) -> None:
        self[name]  # raises where there is none
        del vars(self)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._own())

    def __len__(self) -> int:
        return len(self._own())


class ModuleDict(_Held, _Named):
    """Modules by name, in order; it is not called itself."""

    def __init__(self, modules: Any = ()) -> None:
        self.update(modules)

    def __setitem__(self, name: str, module: Module) -> None:
        _put(self, name, module)
