"""`op`: make a function of arrays an operation on Tensors, which the tape records.

An operation returns its value, the stored arrays its backward needs, and that backward: a function
of the module, not a closure, so that no array is kept alive unseen.
"""

import inspect
import math
import re
import sys
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, NoReturn, cast
from weakref import ref

import numpy as np

from minifp.autograd.cast_cache import cast_once
from minifp.autograd.grad_mode import is_recording, recording
from minifp.autograd.kept_operands import Keeping
from minifp.autograd.promoted import where_promoted
from minifp.autograd.scaled import hand_on, is_watched
from minifp.autograd.tape import Node, Tensor, module_path, observers
from minifp.autograd.unrounded import from_unrounded
from minifp.derive.dtypes import name_of
from minifp.errors import DTypeError, MinifpError, PrecisionWarning, ShapeError
from minifp.numerics import autocast, rules
from minifp.numerics.amax_history import Site
from minifp.numerics.formats import as_native, format_of, is_float
from minifp.numerics.operands import OPERANDS
from minifp.numerics.policy import Precision, active
from minifp.runtime.callers import PACKAGE, line_at, warn_once
from minifp.runtime.cuda.arrays import to_device
from minifp.typing import F


def op(
    fn: Callable[..., Any] | None = None,
    *,
    name: str = "",
    weights: tuple[str, ...] = (),
    derived: Callable[..., tuple] | None = None,
) -> Callable[..., Any]:
    """Make `fn(*arrays, **params) -> (y, saved, backward)` an operation on Tensors.

    Positional arguments are Tensors (or arrays, Python numbers, None); keywords are parameters. y
    is an array or a tuple of them; `backward(*dys, *saved, to=, **params)` returns a gradient for
    each argument: to[i] is the format it is stored in, None where none is wanted.
    name: what messages, the microscope and autocast call it; by default the function's without an
        "_op" at the end, which keeps it apart from one of that name that checks what it is given.
    weights: the arguments that are weights of a layer, which meet activations in their format.
    derived(*arrays, **params): the arguments, with those without gradient that follow from others
        made again, for an operation that is repeated on other numbers.
    """
    if fn is None:
        return lambda fn: op(fn, name=name, weights=weights, derived=derived)
    name = name or fn.__name__.removesuffix("_op")
    autocast.operations.add(name)
    parameters = inspect.signature(fn).parameters
    defaults = {n: p.default for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY}
    defaults = {n: v for n, v in defaults.items() if v is not inspect.Parameter.empty}
    recorded: Any = _recorded(fn, name, tuple(p in weights for p in parameters), defaults)
    recorded.derived = derived
    return recorded


def _recorded(fn, name, are_weights, defaults):
    """What calls a function of arrays with Tensors, and records it. defaults: of its keywords."""

    @wraps(fn)
    def recorded(*args, **params):
        params = {**defaults, **params} if defaults else params  # backward is given them too
        precision, given = active.get().value, args
        if True in are_weights or precision.operations is not None:
            args = _enter(name, args, are_weights, precision)
        arrays, parents, records, is_plain = [], [], False, True
        for a in args:
            parent = NONE
            if isinstance(a, Tensor):
                t, a = a, a.array
                if t.node is not None or t.gradient_dtype is not None:
                    parent, records = (t.node or t, t.index), True
                if t.seed != 1.0 or type(a) is not np.ndarray:
                    is_plain = False
            elif type(a) in NUMBERS and not -LARGE < a < LARGE:
                is_plain = False
            arrays.append(a)
            parents.append(parent)
        arrays = arrays if is_plain else on_one_device(arrays, args)
        records = records and recording.get().value
        site = None if precision.delay is None else site_of(name, given, are_weights, precision)
        keeping = Keeping(name, args) if records and precision.saved == OPERANDS else None
        try:
            run = fn if site is keeping is None else _in_places(fn, site, keeping)
            y, saved, backward = run(*arrays, **params)
        except (MinifpError, ValueError, IndexError, TypeError, OverflowError) as error:
            refuse(error, name, arrays)
        outputs, node = y if isinstance(y, tuple) else (y,), None
        if records:
            saved = saved if keeping is None else keeping.kept(saved)
            constants = [a if parent is NONE else None for a, parent in zip(arrays, parents)]
            parts = name, params, tuple(parents), saved, backward, outputs, precision
            node = Node(*parts, (recorded, tuple(constants), *caller()))
            node.site = site
        results: tuple = ()
        for i, out in enumerate(outputs):
            storage = None if out.base is None else _shared(out, args)
            results += (Tensor(out, False, storage, node, i),)
        if not records:
            results = from_unrounded(name, recorded, args, params, results)
        if not is_plain:
            tell_of_numbers(name, args, arrays, results)
        if node is not None:
            node.watch(zip((*args, *results), (*arrays, *outputs)))
            if keeping is not None:
                keeping.held_by(node)
            for observer in observers:
                observer.on_record(node, results)
        return results if isinstance(y, tuple) else results[0]

    return recorded


def _in_places(fn, site, keeping):
    """The function as it runs where operands find their scales, and are kept in codes."""
    run = fn if site is None else partial(site.forward, fn)
    return run if keeping is None else partial(keeping.run, run)


def on_one_device(arrays: list, args: Any) -> list:
    """The arrays of arguments; where tensors are on a GPU, NumPy's, which are on no device, too."""
    if all(type(a) is np.ndarray for a, arg in zip(arrays, args) if isinstance(arg, Tensor)):
        return arrays
    return [to_device(a) if a is arg and _is_host(a) else a for a, arg in zip(arrays, args)]


def tell_of_numbers(name: str, args: Any, arrays: list, results: tuple) -> None:
    """Warn of a number that made a result overflow, and of gradients with a loss scale in them,
    which the results then have too."""
    large = [a for a in args if type(a) in NUMBERS and not -LARGE < a < LARGE]
    if large and type(results[0].array) is np.ndarray:
        warn_of_large(name, large[-1], arrays, results[0].array)
    scaled = [a for a in args if isinstance(a, Tensor) and a.seed != 1.0]
    if scaled:
        hand_on(name, scaled[-1], args, results)


def caller() -> tuple:
    """The code, and the instruction in it, from outside of minifp that is being called."""
    frame: Any = sys._getframe(2)
    while INSIDE[frame.f_code.co_filename]:
        frame = frame.f_back
    return frame.f_code, frame.f_lasti


def site_of(name: str, args: Any, are_weights: tuple, precision: Precision) -> Site:
    """Where the operands of an operation find the maxima of earlier steps: with the first weight
    among its arguments, or else the first parameter, that is trained, if somebody records."""
    records, steps = is_recording(), cast(int, precision.delay)
    known = [
        (not is_weight, i, a.storage)
        for i, (a, is_weight) in enumerate(zip(args, are_weights))
        if isinstance(a, Tensor) and a.storage.histories is not None
        if a.gradient_node is not None or not records
    ]
    return Site(name, min(known)[2] if known else None, steps, records)


class _Inside(dict):
    """By file, whether it is one of minifp's own."""

    def __missing__(self, file):
        self[file] = file.startswith(PACKAGE)
        return self[file]


INSIDE = _Inside()


def line_of(node: Node) -> str:
    """Where, outside of minifp, an operation was called, "file:line: text"; "" if forgotten."""
    if node.call is None:
        return ""
    *_, code, instruction = node.call
    lines = [n for start, end, n in code.co_lines() if start <= instruction < end]
    number = next((n for n in lines if n), code.co_firstlineno)
    return line_at(code.co_filename, number)


def takes_tensor(fn: F) -> F:
    """Let `fn(input, ...)` refuse, by its name, an input that is neither a Tensor nor an array."""

    @wraps(fn)
    def checked(input, *args, **settings):
        if not hasattr(type(input), "__array_ufunc__"):
            raise DTypeError(
                f"{fn.__name__}: input is a {type(input).__name__}: expected a tensor; create "
                "one with fp.tensor(...)"
            )
        return fn(input, *args, **settings)

    return cast(F, checked)


NUMBERS, LARGE = (float, int), 448.0  # float8's largest: what is smaller overflows nothing


def _is_host(a):
    return type(a) is np.ndarray and (a.ndim > 0 or not is_float(a.dtype))


NONE = (None, 0)  # the parent of an argument without gradient


def _shared(out, args):
    """The storage of the tensor whose memory `out` is a view of, None if it has its own. It knows
    from then on which tensors are on it."""
    for t in args:
        if isinstance(t, Tensor) and (
            out is t.array or out.base is t.array or out.base is t.array.base
        ):
            storage = t.storage
            if storage.sharing is None:
                storage.sharing = [ref(t)]
            return storage
    return None


def _enter(name, args, are_weights, precision):
    """The arguments, cast where the precision says so; the casts are recorded."""
    dtypes = tuple(
        [a.array.dtype if isinstance(a, Tensor) else getattr(a, "dtype", None) for a in args]
    )
    key = are_weights, dtypes
    if precision.operations is not None:
        wanted = _cast_to(name, args, dtypes, precision)
    elif key in precision.resolved:
        wanted = precision.resolved[key]
    else:
        floating = tuple([d if d is not None and is_float(d) else None for d in dtypes])
        wanted = precision.resolved[key] = rules.entry(floating, are_weights, precision)
    if wanted is None:
        return args
    if precision.operations is None and module_path.get():
        warn_of_wide(name, args, wanted)
    return [
        a if d is None or d == wanted or not is_float(d) else cast_once(a, wanted)
        for a, d in zip(args, dtypes)
    ]


def _cast_to(name, args, dtypes, precision):
    """The format to which autocast casts floating arguments, or None."""
    floating = [(d, a.ndim) for d, a in zip(dtypes, args) if d is not None and is_float(d)]
    strong = [d for d, ndim in floating if ndim] or [d for d, _ in floating]
    return rules.autocast_format(name, strong, precision)


def warn_of_large(name: str, number: float, arrays: list, y: np.ndarray) -> None:
    """Warn where a finite number that a result's format cannot hold made it overflow."""
    format = format_of(y.dtype) if is_float(y.dtype) else None
    if format is None or not format.max < abs(number) < math.inf or is_all_finite(y):
        return
    if not is_watched() and all(
        is_all_finite(a) for a in arrays if type(a) is np.ndarray and is_float(a.dtype)
    ):
        warn_once(
            "large number",
            f"{name} with the number {number:g} overflowed {format.name}, whose largest number is "
            f"{format.max:g}. To mask, use float('-inf') or {-format.max / 2:g}. Or compute in "
            "float32, with x.float()",
            category=PrecisionWarning,
        )


def is_all_finite(array: np.ndarray) -> bool:
    """Whether all numbers are."""
    return bool(np.isfinite(as_native(array)).all())


def warn_of_wide(name: str, args: Any, narrow: np.dtype) -> None:
    """Warn where activations that enter a product of a model became wide unasked."""
    for a in args:
        node = getattr(a, "node", None)
        at = None if node is None or a.dtype == narrow else where_promoted(node)
        if at is not None:
            line, wide, own = line_of(at), name_of(a.dtype), name_of(narrow)
            warn_once(
                f"wide at {line}",
                f"{at.op} of activations in {own} and an array in {wide}, at {line} : the result "
                f"is in {wide}, and costs memory and time accordingly, until {name} rounds it to "
                f"{own} again. Create the array in the model's format: use fp.tensor(array) in "
                f"its precision, or x.to(activations). If you want {wide}, write x.float()",
            )


def refuse(error: Exception, name: str, arrays: list) -> NoReturn:
    """Raise an error of an operation, as one that names it."""
    if isinstance(error, MinifpError) and re.search(rf"\b{name}\b", str(error)):
        raise error
    raise explained(error, name, arrays) from error


def explained(error, name, arrays):
    """An error of minifp's own that names the operation and what it was given."""
    kind = DTypeError if isinstance(error, (TypeError, OverflowError)) else ShapeError
    kind = type(error) if isinstance(error, MinifpError) else kind
    again = kind.__new__(kind, f"{name}({', '.join(_describe(a) for a in arrays)}): {error}")
    vars(again).update(vars(error))  # such as the status of a CublasError
    return again


def _describe(a):
    return f"{name_of(a.dtype)} {a.shape}" if hasattr(type(a), "__array_ufunc__") else repr(a)
