"""Parameters that nobody trains: no optimizer has them, or no gradient comes to them."""

from collections.abc import Callable
from typing import Any

from minifp.autograd.tape import Tensor

PATIENCE = 2  # observed updates without a gradient before a parameter is told of
MOST_NAMES = 4  # in a text
Name = Callable[[Tensor], str]  # what a parameter is called
Tell = Callable[[str, Any, str], None]  # (kind, place, text): see Guard


class Untrained:
    """Tells of them."""

    def __init__(self, model: Any, optimizer: Any, name: Name, tell: Tell) -> None:
        self.model, self.optimizer, self.name, self.tell = model, optimizer, name, tell
        self.without = {id(p): p for p in optimizer.parameters}  # a gradient so far
        self.updates = 0

    def at_start(self) -> None:
        """Compare the model's parameters with the optimizer's."""
        parameters, trained = self.model.parameters(), self.optimizer.parameters
        idle = [p for p in without(parameters, trained) if p.requires_grad and not is_bound(p)]
        if idle:
            share = sum(p.array.size for p in idle) / sum(p.array.size for p in parameters)
            text = (
                f"{names_of(idle, self.name)} of the model: no optimizer has them ({share:.0%} of "
                "all weights), so they never change. Create the optimizer with all of them, after "
                "the last layer is in place: optimizer = "
                "fp.MixedOptimizer(optim.Adam(model.parameters())); or call "
                "p.requires_grad_(False) for those that you froze on purpose"
            )
            self.tell("no optimizer", None, text)
        if strange := without(trained, parameters):
            text = (
                f"{len(strange)} of the optimizer's parameters are not the model's "
                f"({names_of(strange, self.name)}): perhaps a layer was replaced after the "
                "optimizer was created, which then trains the old one. Create the optimizer last: "
                "optimizer = fp.MixedOptimizer(optim.Adam(model.parameters()))"
            )
            self.tell("not the model's", None, text)

    def on_update(self, gradients: list) -> None:
        """Take note of whose gradients are there; tell of the others once it is time."""
        if not self.without:
            return
        used = [t for blocks in gradients for block in blocks for t in block.tensors]
        came = {id(t) for t in used if t is not None}
        waiting = self.without.items()
        self.without = {i: p for i, p in waiting if p.requires_grad and id(p.grad) not in came}
        self.updates += 1
        if self.updates == PATIENCE:
            self.at_end()

    def at_end(self) -> None:
        """Tell of parameters to which no gradient came in the updates so far, if there were any."""
        idle, self.without = list(self.without.values()), {}
        if idle and self.updates:
            text = (
                f"{names_of(idle, self.name)}: the optimizer has them, but they got no gradient in "
                "the first observed steps. Either the loss does not depend on them (forward does "
                "not call the layer, or its result was detached or computed under fp.no_grad()), "
                "or they are frozen: then call p.requires_grad_(False)"
            )
            self.tell("no gradient", None, text)


def without(parameters: list[Tensor], others: list[Tensor]) -> list[Tensor]:
    """Those that are not among the others."""
    ids = {id(p) for p in others}
    return [p for p in parameters if id(p) not in ids]


def is_bound(p: Tensor) -> bool:
    """Whether an optimizer has (or had) a parameter: its array is then a view of a flat buffer."""
    return p.array.base is not None


def names_of(parameters: list[Tensor], name: Name) -> str:
    """Their names, of many the first."""
    names = [name(p) for p in parameters]
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more
