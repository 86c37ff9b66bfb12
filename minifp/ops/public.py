"""What users see of an operation, declared where it is defined.

From these declarations `python scripts/write_listings.py` writes what lists operations by name:
minifp/ops/__init__.py, minifp/__init__.py, minifp/nn/functional.py, the table of autocast and the
stub of Tensor. Methods and operators are attached to Tensor by `methods` and `in_place`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from minifp.errors import ArgumentError
from minifp.numerics import autocast as table
from minifp.typing import F

PLACES = "fp", "F", "Tensor"
OPERATORS = {  # as it is written: the name of the method, which has two underscores on either side
    **{"x + y": "add", "x - y": "sub", "x * y": "mul", "x / y": "truediv", "x // y": "floordiv"},
    **{"x % y": "mod", "x ** y": "pow", "x @ y": "matmul"},
    **{"x & y": "and", "x | y": "or", "x ^ y": "xor"},
    **{"x == y": "eq", "x != y": "ne", "x < y": "lt", "x <= y": "le", "x > y": "gt"},
    **{"x >= y": "ge", "-x": "neg", "abs(x)": "abs", "~x": "invert", "x[i]": "getitem"},
}


@dataclass(frozen=True)
class Declaration:
    """What users see of one operation; the arguments are those of `public`."""

    function: Callable[..., Any]
    where: tuple[str, ...]
    names: tuple[str, ...]  # its own, then others for the same
    operator: str
    in_place: bool
    autocast: str


DECLARED: list[Declaration] = []


def public(
    where: str = "", *, also: str = "", operator: str = "", in_place: bool = False,
    autocast: str = "",
) -> Callable[[F], F]:  # fmt: skip
    """Declare a function public, under its own name; then run scripts/write_listings.py.

    where: in which places, of "fp F Tensor"; F is nn.functional, and of Tensor it is a method.
    also: other names for the same function. operator: as it is written, such as "x + y".
    in_place: whether Tensor also has it with "_" at the end, and as `x += y` if it is an operator.
    autocast: the kind of the recorded operation of this name, one of `autocast.KINDS`; "" where no
        operation has this name, as it is made of others or has no gradient.
    Raises ArgumentError for a place, an operator or a kind that does not exist.
    """
    for name, words, known in (
        ("where", where.split(), PLACES),
        ("operator", [operator] if operator else [], OPERATORS),
        ("autocast", [autocast] if autocast else [], table.KINDS),
    ):
        if unknown := [word for word in words if word not in known]:
            raise ArgumentError(
                f"public: {name}={unknown[0]!r}: expected one of {', '.join(known)}"
            )

    def declare(function: F) -> F:
        names = function.__name__, *also.split()
        DECLARED.append(
            Declaration(function, (*where.split(),), names, operator, in_place, autocast)
        )
        return function

    return declare
