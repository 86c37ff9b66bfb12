"""Training steps, and inference, of models in PyTorch. Only a child process imports this.

Models have the modules of minifp.models under the same names (see on_torch.py), so that both begin
from the same weights.
"""

import torch
from torch.nn import functional as F

from . import workloads
from .on_torch import architectures


class NotThere(Exception):
    """What a format does not have."""


def with_rows(kind):
    """A language model whose logits are (T B, characters): as rows, PyTorch's cross entropy is the
    faster for it."""

    class WithRows(kind):
        """The same network."""

        def forward(self, codes):
            """Its logits, one a row."""
            return super().forward(codes).permute(2, 0, 1).flatten(0, 1)

    return WithRows


ARCHITECTURES = architectures()
ARCHITECTURES |= {name: with_rows(ARCHITECTURES[name]) for name in ("CharLSTM", "CharGRU", "GPT")}


def built(model):
    """The architecture of a Model, with its initial weights."""
    return begun(ARCHITECTURES[model.architecture](*model.arguments, **model.keywords))


def begun(network):
    """A network with the weights that all implementations begin from."""
    with torch.no_grad():
        for name, p in network.named_parameters():
            p.copy_(torch.from_numpy(workloads.initial(name, tuple(p.shape))))
    return network


def targets(t):
    """Classes as rows of logits have them."""
    return t.t().flatten() if t.ndim == 2 else t


class Training:
    """Steps of a model; in the narrow formats under autocast, in float16 with its GradScaler."""

    def __init__(self, model, side):
        self.model, self.side = side.as_laid(self.built(model)), side
        name, settings = model.optimizer
        self.optimizer = getattr(torch.optim, name)(self.model.parameters(), **settings)
        self.batches = [self.taken(*batch) for batch in model.batches()]
        self.count, self.loss = 0, None
        half = side.format == torch.float16  # with a scale that needs no steps to settle
        self.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0) if half else None
        self.skipped = 0

    def built(self, model):
        """The network, with its initial weights."""
        return built(model)

    def taken(self, x, t):
        """A batch as tensors."""
        return self.side.laid(torch.from_numpy(x)), targets(torch.from_numpy(t))

    def loss_of(self, x, t):
        """The loss of a batch."""
        return F.cross_entropy(self.model(x), t)

    def step(self):
        """zero_grad, forward with the loss, backward, update."""
        batch = self.batches[self.count % len(self.batches)]
        self.count += 1
        self.optimizer.zero_grad()
        yield "zero_grad"
        with self.side.autocast():
            self.loss = self.loss_of(*batch)
        yield "forward"
        if self.scaler is None:
            self.loss.backward()
            yield "backward"
            self.optimizer.step()
        else:
            self.scaler.scale(self.loss).backward()
            yield "backward"
            self.scaler.step(self.optimizer)
            before = self.scaler.get_scale()
            self.scaler.update()
            self.skipped += self.scaler.get_scale() < before
        yield "update"

    def value(self):
        """The last loss."""
        return self.loss.item()


class Inference:
    """A model that is asked for the scores of its batches."""

    def __init__(self, model, side):
        self.model = side.as_laid(built(model)).eval()
        self.batches = [
            (side.laid(torch.from_numpy(x)), targets(torch.from_numpy(t)))
            for x, t in model.batches()
        ]
        self.side, self.count = side, 0

    def step(self):
        """Forward."""
        self.x, self.t = self.batches[self.count % len(self.batches)]
        self.count += 1
        with torch.inference_mode(), self.side.autocast():
            self.scores = self.model(self.x)
        yield "forward"

    def value(self):
        """The loss of the last scores."""
        return F.cross_entropy(self.scores, self.t).item()
