"""Module: a tree of plain objects with parameters, called like functions.

What a module owns is found by looking at its attributes, in the order in which they were set;
nothing is registered. A module remembers the precision in which it was made and computes in it
wherever and on whichever thread it is called.
"""

import numpy as np

from minifp import policy
from minifp.errors import ArgumentError
from minifp.nn.parameter import Buffer, Parameter
from minifp.tape import Tensor, module_path


class Module:
    """The base of layers and models: set parameters and modules as attributes, define forward."""

    def __new__(cls, *args, **kwargs):
        self = super().__new__(cls)
        self.__dict__.update(training=True, precision=policy.get_precision(), _name="")
        return self

    def __init__(self):
        pass

    def __setattr__(self, name, value):
        if isinstance(value, Module):
            value._take_name(name)
        self.__dict__[name] = value

    def _take_name(self, name):
        self.__dict__["_name"] = name

    def forward(self, *args, **kwargs):
        """What the module computes. Subclasses define it."""
        raise ArgumentError(f"{type(self).__name__} does not define forward()")

    def __call__(self, *args, **kwargs):
        outer = module_path.get()
        name = self._name or type(self).__name__
        path = module_path.set(f"{outer}.{name}" if outer else name)
        try:
            if policy.get_precision() is self.precision:
                return self.forward(*args, **kwargs)
            with policy.precision(self.precision):
                return self.forward(*args, **kwargs)
        finally:
            module_path.reset(path)

    # ---- what it owns ----

    def named_children(self):
        """(name, module) of each module that is an attribute."""
        return [(n, m) for n, m in vars(self).items() if isinstance(m, Module)]

    def children(self):
        """The modules that are attributes."""
        return [m for _, m in self.named_children()]

    def named_modules(self, prefix=""):
        """(path, module) of this module and all below it, each once."""
        seen = set()
        for path, module in self._paths(prefix):
            if id(module) not in seen:
                seen.add(id(module))
                yield path, module

    def _paths(self, prefix=""):
        yield prefix, self
        for name, child in self.named_children():
            yield from child._paths(f"{prefix}.{name}" if prefix else name)

    def modules(self):
        """This module and all below it."""
        return [m for _, m in self.named_modules()]

    def _named(self, kind):
        seen = set()
        for path, value in self._all_named(kind):
            if id(value) not in seen:
                seen.add(id(value))
                yield path, value

    def _all_named(self, kind):
        for path, module in self._paths():
            for name, value in vars(module).items():
                if isinstance(value, kind):
                    yield f"{path}.{name}" if path else name, value

    def named_parameters(self):
        """(path, parameter) of all parameters, each once; each takes its path as its name."""
        found = list(self._named(Parameter))
        for path, p in found:
            p.name = path
        return found

    def parameters(self):
        """All parameters, each once."""
        return [p for _, p in self.named_parameters()]

    def named_buffers(self):
        """(path, buffer) of all buffers, each once."""
        return list(self._named(Buffer))

    def buffers(self):
        """All buffers, each once."""
        return [b for _, b in self._named(Buffer)]

    # ---- modes and state ----

    def train(self, mode=True):
        """Training mode (dropout drops, batch norm uses the batch) or, with False, evaluation."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self):
        """Evaluation mode."""
        return self.train(False)

    def zero_grad(self):
        """Drop all gradients."""
        for p in self.parameters():
            p.grad = None

    def state_dict(self):
        """Copies of all parameters and buffers by path, with PyTorch's names and shapes.

        A parameter gives its unrounded numbers (its own, or an optimizer's masters) where it has
        them, so that nothing is lost by loading them again. What is shared is there by each path.
        """
        state = {}
        for name, t in self._all_named((Parameter, Buffer)):
            exact = getattr(t, "exact", None)
            state[name] = Tensor(np.array(t.array if exact is None else exact))
        return state

    def load_state_dict(self, state_dict):
        """Assign parameters and buffers (tensors or arrays) by path.

        Raises ArgumentError, with nothing changed, that names every missing, unexpected and
        misshapen entry, and every one that is not made of numbers.
        """
        mine = dict(self._all_named((Parameter, Buffer)))
        given = {
            n: v.array if isinstance(v, Tensor) else np.asarray(v) for n, v in state_dict.items()
        }
        problems = [f"missing: {n} {t.shape}" for n, t in mine.items() if n not in given]
        problems += [f"unexpected: {n}" for n in given if n not in mine]
        problems += [
            f"{n}: shape {given[n].shape}, expected {t.shape}"
            for n, t in mine.items()
            if n in given and given[n].shape != t.shape
        ]
        problems += [
            f"{n}: {v.dtype}, expected numbers"
            for n, v in given.items()
            if v.dtype.kind not in "fiub"
        ]
        if problems:
            raise ArgumentError(f"load_state_dict of {type(self).__name__}: " + "; ".join(problems))
        for name, t in mine.items():
            t.data = given[name]

    def __repr__(self):
        lines = [f"({n}): " + repr(m).replace("\n", "\n  ") for n, m in self.named_children()]
        body = "".join(f"\n  {line}" for line in lines)
        return f"{type(self).__name__}({self.extra_repr()}{body}" + ("\n)" if lines else ")")

    def extra_repr(self):
        """What stands between the parentheses of the repr."""
        return ""
