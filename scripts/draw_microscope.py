"""Draw what the microscope shows, for docs/microscope.md: trains, measures, writes one picture.

    python scripts/draw_microscope.py --out docs/microscope.png

(a) the advice on the loss scale, and what training with constant scales came to; (b) where the
gradients of an LSTM's gates lie; (c) updates lost with and without master weights; (d) an overflow
planted in a layer, and its diagnosis; (e) the memory ledger beside the growth of the process (on
Linux). Takes about two minutes.
"""

import argparse
import gc
import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
from tqdm import tqdm

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim
from minifp.lab.tasks import CHARACTERS
from minifp.models import MLP, CharLSTM
from minifp.report import drawing, words
from minifp.scope.histogram import total_of
from minifp.scope.memory.ledger import MemoryLedger
from minifp.scope.observed import WEIGHT_GRADIENTS
from minifp.scope.page.figures import GOOD, KEPT, LOST, SHADE, window

STEPS = 200
SCALES = (0, 2, 4, 5, 7, 12, 18, 24)  # log2, tried in training
DIAL = 11


def batches(dataset, size):
    """Batches, epoch after epoch."""
    while True:
        yield from fp.data.DataLoader(dataset, batch_size=size, shuffle=True)


def char_lstm(precision, dial, scale="dynamic", hidden=128):
    """The microscope of a character LSTM, and its mean loss at the end."""
    fp.manual_seed(0)
    feed = batches(fp.data.shakespeare(length=32)[0], 32)
    with fp.precision(precision):
        model = CharLSTM(CHARACTERS, hidden=hidden)
        adam = optim.Adam(model.parameters(), lr=2e-3)
        optimizer = fp.MixedOptimizer(adam, scale, dial=dial)
        with fp.microscope(model, optimizer, every=20) as scope:
            losses = []
            for _, (x, t) in zip(range(STEPS), feed):
                losses.append(F.cross_entropy(model(x), t))
                optimizer.minimize(losses[-1])
    return scope, float(np.mean([loss.item() for loss in losses[-10:]]))


def digits(precision):
    """The paper's figure 2a on digits: the shares of updates that were lost, look by look."""
    fp.manual_seed(0)
    feed = batches(fp.data.digits()[0], 32)
    with fp.precision(precision):
        model = MLP(64, 128, 64, 10)
        for p in model.parameters():
            if p.ndim == 2:
                nn.init.kaiming_normal_(p, nonlinearity="relu")
        optimizer = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=1e-5))
        with fp.microscope(model, optimizer, every=50) as scope:
            for _, (x, t) in zip(range(1001), feed):
                optimizer.minimize(F.cross_entropy(model(x), t))
    told = []
    for step in scope.steps:
        wanted = sum(u.wanted for u in step.updates.values())
        told.append((step.step, sum(u.lost for u in step.updates.values()) / wanted))
    return np.array(told).T


class Gain(nn.Module):
    """A layer that multiplies."""

    gain = 1.0

    def forward(self, x):
        """gain x"""
        return x * self.gain


class Net(nn.Module):
    """A network with a layer that can be made to overflow."""

    def __init__(self):
        self.first, self.gain, self.last = nn.Linear(64, 64), Gain(), nn.Linear(64, 10)

    def forward(self, x):
        """Logits."""
        return self.last(self.gain(F.relu(self.first(x))))


def planted():
    """The microscope of a run that overflows in forward at its 15th step."""
    fp.manual_seed(0)
    feed = batches(fp.data.digits()[0], 32)
    with fp.precision("mixed"):
        model = Net()
        scale = fp.DynamicLossScale(2.0**20, growth_interval=8)
        optimizer = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=1e-3), scale)
        with fp.microscope(model, optimizer) as scope:
            for i, (x, t) in zip(range(30), feed):
                model.gain.gain = 1e6 if i == 14 else 1.0
                optimizer.minimize(F.cross_entropy(model(x.reshape(-1, 64)), t))
    return scope


# ---- the ledger and the process -----------------------------------------------------------------


def status(name):
    """Bytes of this process that Linux tells by this name."""
    found = re.search(name + r":\s+(\d+)", Path("/proc/self/status").read_text(encoding="ascii"))
    return 1024 * int(found[1])


def growth(precision):
    """The growth over a step of an LSTM: by the ledger, and of the process. In a child."""
    fp.manual_seed(0)
    with fp.precision(precision):
        model = CharLSTM(65, hidden=256)
        optimizer = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=1e-3))
        x = fp.randint(65, (96, 64))

        def step():
            optimizer.zero_grad()
            optimizer.backward(F.cross_entropy(model(x), x))
            optimizer.step()

        step()
        with MemoryLedger(model, optimizer) as ledger:
            step()
        step()
        optimizer.zero_grad()
        gc.collect()
        before = status("VmRSS")
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
        step()
        return ledger.memory.growth, status("VmHWM") - before


def growths():
    """In both precisions, each in a process that gives freed memory back; {} but on Linux."""
    if not Path("/proc/self/clear_refs").exists():
        return {}
    settings = {"MALLOC_MMAP_THRESHOLD_": "16384", "MALLOC_TRIM_THRESHOLD_": "0"}
    environment = {**os.environ, **settings, "MALLOC_TOP_PAD_": "0", "MINIFP_THREADS": "1"}
    found = {}
    for precision in ("float32", "mixed"):
        command = [sys.executable, __file__, "--child", precision]
        done = subprocess.run(
            command, env=environment, capture_output=True, check=True, encoding="utf-8"
        )
        found[precision] = json.loads(done.stdout)
    return found


# ---- the picture --------------------------------------------------------------------------------

LEGEND = {"fontsize": 7, "frameon": True, "facecolor": drawing.PAPER, "edgecolor": "none"}
LEGEND |= {"framealpha": 1}  # nothing shines through the words


def draw_advice(axes, scope, reference, ends):
    """(a)"""
    advice = scope.advice()
    ks = list(range(-1, 27))
    axes.axvspan(max(advice.low, -1), min(advice.high, 26), color=GOOD, alpha=0.16, lw=0)
    axes.plot(ks, [advice.errors[k] for k in ks], color=LOST, label="error of the worst layer")
    axes.plot(ks, [advice.flushed[k] for k in ks], color=KEPT, dashes=(5, 1.6), label="flushed")
    axes.set_ylim(-0.03, 1.03)
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    other = axes.twinx()
    other.plot(list(ends), list(ends.values()), "ko", markersize=4, label="loss at the end")
    other.axhline(reference, color=SHADE, lw=1, dashes=(2, 2), label="in float32")
    other.set_ylabel("training loss")
    axes.set_xticks(range(0, 27, 4), [words.superscript(k) for k in range(0, 27, 4)])
    axes.set_xlabel(f"loss scale (exponent dial {DIAL})")
    handles = [*axes.get_legend_handles_labels()[0], *other.get_legend_handles_labels()[0]]
    other.grid(False)  # one grid is enough
    other.legend(handles=handles, **LEGEND)
    axes.set_title("(a) the advised range, and training at constant scales")


def draw_gates(axes, scope, dial):
    """(b)"""
    names = ("lstm.weight_ih_l0", "lstm.weight_hh_l0")
    h = total_of(s.histograms[WEIGHT_GRADIENTS][n] for s in scope.steps for n in names)
    below = sum(n for e, n in h.exponents.items() if e < -24) / h.nonzero
    window(axes, 0)
    for e, n in h.exponents.items():
        axes.bar([e], [n / h.nonzero], 0.86, color=LOST if e < -25 else KEPT)
    axes.set_xlim(-42, 4)
    axes.set_xticks(range(-40, 5, 8), [words.superscript(k) for k in range(-40, 5, 8)])
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.grid(False)
    axes.set_title(f"(b) an LSTM's gates: {below:.0%} of gradients below 2⁻²⁴")
    axes.set_xlabel(f"magnitude of gradients (exponent dial {dial})")
    return below


def draw_updates(axes, without, masters):
    """(c)"""
    axes.plot(*without, color=LOST, label="float16 weights alone")
    axes.plot(*masters, color=KEPT, label="with float32 masters")
    axes.set_ylim(-0.03, 1.03)
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.set_xlabel("step (digits, Adam, rate 1e-5)")
    axes.legend(loc="center right", **LEGEND)
    axes.set_title("(c) updates that were lost")


def draw_planted(axes, scope):
    """(d)"""
    steps, logs = np.arange(1, scope.count + 1), np.log2(scope.scales)
    skipped = np.array(scope.skipped, bool)
    axes.step(steps, logs, where="mid", color=KEPT)
    axes.plot(steps[skipped], logs[skipped], "x", color=LOST)
    axes.set_ylim(logs.min() - 1, logs.max() + 4.5)
    axes.yaxis.set_major_formatter(lambda k, _: words.superscript(round(k)) if k % 1 == 0 else "")
    (found,) = (d for d in scope.diagnoses if d["phase"] == "forward")
    said = re.sub(r" \(.*?: ", " (", found["text"])
    said = f"step {found['step']}: {said}"
    box = {"facecolor": drawing.PAPER, "edgecolor": "none", "pad": 2}
    said = textwrap.fill(said, 62)
    axes.text(0.02, 0.97, said, transform=axes.transAxes, va="top", fontsize=7, bbox=box)
    axes.set_xlabel("step")
    axes.set_title("(d) an overflow planted at step 15, diagnosed")


def draw_memory(axes, found):
    """(e)"""
    for i, (told, measured) in enumerate(found.values()):
        axes.barh([i - 0.19], [told / 2**20], 0.36, color=KEPT, label=None if i else "the ledger")
        label = None if i else "the process (peak RSS)"
        axes.barh([i + 0.19], [measured / 2**20], 0.36, color=SHADE, label=label)
    axes.set_yticks(range(len(found)), list(found))
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.grid(False, axis="y")
    axes.set_xlabel("MiB")
    axes.legend(loc="lower right", **LEGEND)
    axes.set_title("(e) growth over a step of an LSTM")


def main():
    """Train, measure, draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("docs/microscope.png"))
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(growth(given.child)))
        return
    scope, reference = char_lstm("float32", DIAL, None)
    ends = {k: char_lstm("mixed", DIAL, 2.0**k)[1] for k in tqdm(SCALES, desc="constant scales")}
    gates = char_lstm("float32", 7, None)[0]
    off, on = digits("mixed,loss_scale=1024,master_weights=off"), digits("mixed,loss_scale=1024")
    print("loss in float32", reference, "at 2^k", ends, "\n" + str(scope.advice()))
    print("lost without masters", off[1, -1], "with", on[1, -1])
    with drawing.settings():
        from matplotlib.figure import Figure

        drawn = Figure(figsize=(10, 8.6))
        drawn.set_layout_engine("constrained", h_pad=0.09, w_pad=0.09)
        places = drawn.add_gridspec(3, 2, height_ratios=(3, 3, 1.5))
        grid = [drawn.add_subplot(places[i // 2, i % 2]) for i in range(4)]
        grid.append(drawn.add_subplot(places[2, :]))  # the fifth is as wide as two
        draw_advice(grid[0], scope, reference, ends)
        print("gate gradients below 2^-24", draw_gates(grid[1], gates, 7))
        draw_updates(grid[2], off, on)
        draw_planted(grid[3], planted())
        found = growths()
        draw_memory(grid[4], found)
        print("growth in bytes, ledger and process", found)
        drawn.savefig(given.out, dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    main()
