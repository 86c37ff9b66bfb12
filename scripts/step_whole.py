"""Do the networks as they were published train in 16 GB? Two steps of each, in its own process.

    python scripts/step_whole.py --precision mixed --out runs/whole.json

Prints the largest memory that the process held (its resident set; what Python and minifp hold by
themselves is some 100 MB of it), the number of weights, and the seconds of the second step.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from benchmarks.tasks import DETECTORS, WHOLE

LIMIT = 16  # GB
NAMES = [m.name for m in (DETECTORS[0], *WHOLE)]
UNIT = 1 if sys.platform == "darwin" else 1024  # of the resident set, in bytes


def options():
    """What the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--precision", default="mixed", help="mixed")
    add("--only", nargs="*", default=NAMES, choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    add("--out", type=Path, help="a file for the figures")
    add("--one", choices=NAMES, help=argparse.SUPPRESS)  # in a process of its own
    return parser.parse_args()


def stepped(name, precision):
    """Figures of two steps, in this process."""
    import resource  # which Windows lacks

    from benchmarks import ours, workloads

    side = ours.Side(precision)
    training = side.make(workloads.find("model", name))
    for _ in range(2):
        start = time.perf_counter()
        list(training.step())
        seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT
    weights = sum(p.array.size for p in training.model.parameters())
    return {"weights": weights, "bytes": peak, "seconds": seconds, "loss": training.value()}


def main():
    """Print a row for each network."""
    given = options()
    if given.one:
        print(json.dumps(stepped(given.one, given.precision)))
        return
    found = {}
    print("| network | weights, millions | memory, GB | seconds of a step |\n|---|---:|---:|---:|")
    titles = {m.name: m.title for m in (DETECTORS[0], *WHOLE)}
    for name in given.only:
        command = [sys.executable, __file__, "--one", name, "--precision", given.precision]
        said = subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
        found[name] = f = json.loads(said.splitlines()[-1])
        figures = f"{f['weights'] / 1e6:.1f} | {f['bytes'] / 1e9:.1f} | {f['seconds']:.1f}"
        print(f"| {titles[name]} | {figures} |", flush=True)
        if given.out is not None:
            text = json.dumps({"precision": given.precision, "networks": found}, indent=1) + "\n"
            given.out.parent.mkdir(parents=True, exist_ok=True)
            given.out.write_text(text, encoding="utf-8")
    if any(f["bytes"] > LIMIT * 1e9 for f in found.values()):
        sys.exit(f"step_whole.py: more than {LIMIT} GB")


if __name__ == "__main__":
    main()
