"""Kernels: one NumPy reference for each kernel, called under its precision rule.

`Kernel` is the only place where stored numbers become computed ones and back: it widens what is
stored, calls the reference in float32 (or wider), and rounds each result once.
"""

import inspect
import warnings
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from numbers import Real
from typing import Any

import numpy as np

from minifp.checks import check_choice
from minifp.derive.outside import is_ours
from minifp.errors import CompileError, DTypeError
from minifp.numerics import device_references
from minifp.numerics.accumulate import Primitives, primitives
from minifp.numerics.compiled import compiled_kernel_of
from minifp.numerics.dispatch import derived_kernel_of, derived_rows_of
from minifp.numerics.formats import as_dtype, downcast, float32, is_float, round_to, upcast
from minifp.numerics.guarded import Guarded
from minifp.numerics.operands import STATE, Axes, Operand, entered, rounded
from minifp.numerics.plans import ZERO_D, kind_of, plan_of
from minifp.numerics.policy import active, get_precision
from minifp.numerics.products import PRODUCTS, product_of
from minifp.numerics.rules import COMPUTE, GIVEN, ROLES, Rule
from minifp.runtime.callers import level_of_user
from minifp.runtime.cpu import NumbaError, can_derive
from minifp.runtime.cuda.arrays import check_stored, is_on_device, to_device, to_host
from minifp.runtime.device import is_array
from minifp.runtime.observing import Observers

# Every kernel, for the tests, the command line and whoever wants to know.
KERNELS: list["Kernel"] = []
# Objects with `on_kernel(kernel, args, results, formats)`: see lab and scope.
observers: list[Any] = Observers()

# Kernels that had to run on the CPU, by name: see `Kernel.on_host`.
ran_on_host: set[str] = set()

PRIMITIVES = ("sum", "cumsum", "prod", "cumprod", "dot", "accumulate", "store", STATE)
KINDS = tuple("fiubV")  # of NumPy's dtypes: floating, integers, booleans
UNROUNDED = primitives(float32)._asdict()  # of integers; the others do nothing
UNROUNDED_ON_DEVICE = device_references.PRIMITIVES._asdict()


class Kernel:
    """A reference under a precision rule.

    The reference's positional arguments are arrays (or Python numbers, which enter in the compute
    format, or None); its keywords are parameters that are no arrays. It sees floating arrays in
    the compute format. It names among its keywords what it needs of the precision:

    sum, dot:   how to sum, and how to sum products (see accumulate.py);
    cumsum, prod, cumprod: how to add up and multiply along an axis, in the format of sums;
    accumulate: rounds what is added to a dot product, such as a bias, as its partial sums are, or
                where these are of chunks, as the sum of the chunks is: not beyond float32;
    store:      rounds an array to the first result's format: for what is stored between the steps
                of a sequence;
    enter:      rounds a state (sequences, numbers of each) that enters a product between the steps
                of a sequence, as the kernel's arguments are that are operands.
    """

    def __init__(self, reference: Callable[..., Any], rule: Rule) -> None:
        parameters = inspect.signature(reference).parameters.values()
        module = reference.__module__ or "__main__"  # None of what exec makes without a name
        self.name = f"{module.rpartition('.')[2]}.{reference.__name__}"
        self.reference, self.rule, self.__doc__ = reference, rule, reference.__doc__
        self.is_ours = is_ours(reference)  # others may ask whether arrays are NumPy's
        self.names = tuple(p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD)
        self.keywords = sorted(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
        self.wants = tuple(p.name for p in parameters if p.name in PRIMITIVES)
        check_choice(f"kernel {self.name}: role", rule.role, ROLES)
        if rule.product is not None:
            check_choice(f"kernel {self.name}: product", rule.product, PRODUCTS)
            check_choice(f"kernel {self.name}: with a product, role", rule.role, ("dot",))
        for operand in rule.operands:
            known = (*self.names, *self.wants)
            check_choice(f"kernel {self.name}: an operand", operand.name, known)
        for word in " ".join(rule.out).split():
            known = (*self.names, COMPUTE, GIVEN)
            check_choice(f"kernel {self.name}: the format of a result", word, known)
        KERNELS.append(self)

    def __repr__(self):
        return f"<kernel {self.name}: {self.rule.role}>"

    def __call__(self, *args: Any, to: Any = None, **params: Any) -> Any:
        """Call it. to: for each result, the format it is stored in, or an array to write it into,
        or None to be told by the rule. Results are arrays, one or a tuple, as the rule names them.
        """
        kinds = [
            (a.dtype if a.ndim else ZERO_D[a.dtype]) if type(a) is np.ndarray else kind_of(a)
            for a in args
        ]
        plans, targets = active.get().value.resolved, None
        try:
            plan = plans.get((self, to, *kinds))
        except TypeError:  # there are arrays to write into, which are no keys
            targets, to = to, _formats_in(to)
            plan = plans.get((self, to, *kinds))
        if plan is None:
            plan = plans[(self, to, *kinds)] = plan_of(self, kinds, to, get_precision())
        formats, run, stored = plan
        if formats is None:
            return self._call_without_rounding(args, params)
        entering = entered(self, args, formats.operands, params) if formats.operands else args
        results = None
        try:
            if run is not None:
                results = run(*entering, to=stored, **params)
        except NumbaError:  # which has warned
            pass
        if results is None:
            results = self._call_reference(entering, params, formats, to)
        if targets is not None:
            results = _into(results, targets)
        for observer in observers:
            stored = results if isinstance(results, tuple) else (results,)
            observer.on_kernel(self, args, stored, formats)
        return results

    @cached_property
    def compiled(self) -> Callable[..., Any] | None:
        """The compiled kernel: what computes the same from stored arrays, in float32, faster; or
        None.

        `compiled(*args, to=, **params)` is given what the reference is, but stored arrays as
        they are, no primitives, and for each result its dtype; of a reduction perhaps None: that of
        its argument, or float32 where the result has no dimensions. It returns stored results, or
        None for what it leaves to the reference.
        """
        return compiled_kernel_of(self.reference) or self.derived

    @cached_property
    def derived(self) -> Callable[..., Any] | None:
        """The compiled kernel that is derived from the reference, for arrays on the CPU (see
        minifp/derive); None where nothing is compiled, or where it cannot be a formula."""
        return self._derived("cpu")

    def _derived(self, device):
        if not can_derive():
            return None
        sums_to = self.rule.role == "loss" and {"shape", "sum"}.issubset(self.keywords)
        if self.rule.role == "map" or sums_to:
            return self._guarded(partial(derived_kernel_of, self.reference))
        reduces = self.rule.role in ("reduce", "norm", "loss") and "dot" not in self.wants
        rows = partial(derived_rows_of, self.reference, self.rule.out, device)
        return self._guarded(rows) if reduces else None

    # ---- on a GPU ----

    @cached_property
    def device_kernel(self) -> Callable[..., Any] | None:
        """The compiled kernel for arrays on a GPU, or None. It is called as `compiled`
        is."""
        return compiled_kernel_of(self.reference, "cuda") or self.derived_on_device

    @cached_property
    def derived_on_device(self) -> Callable[..., Any] | None:
        """As `derived`, for arrays on a GPU."""
        return self._derived("cuda")

    def _guarded(self, make):
        return make() if self.is_ours else Guarded(make, self)

    def on_device(self, compiled, formats, *args, to, **params):
        results = self._compiled_on_device(compiled, args, params, to)
        if results is not None:
            return results
        for dtype in to:
            check_stored(dtype)
        ways = {"dot": formats.dot_in}
        sums = {ways.get(w, formats.sum_in) for w in self.wants if w in Primitives._fields}
        if self.is_ours and all(map(device_references.is_plain, sums)):
            call = partial(self._call_reference, args, params, formats, to, is_on_device=True)
            results = device_references.results_of(self.name, args, params, call)
        return self.on_host(args, params, to) if results is None else results

    def _compiled_on_device(self, compiled, args, params, to):
        if compiled is None or self.name in device_references.not_compiled:
            return None
        try:
            return compiled(*args, to=to, **params)
        except CompileError as error:
            device_references.warn_of_text(self.name, error)
            return None

    def on_host(self, args: tuple, params: dict, to: Any = None) -> Any:
        """The results for arrays on a GPU, computed on the CPU, and copied there and back.

        It is how what CuPy lacks, sums narrower than float32, and references that are not minifp's
        own are computed. Warns once for each kernel.
        """
        warn_of_host(self.name)
        on_host = self(*[to_host(a) if is_on_device(a) else a for a in args], to=to, **params)
        if isinstance(on_host, tuple):
            return tuple([to_device(y) for y in on_host])
        return to_device(on_host)

    def _call_reference(self, args, params, formats, to, is_on_device=False):
        targets = to if isinstance(to, tuple) else (to,) * len(formats.out)
        functions = {w: self._primitive(w, formats, targets, is_on_device) for w in self.wants}
        results = self.computed(args, {**params, **functions}, formats.compute)
        several = isinstance(results, tuple)
        stored = tuple(
            self._store(r, target, out, formats.compute)
            for r, target, out in zip(results if several else (results,), targets, formats.out)
        )
        return stored if several else stored[0]

    def computed(self, args: Any, params: dict[str, Any], compute: np.dtype) -> Any:
        """The reference's results in a format, before they are rounded. params: with what it wants
        of the precision, unless that shall be as in this format."""
        functions = {want: getattr(primitives(compute), want, None) for want in self.wants}
        self._check_numbers(args)
        with np.errstate(all="ignore"):  # Inf and NaN are values here, as on a GPU
            wide = [_enter(a, compute) for a in args]
            return self.reference(*wide, **{**functions, **params})

    def _check_numbers(self, args):
        """Raise DTypeError for an argument that NumPy might compute with, but no compiled kernel
        does: of what works element by element, anything but numbers, arrays of them, and None."""
        for a in args if self.rule.role == "map" else ():
            kind = getattr(getattr(a, "dtype", None), "kind", "")
            if kind not in KINDS and not (a is None or isinstance(a, Real)):
                raise DTypeError(f"a {type(a).__name__}: expected tensors or numbers")

    def _call_without_rounding(self, args, params):
        """Integers and booleans: nothing to round, except where they give floating results."""
        if not any(map(is_on_device, args)):
            return self._unrounded(args, params, UNROUNDED)
        compiled = None if get_precision().by_references else self.device_kernel
        compiled = compiled if getattr(compiled, "takes_integers", False) else None
        results = self._compiled_on_device(compiled, args, params, (None,))
        if results is None and self.is_ours:
            call = partial(self._unrounded, args, params, UNROUNDED_ON_DEVICE)
            results = device_references.results_of(self.name, args, params, call)
        return self.on_host(args, params) if results is None else results

    def _unrounded(self, args, params, sums):
        functions = {want: sums.get(want) or (lambda x: x) for want in self.wants}
        self._check_numbers(args)
        with np.errstate(all="ignore"):
            result = _as_array(self.reference(*args, **{**params, **functions}))
        activations = as_dtype(get_precision().activations)
        return downcast(result, activations) if is_float(result.dtype) else result

    def _primitive(self, want, formats, targets, is_on_device):
        if want in Primitives._fields:
            if is_on_device:
                return getattr(device_references.PRIMITIVES, want)
            sums_in = formats.dot_in if want == "dot" else formats.sum_in
            return getattr(primitives(sums_in), want)
        if want == "accumulate":
            return lambda x: round_to(x, formats.dot_in.whole)
        stored = formats.out[0] if targets[0] is None else targets[0]
        if want == STATE:
            to = formats.state
            return lambda x: x if to is None else rounded(x, to, to.summed, held=stored)
        return lambda x: round_to(x, stored)

    def _store(self, result, target, out, compute):
        result = _as_array(result)
        if not is_float(result.dtype):
            return result
        if self.rule.role == "reduce" and result.ndim == 0 and target is None:
            return downcast(result, compute)  # NumPy 1 divides scalars of any format in float64
        return downcast(result, out if target is None else target)


def kernel(
    role: str,
    *out: str,
    operands: Mapping[str, Axes] | None = None,
    gradients: Mapping[str, Axes] | None = None,
    product: str | None = None,
) -> Callable[[Callable[..., Any]], Kernel]:
    """Make `reference(*arrays, **params)` a Kernel with this role and these result formats.

    operands, gradients: the arguments that enter products, and those of them that are gradients;
    for each, the axes along which it is summed (of those that it has), or a function that computes
    them from the parameters. product: "wgrad" for the gradient of a weight; for others, the
    operands determine which of PRODUCTS they are (see products.py).

    Raises ArgumentError for a role or product that does not exist, and for a result's format or an
    operand that is not an argument of the reference.
    """
    enter = [Operand(name, axes, False) for name, axes in (operands or {}).items()]
    enter += [Operand(name, axes, True) for name, axes in (gradients or {}).items()]
    product = product or product_of(role, enter)
    return lambda reference: Kernel(reference, Rule(role, out, tuple(enter), product))


class OnHostWarning(UserWarning):
    """Something was computed on the CPU though its arrays are on the GPU."""


def warn_of_host(name: str) -> None:
    """Warn, once for each name, that it runs on the CPU."""
    if name not in ran_on_host:
        ran_on_host.add(name)
        warnings.warn(
            f"{name} runs on the CPU, because neither minifp nor CuPy has it for the GPU: its "
            "inputs are copied there, and its results back",
            OnHostWarning,
            stacklevel=level_of_user(),
        )


def _is_floating(a):
    return is_array(a) and is_float(a.dtype)


def _as_array(a):
    return a if is_on_device(a) else np.asarray(a)


def _formats_in(targets):
    """For each result the format that it is stored in: of an array to write into, its own."""
    several = targets if type(targets) is tuple else (targets,)
    formats = tuple([t.dtype if is_array(t) else t for t in several])
    return formats if type(targets) is tuple else formats[0]


def _into(results, targets):
    """Results, each written into the array that the caller gave for it, if any."""
    several = isinstance(results, tuple)
    targets = targets if type(targets) is tuple else (targets,) * (len(results) if several else 1)
    written = []
    for result, target in zip(results if several else (results,), targets):
        if is_array(target):
            target[...] = result
        written.append(target if is_array(target) else result)
    return tuple(written) if several else written[0]


def _enter(a, compute):
    if _is_floating(a):
        return upcast(a, compute)
    return compute.type(a) if type(a) in (int, float) else a
