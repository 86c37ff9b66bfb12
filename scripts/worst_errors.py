"""The worst error of every family of operations, in units of the bound that the tests hold it to.

Each operation of tests/cases is run forward and backward on random numbers, and every stored result
of every kernel compared with its float64 reference on the same stored inputs: 1 is the bound of
tests/bounds.py. In float16 the half ulp of the one rounding makes nearly 1; in float32 storage what
remains is the arithmetic's own error.

    python scripts/worst_errors.py --seeds 20
"""

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from tqdm import tqdm

import minifp as fp

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from bounds import Calls
from cases import CASES

STORAGE = {"mixed": "float16", "float32": "float32"}


def errors(case, precision, seed, scale):
    """(kernel, excess) of every call of a case, forward and backward."""
    with fp.precision(precision), Calls() as calls:
        arrays = [np.asarray(a * scale, STORAGE[precision]) for a in case.arrays(seed)]
        xs = [fp.Tensor(a, requires_grad=True) for a in arrays]
        ys = case.fn(*xs)
        random = np.random.default_rng(seed)
        for y in ys if isinstance(ys, tuple) else (ys,):
            dy = random.uniform(-1, 1, y.shape).astype("float16")
            y.backward(gradient=dy, retain_graph=True)
    return [(call.kernel.name, call.excess()) for call in calls]


def main():
    """Measure, print a table, and write it if asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5, help="how many random inputs (5)")
    parser.add_argument("--out", type=Path, help="write the table there, as JSON")
    arguments = parser.parse_args()
    worst, calls = {p: defaultdict(float) for p in STORAGE}, 0
    for case in tqdm(CASES, unit="case"):
        for precision in STORAGE:
            for seed in range(arguments.seeds):
                for scale in (1.0, 2.0**-12):  # the second is subnormal in float16
                    for kernel, excess in errors(case, precision, seed, scale):
                        family = kernel.partition(".")[0]
                        worst[precision][family] = max(worst[precision][family], excess)
                        calls += 1
    families = sorted(worst["mixed"])
    print(f"{'family':24}{'float16':>9}{'float32':>9}   ({calls} results of {len(CASES)} cases)")
    for family in families:
        print(f"{family:24}" + "".join(f"{worst[p][family]:9.3f}" for p in STORAGE))
    if arguments.out:
        table = {f: {STORAGE[p]: round(worst[p][f], 4) for p in STORAGE} for f in families}
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"cases": len(CASES), "results": calls, "worst": table}, indent=1)
        arguments.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
