"""References become formulas: `formulas_of(reference)(arguments, settings)` is that of a call.

A formula is a graph for all calls whose arguments have the same dtypes, and whose settings the same
numbers where the reference branched on them. What a setting is beyond that is told to kernels as a
number of the call, so that a slope of 0.1 and one of 0.2 share one kernel.
"""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from minifp.derive.dtypes import COMPILED, name_of
from minifp.derive.graph import Graph, Node, in_order
from minifp.derive.host import host_condition, host_function
from minifp.derive.numpy_functions import FUNCTIONS, UFUNCS
from minifp.derive.outside import check_repeats
from minifp.derive.symbol import WHOLE, Symbol, Untraceable

STORED = (*sorted(map(name_of, COMPILED)), "bool")  # what arrays may be of
NUMBERS = (int, float)  # of which a call has any; a bool is a setting that is known
SCALARS = {int, float, bool}


class Trace:
    """One tracing: its graph, and what it asked of settings, with the answers.

    folds: whether exp, tanh and their like stay one node each, "call", as people read them.
    """

    ufuncs, functions = UFUNCS, FUNCTIONS  # of NumPy, by name

    def __init__(self, folds: bool = False) -> None:
        self.graph, self.folds = Graph(), folds
        self.guards: dict[Node, Any] = {}
        self.shaping: list[Node] = []  # whose shape results have, though their numbers do not count

    def argument(self, k: int, dtype: str) -> Symbol:
        """Argument k of a call, an array of this dtype."""
        type = "b" if dtype == "bool" else "f"
        return self.symbol(self.graph.node("load", (), type, "e", (k, dtype)))

    def symbol(self, node: Node, operands: Any = (), value: Any = None) -> Symbol:
        """The symbol of a node, which was made of these operands."""
        return Symbol(self, node, value)

    def setting(self, value: Any, *place: Any) -> Any:
        """A number among the settings of the call, at its place; tuples have one for each."""
        if are_numbers(value):
            return tuple([self.setting(v, *place, i) for i, v in enumerate(value)])
        if type(value) not in (int, float):
            return value  # what is no number is known
        return Symbol(self, self.graph.node("setting", (), "f", "h", place), value)


def are_numbers(setting: Any) -> bool:
    """Whether a setting is a tuple of numbers that are not all integers."""
    return type(setting) is tuple and {float} <= {*map(type, setting)} <= {int, float}


@dataclass(eq=False)
class Formula:
    """What one kernel computes, element by element.

    name: of the reference. results: the nodes, one for each. several: whether a call returns a
    tuple. guards: what settings must answer, by node. shaping: nodes whose arrays have a say in the
    shape of the results. is_fused: whether a product and a sum may be one operation, with one
    rounding. nodes: all, each behind its operands. loads: which arguments are read, the dtype of
    each. numbers: the nodes of the host that enter as numbers.
    """

    name: str
    results: list[Node]
    several: bool
    guards: dict[Node, Any]
    shaping: list[Node]
    is_fused: bool = True

    def __post_init__(self) -> None:
        self.nodes = nodes = in_order([*self.shaping, *self.results])
        self.loads: dict[int, str] = dict(sorted(n.value for n in nodes if n.op == "load"))
        self.numbers: list[Node] = [n for n in nodes if n.op == "enter"]

    @cached_property
    def told(self) -> Callable[[dict[str, Any]], tuple[float, ...]]:
        """The numbers of a call, from its settings, as floats."""
        return host_function([n.args[0] for n in self.numbers], "float({}), ")

    @cached_property
    def fits(self) -> Callable[[dict[str, Any]], bool]:
        """Whether this formula is for calls with these settings, whose signature is the same."""
        return host_condition(self.guards)


# What tracing raises where there is no formula: of our own, or of a reference's.
REASONS = (Untraceable, TypeError, ValueError, AttributeError, ArithmeticError, LookupError)


def reason_of(error: BaseException) -> str:
    """Why there is no formula, in one line."""
    return str(error) if type(error) is Untraceable else f"{type(error).__name__}: {error}"


class Variants:
    """The formulas of one reference, each traced at the first call that needs it.

    arguments: the names of those. count: how often it was traced; is_new: whether since somebody
    said no.
    """

    def __init__(self, reference: Callable[..., Any]) -> None:
        parameters = inspect.signature(reference).parameters.values()
        self.reference = reference
        self.name = re.sub(r"\W", "_", reference.__name__, flags=re.ASCII)  # also of a <lambda>
        positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self.arguments = [p.name for p in parameters if p.kind in positional]
        self.keywords = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
        self.refused: str | None = None
        self.known: dict[Any, list] = {}
        self.count, self.is_new = 0, False

    def find(self, kinds: tuple, plain: dict, settings: dict, trace: Callable[[], Any]) -> Any:
        """The formula of a call, or None, and why in `refused`. kinds: of its arguments; plain:
        the settings of which a formula depends; trace: makes the formula."""
        key = (*kinds, *signature_of(plain))
        variants = self.known.get(key, ())
        for formula in variants:
            if formula is None or formula.fits(settings):
                return formula
        self.count, self.is_new = self.count + 1, True
        try:
            formula = check_repeats(self.reference, trace)
        except REASONS as error:
            self.refused, formula = reason_of(error), None
        self.known[key] = [*variants, formula]
        return formula


class Formulas(Variants):
    """The formulas of a reference that works element by element."""

    def __init__(self, reference: Callable[..., Any], is_fused: bool = True) -> None:
        super().__init__(reference)
        self.is_fused = is_fused
        self.sums_to = {"shape", "sum"} <= self.keywords  # its result is summed to a shape

    def of_call(self, args: tuple, settings: dict[str, Any]) -> tuple[Formula | None, list]:
        """The formula of a call, or None, and the arrays that it reads; settings get what arguments
        are numbers."""
        for name, a in zip(self.arguments, args):
            if type(a) in SCALARS:
                settings[name] = a if type(a) is float else int(a)
        formula = self(tuple(map(kind_of, args)), settings)
        return formula, [] if formula is None else [args[k] for k in formula.loads]

    def __call__(self, kinds: tuple, settings: dict[str, Any]) -> Formula | None:
        """The formula of a call; None for what has none.

        kinds: of each argument the dtype, or the type of what is no array. settings: those of the
        call, and each argument that is a number, by its name.
        """
        return self.find(kinds, settings, settings, partial(traced, self, kinds, settings))


def signature_of(settings: dict[str, Any]) -> tuple:
    """What a formula depends on of settings: their names, the types of numbers, and what is no
    number."""
    kinds = [
        type(v)
        if type(v) in NUMBERS
        else tuple(map(type, v))
        if type(v) is tuple and are_numbers(v)
        else v
        for v in settings.values()
    ]
    return (*settings, *kinds)


def kind_of(a: Any) -> Any:
    """The dtype of an array, or else a type: of any number that of a float."""
    if type(a) in SCALARS:
        return float
    return type(a) if isinstance(a, np.generic) else getattr(a, "dtype", type(a))


def traced(
    formulas: Formulas, kinds: tuple, settings: dict[str, Any], folds: bool = False
) -> Formula:
    """The formula of a call. Raises Untraceable, or whatever the reference raises."""
    trace = Trace(folds)
    symbols = []
    for k, (kind, name) in enumerate(zip(kinds, formulas.arguments)):
        symbols.append(_entered(trace, k, kind, name, settings))
    keywords = {
        name: trace.setting(value, name)
        for name, value in settings.items()
        if name not in formulas.arguments
    }
    if formulas.sums_to:
        keywords |= {"shape": WHOLE, "sum": _no_sum}
    results = formulas.reference(*symbols, **keywords)
    several = isinstance(results, tuple)
    nodes = [_result(trace, r) for r in (results if several else (results,))]
    formula = Formula(formulas.name, nodes, several, trace.guards, trace.shaping, formulas.is_fused)
    if not formula.loads:
        raise Untraceable("its result is of no array")
    return formula


def _entered(trace, k, kind, name, settings):
    if kind is type(None):
        return None
    if kind is float:
        return trace.setting(settings[name], name)
    if not isinstance(kind, np.dtype) or name_of(kind) not in STORED or not kind.isnative:
        raise Untraceable(f"argument {name} is of {kind}")
    return trace.argument(k, name_of(kind))


def _result(trace, result):
    if isinstance(result, Symbol):
        return trace.graph.enter(result.node)
    if isinstance(result, (int, float, np.number)):
        return trace.graph.const(result)
    raise Untraceable(f"its result is a {type(result).__name__}")


def _no_sum(*_, **__):
    raise Untraceable("it sums")
