"""Plant faults in the sources, one at a time, and tell which of them the tests see.

    python scripts/plant_faults.py --count 20                  (drawn by the commit)
    python scripts/plant_faults.py --seed 7 --count 50 --rooms optim training
    python scripts/plant_faults.py --list scripts/results/faults/faults.csv --checkout DIR
    python scripts/plant_faults.py --list FILE --side before --tests DIR

A fault is one edit in one line: a bound, a term, a stride, a barrier, a tail, swapped gradients,
a format, or a sign (faults/sites.py and faults/cuda_sites.py). Each is planted in a scratch copy of
the checkout, never in the checkout, and the tests of its room are run until one fails, the nearest
ones first: by names, and in rooms of plain Python by which tests reach the line.

The list with its results is a table (CSV), by default in runs/faults/. Where it exists it is the
list that is gone through. What the old tests killed (--side before) the new ones must kill (--side
after, which leaves out the others). A fault that survives is told, and is no failure.
"""

import argparse
import csv
import json
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests")]
from faults.mutants import COLUMNS, ROOMS, Mutant, Planted, drawn  # noqa: E402
from faults.names import lines_beside, names_of, nearest_files  # noqa: E402
from faults.runs import Outcome, Scratch, Server  # noqa: E402
from sampling import seed_of  # noqa: E402

REACHED = "optim", "training"  # rooms of plain Python with quick tests: each line is traced
ELSEWHERE = ["tests/cuda"]  # where to look for tests of what these rooms do for a GPU alone


def options():
    """What the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--seed", help="of the draw (the commit)")
    add("--count", type=int, default=20, help="how many faults (20)")
    add("--rooms", nargs="+", choices=ROOMS, default=[*ROOMS], help="of which rooms (all)")
    add("--checkout", type=Path, default=ROOT, help="whose sources (this one's)")
    add("--tests", type=Path, help="a folder with other tests (the checkout's)")
    add("--list", type=Path, help="the table (runs/faults/SEED.csv)")
    add("--side", choices=("before", "after"), default="after", help="which columns are filled in")
    add("--limit", type=float, default=120, help="processor seconds for the tests of a fault (120)")
    add("--work", type=Path, default=ROOT / "runs" / "faults", help="for copies and caches")
    add("--draw-only", action="store_true", help="write the list, and run nothing")
    return parser.parse_args()


class Side:
    """The tests of one checkout, against all faults of a list."""

    def __init__(self, given, seed):
        self.given, self.seed, self.reach, self.killers = given, seed, {}, {}
        tests = (given.tests or given.checkout / "tests").resolve()
        work = given.work.resolve()
        work.mkdir(parents=True, exist_ok=True)
        self.scratch = Scratch(work, given.checkout.resolve(), tests, seed)
        self.version = seed_of(self.scratch.root)  # of the sources and tests that are there
        self.broken: set[str] = set()  # what fails without a fault
        self.server = None
        self.sound = {"", "collecting"}  # what passes without one

    def try_out(self, mutant):
        """Fill in what the tests make of a fault."""
        reach = self.reaching(mutant)
        names, stems = names_of(self.scratch.root, mutant)
        folders = ELSEWHERE if reach is None else ROOMS[mutant.room][1]
        folders = [f for f in folders if (self.scratch.root / f).exists()]
        nearness = {"names": names, "stems": stems, "reach": reach or ()}
        server = self.server_of(folders)
        with Planted(self.scratch.root, mutant) as planted:
            outcome = server.run(
                self.given.limit, planted.path, planted.text, broken=self.broken, **nearness
            )
            by_server, done = outcome is not None, outcome.tests if outcome else []
            if outcome is None:  # in a new process, which collects at first no more than it must
                near = [] if reach else nearest_files(self.scratch.root, folders, names, stems)
                outcome = Outcome("survived")
                for tests in filter(None, (near, folders)):
                    if outcome.verdict == "survived" and not outcome.stopped:
                        broken = [*self.broken, *done]
                        outcome = self.scratch.run(
                            tests, self.given.limit, broken=broken, **nearness
                        )
                        done += outcome.tests
        setattr(mutant, self.given.side, outcome.verdict)
        killer = f"{outcome.killer}: {outcome.why}" if outcome.killer else ""
        setattr(mutant, f"killer_{self.given.side}", " ".join(killer.split()))
        self.killers[mutant.file, mutant.line] = outcome.killer, by_server, folders, nearness
        mutant.seconds = round(outcome.seconds, 1)
        if outcome.verdict == "survived":
            until = ", until the limit of time" if outcome.stopped else ""
            of = "" if reach is not None else " of tests/cuda, as none of the room reaches it"
            mutant.note = f"{self.given.side}: {len(done)} tests{of}{until}"

    def server_of(self, folders):
        """The process that has collected the tests of some folders."""
        if self.server is None or self.server.tests != folders:
            if self.server is not None:
                self.server.close()
            self.server = Server(self.scratch, folders)
        return self.server

    def unsound(self, mutants):
        """Those that were killed by what fails without a fault as well, which is tried once."""
        for mutant in (m for m in mutants if (m.file, m.line) in self.killers):
            killer, by_server, folders, nearness = self.killers[mutant.file, mutant.line]
            if killer in self.sound | self.broken:
                continue
            if by_server:  # where what ran before it may matter
                server = self.server_of(folders)
                outcome = server.run(10**6, until=killer, broken=self.broken, **nearness)
            elif "::" in killer:
                outcome = self.scratch.run([killer], 10**6, limit_of_one=1000)
            else:
                outcome = self.scratch.run(killer.split()[:1], 0)  # it is but collected
            self.leave_out(outcome.failures)
            self.sound |= {killer} - self.broken
        broken = {place for place, (killer, *_) in self.killers.items() if killer in self.broken}
        return [m for m in mutants if (m.file, m.line) in broken]

    def leave_out(self, failures):
        """Run these tests no more."""
        for test, why in failures:
            self.broken.add(test)
            tqdm.write(f"left out, as it fails without a fault: {test}: {why}")

    def reaching(self, mutant):
        """The tests that reach a line, the quickest first; measured once a room.

        [] where lines are not traced, and None where no test of the room reaches it.
        """
        if mutant.room not in REACHED or not mutant.file.endswith(".py"):
            return []
        lines, durations = self.measured(mutant.room)
        text = (self.scratch.root / mutant.file).read_text(encoding="utf-8")
        lines = lines.get(mutant.file, {})
        tests = {test for n in lines_beside(text, mutant.line) for test in lines.get(str(n), ())}
        return sorted(tests - {""}, key=lambda test: durations.get(test, 0.0)) if tests else None

    def measured(self, room):
        """({file: {line: tests}}, {test: seconds}) of a room."""
        kept = self.scratch.work / f"reach-{room}-{self.version}.json"
        file = self.scratch.work / "lines.json"
        if room not in self.reach and not kept.exists():
            folder, tests = ROOMS[room]
            outcome = self.scratch.run(
                tests, 10**6, measure=file, include=[f"{self.scratch.root}/{folder}/*"],
                all_failures=True, limit_of_one=1000,
            )  # fmt: skip
            content = [json.loads(file.read_text()), outcome.durations, outcome.failures]
            kept.write_text(json.dumps(content))
        if room not in self.reach:
            lines, durations, failures = json.loads(kept.read_text())
            self.reach[room] = lines, durations
            self.leave_out(failures)
            self.sound |= durations.keys() - self.broken
        return self.reach[room]


def read(path):
    """The faults of a table."""
    with path.open(encoding="utf-8", newline="") as file:
        return [Mutant(**{**row, "line": int(row["line"]), "seconds": float(row["seconds"])})
                for row in csv.DictReader(file)]  # fmt: skip


def write(path, mutants):
    """A table of faults."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(map(asdict, mutants))


def waits(mutant, side):
    """Whether a fault is still to be tried out on a side."""
    if mutant.before == "equivalent" or getattr(mutant, side):
        return False
    return side == "before" or mutant.before in ("", "killed", "timed out")


def report(mutants, side):
    """How many were seen, and which were not."""
    verdicts = Counter(getattr(m, side) or "not run" for m in mutants)
    lines = [f"{side}: " + ", ".join(f"{n} {verdict}" for verdict, n in verdicts.items())]
    lost = [m for m in mutants if m.before in ("killed", "timed out") and m.after == "survived"]
    new = [m for m in mutants if not m.before and getattr(m, side) == "survived"]
    for title, some in (("killed before, and not after", lost), ("survived", new)):
        lines += [f"{title}: {m.file}:{m.line} {m.operator}: {m.new.strip()}" for m in some]
    return "\n".join(lines)


if __name__ == "__main__":
    given = options()
    seed = given.seed or seed_of(ROOT)
    path = given.list or ROOT / "runs" / "faults" / f"{seed}.csv"
    checkout = given.checkout.resolve()
    mutants = read(path) if path.exists() else drawn(checkout, seed, given.count, given.rooms)
    write(path, mutants)
    todo = [m for m in mutants if waits(m, given.side) and m.room in given.rooms]
    side = Side(given, seed) if todo and not given.draw_only else None
    while side and todo:
        for mutant in (bar := tqdm(todo, unit="fault")):
            bar.set_postfix_str(f"{mutant.file}:{mutant.line}")
            try:
                side.try_out(mutant)
            except LookupError as error:
                mutant.note = str(error)
            write(path, mutants)
            seen = getattr(mutant, given.side)
            told = getattr(mutant, f"killer_{given.side}") or mutant.note
            bar.write(f"{time.strftime('%H:%M:%S')} {mutant.file}:{mutant.line} {seen} {told}")
        todo = side.unsound(todo)
    print(report(mutants, given.side), f"\n(see {path})")
