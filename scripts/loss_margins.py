"""What margins of the test loss follow from, of recorded float32 runs: a line for each task.

    python scripts/loss_margins.py                      # of results/margins, beside the tasks' own
    python scripts/loss_margins.py runs/lenet           # of folders that `minifp compare` wrote
    python scripts/loss_margins.py runs/lenet --record  # and their baseline's evaluations recorded

Columns: how much lower the test loss is at the end than where the metric was last worse by its
margin; than at half of the steps; the margin that follows: the smaller one of the first and a tenth
of the second (minifp/lab/conclusions/loss_margin.py); what the task declares; how much better the
metric itself is than at half of the steps, and its margin. Fails where a task declares more than
follows.
"""

import argparse
import csv
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from minifp.lab.comparison import Comparison
from minifp.lab.conclusions.scores import ended, margin_of, primary
from minifp.lab.tasks import load_task
from minifp.report.csv_text import csv_text
from minifp.report.plain_text import columns

RECORDED = Path(__file__).resolve().parent / "results" / "margins"
HEADER = ("seed", "step", "metric", "test_loss")
COLUMNS = ("task", "a margin apart", "half", "follows", "declared", "metric, half", "its margin")


def recorded() -> dict[str, list]:
    """(step, metric, test loss) of each evaluation of each run, by the spec of its task."""
    found: dict[str, list] = {}
    for path in sorted(RECORDED.glob("*.csv")):
        runs: dict[str, list] = {}
        with path.open(encoding="utf-8", newline="") as file:
            for line in csv.DictReader(file):
                numbers = [float(line[name]) if line[name] else None for name in HEADER[2:]]
                runs.setdefault(line["seed"], []).append((int(line["step"]), *numbers))
        found[path.stem.replace("@", ":")] = [*runs.values()]
    return found


def courses_of(comparison: Comparison) -> dict[int, list]:
    """The same of the baseline's runs of a comparison, by seed."""
    runs = comparison.runs_of(comparison.baseline)
    return {run.seed: [tuple(e) for e in run.evaluations] for run in runs if ended(run)}


def record(comparison: Comparison) -> Path:
    """Write the evaluations of a baseline down. Raises SystemExit for a task without a name."""
    spec, courses = comparison.origin.task, courses_of(comparison)
    if spec is None:
        raise SystemExit(f"{comparison.out}: its task has no name by which it is found again")
    RECORDED.mkdir(parents=True, exist_ok=True)
    path = RECORDED / f"{spec.replace(':', '@')}.csv"
    lines = [(seed, *e) for seed, course in courses.items() for e in course]
    path.write_text(csv_text([HEADER, *lines]), encoding="utf-8")
    return path


def line_of(name: str, task: Any, courses: list) -> tuple[list[str], bool]:
    """The cells of a task, and whether it declares no more than follows."""
    found = margin_of(primary(SimpleNamespace(task=task)), courses)
    numbers = (found.apart, found.half, found.value, task.loss_margin, found.metric, task.margin)
    fits = found.value is None or task.loss_margin is None or task.loss_margin <= found.value
    return [name, *("-" if n is None else f"{n:.3g}" for n in numbers)], fits


def main(arguments: list[str] | None = None) -> int:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folders", nargs="*", help="that `minifp compare` wrote")
    parser.add_argument("--record", action="store_true", help="write evaluations into the results")
    options = parser.parse_args(arguments)
    comparisons = {folder: Comparison.load(folder) for folder in options.folders}
    for comparison in comparisons.values() if options.record else ():
        print(record(comparison))
    lines = [line_of(n, c.task, [*courses_of(c).values()]) for n, c in comparisons.items()]
    if not comparisons:
        lines = [line_of(spec, load_task(spec), runs) for spec, runs in recorded().items()]
    print(columns([COLUMNS, *(cells for cells, _ in lines)]))
    return 0 if all(fits for _, fits in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
