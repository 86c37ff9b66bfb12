"""Runs that took hours as small files for the repository, and back, to go on from them.

    minifp gallery ssd-digits --budget 2h --jobs 2 --out runs/detection
    python scripts/pack_runs.py runs/detection            # into scripts/results/runs/detection
    python scripts/pack_runs.py --back runs/detection     # from there, where that folder is gone

A run is one file, of some ten kilobytes: its settings, how it ended, every evaluation, and of the
course over the steps all of the first twenty and then every tenth (every hundredth of 10,000),
with six digits. That is enough to resume, to check that a machine gives the same first losses, and
to judge; pictures of single runs and their arrays are left out. Runs that are packed already stay.
"""

import argparse
import json
import shutil
import sys
from pathlib import Path

from minifp.lab.results.first_losses import STEPS
from minifp.report.json_text import json_text
from minifp.saving import files

PACKED = Path(__file__).resolve().parent / "results" / "runs"
REGISTERED = "registered.json"  # of a comparison: what was asked for, and when
ROWS = 150  # of a course, beside the first: about


def thinned(history: dict[str, list]) -> dict[str, list]:
    """A course over the steps with fewer of them, and numbers of six digits behind the first
    twenty, whose bits are compared."""
    count = len(history["step"])
    every = max(1, count // ROWS)
    rows = [i for i in range(count) if i < STEPS or (i + 1) % every == 0 or i == count - 1]
    return {name: [short(column[i], i) for i in rows] for name, column in history.items()}


def short(value, row: int):
    """A number as it is written."""
    return float(f"{value:.6g}") if isinstance(value, float) and row >= STEPS else value


def pack(folder: Path, packed: Path) -> int:
    """Write the runs of all comparisons below a folder that are not there yet; how many."""
    count = 0
    for path in sorted(folder.rglob("runs/*.json")):
        target = packed / path.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path.parent.parent / REGISTERED, target.parent.parent)
        if not target.exists():
            saved = json.loads(path.read_text(encoding="utf-8"))
            saved["run"]["history"] = thinned(saved["run"]["history"])
            files.write_into(target.parent, {target: json_text(saved)})
            count += 1
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="what --out of compare, sweep or gallery named")
    parser.add_argument("--back", action="store_true", help="make that folder of what is packed")
    options = parser.parse_args()
    packed = PACKED / options.folder.name
    if not options.back:
        if not any(options.folder.rglob("runs/*.json")):
            sys.exit(f"no runs in {options.folder}: expected what --out of a comparison named")
        print(f"{pack(options.folder, packed)} runs packed into {packed}")
    elif not packed.is_dir():
        sys.exit(f"nothing is packed as {options.folder.name}: expected a folder in {PACKED}")
    elif options.folder.exists():
        sys.exit(f"{options.folder} is there already: name a folder that is not")
    else:
        shutil.copytree(packed, options.folder)


if __name__ == "__main__":
    main()
