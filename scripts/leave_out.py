"""Leave out what docs/one-file.md says to leave out, one thing at a time, and train.

    python scripts/leave_out.py    # half a minute of a core

Each line: what was written otherwise in mixed_precision_in_one_file.py, the loss on the test set,
and what is right.
"""

import argparse
import sys
import types
from pathlib import Path

import numpy as np

FILE = Path(__file__).resolve().parent / "mixed_precision_in_one_file.py"
BRIGHT, LENET, LSTM = "BRIGHT, MIXED, steps=12", "LENET, MIXED", "LSTM, MIXED"
UPDATE = "    return w - rate * (m / (xp.sqrt(v) * factor + eps)), (m, v)"
# What is said; what is trained; by texts of the file what stands in their place.
CHANGES: list[tuple[str, str, dict[str, str]]] = [
    ("bright pixels", BRIGHT, {}),
    (
        "bright pixels, not widened",
        BRIGHT,
        {'    return x.astype("float32", copy=False)': "    return x"},
    ),
    ("LeNet", LENET, {}),
    (
        "LeNet, two roundings",
        LENET,
        {"is None else y + widen(bias)": "is None else widen(store(y)) + widen(bias)"},
    ),
    (
        "LeNet, rounded scores and exponentials",
        LENET,
        {
            "widen(z.array) - z.array.max(1, keepdims=True)": "widen(z.array)",
            "e = xp.exp(below)": "e = store(xp.exp(below))",
        },
    ),
    ("LSTM", LSTM, {}),
    (
        "LSTM, c not rounded",
        LSTM,
        {"c = store(f * widen(c) + i * g)": "c = f * widen(c) + i * g"},
    ),
    (
        "LeNet, moments in float16",
        LENET,
        {UPDATE: f"    m, v = (widen(x.astype('float16')) for x in (m, v))\n{UPDATE}"},
    ),
    (
        "LeNet, masters that begin rounded",
        LENET,
        {"p.master = array if": "p.master = widen(p.array) if"},
    ),
]
for seed in (1, 2, 3):
    for arm in ("FLOAT32", "MIXED"):
        other = {"default_rng(0)": f"default_rng({seed})"}
        CHANGES.append((f"LeNet, {arm}, seed {seed}", f"LENET, {arm}", other))


def trained(what: str, changes: dict[str, str]) -> tuple[float, float]:
    """The loss on the test set, and the part that is right, of the file with other texts."""
    text = FILE.read_text(encoding="utf-8")
    for old, new in changes.items():
        if old not in text:
            raise SystemExit(f"{FILE.name} has no {old!r}")
        text = text.replace(old, new)
    module = types.ModuleType("changed")
    sys.modules[module.__name__] = module  # where dataclasses look for it
    module.__file__ = str(FILE)
    exec(compile(text, str(FILE), "exec"), module.__dict__)
    return eval(f"train({what})", module.__dict__)


if __name__ == "__main__":
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    for said, what, changes in CHANGES:
        with np.errstate(all="ignore"):  # Inf and NaN are values here
            loss, right = trained(what, changes)
        print(f"{said:40} {loss:8.5f} {right:4.0%}", flush=True)
