"""The page at the end of a run on a GPU: what passed, what failed first, and how fast it was.

    python scripts/benchmarks/gpu_page.py FOLDER

FOLDER: what scripts/gpu_lease.sh wrote. What is missing there is left out.
"""

import csv
import json
import sys
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # minifp need not be installed
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks import gpu_report

MOST = 25  # failures that are shown
ENDS = {0: "passed", 124: "out of time", 137: "out of time"}


def page(folder):
    """The lines of the page."""
    yield "# On this GPU"
    yield text(folder / "missing.txt")
    yield from stages(folder / "stages.csv")
    yield from smoke(folder / "smoke.txt")
    yield from tests(folder / "tests.xml")
    for name in ("memcheck", "racecheck"):
        if (folder / f"{name}.log").is_file():
            yield f"## {name}"
            yield "\n".join(text(folder / f"{name}.log").splitlines()[-12:])
    yield from bars(folder / "bench" / "bench.json")
    if (folder / "train.txt").is_file():
        yield "## Training"
        said = text(folder / "train.txt").partition("\nReport: ")[0]
        yield "\n".join(said.splitlines()[-20:])


def text(path):
    """What is in a file, nothing where there is none."""
    return path.read_text(encoding="utf-8", errors="replace").strip() if path.is_file() else ""


def stages(path):
    """A line for each stage."""
    if path.is_file():
        yield "## Stages"
        for name, seconds, limit, status in csv.reader(text(path).splitlines()):
            end = ENDS.get(int(status), f"failed ({status})")
            yield f"- {name}: {end} after {seconds} s of {limit}"


def smoke(path):
    """The checks that failed, or were not tried."""
    lines = [x for x in text(path).splitlines() if " s  FAILED" in x or " s  not tried" in x]
    if path.is_file():
        yield "## Smoke"
        yield "\n".join([*lines, *text(path).splitlines()[-1:]])


def tests(path):
    """How many passed, and the first failures, alike ones once."""
    try:
        cases = list(ElementTree.parse(path).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return
    failures = [(case, part) for case in cases for part in case if part.tag in ("failure", "error")]
    skips = sum(part.tag == "skipped" for case in cases for part in case)
    yield "## Tests"
    yield f"{len(cases)} run: {len(failures)} failed, {skips} skipped"
    kinds = {}
    for case, part in failures:
        name = f"{case.get('classname')}::{case.get('name').partition('[')[0]}"
        kinds.setdefault(name, []).append(
            (case.get("name"), part.get("message") or part.text or "")
        )
    for name, those in list(kinds.items())[:MOST]:
        first = " ".join(those[0][1].split())[:300]
        yield f"- {name}: {len(those)} failed, such as {those[0][0]}: {first}"


def bars(path):
    """Predicted beside measured, and the ratios to PyTorch's steps."""
    if not path.is_file():
        return
    rows = json.loads(text(path))["rows"]
    yield "## Predicted and measured"
    yield gpu_report.bars_table(rows)
    yield "## Training steps over PyTorch's eager AMP"
    for row in rows.get("steps", []):
        ratios = ", ".join(f"{name} {value:.2f}" for name, value in row["over_amp"].items())
        yield f"- {row['title']}: {ratios or 'no AMP'}"


if __name__ == "__main__":
    print("\n\n".join(part for part in page(Path(sys.argv[1])) if part))
