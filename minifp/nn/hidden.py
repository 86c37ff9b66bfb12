"""Modules and parameters that are trained by nobody, for they lie in plain lists, tuples and dicts,
where `Module.parameters()` finds nothing: told once."""

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from minifp.nn.parameter import Parameter
from minifp.runtime.callers import warn_once

FIRST = 8  # of each list: one of a million words is not searched
DEEP = 2  # lists in lists


def owners_in(value: Any, deep: int = DEEP) -> Iterator[Any]:
    """The parameters, and what has parameters, among the first of a list's, tuple's or dict's."""
    for held in islice(value.values() if isinstance(value, dict) else value, FIRST):
        if isinstance(held, Parameter) or hasattr(held, "modules"):
            yield held
        elif deep and isinstance(held, (list, tuple, dict)):
            yield from owners_in(held, deep - 1)


def warn_of_hidden(module: Any, known: set[int]) -> None:
    """Warn of each attribute of a module that hides parameters which are to be trained.

    known: the parameters that are found, by id.
    """
    for name, value in vars(module).items():
        if isinstance(value, (list, tuple, dict)):
            hidden = [held for held in owners_in(value) if _trained(held) - known]
            if hidden:
                _warn(module, name, value, hidden[0])


def _trained(held):
    owned = (
        [held]
        if isinstance(held, Parameter)
        else chain(*(vars(m).values() for m in held.modules()))
    )
    return {id(p) for p in owned if isinstance(p, Parameter) and p.requires_grad}


def _warn(module, name, value, held):
    kind = "Parameter" if isinstance(held, Parameter) else "Module"
    right = f"nn.{kind}{'Dict' if isinstance(value, dict) else 'List'}"
    warn_once(
        f"hidden in {name}",
        f"{type(module).__name__}.{name} is a plain {type(value).__name__} with a "
        f"{type(held).__name__} in it, whose parameters parameters() does not find: no optimizer "
        f"trains them, no checkpoint saves them. Write self.{name} = {right}(...); if it should "
        "not be trained, call requires_grad_(False)",
        owner=module,
    )
