"""Training steps of the workloads in PyTorch on a GPU. Imported only where PyTorch has one."""

import contextlib

import torch
from torch.nn import functional as F

from .theirs_training import ARCHITECTURES, targets
from .workloads import initial_once


class Training:
    """Steps of a model, as PyTorch's users write them, with its fused optimizers.

    how: "float32" (TF32 is off); "amp": autocast to float16 with a GradScaler; "compiled": that,
    with forward and backward compiled by torch.compile(mode="reduce-overhead"). layout: of
    pictures, "NCHW" or "NHWC".
    """

    def __init__(self, model, how, device="cuda", layout="NCHW"):
        self.model = ARCHITECTURES[model.architecture](*model.arguments, **model.keywords)
        with torch.no_grad():
            for name, p in self.model.named_parameters():
                p.copy_(torch.from_numpy(initial_once(name, tuple(p.shape))))
        form = torch.channels_last if layout == "NHWC" else torch.contiguous_format
        self.model.to(device, memory_format=form)
        name, settings = model.optimizer
        parameters = self.model.parameters()
        self.optimizer = getattr(torch.optim, name)(parameters, fused=True, **settings)
        self.batches = [
            (
                torch.from_numpy(x.copy()).to(device, memory_format=form),
                targets(torch.from_numpy(t.copy())).contiguous().to(device),
            )
            for x, t in model.batches()
        ]
        self.count, self.how, self.device = 0, how, device
        is_narrow = how != "float32"
        self.scaler = torch.amp.GradScaler(device, init_scale=1024.0) if is_narrow else None
        self.loss = self._loss
        if how == "compiled":
            self.loss = torch.compile(self._loss, mode="reduce-overhead")

    def _loss(self, x, t):
        return F.cross_entropy(self.model(x), t)

    def _autocast(self):
        if self.scaler is None:
            return contextlib.nullcontext()
        return torch.autocast(self.device, torch.float16)

    def step(self):
        """zero_grad, forward, backward, update; the loss, until the next step."""
        x, t = self.batches[self.count % len(self.batches)]
        self.count += 1
        if self.how == "compiled":
            torch.compiler.cudagraph_mark_step_begin()
        self.optimizer.zero_grad()
        with self._autocast():
            loss = self.loss(x, t)
        if self.scaler is None:
            loss.backward()
            self.optimizer.step()
        else:
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
        return loss.detach()
