"""Record the training runs on which lesson 6 judges early-warning rules.

    python scripts/record_lesson_runs.py

Networks with and without a loss scale that fits, with the exponent dial at what is said; the
microscope looks at every tenth step. Takes a quarter of a minute.
"""

import argparse
import json
from pathlib import Path

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim
from minifp.models import MLP, CharLSTM
from minifp.saving import files

PLACE = Path(fp.__file__).parent / "teach" / "exercises" / "recorded_runs.json"
EVERY, STEPS = 10, 200
RISEN = 0.1  # nats above the lowest loss so far: then it has turned


def letters():
    """A character LSTM and its batches."""
    train, _ = fp.data.shakespeare(length=32)
    return (lambda: CharLSTM(65, hidden=64)), train


def digits():
    """A perceptron with ReLU, whose gradients are often exactly zero."""
    return (lambda: nn.Sequential(nn.Flatten(), MLP(64, 128, 64, 10))), fp.data.digits()[0]


def thinned():
    """One with dropout, nine of ten of whose gradients are exactly zero."""
    layers = (nn.Flatten, lambda: nn.Linear(64, 256), nn.ReLU, lambda: nn.Dropout(0.9))
    return (
        (lambda: nn.Sequential(*(make() for make in layers), nn.Linear(256, 10))),
        fp.data.digits()[0],
    )


RUNS = (  # what is trained, dial, log2 S, whether it ends well
    ("letters", letters, 11, 0, False),
    ("letters", letters, 11, 2, False),
    ("letters", letters, 11, 7, True),
    ("letters", letters, 0, 0, True),
    ("digits", digits, 17, 0, False),
    ("digits", digits, 17, 14, True),
    ("digits", digits, 0, 0, True),
    ("thinned digits", thinned, 0, 0, True),
    ("thinned digits", thinned, 17, 0, False),
)


def batches(dataset, count):
    """So many, epoch after epoch."""
    loader = fp.data.DataLoader(dataset, batch_size=32, shuffle=True, seed=0)
    while count > 0:
        for batch in loader:
            if count == 0:
                return
            count -= 1
            yield batch


def recorded(name, made, dial, k, ends_well):
    """One run: at each look the mean loss of the steps before, and of each layer's activation
    gradients, as stored, the shares that are zero and subnormal."""
    fp.manual_seed(0)
    make, dataset = made()
    with fp.precision(f"mixed,loss_scale={2.0**k}"):
        model = make()
        optimizer = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=2e-3), dial=dial)
    losses = []
    with fp.microscope(model, optimizer, every=EVERY) as scope:
        for x, t in batches(dataset, STEPS):
            loss = F.cross_entropy(model(x), t)
            optimizer.minimize(loss)
            losses.append(loss.item())
    looks = [look(seen, losses) for seen in scope.steps]
    about = {"name": name, "dial": dial, "log2 S": k, "ends well": ends_well}
    print(*about.items(), f"loss {losses[0]:.2f} to {looks[-1]['loss']:.2f}", turn(looks))
    return {**about, "turns at": turn(looks), "looks": looks}


def look(seen, losses):
    """What is to be known of one step."""
    before = losses[max(0, seen.step - EVERY) : seen.step]
    layers = {
        layer: {
            "zeros": round(h.zeros / h.total, 4),
            "subnormal": round(h.subnormal() / h.total, 4),
        }
        for layer, h in seen.histograms["activation gradients"].items()
    }
    return {"step": seen.step, "loss": round(sum(before) / len(before), 4), "layers": layers}


def turn(looks):
    """The first step at which the loss lies above its lowest so far; None for none."""
    lowest = looks[0]["loss"]
    for one in looks:
        lowest = min(lowest, one["loss"])
        if one["loss"] > lowest + RISEN:
            return one["step"]
    return None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=PLACE, help="the file that is written")
    out = parser.parse_args().out
    files.write(out, json.dumps([recorded(*run) for run in RUNS], separators=(",", ":")) + "\n")
    print(out)
