"""The modules that a script gets for `import torch` and `import torchvision`, and the import hook
that brings them.

Names are looked up when they are asked for (paths.py), and what is not there is refused with what
to use instead.
"""

import sys
from collections.abc import Container, Sequence
from functools import partial
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from inspect import getattr_static, isfunction
from types import ModuleType, NoneType
from typing import Any

from minifp.autograd.tape import Tensor
from minifp.compat.torch import functions, habits, paths, tensors
from minifp.compat.torch.refused import MODULES, OTHERS, reason, stand_in
from minifp.compat.unknown_names import is_import, names_in
from minifp.errors import ArgumentError, UnknownNameError
from minifp.nn.refused import LAYERS
from minifp.runtime.unknown_arguments import MEANING

ABSENT = object()  # stands for a name that a module has not


def is_of_script(package: str) -> bool:
    """Whether a script has a module of this name beside it, which no installed package is."""
    own = PathFinder.find_spec(package)
    return own is not None and "site-packages" not in f"{own.origin}"


def known(home: ModuleType) -> Container[str]:
    """The names that a module offers; those of `__all__` may begin with an underscore."""
    return getattr(home, "__all__", None) or names_in(home)


def names_of(path: str) -> set[str]:
    """The public names at a path."""
    return {n for home in paths.homes(path) for n in names_in(home)} - paths.NOT_PYTORCHS


def is_mirrored(path: str) -> bool:
    """Whether a module has this path: one with names, or one all of whose names are refused."""
    return bool(paths.homes(path)) or path in MODULES


def value_of(path: str, name: str) -> Any:
    """What stands there under a name, unless it is a module; ABSENT for nothing."""
    for home in paths.homes(path):
        if name in known(home) and not (path == "torch" and name in paths.NOT_PYTORCHS):
            value = getattr(home, name)
            if not isinstance(value, ModuleType):
                return value
    return ABSENT


def look_up(path: str, name: str) -> Any:
    """What stands there under a name, which is also a module below; ABSENT for nothing."""
    if (value := value_of(path, name)) is not ABSENT:
        return value
    if is_mirrored(f"{path}.{name}"):
        return import_module(f"{path}.{name}")
    method = getattr_static(Tensor, name, None) if path == "torch" and name[0] != "_" else None
    return method if isfunction(method) else ABSENT  # torch.sigmoid_(x) is x.sigmoid_()


class Mirror(ModuleType):
    """A module of PyTorch's path. A name that it lacks raises UnknownNameError, in an import
    ImportError, with what to use instead."""

    def __getattr__(self, name: str) -> Any:
        is_asked_by_python = name.startswith("__") and name != "__version__"
        value = ABSENT if is_asked_by_python else look_up(self.__name__, name)
        if value is ABSENT and paths.is_of_layers(self.__name__):
            value = LAYERS.get(name, ABSENT)  # refuses when it is made
        if value is not ABSENT:
            setattr(self, name, value)
            return value
        if is_asked_by_python:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if is_import(sys._getframe(1)):
            if (refusing := stand_in(self.__name__, name)) is not None:
                return refusing
            raise ImportError(reason(self.__name__, name), name=self.__name__)
        raise UnknownNameError(partial(reason, self.__name__, name))

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *names_of(self.__name__)})


class Finder(MetaPathFinder, Loader):
    """The import hook of paths.ROOTS and all below, and of packages that need PyTorch itself."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: Any = None) -> Any:
        """The spec of a mirrored module. Raises ModuleNotFoundError for others of PyTorch's."""
        first = name.partition(".")[0]
        if first in OTHERS and not is_of_script(first):
            raise ModuleNotFoundError(f"minifp has no {first}: {OTHERS[first]}", name=name)
        if name == "tensorboardX.summary":  # before it takes a function from there
            tensors.teach(import_module("tensorboardX.x2num"))
        if first not in paths.ROOTS:
            return None
        if not is_mirrored(name):
            place, _, last = name.rpartition(".")
            raise ModuleNotFoundError(reason(place, last), name=name)
        return ModuleSpec(name, Finder(), is_package=True)

    def create_module(self, spec: ModuleSpec) -> Mirror:
        """An empty module."""
        return Mirror(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Let `from torch import *` bring the public names, and have those of all but torch itself
        in `__dict__`, where scripts look for a model or an optimizer by its name."""
        path, names = module.__name__, sorted(names_of(module.__name__))
        values = {n: value_of(path, n) for n in names if path != "torch"}
        module.__dict__.update({n: v for n, v in values.items() if v is not ABSENT}, __all__=names)


def install() -> None:
    """Let `import torch` bring the mirror. Raises ArgumentError where PyTorch itself is there
    already."""
    if not isinstance(sys.modules.get("torch"), (Mirror, NoneType)):
        raise ArgumentError("install: PyTorch has been imported: expected a program without it")
    if Finder not in sys.meta_path:
        sys.meta_path.insert(0, Finder)
    MEANING.update(habits.TAKEN)
    tensors.attach_all()
    functions.attach()
