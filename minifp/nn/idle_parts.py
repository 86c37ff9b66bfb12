"""Parts of a precision that change a product which their modules do not have, told in a first step.

What a module of somebody's own computes is not known before it is called; where it is known before,
`assign_precision` refuses. A precision keeps a plan of each kernel that it was asked for, so what
there was in a step is known afterwards, and costs nothing in it.
"""

from collections.abc import Iterable
from typing import Any

from minifp.autograd.tape import Tensor
from minifp.numerics.kernels import Kernel
from minifp.numerics.precision_parts import Part
from minifp.numerics.products import DGRAD, FPROP, WGRAD
from minifp.numerics.rules import GIVEN
from minifp.runtime.callers import warn_once

WHERE = {
    FPROP: "Expected a pattern for modules whose own forward multiplies: linear layers, "
    "convolutions, recurrent layers, attention, @ and einsum",
    DGRAD: "dgrad is the gradient of an activation, and the input of a first layer needs none. "
    "Expected a pattern for modules that pass a gradient on, or wgrad",
    WGRAD: "wgrad is the gradient of a weight of a linear, convolutional or recurrent layer; the "
    "gradients of @, einsum and attention are dgrad. Expected a pattern for such layers, or dgrad",
}


def warn_of_idle_parts(parameters: Iterable[Tensor]) -> None:
    """Warn of each part with a product that has not been, though backward went through its modules.

    parameters: of an optimizer, with the gradients of its first step. Of weights that are not among
    them, or have no gradient, nothing is said: another optimizer's step may have their wgrad.
    """
    trained = [p.precision for p in parameters if p.precision is not None and p.grad is not None]
    for whole in {id(p.whole): p.whole for p in trained if p.whole is not None}.values():
        for part in whole.read_parts:
            if part.product is not None and is_idle(part, whole, trained):
                warn_once(
                    f"idle part {part.key} of {whole}",
                    f'part {part.key!r} of precision "{whole}" had no effect in the first step: '
                    f"the modules that it matches have no {part.product}. {WHERE[part.product]}",
                )


def is_idle(part: Part, whole: Any, trained: list) -> bool:
    """Whether backward went through modules whose product's switch a part has decided, and none had
    that product. trained: the precisions of weights that have gradients."""
    own = [p for p in whole.with_changes.values() if p.part_of(part.product, part.switch) == part]
    rules = [kernel.rule for p in own for kernel in kernels_of(p)]
    was_there = any(GIVEN in rule.out for rule in rules)
    if part.product == WGRAD:
        was_there &= any(p is mine for p in own for mine in trained)
    return was_there and part.product not in [rule.product for rule in rules]


def kernels_of(precision: Any) -> list[Kernel]:
    """The kernels that a precision has plans of."""
    keys = [key for key in precision.resolved if isinstance(key, tuple)]
    return [key[0] for key in keys if isinstance(key[0], Kernel)]
