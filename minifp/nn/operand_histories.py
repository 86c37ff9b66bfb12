"""What a model's parameters know of the operands of their products, under delayed scaling."""

from typing import NamedTuple

from minifp.errors import DTypeError
from minifp.nn.module import Module


class OperandHistory(NamedTuple):
    """One operand of one product with a parameter.

    parameter: its path. product: the kernel that multiplies; call: which of its calls inside of one
    operation. operand: the kernel's name for it. amaxes: its largest magnitude in each of the steps
    that count, the last one last. saturated: how many arrays, since the beginning, had numbers that
    were beyond the format's largest under the scale of the steps before.
    """

    parameter: str
    product: str
    call: int
    operand: str
    amaxes: tuple[float, ...]
    saturated: int


def operand_histories(model: Module) -> list[OperandHistory]:
    """The histories that `operand_scale=delayed` keeps (numerics/amax_history.py), of each operand
    of the products that backward went through; [] under other precisions.

    Raises DTypeError for anything but a Module.
    """
    if not isinstance(model, Module):
        raise DTypeError(f"operand_histories: a {type(model).__name__}: expected a Module")
    found = []
    for path, p in model.named_parameters():
        known = p.storage.histories
        state = {} if known is None else known.state(p.storage.version)
        for kernel, call, operand, amaxes, _, saturated in state.get("operands", ()):
            found.append(OperandHistory(path, kernel, call, operand, tuple(amaxes), saturated))
    return found
