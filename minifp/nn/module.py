"""Module: a tree of plain objects with parameters, called like functions.

What a module owns is found by looking at its attributes, in the order in which they were set;
nothing is registered. A module that was made inside of `with fp.precision(...)` remembers it, and
computes in it wherever and on whichever thread it is called; any other computes in the precision
that is active where it is called. Of a precision with parts (precision_parts.py) it computes in
the one that `assign_precision` has given it.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np

from minifp.autograd.hooks import HookHandle
from minifp.autograd.loss_seed import training_begins
from minifp.autograd.memory import clear_gradients
from minifp.autograd.tape import Tensor, module_path
from minifp.derive.dtypes import name_of
from minifp.errors import ArgumentError, DTypeError, MinifpError, PrecisionError
from minifp.nn import loading
from minifp.nn.door import entering
from minifp.nn.hidden import warn_of_hidden
from minifp.nn.loading import Incompatible
from minifp.nn.owned import Listing, Owned
from minifp.nn.parameter import Buffer, Parameter
from minifp.nn.state_entry import entry_of
from minifp.numerics import policy, rules
from minifp.numerics.formats import is_float
from minifp.ops.methods import as_gpu, wanted
from minifp.runtime.callers import warn_once

M = TypeVar("M", bound="Module")
PROPERTIES = frozenset({"precision", "_modules", "_parameters", "_buffers"})


class Module:
    """The base of layers and models: set parameters and modules as attributes, define forward.

    multiplies: whether a forward that is minifp's own has products (numerics/products.py) beside
    those of the modules inside; of others it is not known.
    """

    multiplies: ClassVar[bool] = True
    training: bool
    _precision: policy.Precision | None  # None: the active one
    _name: str
    _before_forward: list[HookHandle]
    _after_forward: list[HookHandle]
    _empty_buffers: dict[str, bool]  # of those that are None, whether they are persistent

    def __new__(cls, *args, **kwargs):
        self = super().__new__(cls)
        self.__dict__.update(training=True, _precision=policy.entered_precision(), _name="")
        training_begins()
        self.__dict__.update(_before_forward=[], _after_forward=[], _empty_buffers={})
        return self

    def __init__(self) -> None:
        pass

    def __setattr__(self, name, value):
        if name in PROPERTIES:
            object.__setattr__(self, name, value)
            return
        held: Any = self.__dict__.get(name)
        was_buffer = held is None and name in self._empty_buffers
        if isinstance(value, Module):
            value._take_name(name)
        elif isinstance(held, Parameter) and not (value is None or isinstance(value, Parameter)):
            raise DTypeError(
                f"{type(self).__name__}.{name} is a Parameter and cannot become a "
                f"{type(value).__name__}: assign to its .data, or assign another nn.Parameter or "
                "None"
            )
        elif isinstance(held, Buffer) and value is None:
            self._empty_buffers[name] = held.persistent
        elif type(value) is Tensor and (was_buffer or isinstance(held, Buffer)):
            if value.requires_grad:
                raise DTypeError(
                    f"{type(self).__name__}.{name} is a buffer, which has no gradient: assign a "
                    "detach()ed tensor"
                )
            is_saved = held.persistent if isinstance(held, Buffer) else self._empty_buffers[name]
            value = Buffer(value, is_saved)
        owned = Module, Parameter, Buffer
        if isinstance(value, owned) and not isinstance(held, owned):
            self.__dict__.pop(name, None)  # it comes after those that the module has already
        self.__dict__[name] = value

    def _take_name(self, name):
        self.__dict__["_name"] = name

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes. Subclasses define it."""
        raise ArgumentError(f"{type(self).__name__} does not define forward()")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        outer = module_path.get()
        name = self._name or type(self).__name__
        path = module_path.set(f"{outer}.{name}" if outer else name)
        try:
            own, active = self._precision, policy.active.get().value
            precision = own or active
            if precision.parts and precision.awaits:
                self._check_assigned(precision)
            run = self._hooked if self._before_forward or self._after_forward else self.forward
            if precision is active:
                return run(*args, **kwargs)
            if not outer:
                warn_of_autocast(self, precision)
            with policy.precision(precision):
                if precision.has_door and precision.base != active.base:
                    args, kwargs = entering(args, precision), entering(kwargs, precision)
                return run(*args, **kwargs)
        except MinifpError as error:
            name_module(error, self, outer)
            raise
        finally:
            module_path.reset(path)

    def _hooked(self, *args, **kwargs):
        for handle in list(self._before_forward):
            given = handle.hook(self, args)
            if given is not None:
                args = given if isinstance(given, tuple) else (given,)
        output = self.forward(*args, **kwargs)
        for handle in list(self._after_forward):
            given = handle.hook(self, args, output)
            output = output if given is None else given
        return output

    def register_forward_pre_hook(self, hook: Callable) -> HookHandle:
        """Call `hook(module, args)` before forward; what it returns, unless None, are the args.

        Returns a handle with `remove()`. Keyword arguments are not passed to hooks.
        """
        return HookHandle(self._before_forward, hook)

    def register_forward_hook(self, hook: Callable) -> HookHandle:
        """Call `hook(module, args, output)` after forward; what it returns, unless None, is the
        output. Returns a handle with `remove()`."""
        return HookHandle(self._after_forward, hook)

    def _check_assigned(self, precision):
        """Raise unless it has no parameters, as a loss has: no part is for it."""
        if next(self._all_named(Parameter), None) is not None:
            raise PrecisionError(
                f'{type(self).__name__} in precision "{precision}", which has parts for modules by '
                "path, and only the whole model knows its paths: call fp.assign_precision(model) "
                "once the model is complete, before you create its optimizer"
            )

    def _assign(self, precision):
        """Be as a module that was made in a precision; those inside stay as they are."""
        self.__dict__["_precision"] = precision
        for _, p in self._named(Parameter, recurse=False):
            p.assign(precision)

    # ---- the precision in which it computes ----

    @property
    def precision(self) -> policy.Precision:
        """The precision it computes in: that of the `with fp.precision(...)` in which it was
        created, or else the active one. Assign a Precision or its text to fix it, for all modules
        below too; None follows the active one. Storage does not change. A precision with parts
        would have to change it: use `fp.assign_precision`.
        """
        return self._precision or policy.get_precision()

    @precision.setter
    def precision(self, precision: policy.Precision | str | None) -> None:
        kept = None if precision is None else policy.as_precision(precision)
        if kept is not None and kept.parts:
            raise PrecisionError(
                f'model.precision = "{kept}": it has parts, which change how parameters are '
                "stored: call fp.assign_precision(model, ...) before you create the optimizer"
            )
        for module in self.modules():
            module.__dict__["_precision"] = kept

    # ---- what it owns ----

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Own a parameter (or None, for one that is left out), as `self.name = param` does."""
        if param is not None and not isinstance(param, Parameter):
            raise DTypeError(
                f"register_parameter: {name} is a {type(param).__name__}: expected an nn.Parameter"
            )
        setattr(self, _attribute(name), param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Own a tensor that is kept and saved but not trained; it becomes a Buffer. Where it is
        None, the tensor that is assigned to this name later does.

        persistent: whether it is part of state_dict.
        """
        if tensor is not None and not isinstance(tensor, Tensor):
            raise DTypeError(
                f"register_buffer: {name} is a {type(tensor).__name__}: expected a tensor; "
                "create one with fp.tensor(...)"
            )
        buffer = tensor if tensor is None else Buffer(tensor, persistent=persistent)
        setattr(self, _attribute(name), buffer)
        if buffer is None:
            self._empty_buffers[name] = persistent

    def add_module(self, name: str, module: "Module | None") -> None:
        """Own a module, as `self.name = module` does."""
        if not (module is None or isinstance(module, Module)):
            raise DTypeError(f"add_module: {name} is a {type(module).__name__}, not a Module")
        setattr(self, _attribute(name), module)

    register_module = add_module

    @property
    def _modules(self) -> Owned:
        """Its own modules by name, as PyTorch's dictionary of them."""
        return Owned(self, Module, self.add_module)

    @property
    def _parameters(self) -> Owned:
        """Its own parameters by name. Where one is deleted, a tensor that was computed may take its
        name."""
        return Owned(self, Parameter, self._own_parameter)

    def _own_parameter(self, name, value):
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            self.__dict__[_attribute(name)] = value  # one that was computed
        else:
            self.register_parameter(name, value)

    @property
    def _buffers(self) -> Owned:
        """Its own buffers by name."""
        return Owned(self, Buffer, self.register_buffer)

    def named_children(self) -> Listing[tuple[str, "Module"]]:
        """(name, module) of each module that is an attribute."""
        return Listing([(n, m) for n, m in vars(self).items() if isinstance(m, Module)])

    def children(self) -> Listing["Module"]:
        """The modules that are attributes."""
        return Listing([m for _, m in self.named_children()])

    def named_modules(self, prefix: str = "") -> Listing[tuple[str, "Module"]]:
        """(path, module) of this module and all below it, each once."""
        seen: dict[int, tuple[str, Module]] = {}
        for path, module in self._paths(prefix):
            seen.setdefault(id(module), (path, module))
        return Listing(seen.values())

    def _paths(self, prefix=""):
        yield prefix, self
        for name, child in self.named_children():
            yield from child._paths(f"{prefix}.{name}" if prefix else name)

    def modules(self) -> Listing["Module"]:
        """This module and all below it."""
        return Listing([m for _, m in self.named_modules()])

    def get_submodule(self, target: str) -> "Module":
        """The module at a path such as "layers.0"; this one for "". Raises ArgumentError."""
        found = dict(self._paths())
        if target not in found:
            raise ArgumentError(f"{type(self).__name__} has no module {target!r}")
        return found[target]

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a path such as "layers.0.weight". Raises ArgumentError."""
        return self._get(Parameter, "parameter", target)

    def get_buffer(self, target: str) -> Buffer:
        """The buffer at a path. Raises ArgumentError."""
        return self._get(Buffer, "buffer", target)

    def _get(self, kind, what, target):
        found = dict(self._all_named(kind))
        if target not in found:
            raise ArgumentError(
                f"{type(self).__name__} has no {what} {target!r}: expected one of "
                f"{', '.join(found) or 'none'}"
            )
        return found[target]

    def _named(self, kind, recurse=True):
        seen = set()
        for path, value in self._all_named(kind, recurse):
            if id(value) not in seen:
                seen.add(id(value))
                yield path, value

    def _all_named(self, kind, recurse=True):
        for path, module in self._paths() if recurse else [("", self)]:
            for name, value in vars(module).items():
                if isinstance(value, kind):
                    yield f"{path}.{name}" if path else name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True
    ) -> Listing[tuple[str, Parameter]]:
        """(path, parameter) of all parameters, each once; each takes its path as its name."""
        found = list(self._named(Parameter, recurse))
        for path, p in found:
            p.name = path
        if recurse:
            known = {id(p) for _, p in found}
            for module in self.modules():
                warn_of_hidden(module, known)
        return _prefixed(prefix, found)

    def parameters(self, recurse: bool = True) -> Listing[Parameter]:
        """All parameters, each once."""
        return Listing([p for _, p in self.named_parameters(recurse=recurse)])

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Listing[tuple[str, Buffer]]:
        """(path, buffer) of all buffers, each once."""
        return _prefixed(prefix, list(self._named(Buffer, recurse)))

    def buffers(self, recurse: bool = True) -> Listing[Buffer]:
        """All buffers, each once."""
        return Listing([b for _, b in self._named(Buffer, recurse)])

    def apply(self: M, fn: "Callable[[Module], Any]") -> M:
        """Call `fn(module)` for every module, this one last; to set initial values, for one."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def requires_grad_(self: M, requires_grad: bool = True) -> M:
        """Make all parameters collect gradients, or (False) freeze them."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def to(self: M, *args: Any, dtype: Any = None, device: str | None = None) -> M:
        """Store all floating parameters and buffers in another format, or on another device.

        Takes a dtype, a device, both, or a tensor whose are meant. The precision stays that in
        which the module was made; usually one makes the module under another precision instead.
        Unrounded numbers behind stored ones (see Parameter) are what is stored anew. An optimizer
        must be made after this.
        """
        format, place = wanted(args, dtype, device)
        if format is not None and not is_float(format):
            raise DTypeError(f"Module.to: {format}: expected a floating format")
        owned: list[Parameter | Buffer] = [*self.parameters(), *self.buffers()]
        for t in owned:
            if format is not None and is_float(t.dtype):
                t.convert(format)
            if place is not None:
                t.move(place)
        return self

    def half(self: M) -> M:
        """Store parameters and buffers in float16."""
        return self.to("half")

    def bfloat16(self: M) -> M:
        """Store parameters and buffers in bfloat16."""
        return self.to("bfloat16")

    def float(self: M) -> M:
        """Store parameters and buffers in float32."""
        return self.to("single")

    def double(self: M) -> M:
        """Store parameters and buffers in float64."""
        return self.to("double")

    def cpu(self: M) -> M:
        """On the CPU."""
        return self.to("cpu")

    def cuda(self: M, device: str | int | None = None) -> M:
        """On a GPU, of which there is one. Raises DeviceError where there is none."""
        return self.to(as_gpu(device))

    # ---- modes and state ----

    def train(self: M, mode: bool = True) -> M:
        """Training mode (dropout drops, batch norm uses the batch) or, with False, evaluation."""
        if not isinstance(mode, (bool, np.bool_)):
            raise DTypeError(f"train({mode!r}): expected True or False")
        for module in self.modules():
            module.training = bool(mode)
        return self

    def eval(self: M) -> M:
        """Evaluation mode."""
        return self.train(False)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop all gradients; with set_to_none=False, fill those that there are with zeros."""
        clear_gradients(self.parameters(), set_to_none)

    def state_dict(self, prefix: str = "") -> dict[str, Tensor]:
        """Copies of all parameters and buffers by path, by PyTorch's names and shapes.

        A parameter gives its unrounded numbers (its own, or an optimizer's masters) where it has
        them, so that nothing is lost by loading them again. What is shared is there by each path.
        A copy stays what it is while the model is trained; what is written into it in place
        (`v.copy_(x)`, `v *= 0.9`) begins from the model's numbers of that moment and is written
        into the model too, as in PyTorch. prefix: put before every name.
        """
        return {prefix + name: entry_of(t) for name, t in self._saved().items()}

    def _saved(self):
        named = self._all_named((Parameter, Buffer))
        return {name: t for name, t in named if getattr(t, "persistent", True)}

    def check_state_dict(self, state_dict: Mapping, strict: bool = True) -> Incompatible:
        """Raise ArgumentError for what load_state_dict would refuse; nothing is changed."""
        return loading.check(type(self).__name__, self._saved(), state_dict, strict)

    def load_state_dict(self, state_dict: Mapping, strict: bool = True) -> Incompatible:
        """Assign parameters and buffers (tensors or arrays) by path.

        strict: whether each must be there, and nothing else; if not, what is missing stays as it
        is, and the names are returned. Raises ArgumentError, with nothing changed, that names every
        missing, unexpected and misshapen entry, and every one that is not made of numbers.
        """
        return loading.load(type(self).__name__, self._saved(), state_dict, strict)

    def __repr__(self):
        told = self._told_precision() if self.named_children() else ""
        return self._tree() + (f"\n{told}" if told else "")

    def _tree(self):
        """As PyTorch shows it."""
        lines = []
        for name, child in self.named_children():
            own = type(child).__repr__ is not Module.__repr__
            text = repr(child) if own else child._tree()
            if str(child.precision) != str(self.precision):
                text += f' precision "{child.precision}"'
            lines.append(f"\n  ({name}): " + text.replace("\n", "\n  "))
        end = "\n)" if lines else ")"
        return f"{type(self).__name__}({self.extra_repr()}{''.join(lines)}{end}"

    def _told_precision(self):
        """A line on how it is stored and trained; "" where that is float32, as elsewhere."""
        stored = {p.dtype for _, p in self._named(Parameter)} or {policy.float32}
        masters, scale = rules.as_trained(self.precision, stored)
        formats = " and ".join(sorted(name_of(d) for d in stored))
        if str(self.precision) == formats == policy.SINGLE:
            return ""
        kept = f"masters in {policy.SINGLE}" if masters else "no masters"
        return (
            f'precision "{self.precision}": parameters in {formats}, {kept}, loss scale '
            f"{scale or 'none'}"
        )

    def extra_repr(self) -> str:
        """What stands between the parentheses of the repr."""
        return ""


def warn_of_autocast(module: Module, own: policy.Precision) -> None:
    """Say once that a module that keeps its precision is called under autocast."""
    entered = policy.entered_precision()
    if entered is not None and entered.operations is not None and str(entered) != str(own):
        warn_once(
            f"autocast around {type(module).__name__}, made under {own}",
            f'{type(module).__name__} was created inside fp.precision("{own}") and computes in '
            f'that: the autocast around its call ("{entered}") does not change it. To let it '
            "follow, create the model outside of any `with fp.precision(...)`, or assign to "
            "model.precision",
        )


def name_module(error: MinifpError, module: Module, outer: str) -> None:
    """Let an error that arose in a model begin with the path of the innermost module, once."""
    if outer and error.module is None and error.args:
        error.module = path = module_path.get()
        kind = type(module).__name__
        error.args = (f"in {path} ({kind}): {error.args[0]}", *error.args[1:])


def _attribute(name):
    if not isinstance(name, str) or not name or "." in name:
        raise ArgumentError(
            f"{name!r} cannot be the name of a module's attribute: expected a string without dots"
        )
    return name


def _prefixed(prefix, named):
    return Listing([(f"{prefix}.{path}" if prefix else path, value) for path, value in named])
