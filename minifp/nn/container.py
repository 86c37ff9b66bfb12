"""Modules made of modules."""

from minifp.errors import ArgumentError
from minifp.nn.module import Module


class Sequential(Module):
    """Modules called one after the other, named 0, 1, 2, ..."""

    def __init__(self, *modules):
        for i, module in enumerate(modules):
            if not isinstance(module, Module):
                raise ArgumentError(
                    f"Sequential: argument {i} is a {type(module).__name__}, not a Module"
                )
            setattr(self, str(i), module)

    def forward(self, x):
        for module in self.children():
            x = module(x)
        return x

    def __len__(self):
        return len(self.children())

    def __getitem__(self, i):
        return self.children()[i]

    def __iter__(self):
        return iter(self.children())


class ModuleList(Sequential):
    """A list of modules, named 0, 1, 2, ...; it is not called itself."""

    def __init__(self, modules=()):
        super().__init__(*modules)

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        self._take_name(self._name)

    def _take_name(self, name):
        super()._take_name(name)
        for n, child in self.named_children():  # called without it, they carry its name
            child._take_name(f"{name}.{n}" if name else n)

    def forward(self, *args):
        raise ArgumentError("a ModuleList is not called: call its modules")

    def append(self, module):
        """Add one at the end."""
        setattr(self, str(len(self)), module)
        return self
