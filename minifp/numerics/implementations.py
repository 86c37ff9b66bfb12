"""How each kernel is computed, on the CPU and on a GPU: by hand, derived, or by its reference."""

import inspect
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minifp.derive.symbol import Untraceable
from minifp.derive.trace import Formula, Formulas
from minifp.numerics.compiled import compiled_kernel_of, compiled_kernels_in
from minifp.numerics.kernels import Kernel
from minifp.numerics.policy import COMPUTE, GIVEN
from minifp.runtime import cpu
from minifp.runtime.callers import PACKAGE

BY_HAND, DERIVED, REFERENCE = "by hand", "derived", "reference"
DEVICES = ("cpu", "cuda")


class Implementation(NamedTuple):
    """What computes a kernel on a device. how: one of the three; note: the file that holds what is
    written by hand, or why there is nothing but the reference; "" of what is derived."""

    how: str
    note: str


@cache
def implementation_of(kernel: Kernel, device: str) -> Implementation:
    """What computes a kernel on a device ("cpu" or "cuda"), where nothing else forbids it."""
    if device == "cuda" and cpu.numba_error() is not None:  # all kernels by hand import it
        return Implementation(REFERENCE, "kernels for a GPU are made with numba: it does not load")
    module = module_by_hand(kernel.reference, device)
    if module is not None:
        return Implementation(BY_HAND, path_of(module))
    reason = why_not_derived(kernel)
    return Implementation(REFERENCE, reason) if reason else Implementation(DERIVED, "")


def module_by_hand(reference: Callable[..., Any], device: str) -> str | None:
    """The module that holds the compiled kernel by hand; None where there is none."""
    kernel = compiled_kernel_of(reference, device)
    for kind in ("numba", "cuda"):
        name = f"{reference.__module__}_{kind}"
        if kernel is not None and kernel is compiled_kernels_in(reference.__module__, kind).get(
            reference.__name__
        ):
            return name
    return None


def path_of(module: str) -> str:
    """The file of a module, as it is named in the checkout."""
    return module.replace(".", "/") + ".py"


# ---- why none is derived ------------------------------------------------------------------------

# What a kernel needs of the precision, that no formula has.
NEEDS = {
    "dot": "it multiplies matrices",
    "cumsum": "it adds up along an axis, each number to those before",
    "prod": "it multiplies along an axis",
    "sum": "it sums along axes",
}


def why_not_derived(kernel: Kernel) -> str:
    """Why nothing is compiled of a kernel's reference, in one line; "" where it is."""
    if kernel.derived is None:
        return cpu.why_not_derived() or next(
            (why for want, why in NEEDS.items() if want in kernel.wants),
            f"its role is {kernel.rule.role}: only what works element by element is derived",
        )
    try:
        example_of(kernel)
    except Untraceable as reason:
        return str(reason)
    return ""


# ---- an example ---------------------------------------------------------------------------------


class Example(NamedTuple):
    """A call of a kernel, of arrays of one format, with the defaults of its public function.

    arguments: their names. settings: the other numbers of the call, by name.
    """

    formula: Formula
    arguments: list[str]
    settings: dict[str, Any]


CANDIDATES = (0.5, 1, "none", False)  # of settings that have no default
AXES = {"axis": (0,), "axes": ((0,),), "shape": ((2, 3),)}  # and of those that are no choice


def example_of(kernel: Kernel, precision: str = "float16", folds: bool = False) -> Example:
    """The example of a kernel. precision: the format of its arrays. folds: see Trace.

    Raises Untraceable, with the reason, where its reference is no formula.
    """
    formulas = Formulas(kernel.reference)
    arguments, names = names_of(formulas, kernel)
    kinds, reasons = (np.dtype(precision),) * len(formulas.arguments), []
    for values in product(*(values_of(kernel, name) for name in names)):
        settings = dict(zip(names, values))
        formula = formulas.trace(kinds, settings, folds)
        if formula is not None:
            return Example(formula, arguments, settings)
        reasons.append(formulas.refused or "")
    raise Untraceable(reasons[0])


def names_of(formulas: Formulas, kernel: Kernel) -> tuple[list[str], list[str]]:
    """The names of a reference's arguments and of its settings: those of the function that was
    given to a factory (see ops/elementwise.py), if one made the reference."""
    written = [[*inspect.signature(f).parameters] for f in written_functions(kernel.reference)]
    inner = written[0] if written else formulas.arguments
    count = len(formulas.arguments)
    arguments = inner[:count] if len(inner) >= count else formulas.arguments
    ours = {*kernel.wants, *(["shape"] if formulas.sums_to else [])}
    keywords = sorted(kernel.keywords - ours)
    return arguments, [*keywords, *(name for name in inner[count:] if name not in keywords)]


def written_functions(reference: Callable[..., Any]) -> list[Callable[..., Any]]:
    """What was given to the factory that made a reference, if one did."""
    cells = [cell.cell_contents for cell in reference.__closure__ or ()]
    return [f for f in cells if inspect.isfunction(f)]


def values_of(kernel: Kernel, name: str) -> tuple[Any, ...]:
    """What a setting may be in an example: the default of the public function, if there is one."""
    module = inspect.getmodule(kernel.reference)
    stem = kernel.reference.__name__.rpartition("_")[0]
    names = {} if module is None else vars(module)
    functions = {n: f for n, f in names.items() if inspect.isfunction(f)}
    for function in (functions.get(stem), *functions.values()):
        parameter = function and inspect.signature(function).parameters.get(name)
        if parameter and parameter.default not in (None, parameter.empty):
            return (parameter.default,)
    return AXES.get(name, CANDIDATES)


def stored_formats(kernel: Kernel, formula: Formula, precision: str) -> list[str]:
    """The formats in which an example's results are stored."""
    outs = kernel.rule.out or (GIVEN,) * len(formula.results)
    return ["float32" if out == COMPUTE else precision for out in outs]


# ---- where it is written ------------------------------------------------------------------------


def source_of(kernel: Kernel) -> tuple[str, str]:
    """(where a reference is written, its text): "file:line"; or the functions of which a factory
    made it."""
    functions = written_functions(kernel.reference) or [kernel.reference]
    places = [f.__code__ for f in functions]
    file = Path(places[0].co_filename)
    root = Path(PACKAGE).parent
    where = file.relative_to(root).as_posix() if file.is_relative_to(root) else str(file)
    try:
        texts = [inspect.cleandoc("\n" + inspect.getsource(f)) for f in functions]
    except OSError:  # typed in where nothing keeps it
        return where, "(its text is in no file)"
    return f"{where}:{places[0].co_firstlineno}", "\n".join(texts)
