"""How each kernel is computed, on the CPU and on a GPU: by hand, derived, or by its reference."""

import inspect
from collections.abc import Callable
from functools import cache
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minifp.derive.rows import Rows
from minifp.derive.symbol import Untraceable
from minifp.derive.trace import REASONS, Formula, kind_of, reason_of, traced
from minifp.derive.trace_rows import RowFormulas
from minifp.numerics.compiled import compiled_kernel_of, compiled_kernels_in
from minifp.numerics.dispatch import on_gpu_rows
from minifp.numerics.kernels import Kernel
from minifp.numerics.rules import COMPUTE, GIVEN
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
    reason = why_not_derived(kernel, device)
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
    "sum": "it sums along axes",
    "draw": "it runs on a GPU only, which draws the mask again: the CPU stores the mask",
}


def derived_on(kernel: Kernel, device: str) -> Any:
    """The kernel that is derived for a device, or None."""
    return kernel.derived if device == "cpu" else kernel.derived_on_device


def why_not_derived(kernel: Kernel, device: str) -> str:
    """Why nothing is compiled of a kernel's reference, in one line; "" where it is."""
    if derived_on(kernel, device) is None or "draw" in kernel.keywords:
        return cpu.why_not_derived() or next(
            (why for want, why in NEEDS.items() if want in kernel.keywords),
            f"its role is {kernel.rule.role}: only element-by-element kernels are derived",
        )
    try:
        formula = example_of(kernel, device).formula
        if device == "cuda" and isinstance(formula, Rows):
            on_gpu_rows().check(formula)
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
# And of those that say where: of the arrays below.
SHAPE = (4, 6)
AXES = {"axis": (-1,), "axes": ((1,),), "keepdims": (True, False), "shape": (SHAPE,)}
# What arguments may be, where not all are alike: rows, one number for each row, numbers of a row.
SHAPES = (SHAPE, (4, 1), (6,), (4,), None, ())
CLASSES = "classes"  # a number for each row, which names one of its own
LIKELY = {  # what arguments of these names are tried as first
    **{"dl": ((), (4,)), "dy": (SHAPE, (4, 1), (4,)), "t": (SHAPE, CLASSES, (4,))},
    **{"w": (None,), "p": (None,)},
}
MOST = 600  # examples that are tried


def example_of(
    kernel: Kernel, device: str = "cpu", precision: str = "float16", folds: bool = False
) -> Example:
    """The example of a kernel. precision: the format of its arrays. folds: see Trace.

    Raises Untraceable, with the reason, where its reference is no formula.
    """
    formulas = derived_on(kernel, device).formulas
    arguments, names = names_of(formulas, kernel)
    count, first = len(formulas.arguments), None
    is_rows = isinstance(formulas, RowFormulas)
    tried = [[*LIKELY.get(name, ()), *SHAPES] for name in formulas.arguments]
    several = list(islice(product(*tried), MOST)) if is_rows else [(SHAPE,) * count]
    several.sort(key=lambda shapes: sum(t.index(s) for t, s in zip(tried, shapes)))
    values = [dict(zip(names, v)) for v in product(*(values_of(kernel, n) for n in names))]
    for shapes, settings in islice(product(several, values), MOST):
        try:
            formula = traced_example(formulas, shapes, dict(settings), precision, folds)
        except REASONS as error:
            first = first or reason_of(error)
        else:
            return Example(formula, arguments, settings)
    raise Untraceable(first)


def traced_example(
    formulas: Any, shapes: tuple, settings: dict[str, Any], precision: str, folds: bool
) -> Formula:
    """The formula of a call with arrays of these shapes. Raises Untraceable, or what the reference
    does."""
    args = [_array(shape, precision) for shape in shapes]
    if not isinstance(formulas, RowFormulas):
        return traced(formulas, tuple(kind_of(a) for a in args), settings, folds)
    sizes: dict[Any, Any] = {k: a.shape for k, a in enumerate(args) if a is not None}
    sizes |= {"shape": settings["shape"]} if "shape" in settings else {}
    plain = {name: v for name, v in settings.items() if name != "shape"}
    return formulas.trace(args, plain, settings | {"": sizes}, folds)


def _array(shape, precision):
    if shape == CLASSES:
        return np.zeros(SHAPE[:1], np.int64)
    return None if shape is None else np.ones(shape, precision)


def names_of(formulas: Any, kernel: Kernel) -> tuple[list[str], list[str]]:
    """The names of a reference's arguments and of its settings: those of the function that was
    given to a factory (see ops/elementwise.py), if one made the reference."""
    written, count = written_functions(formulas.reference), len(formulas.arguments)
    positional = [names_in(f, inspect.Parameter.POSITIONAL_OR_KEYWORD) for f in written]
    inner = next((names for names in positional if len(names) >= count), [])
    arguments = inner[:count] or formulas.arguments
    names = {name for f in written for name in names_in(f)}
    with_default = {name for name in names if default_of(kernel, name) is not None}
    ours = {*kernel.wants, *arguments, "settings"}
    ours |= {"shape"} if getattr(formulas, "sums_to", False) else set()
    ours |= {"divisor"} if formulas.reference is not kernel.reference else set()
    return arguments, sorted({*kernel.keywords, *inner[count:], *with_default} - ours)


def names_in(function: Callable[..., Any], *kinds: Any) -> list[str]:
    """The names of a function's parameters, or of those of these kinds."""
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind in kinds or not kinds]


def written_functions(reference: Callable[..., Any]) -> list[Callable[..., Any]]:
    """What was given to the factory that made a reference, if one did."""
    cells = [cell.cell_contents for cell in reference.__closure__ or ()]
    inner: list[Any] = [f for f in cells if inspect.isfunction(f)]
    return [g for f in inner for g in (f, *written_functions(f))]  # a factory's factory


def values_of(kernel: Kernel, name: str) -> tuple[Any, ...]:
    """What a setting may be in an example: the default of the public function first."""
    if name in AXES:
        return AXES[name]
    default = default_of(kernel, name)
    return CANDIDATES if default is None else (default, *CANDIDATES)


def default_of(kernel: Kernel, name: str) -> Any:
    """The default of a setting in the public function, or class, of a kernel or its family."""
    module = inspect.getmodule(kernel.reference)
    stem = kernel.reference.__name__.rpartition("_")[0]
    names = {} if module is None else vars(module)
    functions = {n: f for n, f in names.items() if inspect.isfunction(f) or is_own(f, module)}
    for function in (functions.get(stem), *functions.values()):
        parameter = function and inspect.signature(function).parameters.get(name)
        if parameter and parameter.default not in (None, parameter.empty):
            return parameter.default
    return None


def is_own(thing: Any, module: Any) -> bool:
    """Whether it is a class of this module."""
    return inspect.isclass(thing) and thing.__module__ == module.__name__


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
