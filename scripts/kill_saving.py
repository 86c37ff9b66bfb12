"""Kill a process that does hardly anything but save checkpoints, many times, at random moments.

After each kill the last complete checkpoint must load, and hold what was last known to be saved or
more. Prints how often a save was under way when the process was killed.

    python scripts/kill_saving.py --times 200
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tqdm import tqdm

import minifp as fp
from minifp import nn, optim

CHILD = """
import sys
sys.path.insert(0, sys.argv[1])
import kill_saving
kill_saving.train(sys.argv[2])
"""


def make(width=256):
    """A model whose checkpoint takes a few milliseconds to write, and its optimizer."""
    with fp.precision("mixed"):
        model = nn.Linear(width, width)
    return model, fp.MixedOptimizer(optim.Adam(model.parameters()))


def train(path):
    """Go on from the checkpoint and save after every step, for ever."""
    model, optimizer = make()
    step = fp.load(path, model, optimizer)["step"]
    x = fp.ones(1, 256)
    while True:
        optimizer.minimize(model(x).square().mean())
        step += 1
        fp.save(path, model, optimizer, extra={"step": step})
        print(step, flush=True)


def parts_in(folder):
    """What was being written."""
    return list(folder.glob("minifp-*.part"))


def kill_once(path, least, most):
    """Let a child train, kill it; the last step that it said was saved, and whether it was saving.

    The kill comes between `least` and `most` seconds after the first save.
    """
    command = [sys.executable, "-c", CHILD, str(Path(__file__).parent), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as child:
        first = int(child.stdout.readline())
        time.sleep(random.uniform(least, most))
        child.kill()
        said = child.stdout.read().split("\n")[:-1]  # whole lines
    return int(said[-1]) if said else first, parts_in(path.parent) != []


def main():
    """Kill, load, count."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=100, help="how often to kill (100)")
    parser.add_argument("--out", type=Path, help="write the counts there, as JSON")
    arguments = parser.parse_args()
    counts = {"killed": 0, "while a file was being written": 0, "checkpoints lost": 0, "steps": 0}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint.safetensors"
        model, optimizer = make()
        fp.save(path, model, optimizer, extra={"step": 0})
        for _ in tqdm(range(arguments.times), unit="kill"):
            said, writing = kill_once(path, 0.0, 0.2)
            counts["killed"] += 1
            counts["while a file was being written"] += writing
            for part in parts_in(path.parent):
                part.unlink()
            try:
                step = fp.load(path, model, optimizer)["step"]
                lost = not (said <= step <= said + 1 and step == optimizer.optimizer.steps)
                counts["steps"] = step
            except fp.CheckpointError as error:
                tqdm.write(str(error))
                lost = True
            counts["checkpoints lost"] += lost
    text = json.dumps(counts, indent=1)
    print(text)
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
