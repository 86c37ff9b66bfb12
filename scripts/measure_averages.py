"""By how much averaged weights spread less: LeNet on digits, float32 and mixed precision, by seed.

    python scripts/measure_averages.py            # of the runs in results/averages
    python scripts/measure_averages.py --record   # makes these runs anew: a minute of a core

With the task's schedule, by which the rate falls to 0, and with a constant rate; and for shares of
the run that an average remembers (Task.average): the standard deviation of the paired differences
(mixed minus float32) of the test loss and of the accuracy, with the last weights and with averaged
ones. The last column: how many times as many seeds it takes without averages for the same verdict,
the square of their ratio.
"""

import argparse
import csv
from dataclasses import replace
from itertools import product
from pathlib import Path

import minifp as fp
from minifp.lab.metrics import AVERAGED, TEST_LOSS
from minifp.lab.statistics.moments import deviation
from minifp.report.csv_text import csv_text
from minifp.report.plain_text import columns

RECORDED = Path(__file__).resolve().parent / "results" / "averages" / "lenet-digits.csv"
SHARES, SEEDS = (0.1, 0.3), 8
SCHEDULES = ("cosine", "constant")
ARMS = ("float32", "mixed")
SCORES = (TEST_LOSS, "accuracy")
HEADER = ("schedule", "average", "arm", "seed", *SCORES, *(AVERAGED + name for name in SCORES))


def measured(shares, seeds: int) -> list[list]:
    """Lines of HEADER: what each run ends with."""
    lines = []
    for schedule, share in product(SCHEDULES, shares):
        task = replace(fp.load_task("lenet", data="digits"), average=share)
        task = task if schedule == SCHEDULES[0] else replace(task, schedule=None)
        for run in fp.compare(task, ARMS, seeds=seeds, progress=False).runs:
            last = {TEST_LOSS: run.evaluations[-1][2], "accuracy": run.metric}
            last |= {name: values[-1] for name, values in run.metrics.items()}
            ends = (last[name] for name in HEADER[4:])
            lines.append([schedule, share, run.precision, run.seed, *ends])
    return lines


def spreads(lines: list[list]) -> list[list[str]]:
    """A line for each share and score: deviations of paired differences, and seeds as many."""
    found = [["schedule", "average", "score", "last weights", "averaged", "times as many seeds"]]
    for schedule, share in dict.fromkeys((line[0], line[1]) for line in lines):
        own = [line for line in lines if line[:2] == [schedule, share]]
        for name in SCORES:
            last, averaged = (paired(own, n) for n in (name, AVERAGED + name))
            numbers = (last, averaged, (last / averaged) ** 2)
            cells = (f"{number:.3g}" for number in numbers)
            found.append([schedule, f"{share:g}", name, *cells])
    return found


def paired(lines: list[list], name: str) -> float:
    """The deviation of mixed minus float32 over seeds."""
    of = {(line[2], line[3]): line[HEADER.index(name)] for line in lines}
    seeds = sorted({seed for _, seed in of})
    return deviation([of[ARMS[1], seed] - of[ARMS[0], seed] for seed in seeds])


def recorded() -> list[list]:
    """The lines that are recorded."""
    with RECORDED.open(encoding="utf-8", newline="") as file:
        rows = [*csv.reader(file)][1:]
    return [[r[0], float(r[1]), r[2], int(r[3]), *map(float, r[4:])] for r in rows]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--record", action="store_true", help="make the runs anew, and record them")
    if parser.parse_args().record:
        RECORDED.parent.mkdir(parents=True, exist_ok=True)
        RECORDED.write_text(csv_text([HEADER, *measured(SHARES, SEEDS)]), encoding="utf-8")
    print(columns(spreads(recorded())))
