"""The faces of other systems side by side: what each stores, holds and skips, and what it learns.

The same small CNN learns the bundled digits behind each face, each in a process of its own: with
its loss as it is, and times 2^-20 (and its rate times 2^20), where gradients in float16 need a loss
scale. One step more is given a loss of Inf, to see what is skipped.

    python scripts/compare_faces.py --docs docs/faces.md --out scripts/results/faces.json
"""

import argparse
import json
import os
import subprocess
import sys
import warnings
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import numpy as np
from tqdm.auto import tqdm

import minifp as fp
from minifp import nn, optim
from minifp.autograd import tape
from minifp.autograd.loss_seed import automatic
from minifp.lab.memory import measure_bytes
from minifp.nn import functional as F
from minifp.numerics import kernels

SMALL, RATE = 2.0**-20, 0.05
BEGIN = "<!-- made by scripts/compare_faces.py -->\n<!-- run: faces() -->"
END = "<!-- until here -->"


def network():
    """Two convolutions, of which each has a norm, and a linear layer."""
    return nn.Sequential(
        *(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(64, 10)),
    )


def plain(model, rate):
    """The optimizer that every face is given."""
    return optim.SGD(model.parameters(), lr=rate, momentum=0.9)


class Face:
    """A training step as a face writes it. optimizer: what it steps with."""

    def __init__(self, rate):
        self.model = network()
        self.optimizer = plain(self.model, rate)

    def step(self, loss_of):
        """One step. loss_of: of a model, the loss of a batch."""
        self.optimizer.zero_grad()
        loss_of(self.model).backward()
        self.optimizer.step()

    @property
    def scale(self):
        """S; 1 where there is none."""
        return automatic[-1].loss_scale.value if automatic else 1.0

    def evaluating(self):
        """The context of evaluation."""
        return nullcontext()


class Float32(Face):
    """No face: what all are held against."""


class Variable(Face):
    """The same script in a process that has MINIFP_AUTO_MIXED_PRECISION."""


class Minifp(Face):
    """fp.precision("mixed") and an fp.MixedOptimizer."""

    def __init__(self, rate):
        with fp.precision("mixed"):
            self.model = network()
            self.optimizer = fp.MixedOptimizer(plain(self.model, rate))

    def step(self, loss_of):
        self.optimizer.minimize(loss_of(self.model))

    @property
    def scale(self):
        return self.optimizer.scale


class Keras(Minifp):
    """The policy "mixed_float16" and a LossScaleOptimizer."""

    def __init__(self, rate):
        fp.amp.set_global_policy("mixed_float16")
        self.model = network()
        self.optimizer = fp.amp.LossScaleOptimizer(plain(self.model, rate))


class Fluid(Minifp):
    """decorate's optimizer, of fluid's contrib.mixed_precision."""

    def __init__(self, rate):
        self.model = network()
        self.optimizer = fp.paddle.mixed_precision.decorate(plain(self.model, rate))

    def step(self, loss_of):
        with self.evaluating():
            loss = loss_of(self.model)
        self.optimizer.minimize(loss)

    def evaluating(self):
        return fp.paddle.amp.auto_cast()


class PyTorch(Face):
    """autocast and a GradScaler."""

    def __init__(self, rate):
        super().__init__(rate)
        self.scaler = fp.GradScaler("cpu")

    def step(self, loss_of):
        self.optimizer.zero_grad()
        with self.evaluating():
            loss = loss_of(self.model)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()

    @property
    def scale(self):
        return self.scaler.get_scale()

    def evaluating(self):
        return fp.autocast("cpu", dtype=fp.float16)


class Apex(Face):
    """initialize at a level, and scale_loss."""

    level = ""

    def __init__(self, rate):
        super().__init__(rate)
        fp.amp.initialize(self.model, self.optimizer, opt_level=self.level, verbosity=0)

    def step(self, loss_of):
        self.optimizer.zero_grad()
        with fp.amp.scale_loss(loss_of(self.model), self.optimizer) as scaled:
            scaled.backward()
        self.optimizer.step()

    @property
    def scale(self):
        return fp.amp.state_dict()["loss_scaler0"]["loss_scale"]


class Paddle(PyTorch):
    """paddle.amp at the level O2, with its GradScaler."""

    def __init__(self, rate):
        Face.__init__(self, rate)
        fp.paddle.amp.decorate(self.model, self.optimizer, level="O2")
        self.scaler = fp.paddle.amp.GradScaler()

    def evaluating(self):
        return fp.paddle.amp.auto_cast(level="O2")


FACES = {
    "float32": Float32,
    "minifp, mixed": Minifp,
    "PyTorch": PyTorch,
    **{f"Apex {o}": type(o, (Apex,), {"level": o}) for o in ("O0", "O1", "O2", "O3")},
    "Keras": Keras,
    "fluid": Fluid,
    "Paddle O2": Paddle,
    "variable = 1": Variable,
    "variable = mixed": Variable,
}


# ---- measuring one, in its process --------------------------------------------------------------


class Formats:
    """An observer of tape and kernels: the formats that operations store, and sum products in."""

    def __init__(self):
        self.stored, self.sums = Counter(), set()

    def on_record(self, node, outputs):
        """An operation is done."""
        for y in outputs:
            if y.dtype.kind == "f" and node.op != "cast":
                self.stored[y.dtype.name] += 1

    def on_gradient(self, node, gradient):
        """A gradient has arrived."""

    def on_release(self, node):
        """A node is used up."""

    def on_kernel(self, kernel, args, results, formats):
        """A kernel is done."""
        self.sums |= {formats.dot_in.name, formats.sum_in.name}


def batches(seed):
    """Batches of digits in the order of a seed, the same behind each face."""
    fp.manual_seed(seed)
    train, test = fp.data.digits()
    loaded = fp.data.DataLoader(train, batch_size=64, shuffle=True)
    return loaded, fp.data.DataLoader(test, batch_size=360)


def learned(face, seed, epochs, factor):
    """(test accuracy, steps in which no weight changed, last S), trained with losses * factor."""
    loaded, test = batches(seed)
    worn = face(RATE / factor)
    skipped = 0
    for _ in range(epochs):
        for x, t in loaded:
            before = weights_of(worn)
            worn.step(lambda model, x=x, t=t: F.cross_entropy(model(x), t) * factor)
            skipped += all(np.array_equal(a, b) for a, b in zip(before, weights_of(worn)))
    worn.model.eval()
    with fp.no_grad(), worn.evaluating():
        right = [(worn.model(x).argmax(1) == t).numpy() for x, t in test]
    return 100 * float(np.concatenate(right).mean()), skipped, worn.scale


def weights_of(worn):
    """Copies of the weights."""
    return [p.numpy().copy() for p in worn.model.parameters()]


def looked_at(face):
    """What is stored and held in a step, and what one with a loss of Inf does."""
    loaded, _ = batches(0)
    worn = face(RATE)
    (x, t), *_ = loaded

    def step(factor=1.0):
        worn.step(lambda model: F.cross_entropy(model(x), t) * factor)

    step()
    formats = Formats()
    for observers in (tape.observers, kernels.observers):
        observers.append(formats)
    step()
    for observers in (tape.observers, kernels.observers):
        observers.remove(formats)
    with measure_bytes(worn.model, worn.optimizer) as held:
        step()
    before, first = weights_of(worn), worn.scale
    step(float("inf"))
    after = weights_of(worn)
    kept = all(np.array_equal(a, b) for a, b in zip(before, after))
    left = [p.grad for p in worn.model.parameters() if p.grad is not None]
    step()  # some adapt S only now
    norms = {p.dtype.name for n, p in worn.model.named_parameters() if n.split(".")[0] in "15"}
    rest = {p.dtype.name for n, p in worn.model.named_parameters() if n.split(".")[0] not in "15"}
    return {
        "weights": sorted(rest),
        "norms": sorted(norms),
        "activations": dict(formats.stored.most_common()),
        "sums": sorted(formats.sums),
        "masters": bool(held["masters"]),
        "scale": first,
        "scale_after_inf": worn.scale,
        "step_is_skipped": kept,
        "weights_after_inf": "finite" if all(np.isfinite(a).all() for a in after) else "NaN",
        "gradients_left": bool(left),
        "bytes": held,
    }


def measured(name, seeds, epochs):
    """All that is known of a face."""
    face = FACES[name]
    warnings.simplefilter("ignore", fp.MisuseWarning)  # O3 and float32: that S is missing
    found = looked_at(face)
    for key, factor in (("accuracy", 1.0), ("accuracy_of_small", SMALL)):
        runs = [learned(face, seed, epochs, factor) for seed in range(seeds)]
        found[key] = [accuracy for accuracy, _, _ in runs]
        found[f"skipped_for_{key}"] = [skipped for _, skipped, _ in runs]
        found[f"scale_for_{key}"] = [scale for _, _, scale in runs]
    return found


# ---- all of them --------------------------------------------------------------------------------


def in_a_process(name, seeds, epochs):
    """`measured`, in a process that has the face's variable."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("MINIFP_")}
    mode = name.partition(" = ")[2]
    if mode:
        kept["MINIFP_AUTO_MIXED_PRECISION"] = mode
    command = [sys.executable, __file__, "--face", name, "--seeds", str(seeds)]
    done = subprocess.run(
        [*command, "--epochs", str(epochs)],
        env=kept, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"{name}: {done.stderr}")
    return json.loads(done.stdout)


def table(results):
    """The table of all faces, in Markdown."""
    lines = [
        "| face | weights (norms) | stored by operations | sums | masters | S: first, after an Inf "
        "| a step with Inf | bytes at the peak | accuracy | with gradients 2^20"
        "<!-- constant: 2**20 --> times smaller |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, r in results["faces"].items():
        weights, norms = ", ".join(r["weights"]), ", ".join(r["norms"])
        stored = ", ".join(f"{n} {format}" for format, n in r["activations"].items())
        scale = f"{r['scale']:g}, {r['scale_after_inf']:g}" if r["scale"] != 1 else "none"
        inf = f"weights are {r['weights_after_inf']}"
        if r["step_is_skipped"]:
            inf = f"skipped; gradients {'stay' if r['gradients_left'] else 'are cleared'}"
        cells = [
            *(name, weights if norms == weights else f"{weights} ({norms})", stored),
            *(", ".join(r["sums"]), "float32" if r["masters"] else "none", scale, inf),
            *(f"{sum(r['bytes'].values()) / 1024:,.0f} KiB", spread(r["accuracy"])),
            spread(r["accuracy_of_small"]),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def spread(percents):
    """A mean over seeds, and how far they lie from it."""
    return f"{np.mean(percents):.1f} ± {np.std(percents, ddof=1) if len(percents) > 1 else 0:.1f} %"


def main():
    """Measure all faces, or one in this process."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5, help="how many are averaged (5)")
    parser.add_argument("--epochs", type=int, default=5, help="of training (5)")
    parser.add_argument("--face", choices=FACES, help="one alone, in this process: prints JSON")
    parser.add_argument("--out", type=Path, help="write all figures there, as JSON")
    parser.add_argument("--docs", type=Path, help="put the table into this page, between its marks")
    arguments = parser.parse_args()
    if arguments.seeds < 1 or arguments.epochs < 1:
        parser.error("--seeds and --epochs: expected at least 1")
    if arguments.face:
        print(json.dumps(measured(arguments.face, arguments.seeds, arguments.epochs)))
        return
    results = {"seeds": arguments.seeds, "epochs": arguments.epochs, "faces": {}}
    for name in tqdm(FACES, unit="face"):
        results["faces"][name] = in_a_process(name, arguments.seeds, arguments.epochs)
    print(table(results))
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if arguments.docs:
        page = arguments.docs.read_text(encoding="utf-8")
        head, (_, tail) = page.split(BEGIN)[0], page.split(BEGIN)[1].split(END)
        arguments.docs.write_text(f"{head}{BEGIN}\n{table(results)}\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
