"""Train ResNet-20 on all of CIFAR-10 on a GPU: minifp in float32 and mixed, beside PyTorch's AMP.

    python scripts/gpu_cifar.py --out runs/cifar
    python scripts/gpu_cifar.py --epochs 2 --arms mixed amp

Every arm begins from the same weights and sees the same batches, cut and mirrored at random, in the
same order: SGD with momentum, whose rate rises and falls once (OneCycleLR). minifp's steps are
captured as a CUDA graph; PyTorch's are launched one by one, in channels_last, under autocast with a
GradScaler. The time of an epoch is that of its training, with loading, until the GPU has ended.

Written to --out after each epoch: cifar.csv; at the end, also after Ctrl-C: cifar.md and cifar.png.
It needs PyTorch for the arm amp, and matplotlib. CIFAR-10 is had as by `fp.data.cifar10`.
"""

import argparse
import csv
import importlib.util
import itertools
import statistics
import sys
import time
from pathlib import Path

from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # minifp need not be installed
import minifp as fp
from minifp import models, optim
from minifp.nn import functional as F

CROP = fp.data.transforms.Compose(
    [fp.data.transforms.RandomCrop(32, padding=4), fp.data.transforms.RandomHorizontalFlip()]
)
SGD = {"lr": 0.2, "momentum": 0.9, "nesterov": True, "weight_decay": 5e-4}
CYCLE = {"max_lr": 0.2, "pct_start": 0.2, "cycle_momentum": False, "anneal_strategy": "linear"}
BATCH, TEST_BATCH = 128, 500


def network(seed):
    """ResNet-20 with the weights of a seed, on the CPU in float32."""
    fp.manual_seed(seed)
    return models.CIFARResNet(classes=10, depth=20)


class Ours:
    """Training by minifp in one precision."""

    def __init__(self, precision, seed, steps, device):
        self.precision, self.device = fp.precision(precision), device
        weights = network(seed).state_dict()
        with self.precision:
            self.model = models.CIFARResNet(classes=10, depth=20)
        self.model.load_state_dict(weights)
        self.model.to(device)
        self.optimizer = fp.MixedOptimizer(optim.SGD(self.model.parameters(), **SGD))
        self.schedule = optim.lr_scheduler.OneCycleLR(self.optimizer, total_steps=steps, **CYCLE)
        self.step = fp.capture(self._step) if device == "cuda" else self._step

    def _step(self, x, t):
        loss = F.cross_entropy(self.model(x), t)
        return loss, self.optimizer.minimize(loss)

    def epoch(self, loader):
        """Train on all batches; the mean loss."""
        self.model.train()
        losses = []
        with self.precision:
            for x, t in loader:
                losses.append(self.step(x, t)[0].detach())
                self.schedule.step()
        return statistics.fmean(loss.item() for loss in losses)

    def right(self, loader):
        """How many test pictures are classified rightly."""
        self.model.eval()
        with self.precision, fp.no_grad():
            return sum((self.model(x).argmax(1) == t).sum().item() for x, t in loader)


class Theirs:
    """Training by PyTorch's automatic mixed precision."""

    def __init__(self, seed, steps, device):
        import torch
        from benchmarks.on_torch import architectures

        self.torch, self.device = torch, device
        torch.backends.cudnn.benchmark = True
        self.model = architectures()["CIFARResNet"](10, 20)
        weights = dict(network(seed).named_parameters())
        with torch.no_grad():
            for name, p in self.model.named_parameters():
                p.copy_(torch.from_numpy(weights[name].numpy()))
        self.model.to(device, memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.model.parameters(), **SGD)
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, total_steps=steps, **CYCLE
        )
        self.scaler = torch.amp.GradScaler(device)

    def _batches(self, loader):
        for x, t in loader:
            x, t = self.torch.from_numpy(x.numpy()), self.torch.from_numpy(t.numpy())
            x = x.contiguous(memory_format=self.torch.channels_last)
            if self.device == "cuda":
                x, t = x.pin_memory(), t.pin_memory()
            yield x.to(self.device, non_blocking=True), t.to(self.device, non_blocking=True)

    def epoch(self, loader):
        """Train on all batches; the mean loss."""
        self.model.train()
        losses = []
        for x, t in self._batches(loader):
            self.optimizer.zero_grad()
            with self.torch.autocast(self.device, self.torch.float16):
                loss = self.torch.nn.functional.cross_entropy(self.model(x), t)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.schedule.step()
            losses.append(loss.detach())
        return self.torch.stack(losses).mean().item()

    def right(self, loader):
        """How many test pictures are classified rightly."""
        self.model.eval()
        with self.torch.no_grad(), self.torch.autocast(self.device, self.torch.float16):
            return sum(
                (self.model(x).argmax(1) == t).sum().item() for x, t in self._batches(loader)
            )


def train(arm, seed, epochs, device, pictures, bar):
    """Train an arm: a row of figures for each epoch."""
    training, test = (
        fp.data.Subset(whole, range(min(pictures, len(whole)))) for whole in fp.data.cifar10()
    )
    where = "cpu" if arm == "amp" else device
    batches = fp.data.DataLoader(
        training, BATCH, shuffle=True, drop_last=True, seed=seed, transform=CROP, prefetch=4,
        device=where,
    )  # fmt: skip
    tests = fp.data.DataLoader(test, TEST_BATCH, prefetch=2, device=where)
    steps = epochs * len(batches)
    run = Theirs(seed, steps, device) if arm == "amp" else Ours(arm, seed, steps, device)
    for epoch in range(1, epochs + 1):
        began = time.perf_counter()
        loss = run.epoch(batches)  # reads the losses, and so waits for the GPU
        seconds = time.perf_counter() - began
        accuracy = 100 * run.right(tests) / len(test)
        bar.set_postfix_str(f"{arm} {accuracy:.1f}%")
        bar.update()
        yield [arm, seed, epoch, f"{seconds:.3f}", f"{loss:.5f}", f"{accuracy:.2f}"]


HEAD = ["arm", "seed", "epoch", "seconds", "loss", "accuracy"]


def write(path, rows):
    """All rows so far."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([HEAD, *rows])


def page(rows, device):
    """What the rows say, as Markdown: a line for each arm."""
    lines = [f"ResNet-20 on CIFAR-10, {device}. In brackets: after how many epochs.", ""]
    lines += ["| arm | test accuracy (%), each seed | seconds an epoch | training, s |"]
    lines += ["| --- | --- | --- | --- |"]
    for arm in dict.fromkeys(row[0] for row in rows):
        own = [row for row in rows if row[0] == arm]
        ends = {row[1]: f"{row[5]} ({row[2]})" for row in own}  # the last of each seed
        seconds = [float(row[3]) for row in own]
        each, total = statistics.median(seconds), sum(seconds)
        lines.append(f"| {NAMES[arm]} | {', '.join(ends.values())} | {each:.2f} | {total:.0f} |")
    return "\n".join(lines) + "\n"


def draw(rows, path):
    """Accuracy over seconds of training, a line for each run."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    arms = list(dict.fromkeys(row[0] for row in rows))
    for arm, seed in dict.fromkeys((row[0], row[1]) for row in rows):
        own = [row for row in rows if (row[0], row[1]) == (arm, seed)]
        seconds = [sum(float(row[3]) for row in own[: i + 1]) for i in range(len(own))]
        name = NAMES[arm] if seed == rows[0][1] else None
        color = f"C{arms.index(arm)}"
        axes.plot(seconds, [float(row[5]) for row in own], color=color, label=name)
    axes.set(xlabel="seconds of training", ylabel="test accuracy (%)", title="ResNet-20, CIFAR-10")
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=120)


NAMES = {"float32": "minifp, float32", "mixed": "minifp, mixed", "amp": "PyTorch, AMP"}


def name_of(device):
    """What computes."""
    if device == "cpu":
        return "on the CPU"
    import cupy

    return "on an " + cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()


def main():
    """The command line."""
    kind = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=kind)
    add = parser.add_argument
    add("--out", type=Path, default=Path("runs/cifar"), help="a folder (runs/cifar)")
    add("--arms", nargs="+", choices=NAMES, default=list(NAMES), help="(all)")
    add("--epochs", type=int, default=30, help="(30)")
    add("--seeds", type=int, default=1, help="how many (1)")
    add("--pictures", type=int, default=50_000, help="at most so many, to try this (all)")
    add("--device", choices=["cuda", "cpu"], default="cuda", help="(cuda)")
    given = parser.parse_args()
    for name, least in (("epochs", 1), ("seeds", 1), ("pictures", BATCH)):
        if getattr(given, name) < least:
            parser.error(f"--{name} {getattr(given, name)}: expected at least {least}")
    if "amp" in given.arms and importlib.util.find_spec("torch") is None:
        parser.error("the arm amp needs PyTorch: install it, or give --arms float32 mixed")
    given.out.mkdir(parents=True, exist_ok=True)
    rows = []
    bar = tqdm(total=given.epochs * given.seeds * len(given.arms), unit="epoch")
    try:
        for seed, arm in itertools.product(range(given.seeds), given.arms):
            for row in train(arm, seed, given.epochs, given.device, given.pictures, bar):
                rows.append(row)
                write(given.out / "cifar.csv", rows)
    finally:
        bar.close()
        if rows:
            text = page(rows, name_of(given.device))
            (given.out / "cifar.md").write_text(text, encoding="utf-8")
            draw(rows, given.out / "cifar.png")
            print(text)


if __name__ == "__main__":
    try:
        main()
    except fp.errors.MinifpError as error:  # such as no GPU, or no data
        sys.exit(f"gpu_cifar.py: {error}")
