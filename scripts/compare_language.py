"""The gallery's language model, trained in float32 by PyTorch and by minifp: one perplexity?

    python scripts/compare_language.py --seeds 3 --scale evening --out runs/language

The network is that of models/biglstm.py, run with PyTorch's modules (see benchmarks/on_torch.py);
text, batches, optimizer, clipping, steps and evaluation are those of the exhibit in
exhibits/language.py. Only what is drawn at random differs: first weights and sampled
words. Seeds are trained by both in turn. Writes perplexity.json.
"""

import argparse
import json
import math
import sys
from pathlib import Path
from statistics import mean, stdev

import numpy as np
from tqdm import tqdm

import minifp as fp
from minifp.exhibits import language
from minifp.lab import run
from minifp.saving import files

sys.path.insert(0, str(Path(__file__).resolve().parent))  # where PyTorch's side is


def options():
    """What the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3, help="how many of each (3)")
    parser.add_argument("--scale", default="evening", choices=tuple(language.STEPS), help="evening")
    parser.add_argument("--out", type=Path, default=Path("runs/language"), help="a folder")
    given = parser.parse_args()
    if given.seeds < 1:
        parser.error(f"--seeds {given.seeds}: expected at least 1")
    return given


def theirs(task, sets, seed):
    """Perplexity of the test text after a training by PyTorch."""
    import torch
    from benchmarks.on_torch import architectures

    train_set, test_set = sets
    torch.manual_seed(seed)
    model = architectures()["BigLSTM"](
        *task.model.args, hidden=language.HIDDEN, projection=language.PROJECTION,
        layers=language.LAYERS, samples=language.SAMPLES,
    )  # fmt: skip
    model.head.random = np.random.default_rng(seed)
    optimizer = torch.optim.Adagrad(
        model.parameters(), lr=language.LR, initial_accumulator_value=language.FIRST_SUM
    )
    lanes = task.batch_size
    sampler = task.sampler(train_set, lanes)
    state, done = None, 0
    with tqdm(total=task.steps, desc=f"PyTorch, seed {seed}") as bar:
        while done < task.steps:
            for x, t in fp.data.DataLoader(train_set, lanes, sampler=sampler):
                x, t = (torch.from_numpy(a.numpy()).long() for a in (x, t))
                loss, state = model.loss(x, t, state)
                state = tuple(s.detach() for s in state)
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), language.CLIP)
                optimizer.step()
                bar.update()
                done += 1
                if done == task.steps:
                    break
    return math.exp(test_loss(model.eval(), test_set))


def test_loss(model, test_set):
    """The mean loss of a word, as the exhibit's evaluation has it."""
    import torch

    x, t = (torch.from_numpy(np.asarray(a)).long() for a in test_set[np.arange(len(test_set))])
    lanes = min(language.LANES, len(x))
    steps = len(x) // lanes
    x, t = (a[: lanes * steps].reshape(lanes, steps, -1) for a in (x, t))
    total, carried = 0.0, None
    with torch.no_grad():
        for k in range(steps):
            loss, carried = model.loss(x[:, k], t[:, k], carried)
            total += loss.item()
    return total / steps


def main():
    """Train, print and write."""
    given = options()
    task = language.language(given.scale)
    sets = task.data()
    found = {"minifp": [], "PyTorch": []}
    for seed in range(given.seeds):
        found["PyTorch"].append(theirs(task, sets, seed))
        ours = run.train(task, "float32", seed, sets).metric
        found["minifp"].append(math.exp(ours))
    given.out.mkdir(parents=True, exist_ok=True)
    told = {"scale": given.scale, "steps": task.steps, **found}
    files.write_all({given.out / "perplexity.json": json.dumps(told, indent=1) + "\n"})
    for name, values in found.items():
        spread = f" +- {stdev(values):.1f}" if len(values) > 1 else ""
        each = ", ".join(f"{v:.1f}" for v in values)
        print(f"{name}: perplexity {mean(values):.1f}{spread} ({each})")


if __name__ == "__main__":
    main()
