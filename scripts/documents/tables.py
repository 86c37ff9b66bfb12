"""What recorded tables of scripts and of runs say, for the markers of several pages."""

import math
import re

import compare_faces
import measure_averages

from documents.records import RESULTS, opened, read

GPU = "gpu/h100/bench.md"


def column(name: str, of: str) -> list[str]:
    """What stands in a column of a CSV."""
    return [row[of] for row in read(name)]


def different(name: str, of: str = "repository") -> int:
    """How many different entries a column has."""
    return len({*column(name, of)})


def begin(name: str, of: str, start: str) -> int:
    """How many entries of a column begin with a text."""
    return sum(entry.startswith(start) for entry in column(name, of))


def numbers(name: str, of: str) -> list[float]:
    """The numbers with which entries of a column begin."""
    found = (re.match(r"\d[\d.]*(?:e[-+]\d+)?(?!,)\b", entry) for entry in column(name, of))
    return [float(number[0]) for number in found if number]


def within(name: str, of: str, limit: float, above: float = -1.0) -> int:
    """How many numbers of a column are at most a limit, and above another."""
    return sum(above < number <= limit for number in numbers(name, of))


def faces() -> list[str]:
    """The rows of the table of docs/faces.md, made again from what was measured."""
    return compare_faces.table(read("faces.json")).splitlines()[2:]


def scatter_of_averages(schedule: str, share: float, score: str) -> list[float]:
    """The deviation of paired differences of averaged and of last weights; the square of the second
    in the first."""
    opened.append("averages/lenet-digits.csv")
    lines = [row for row in measure_averages.recorded() if row[:2] == [schedule, share]]
    averaged, last = (measure_averages.paired(lines, name) for name in ("averaged " + score, score))
    return [averaged, last, (last / averaged) ** 2]


def faster() -> list[float]:
    """How many times as long captured float32 steps take on the GPU as mixed ones: of all models
    the least and the most."""
    opened.append(GPU)
    found = []
    for line in (RESULTS / GPU).read_text(encoding="utf-8").splitlines():
        took = [
            float(n) / {"ms": 1, "us": 1000}[u] for n, u in re.findall(r"([\d.]+) (ms|us)", line)
        ]
        found += [took[2] / took[3]] if len(took) == 6 else []
    return [min(found), max(found)]


def printed(block: str, start: str) -> list[float]:
    """The numbers in the one line that a recorded block printed that begins with a text, behind it;
    Inf and NaN are none."""
    said = read("documents/made.json")[block]["printed"]
    (line,) = (one for one in said if one.startswith(start))
    found = (text.rstrip("%") for text in line[len(start) :].replace(",", "").split())
    return [n for n in map(float, found) if math.isfinite(n)]
