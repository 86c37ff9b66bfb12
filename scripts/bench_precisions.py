"""What a training step takes in each precision, beside the first one, step by step in alternation.

    python scripts/bench_precisions.py mixed bfloat16 float8 --threads 1

LeNet (28 by 28 pixels, 64 pictures) and the character LSTM (64 steps of 32 sequences). Ratios are
medians of those of steps that were done one right after the other.
"""

import argparse
import os
import statistics
import time


def options():
    """What the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("precisions", nargs="+", help="as mixed or bfloat16,master_weights=off")
    add("--threads", default="1", help="how many (1)")
    add("--rounds", type=int, default=60, help="steps in each precision (60)")
    given = parser.parse_args()
    if given.rounds < 1:
        parser.error(f"--rounds {given.rounds}: expected at least 1")
    return given


def networks():
    """Of each network its name, what makes it, and a batch: inputs and targets."""
    import numpy as np

    from minifp import models

    rng = np.random.default_rng(0)
    pictures = rng.normal(0, 1, (64, 1, 28, 28)).astype(np.float32)
    yield "LeNet", models.LeNet, pictures, rng.integers(0, 10, 64)
    texts = rng.integers(0, 65, (2, 64, 32))
    yield "LSTM", lambda: models.CharLSTM(65), texts[0], texts[1].reshape(-1)


def step_of(make, x, targets, precision):
    """A function that does one step."""
    import minifp as fp
    from minifp.nn import functional as F

    with fp.precision(precision):
        model = make()
        optimizer = fp.MixedOptimizer(fp.optim.SGD(model.parameters(), lr=0.01))
        x, targets = fp.tensor(x), fp.tensor(targets)

    def step():
        y = model(x)
        scores = y[0] if isinstance(y, tuple) else y
        optimizer.zero_grad()
        optimizer.backward(F.cross_entropy(scores.reshape(len(targets), -1), targets))
        optimizer.step()

    return step


def main():
    """Time steps, and print a table."""
    given = options()
    os.environ["MINIFP_THREADS"] = given.threads
    for name, *network in networks():
        steps = [step_of(*network, precision) for precision in given.precisions]
        for step in steps * 3:
            step()
        taken = []
        for _ in range(given.rounds):
            ends = [time.perf_counter()]
            for step in steps:
                step()
                ends.append(time.perf_counter())
            taken.append([end - start for start, end in zip(ends, ends[1:])])
        for precision, seconds in zip(given.precisions, zip(*taken)):
            ratio = statistics.median(s / row[0] for s, row in zip(seconds, taken))
            milliseconds = 1e3 * statistics.median(seconds)
            print(f"{name:6} {precision:40} {milliseconds:7.2f} ms {ratio:6.2f}")


if __name__ == "__main__":
    main()
