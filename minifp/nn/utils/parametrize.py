"""A parameter that is computed of others each time it is read, by PyTorch's names and keys.

module.parametrizations.weight is a ParametrizationList, with `original`, or `original0` and others,
and with the modules that compute the parameter of these, by number.
"""

from typing import Any

from minifp.autograd.grad_mode import no_grad
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.nn.container import ModuleDict
from minifp.nn.module import Module
from minifp.nn.parameter import Parameter
from minifp.numerics import policy
from minifp.numerics.formats import float64, upcast


def like(tensor: Any, parameter: Parameter) -> Parameter:
    """A parameter with these numbers, made in the precision of another, and stored as that one."""
    numbers = tensor.exact if isinstance(tensor, Tensor) and tensor.exact is not None else tensor
    with policy.precision(parameter.precision):
        made = Parameter(numbers, parameter.requires_grad, dtype=parameter.stored_as)
    if made.dtype != parameter.dtype:
        made.convert(parameter.array.dtype)
    return made


def own_parameter(function: str, module: Module, name: str) -> Parameter:
    """A module's own parameter. Raises ArgumentError where it has none of this name."""
    held = vars(module).get(name) if isinstance(module, Module) else None
    if not isinstance(held, Parameter):
        raise ArgumentError(
            f"{function}: a {type(module).__name__} has no parameter {name!r} of its own"
        )
    return held


def unrounded(parameter: Parameter) -> Tensor:
    """Its numbers before they were rounded, where it has them, in float64, in which what is first
    computed of them is the same in every precision."""
    exact = parameter.exact
    return Tensor(upcast(parameter.array if exact is None else exact, float64))


class ParametrizationList(Module):
    """What one parameter is computed of: `original`, or `original0`, `original1`, ... where the
    first module has a `right_inverse` that returns several, and the modules, by number."""

    multiplies = False

    def __init__(self, parametrization: Module, parameter: Parameter) -> None:
        inverse = getattr(parametrization, "right_inverse", None)
        originals = parameter
        if inverse is not None:
            with no_grad(), policy.precision(policy.DOUBLE):
                originals = inverse(unrounded(parameter))
        self.count = 0
        if isinstance(originals, (tuple, list)):
            self.count = len(originals)
            for i, original in enumerate(originals):
                setattr(self, f"original{i}", like(original, parameter))
        else:
            same = originals is parameter
            self.original = parameter if same else like(originals, parameter)
        self.append(parametrization)

    def append(self, parametrization: Module) -> None:
        """Add one that computes of what the others gave."""
        if not isinstance(parametrization, Module):
            raise DTypeError(f"parametrization: {parametrization!r}: expected a Module")
        self.add_module(str(len(self.children())), parametrization)

    def forward(self) -> Any:
        """The parameter as it is now."""
        first, *others = self.children()
        names = [f"original{i}" for i in range(self.count)] or ["original"]
        x = first(*(getattr(self, name) for name in names))
        for module in others:
            x = module(x)
        return x


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let a parameter be what `parametrization` gives of it: a Module whose forward takes it.

    A parametrization may have `right_inverse`, which gives what is trained of the parameter's first
    numbers. unsafe: True leaves out that its result is computed once, and has to have the same
    shape. Returns the module. Raises ArgumentError for a parameter that is not its own, DTypeError
    for what is no Module, ShapeError for another shape; then the module is as it was.
    """
    held: Any = vars(module).get("parametrizations")
    if is_parametrized(module, tensor_name):
        held[tensor_name].append(parametrization)
        return module
    parameter = own_parameter("register_parametrization", module, tensor_name)
    computed = ParametrizationList(parametrization, parameter)
    if not unsafe:
        training = parametrization.training
        with no_grad():
            parametrization.eval()
            shape = computed().shape
            parametrization.train(training)
        if shape != parameter.shape:
            raise ShapeError(
                f"register_parametrization: {tensor_name} of shape {parameter.shape} would become "
                f"{shape}"
            )
    del vars(module)[tensor_name]
    if held is None:
        kind = type(module)
        computing = type(f"Parametrized{kind.__name__}", (_Parametrized, kind), {})
        object.__setattr__(module, "__class__", computing)
        held = module.parametrizations = ModuleDict()
    held[tensor_name] = computed
    setattr(type(module), tensor_name, property(lambda self: self.parametrizations[tensor_name]()))
    return module


class _Parametrized(Module):
    parametrizations: ModuleDict

    def __setattr__(self, name, value):
        if name in vars(self).get("parametrizations", ()):
            raise ArgumentError(
                f"{type(self).__name__}.{name} is computed of others: assign to these, in "
                f"parametrizations.{name}, or call remove_parametrizations before"
            )
        super().__setattr__(name, value)


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a parameter of a module, or any, is computed."""
    held = vars(module).get("parametrizations")
    return isinstance(held, ModuleDict) and (tensor_name is None or tensor_name in held)


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Let a parameter be one of its own again: with the numbers that were computed, or, with
    leave_parametrized=False, the original. Raises ArgumentError where it is not computed, or has
    several originals to be left."""
    if not is_parametrized(module, tensor_name):
        raise ArgumentError(
            f"remove_parametrizations: {tensor_name!r} of {module!r} is not computed"
        )
    held = vars(module)["parametrizations"]
    computed = held[tensor_name]
    if not leave_parametrized and computed.count:
        raise ArgumentError(
            "remove_parametrizations: leave_parametrized=False, but there are several originals"
        )
    original = computed.original0 if computed.count else computed.original
    with no_grad():
        parameter = like(computed(), original) if leave_parametrized else original
    del held[tensor_name]
    delattr(type(module), tensor_name)
    if not len(held):
        del vars(module)["parametrizations"]
        object.__setattr__(module, "__class__", type(module).__mro__[2])
    module.register_parameter(tensor_name, parameter)
    return module
