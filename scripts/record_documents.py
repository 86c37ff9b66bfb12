"""Record what documents show, by running their commands and programs as they stand there.

    python scripts/record_documents.py              # all: an hour of a core, and MNIST
    python scripts/record_documents.py saved sums   # these; what is recorded of the others stays

Such a block has `<!-- recorded: NAME -->` above it, or `<!-- recorded: NAME, after the first -->`
if it goes on from the page's first program. Into scripts/results/documents are written

    runs.csv       each run of a command: how it ended, and what it held at its peak
    courses.csv    of one seed the losses of the first steps, and what evaluations found
    made.json      of each block its text, and what it printed, by line, or the settings of its
                   runs; commit, versions and machine
"""

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from documents.blocks import documents
from documents.blocks import read as page

import minifp as fp
from minifp.lab.environment import environment
from minifp.lab.results.first_losses import STEPS
from minifp.lab.results.origin import commit
from minifp.report.csv_text import csv_text
from minifp.report.json_text import json_text
from minifp.runtime.cpu.kernels.tile import LANES

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "scripts" / "results" / "documents"
ABOVE = r"<!-- recorded: ([\w-]+)(, after the first)? -->\n+(?:<!-- .*? -->\n+)?"
BLOCK = re.compile(ABOVE + r"```(\w+)\n(.*?)^```", re.M | re.S)
FIRST = re.compile(r"```python\n(.*?)^```", re.M | re.S)
# Each call of a shell's block keeps its runs: the last --out is the one that counts.
SHELL = """
minifp() { "$PYTHON" -m minifp "$@" --quiet --out "$KEPT/$calls"; calls=$((calls + 1)); }
python() { "$PYTHON" "$@"; }
set -eu
calls=0
"""
WHICH = ("block", "call", "cell", "arm", "seed")
RUNS = (*WHICH, "status", "metric", "test_loss", "skipped", "final_scale", "bytes", "activations")
COURSES = (*WHICH, "step", "loss", "scale", "metric", "test_loss")


def blocks() -> dict[str, tuple[str, str]]:
    """By name the language and the text of each block that is recorded."""
    found = {}
    for text in map(page, documents()):
        for name, goes_on, language, block in BLOCK.findall(text):
            first = FIRST.findall(text)[0] if goes_on else ""
            found[name] = language, first + block
    return found


def run(language: str, text: str, folder: Path) -> str:
    """What a block prints. folder: where its commands keep their runs."""
    words = [sys.executable, "-"] if language == "python" else ["bash", "-s"]
    variables = {**os.environ, "PYTHON": sys.executable, "KEPT": str(folder)}
    whole = text if language == "python" else SHELL + text
    how = {"stdout": subprocess.PIPE, "encoding": "utf-8", "check": True}
    return subprocess.run(words, input=whole, cwd=ROOT, env=variables, **how).stdout


def kept(name: str, folder: Path) -> tuple[list[list], list[list], dict[str, Any]]:
    """Of the runs in a folder the rows of runs.csv and of courses.csv, and their settings."""
    rows, courses, settings = [], [], {}
    for path in sorted(folder.rglob("results.json")):
        call, *cell = path.relative_to(folder).parent.parts
        comparison = fp.Comparison.load(path.parent)
        config = {k: v for k, v in comparison.config.items() if k != "model"}
        settings["/".join([call, *cell[-1:]])] = config
        for of in comparison.runs:
            which = name, call, "".join(cell[-1:]), of.precision, of.seed
            last = of.evaluations[-1][1:] if of.evaluations else (None, None)
            sizes = sum(of.bytes.values()), of.bytes.get("activations")
            rows.append([*which, of.status, *last, of.skipped, of.final_scale, *sizes])
            if of.seed == comparison.seeds[0]:
                courses += [[*which, *line] for line in course(of)]
    return rows, courses, settings


def course(of) -> list[list]:
    """Of a run step, loss, loss scale, metric and test loss, where these are recorded."""
    losses, scales = of.history["loss"], of.history["scale"]
    tests = {step: ends for step, *ends in of.evaluations}
    steps = sorted({*range(1, min(STEPS, len(losses)) + 1), *tests})
    return [
        [step, losses[step - 1], scales[step - 1], *tests.get(step, (None, None))] for step in steps
    ]


def merged(path: Path, head: tuple, names: list[str], rows: list[list]) -> str:
    """A table with new rows of some blocks, and of the others those that are there."""
    old: list = []
    if path.is_file():
        with path.open(encoding="utf-8", newline="") as lines:
            old = [row for row in csv.reader(lines) if row[0] not in (*names, head[0])]
    return csv_text([head, *old, *rows])


def read(path: Path) -> dict:
    """A JSON file that may not be there."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def record(names: list[str]) -> None:
    """Run blocks, and write down what came out as each has ended."""
    there, at = blocks(), commit(ROOT)
    OUT.mkdir(exist_ok=True)
    for name in names:
        print(name, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            said = run(*there[name], Path(folder)).replace(folder, "FOLDER")
            rows, courses, settings = kept(name, Path(folder))
        printed = [] if rows else said.splitlines()  # of runs there are tables
        made = {"block": there[name][1], "printed": printed, "commit": at}
        made |= {"lanes": LANES, "environment": environment(), "settings": settings}
        texts = {
            "runs.csv": merged(OUT / "runs.csv", RUNS, [name], rows),
            "courses.csv": merged(OUT / "courses.csv", COURSES, [name], courses),
            "made.json": json_text({**read(OUT / "made.json"), name: made}, indent=1),
        }
        for file, text in texts.items():
            (OUT / file).write_text(text, encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("names", nargs="*", help="of blocks; all without any")
    names = parser.parse_args(arguments).names or [*blocks()]
    unknown = {*names} - {*blocks()}
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: expected some of {', '.join(blocks())}")
    record(names)


if __name__ == "__main__":
    main()
