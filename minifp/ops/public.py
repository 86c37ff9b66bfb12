"""What users see of an operation, declared where it is defined.

From these declarations `python scripts/write_listings.py` writes what lists operations by name:
minifp/ops/__init__.py, minifp/__init__.py, minifp/nn/functional.py, the table of autocast and the
stub of Tensor. Methods and operators are attached to Tensor by `methods` and `in_place`.
"""

from collections.abc import Callable, Collection
from functools import wraps
from inspect import signature, unwrap
from typing import Any, NamedTuple, cast

from minifp.checks import check_flag
from minifp.errors import ArgumentError
from minifp.numerics import autocast as table
from minifp.runtime.unknown_arguments import answering
from minifp.typing import F

PLACES = "fp", "F", "Tensor"
OPERATORS = {  # as it is written: the name of its method, without the underscores
    "x + y": "add", "x - y": "sub", "x * y": "mul", "x / y": "truediv", "x // y": "floordiv",
    "x % y": "mod", "x ** y": "pow", "x @ y": "matmul", "x & y": "and", "x | y": "or",
    "x ^ y": "xor", "x == y": "eq", "x != y": "ne", "x < y": "lt", "x <= y": "le", "x > y": "gt",
    "x >= y": "ge", "-x": "neg", "abs(x)": "abs", "~x": "invert", "x[i]": "getitem",
}  # fmt: skip


ALIASES = {  # PyTorch's other names for the same function
    "abs": "absolute", "acos": "arccos", "asin": "arcsin", "atan": "arctan",
    "cat": "concat concatenate", "clamp": "clip", "div": "divide true_divide",
    "ge": "greater_equal", "gt": "greater", "le": "less_equal", "lt": "less",
    "movedim": "moveaxis", "mul": "multiply", "ne": "not_equal", "neg": "negative",
    "outer": "ger", "sub": "subtract", "transpose": "swapaxes swapdims", "trunc": "fix",
}  # fmt: skip


class Declaration(NamedTuple):
    """What users see of one operation; the fields are the arguments of `public`."""

    function: Callable[..., Any]
    where: tuple[str, ...]
    names: tuple[str, ...]  # its own, then others for the same
    operator: str
    in_place: bool
    autocast: str


DECLARED: list[Declaration] = []


def public(
    where: str = "", *, operator: str = "", in_place: bool = False, autocast: str = ""
) -> Callable[[F], F]:
    """Declare a function public, under its own name; then run scripts/write_listings.py.

    where: in which places, of "fp F Tensor"; F is nn.functional, and of Tensor it is a method.
    Its other names are in ALIASES. operator: as it is written, such as "x + y".
    in_place: whether Tensor also has it with "_" at the end, and as `x += y` if it is an operator.
    Its `dim` and `keepdim` may be called `axis` and `keepdims`.
    autocast: the kind of the recorded operation of this name, one of `autocast.KINDS`; "" where no
        operation has this name, as it is made of others or has no gradient.
    Raises ArgumentError for a place, an operator or a kind that does not exist.
    """
    places = tuple(where.split())
    for place in places:
        check_word("where", place, PLACES)
    if operator:
        check_word("operator", operator, OPERATORS)
    if autocast:
        check_word("autocast", autocast, table.KINDS)

    def declare(function: F) -> F:
        function = by_numpys_names(function)
        names = function.__name__, *ALIASES.get(function.__name__, "").split()
        DECLARED.append(Declaration(function, places, names, operator, in_place, autocast))
        return function

    return declare


INIT = ".__init__"
NUMPYS = {"axis": "dim", "keepdims": "keepdim"}  # what NumPy calls them -> PyTorch


def by_numpys_names(function: F) -> F:
    """Let a function that has `dim` or `keepdim` take these by NumPy's names, too, as PyTorch's do.

    Raises ArgumentError where one is said by both names, and for flags that are not True or False.
    """
    code = unwrap(function).__code__
    own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    theirs = {name for name, its in NUMPYS.items() if its in own and name not in own}
    if not theirs:
        return function

    def meant(settings):
        """The settings of a call by their own names; None where all were."""
        for name in theirs & settings.keys():
            if NUMPYS[name] in settings:
                raise ArgumentError(
                    f"{function.__qualname__.removesuffix(INIT)}: {name} and {NUMPYS[name]} "
                    "are two names of the same argument: expected one of them"
                ) from None
        if theirs.isdisjoint(settings):
            return None
        return {NUMPYS[n] if n in theirs else n: v for n, v in settings.items()}

    return answering(checks_flags(function), meant)


def checks_flags(function: F) -> F:
    """Refuse what is not True or False where a flag is: `keepdim="no"` would count as True."""
    parameters = signature(function).parameters.values()
    flags = {p.name: i for i, p in enumerate(parameters) if type(p.default) is bool}
    if not flags:
        return function
    first, title = min(flags.values()), function.__qualname__.removesuffix(INIT)

    @wraps(function)
    def checked(*args, **settings):
        if settings or len(args) > first:
            for name, i in flags.items():
                if i < len(args) or name in settings:
                    check_flag(f"{title}: {name}", args[i] if i < len(args) else settings[name])
        return function(*args, **settings)

    return cast(F, checked)


def check_word(argument: str, word: str, known: Collection[str]) -> None:
    """Raise ArgumentError for a word that is not among those that are known."""
    if word not in known:
        raise ArgumentError(f"public: {argument}={word!r}: expected one of {', '.join(known)}")
