"""A program of a user's, which mypy --strict finds nothing wrong with. It is checked, never run."""

import math
from pathlib import Path

import numpy as np

import minifp as fp
import minifp.nn.functional as F
from minifp import Tensor, nn, optim


class Net(nn.Module):
    def __init__(self, classes: int) -> None:
        self.conv = nn.Conv2d(1, 8, kernel_size=(3, 3), padding="same")
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(128, classes, bias=False))
        self.register_buffer("scale", fp.ones(8))

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.norm(self.conv(x)))
        logits: Tensor = self.head(F.max_pool2d(x, 2))
        return logits


def train(path: Path, precision: str | fp.Precision = "mixed") -> list[float]:
    fp.manual_seed(0)
    pictures, _ = fp.data.digits()
    loader = fp.data.DataLoader(pictures, batch_size=64, shuffle=True, prefetch=2)
    losses: list[float] = []
    with fp.precision(precision) as active:
        model = Net(classes=10)
        adam = optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.99))
        optimizer = fp.MixedOptimizer(adam, loss_scale=fp.DynamicLossScale(2.0**12), clip_norm=1.0)
        schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=len(loader))
        for x, t in loader:
            loss = F.cross_entropy(model(x), t, label_smoothing=0.1)
            optimizer.zero_grad()
            optimizer.backward(loss)
            result = optimizer.step()
            schedule.step()
            if result.skipped:
                print(f"{result.reason}: S {result.scale_before:g} -> {optimizer.scale:g}")
            losses.append(loss.item())
        print(active.loss_scale, accuracy(model, loader))
    fp.save(path, model=model, optimizer=optimizer, scheduler=schedule, extra={"epoch": 1})
    return losses


@fp.no_grad()
def accuracy(model: nn.Module, loader: fp.data.DataLoader) -> float:
    model.eval()
    right, total = 0, 0
    for x, t in loader:
        guess: Tensor = model(x)
        right += (guess.argmax(1) == t).sum().item()
        total += t.shape[0]
    return right / total


def tensors() -> tuple[Tensor, ...]:
    x = fp.tensor([[1.0, 2.0], [3.0, 4.0]], dtype="float64", requires_grad=True)
    w = fp.tensor(np.eye(2), dtype=fp.float64)
    y = (2 * x - x**2 / 3 + w @ x).exp().clamp(min=0.0) * np.ones(2)
    values, indices = y.max(dim=1)
    largest = fp.max(y) + y.max() + values.sum() * -indices.float().mean()
    parts = fp.split(y.reshape(-1), 2) + fp.cat([x, w], dim=1).unbind()
    picked = y[0, None, ..., y[0] > 1].transpose(0, 1).size(0)
    scale: float = y.abs().mean(dim=(0, 1), keepdim=True).item() + picked
    (dx,) = fp.grad(largest * scale, x)
    with fp.no_grad():
        x.add_(dx, alpha=-0.1).mul_(0.5)
        x[0] = 1.0
    handle = y.register_hook(lambda gradient: gradient * 2)
    (y + largest).sum(dtype=fp.float32).backward(seed=2.0)
    handle.remove()
    assert fp.gradcheck(lambda a: a.tanh(), [x.detach().requires_grad_()])
    return (*parts, x.T, y.to("float16"), fp.where(x > 0, x, 0.0), fp.einsum("ij,jk->ik", x, w))


def resume(path: str) -> int:
    lstm = nn.LSTM(8, 16, num_layers=2, batch_first=True)
    groups = [{"params": lstm.parameters(), "lr": 0.1}]
    sgd = optim.SGD(groups, momentum=0.9, nesterov=True)
    state = lstm.state_dict()
    lstm.load_state_dict({name: value * 0 for name, value in state.items()}, strict=False)
    norm: fp.Tensor = nn.utils.clip_grad_norm_(lstm.parameters(), max_norm=norm_of(state))
    extra = fp.load(path, model={"lstm": lstm}, optimizer=sgd)
    return int(extra["epoch"]) + int(norm)


def norm_of(state: dict[str, Tensor]) -> float:
    return math.sqrt(sum(float(value.norm()) ** 2 for value in state.values()))
