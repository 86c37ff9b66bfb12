"""Averages of a model's weights over steps, by PyTorch's names: `from minifp.optim.swa_utils import
AveragedModel` (Izmailov et al. 2018, arXiv:1803.05407; Polyak and Juditsky 1992)."""

import copy
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from minifp.autograd.grad_mode import no_grad
from minifp.autograd.tape import Tensor
from minifp.checks import check_choice, check_count, check_range
from minifp.errors import ArgumentError, DTypeError
from minifp.nn.module import Module
from minifp.nn.parameter import Buffer
from minifp.numerics.formats import is_float
from minifp.optim.lr_scheduler.base import AnyOptimizer, LRScheduler
from minifp.optim.lr_scheduler.cosine import half_cosine

__all__ = ["SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "update_bn"]


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Tensor, Tensor, Any], Tensor]:
    """The avg_fn of an exponential moving average: decay a + (1 - decay) p. decay: 0 to 1."""
    check_range("get_ema_avg_fn: decay", decay, high=1.0)

    def ema_update(averaged: Tensor, current: Tensor, num_averaged: Any) -> Tensor:
        return decay * averaged + (1 - decay) * current

    return ema_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[[list, list, Any], None]:
    """The same for all tensors, which it writes into: a multi_avg_fn."""
    check_range("get_ema_multi_avg_fn: decay", decay, high=1.0)

    def ema_update(averaged: list[Tensor], current: list[Tensor], num_averaged: Any) -> None:
        for a, p in zip(averaged, current):
            if is_float(a.dtype):
                a.mul_(decay).add_(p, alpha=1 - decay)
            else:
                a.copy_(decay * a + (1 - decay) * p)  # of a counter, without its fraction

    return ema_update


def _mean(averaged, current, num_averaged):
    return averaged + (current - averaged) / (num_averaged.item() + 1)


class AveragedModel(Module):
    """A copy of a model whose weights are averages of the model's, `update_parameters` being called
    after each step that counts. Called, it is the copy, `.module`.

    device: of the copy; None is the model's. avg_fn(average, current, count): the next average, of
    tensors without gradient; by default the mean of all. multi_avg_fn(averages, currents, count):
    instead, writes into lists of them. use_buffers: whether buffers are averaged too; if not, they
    are the model's last ones. Unrounded numbers are averaged, where parameters have them.

    State as PyTorch's: n_averaged, module.NAME. Raises ArgumentError for both functions, DTypeError
    for what is no Module.
    """

    multiplies = False
    n_averaged: Any
    module: Any

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[..., Tensor] | None = None,
        multi_avg_fn: Callable[..., None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        if not isinstance(model, Module):
            raise DTypeError(f"AveragedModel of a {type(model).__name__}: expected a Module")
        if avg_fn is not None and multi_avg_fn is not None:
            raise ArgumentError("AveragedModel: give avg_fn or multi_avg_fn, not both")
        self.n_averaged = Buffer(np.zeros((), np.int64))
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module.to(device)
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model computes."""
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Take the model's weights into the averages. Raises ArgumentError for another model's."""
        averages, currents = _state(self.module, self.use_buffers), _state(model, self.use_buffers)
        if [t.shape for t in averages] != [t.shape for t in currents]:
            raise ArgumentError("update_parameters: expected a model as the one that is averaged")
        pairs = [(a, p.to(a.device)) for a, p in zip(averages, currents)]
        if not self.n_averaged.item():
            for a, p in pairs:
                a.copy_(p)
        elif self.multi_avg_fn is not None:
            self.multi_avg_fn(*map(list, zip(*pairs)), self.n_averaged)
        else:
            for a, p in pairs:
                a.copy_((self.avg_fn or _mean)(a, p, self.n_averaged))
        if not self.use_buffers:
            for b, current in zip(self.module.buffers(), model.buffers()):
                b.copy_(current.to(b.device))
        self.n_averaged.add_(1)


def _state(model, use_buffers):
    """What is averaged of a model, as tensors on no tape, of which those behind are computed."""
    return [t.data for t in (*model.parameters(), *(model.buffers() if use_buffers else ()))]


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of a model's batch norms anew, as averages over all batches.

    loader: batches, of which the first field is the model's input. device: where it is moved.
    """
    with statistics_anew(model) as norms:
        for batch in loader if norms else ():
            x = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(x if device is None else x.to(device))


@contextmanager
def statistics_anew(model: Module) -> Iterator[list[Any]]:
    """Within, a model trains, and the running statistics of its batch norms, which are yielded, are
    averages over all batches that it is called with."""
    norms: list[Any] = [m for m in model.modules() if getattr(m, "running_mean", None) is not None]
    before, training = [m.momentum for m in norms], model.training
    for m in norms:
        m.running_mean.zero_()
        m.running_var.fill_(1)
        m.num_batches_tracked.zero_()
        m.momentum = None
    try:
        model.train()
        yield norms
    finally:
        for m, momentum in zip(norms, before):
            m.momentum = momentum
        model.train(training)


class SWALR(LRScheduler):
    """From the rate that is found at its first step to swa_lr, over anneal_epochs steps, and then
    swa_lr; with anneal_epochs=0 it is swa_lr at once.

    swa_lr: a rate, or one for each group. anneal_strategy: "cos" or "linear". Raises ArgumentError
    for others.
    """

    arguments = ("swa_lr", "anneal_epochs", "anneal_strategy")
    combines = False  # as it goes on from what another has left

    def __init__(
        self,
        optimizer: AnyOptimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        self.swa_lr, self.anneal_epochs = swa_lr, anneal_epochs
        self.anneal_strategy = anneal_strategy
        super().__init__(optimizer, last_epoch)

    def check(self) -> None:
        """swa_lr >= 0, of each group; anneal_epochs >= 0."""
        check_count("anneal_epochs", self.anneal_epochs, least=0)
        check_choice("anneal_strategy", self.anneal_strategy, ("cos", "linear"))
        rates = self.swa_lr
        rates = rates if isinstance(rates, (list, tuple)) else [rates] * len(self.groups)
        self._rates = self._checked_rates("swa_lr", rates)

    def step(self, epoch: float | None = None) -> None:
        """Advance by one, or to `epoch`; the first begins with the rates that the groups have."""
        if self.count == 0:
            self.base_lrs = self.get_last_lr()
        super().step(epoch)

    def rate(self, base: float, count: int, i: int) -> float:
        """Between base and swa_lr."""
        done = min(1.0, count / self.anneal_epochs) if self.anneal_epochs else 1.0
        if self.anneal_strategy == "cos":
            return half_cosine(base, self._rates[i], done)
        return base + (self._rates[i] - base) * done
