"""What the microscope costs: training steps with it, in turn with the same steps without it.

    python scripts/bench_microscope.py --out scripts/results/microscope.json

For LeNet (on digits of 8x8, 64 at once; and of 28x28, 128 at once, as scripts/bench.py has it) and
the character LSTM (Shakespeare), in float32 and mixed: the time of runs of
steps without a microscope, and with one that looks at every 20th; both from the same weights and on
the same batches, in turn, round after round; and the memory that its findings hold. The ratio is
the median of the rounds' ratios, as other programs take time from both alike.
"""

import argparse
import json
import time
import tracemalloc
from itertools import islice
from pathlib import Path
from statistics import median

from tqdm import tqdm

import minifp as fp
from minifp.lab.environment import environment
from minifp.lab.tasks import load_task
from minifp.models import LeNet

EVERY = 20


class Rig:
    """One model with its batches, which goes on training."""

    def __init__(self, name, precision, batches):
        name, large, _ = name.partition("28")
        task = load_task(name)
        fp.manual_seed(0)
        self.loss = task.loss
        with fp.precision(precision):
            self.model = LeNet(classes=10) if large else task.model()
            self.optimizer = fp.MixedOptimizer(task.optimizer(self.model.parameters()))
            loader = fp.data.DataLoader(task.data()[0], batch_size=task.batch_size, shuffle=True)
            self.batches = list(islice(loader, batches))
            if large:
                self.batches = [(fp.rand(128, 1, 28, 28), fp.randint(10, (128,)))] * batches

    def run(self, steps):
        """Seconds of so many steps."""
        start = time.perf_counter()
        for i in range(steps):
            x, t = self.batches[i % len(self.batches)]
            self.optimizer.minimize(self.loss(self.model(x), t))
        return time.perf_counter() - start

    def watched(self, steps):
        """Seconds of so many steps under a microscope, and what it found."""
        with fp.microscope(self.model, self.optimizer, every=EVERY) as scope:
            seconds = self.run(steps)
        return seconds, scope


def measure(name, precision, rounds, steps):
    """The figures of one network in one precision."""
    rig = Rig(name, precision, 8)
    rig.watched(EVERY + 1)  # compiles
    plain, ratios = [], []
    for _ in tqdm(range(rounds), desc=f"{name} {precision}", leave=False):
        plain.append(rig.run(steps) / steps)
        ratios.append(rig.watched(steps)[0] / steps / plain[-1])
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    scope = rig.watched(50 * EVERY // 10)[1]
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return {
        "step": median(plain), "ratio": median(ratios), "lowest": min(ratios),
        "bytes of a step looked at": held / max(1, len(scope.steps)),
    }  # fmt: skip


def main():
    """Measure, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=5 * EVERY, help="of each round")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    given = parser.parse_args()
    found = {"environment": environment(), "every": EVERY, "steps": given.steps}
    for threads in given.threads:
        fp.set_num_threads(threads)
        for name in ("lenet", "lenet28", "charlstm"):
            for precision in ("float32", "mixed"):
                result = measure(name, precision, given.rounds, given.steps)
                found[f"{name}, {precision}, {threads} threads"] = result
                print(f"{name} {precision}, {threads} threads: step {result['step']:.4f} s, with "
                      f"microscope x {result['ratio']:.3f} (least {result['lowest']:.3f}), "
                      f"{result['bytes of a step looked at'] / 1024:.0f} KiB a look")  # fmt: skip
    if given.out:
        given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
