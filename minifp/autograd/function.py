"""Function: an operation of your own with forward and backward on Tensors, as PyTorch has it.

What `fp.op` says in one function is said here in two, and backward can be written with operations.
Neither is recorded while it runs: gradients of gradients are not.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from minifp.autograd.grad_mode import no_grad
from minifp.autograd.kept_operands import entering_by
from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, DTypeError, TapeError
from minifp.numerics.formats import downcast
from minifp.numerics.operands import ANEW
from minifp.runtime.device import full


class FunctionContext:
    """What forward leaves for backward: the `ctx` of both.

    needs_input_grad: for each argument of forward whether its gradient is wanted. saved_tensors:
    what save_for_backward was given, in backward. Other attributes are the function's own.
    """

    saved_tensors: tuple = ()

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self._saved: tuple = ()
        self._constant: tuple = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors (or None) for backward: inputs, outputs and what lies between. In place of
        an assignment to ctx, as backward refuses those that were changed since."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise DTypeError(
                    f"save_for_backward: a {type(t).__name__}: expected tensors; save anything "
                    "else as ctx.name = value"
                )
        self._saved = tensors

    def mark_non_differentiable(self, *outputs: Tensor) -> None:
        """Let these outputs have no gradient."""
        self._constant = outputs

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Raises TapeError: a function may not write into what it is given."""
        raise TapeError("mark_dirty: a Function cannot write into its inputs: return new tensors")


class Function:
    """The base of operations with a forward and a backward; called by `apply`.

        class Scale(fp.autograd.Function):
            @staticmethod
            def forward(ctx, x, factor):
                ctx.factor = factor
                return x * factor

            @staticmethod
            def backward(ctx, dy):
                return dy * ctx.factor, None

        y = Scale.apply(x, 3.0)

    forward(ctx, *args) returns a tensor or a tuple of them; or forward(*args), with
    setup_context(ctx, inputs, output) beside it. backward(ctx, *gradients of the outputs) returns
    a gradient, or None, for each argument; it runs in the precision in which forward was called,
    and is rounded to the format of each argument's gradient.
    """

    forward: Callable[..., Any]
    backward: Callable[..., Any]
    setup_context: Callable[..., Any] | None = None
    _operation: Callable[..., Any]

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """The outputs of forward for these arguments, recorded.

        Raises ArgumentError for a class without forward or backward, DTypeError for outputs that
        are no tensors; in backward TapeError for gradients that do not fit.
        """
        for name in ("forward", "backward"):
            if not hasattr(cls, name):
                raise ArgumentError(f"{cls.__name__} does not define a static {name}()")
        if "_operation" not in vars(cls):
            run = partial(_run, cls)
            run.__name__ = cls.__name__  # type: ignore[attr-defined]
            cls._operation = staticmethod(op(run))
        tensors = tuple([isinstance(a, Tensor) for a in args])
        needs = tuple([isinstance(a, Tensor) and a.requires_grad for a in args])
        leaves = tuple([a if n and a.is_leaf else None for a, n in zip(args, needs)])
        constant: list[int] = []
        results = cls._operation(
            *args, tensors=tensors, needs=needs, leaves=leaves, constant=constant
        )
        if not constant:
            return results
        several = isinstance(results, tuple)
        outputs = results if several else (results,)
        outputs = tuple([y.detach() if i in constant else y for i, y in enumerate(outputs)])
        return outputs if several else outputs[0]


def once_differentiable(backward: Callable) -> Callable:
    """`backward` as it is: here no backward is recorded."""
    return backward


def _run(cls, *arrays, tensors, needs, leaves, constant):
    """What `op` asks of an operation: outputs, what backward reads, and backward.

    tensors: which arguments are Tensors. needs: which have a gradient. leaves: those of them that
    are leaves, which forward gets as they are: backward may ask for their gradients by `fp.grad`.
    constant: is filled with the numbers of the outputs that have none.
    """
    ctx = FunctionContext(needs)
    args = tuple(
        leaf if leaf is not None and leaf.array is a else Tensor(a) if is_tensor else a
        for a, is_tensor, leaf in zip(arrays, tensors, leaves)
    )
    # Nothing in codes: its backward may read in any way what its forward multiplies.
    with no_grad(), entering_by(ANEW):
        if cls.setup_context is None:
            output = cls.forward(ctx, *args)
        else:
            output = cls.forward(*args)
            cls.setup_context(ctx, args, output)
    several = isinstance(output, (tuple, list))
    outputs = tuple(output) if several else (output,)
    for i, y in enumerate(outputs):
        if not isinstance(y, Tensor):
            raise DTypeError(f"output {i} of forward is a {type(y).__name__}: expected a Tensor")
    given = {id(a) for a in arrays}
    results = tuple([y.array.copy() if id(y.array) in given else y.array for y in outputs])
    places = {id(y): array for y, array in zip(outputs, results)}  # what was copied is saved
    saved = tuple([None if t is None else places.get(id(t), t.array) for t in ctx._saved])
    constant[:] = [i for i, y in enumerate(outputs) if any(y is c for c in ctx._constant)]
    ctx._saved = ctx._constant = ()
    shapes = [getattr(a, "shape", None) for a in arrays]
    backward = partial(_backward, cls, ctx, shapes, len(results))
    return (results if several else results[0]), saved, backward


def _backward(cls, ctx, shapes, count, *arrays, to, **settings):
    """The gradients of each argument, as its format says; zeros where backward returns None.

    shapes: of the arguments. count: of the outputs; behind their gradients are the saved arrays.
    """
    ctx.saved_tensors = tuple([None if a is None else Tensor(a) for a in arrays[count:]])
    try:
        with no_grad():
            given = cls.backward(ctx, *[Tensor(a) for a in arrays[:count]])
    finally:
        ctx.saved_tensors = ()
    given = given if isinstance(given, tuple) else (given,)
    if len(given) < len(to) or any(g is not None for g in given[len(to) :]):
        raise TapeError(
            f"backward of {cls.__name__} returned {len(given)} gradients: expected {len(to)}, "
            "one for each argument of forward, with None for those without a gradient"
        )
    return tuple([_stored(g, f, s, arrays[0]) for g, f, s in zip(given, to, shapes)])


def _stored(gradient, format, shape, like):
    """A gradient in its format; None where none is wanted."""
    if format is None:
        return None
    if gradient is None:
        return full(shape, 0, format, like=like)
    if not isinstance(gradient, Tensor):
        raise TapeError(f"a gradient is a {type(gradient).__name__}: expected a Tensor, or None")
    return downcast(gradient.array, format)
