"""Give the modules of a model that is whole the precision, or the part of it, that is theirs."""

from collections.abc import Mapping
from typing import Any, TypeVar

from minifp.derive.outside import is_ours
from minifp.errors import ArgumentError, PrecisionError
from minifp.nn.module import Module
from minifp.nn.parameter import Parameter
from minifp.numerics import policy
from minifp.numerics.precision_parts import holds_for
from minifp.runtime.nearest import nearest

M = TypeVar("M", bound=Module | Mapping[str, Module])
SHOWN = 8  # paths that an error names


def assign_precision(model: M, precision: policy.Precision | str | None = None) -> M:
    """Let each module of `model` store and compute as its part of a precision says; return it.

    model: a Module that has all its modules, or a dict of several, whose names come first in the
        paths. Parameters are stored anew, from their unrounded numbers, so this comes before an
        optimizer.
    precision: such as "mixed;decoder.*=bfloat16;head=float32"; by default the one in which the
        model was created (nothing happens if that has no parts).

    Raises PrecisionError for a pattern that matches no module, for a product's pattern whose
    modules have no such product or no use for the switch, and for a module or parameter with
    several paths that get different parts; ArgumentError for anything but a model. Errors change
    nothing.
    """
    roots: Any = model if isinstance(model, Mapping) else {"": model}
    for name, root in roots.items():
        if not isinstance(root, Module):
            raise ArgumentError(
                f"assign_precision: {name or 'model'} is a {type(root).__name__}: expected a Module"
            )
    made_in = {str(root.precision): root.precision for root in roots.values()}
    if precision is None and not any(p.parts for p in made_in.values()):
        return model
    if precision is None and len(made_in) > 1:
        raise PrecisionError(
            f"assign_precision: models made in different precisions ({', '.join(made_in)}): pass a "
            "precision, or assign each model separately"
        )
    whole = policy.as_precision(next(iter(made_in.values())) if precision is None else precision)
    modules = [pair for name, root in roots.items() for pair in root._paths(name)]
    _check_matched(whole, modules)
    _check_shared(whole, modules)
    for path, module in modules:
        module._assign(whole.of_module(path))
    return model


def _check_matched(whole, modules):
    for part in whole.read_parts:
        matched = {path: m for path, m in modules if holds_for(part.pattern, path)}
        said = f'assign_precision: {part.key!r} of precision "{whole}" matches'
        if not matched:
            known = [path for path, _ in modules if path]
            told = ", ".join(nearest(part.pattern, known) or known[:SHOWN]) or "none"
            raise PrecisionError(
                f"{said} no module: there are {told}{', ...' if len(known) > SHOWN else ''} "
                "(model.named_modules() has all)"
            )
        if part.product is not None and not any(map(may_multiply, matched.values())):
            kinds = [f"{path or 'the model'} ({type(m).__name__})" for path, m in matched.items()]
            raise PrecisionError(
                f"{said} only layers without products: {', '.join(kinds[:SHOWN])}: expected a "
                "pattern for layers with products, such as linear, convolutional or recurrent ones"
            )


def may_multiply(module: Module) -> bool:
    """Whether a module has products beside those of the modules inside, as far as is known."""
    for cls in type(module).__mro__:
        own = vars(cls)
        if "multiplies" in own:
            return own["multiplies"]
        if "forward" in own and not is_ours(own["forward"]):
            return True
    return True


def _check_shared(whole, modules):
    """Raise PrecisionError for what is owned twice, and would be in two precisions."""
    seen: dict[int, tuple] = {}
    for path, module in modules:
        found = whole.of_module(path)
        for name, thing in [("", module), *module._all_named(Parameter, recurse=False)]:
            own = found if thing is module else found.base  # products do not say how it is stored
            place = ".".join(filter(None, (path, name))) or "the model"
            first, other = seen.setdefault(id(thing), (place, own))
            if other is not own:
                raise PrecisionError(
                    f'assign_precision: {place} is {first} too, which has "{other}", and it '
                    f'"{own}": expected a pattern for each, with the same precision'
                )
