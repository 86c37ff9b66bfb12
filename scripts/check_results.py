"""Check that numbers in documents are those that were recorded: `make check-results`.

    python scripts/check_results.py                     # all covered documents
    python scripts/check_results.py docs/gallery.md     # one of them

In a covered document each number has a marker behind it, in the same paragraph or row, which shows
nothing where Markdown is read:

    Float32 reaches 93.8 % <!-- run: mean("detection", "ssd-digits", "float32") -->
    <!-- bench: milliseconds("lenet", "minifp-mixed") @ AMD EPYC -->     recorded on such a machine
    <!-- constant: 448 / 256 -->                                         follows without a record
    <!-- quoted: Micikevicius et al. 2018: 56.77, 56.93 -->              somebody else's

A marker gives one value for each number since the marker before it: Python expressions, with the
functions below; of texts the numbers are read. It is right where the value, rounded to the number's
decimals, is the number. A marker alone on a line before a table is for all of its rows, without
the head: its expression gives them. Verdicts count as numbers do. What is no result is not looked
at: code, links, years, versions, numbers of points, and what is named by a number ("Table 1",
"S = 8").

What minifp measured may be neither constant nor quoted. So a constant is more than a number, and
quoted is only from SOURCES.

Covered are the README and all pages of docs/. Not covered: docs/teaching/ and what lessons say,
which each lesson asserts as it runs; CONTRIBUTING.md, web/README.md and notebooks/README.md, whose
times and sizes are of one machine, for whoever works there; what scripts wrote into results/.
"""

import argparse
import ast
import importlib
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import measure_averages
import numpy as np
from documents import page_records, speeds, tables
from documents.records import RESULTS, opened, read

from minifp.data.whereabouts import SETS
from minifp.exhibits import gan, language, skips, speech
from minifp.lab import demo
from minifp.lab.exhibits.catalog import known
from minifp.lab.inference import costs
from minifp.lab.statistics import moments
from minifp.lab.statistics.looks import planned_looks
from minifp.lab.statistics.paired import (
    CONFIDENCE,
    DIFFERENT,
    DIVERGED,
    EQUIVALENT,
    INCONCLUSIVE,
    differ_by,
    judge,
)
from minifp.lab.statistics.power import LEVEL, POWER
from minifp.lab.tasks import load_task
from minifp.numerics.operands import MOST, STEPS
from minifp.scope.advice import TOLERANCE
from minifp.training.loss_scale import DynamicLossScale, LogNormalLossScale

ROOT = Path(__file__).resolve().parent.parent
COVERED = ("README.md", *(f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md"))))
SOURCES = ("Micikevicius et al. 2018", "DeepSeek-V3", "NVIDIA", "Paddle", "Paperspace")
KINDS = ("run", "bench", "constant", "quoted")
MARKER = re.compile(r"<!-- (run|bench|constant|quoted): (.*?) -->")
NAMED = (
    r"(?:[Tt]ables?|[Ff]igures?|[Ss]ections?|S =|Python|PyTorch|CUDA|CuPy|driver|CC BY|Speech|dial"
    r"|cuBLAS|NEP|capability|[Ll]essons?|[Pp]arts?|draft|Jennison and Turnbull|Schuirmann)"
)
SKIPPED = re.compile(
    r"^(?:#+ |\*\*)?\d+\. |`[^`]*`"  # numbers of points, code
    r"|\]\([^)\s]*\)|<!--.*?-->"  # where links lead, other comments
    rf"|\b{NAMED} \d[\d.]*(?:(?:, | and ){NAMED}? ?\d[\d.]*)*"
    r"|arXiv:[\d.]+|\b(?:19|20)\d\d\b|\[\d+\]"
)
WORDS = r"EQUIVALENT|DIFFERENT|INCONCLUSIVE|DIVERGED|\(weak\b"
TOKEN = re.compile(
    rf"{WORDS}|(?<![\w.,:^/-])[+−-]?\d+(?:,\d{{3}})*(?:\.\d+)?(?:\^-?\d+|e-?\d+)?(?![\w^:]|-D)"
)


# ---- what markers may say ------------------------------------------------------------------------


def record(name: str, *places: Any) -> Any:
    """What stands at some place of a JSON file: keys, counts, and names of what is in a list."""
    found = read(name)
    for place in places:
        if isinstance(found, list) and isinstance(place, str):
            (found,) = (one for one in found if place in (one.get("name"), one.get("case")))
        else:
            found = found[place]
    return found


def runs(wing: str, exhibit: str, arm: str | None = None, column: str = "metric") -> list[float]:
    """A column of the recorded runs of an exhibit's arm, or of all of them."""
    rows = read(f"gallery/{wing}/gallery.csv")
    rows = [row for row in rows if row["exhibit"] == exhibit and arm in (None, row["arm"])]
    if not rows:
        raise ValueError(f"no run of {exhibit}, {arm}, is recorded in {wing}/gallery.csv")
    return [float(row[column]) for row in rows if row[column]]


def mean(wing: str, exhibit: str, arm: str) -> float:
    """Of the metric, over seeds."""
    return moments.mean(runs(wing, exhibit, arm))


def spread(wing: str, exhibit: str, arm: str) -> list[float]:
    """Mean and standard deviation of the metric, over seeds."""
    values = runs(wing, exhibit, arm)
    return [moments.mean(values), moments.deviation(values)]


def minutes(wing: str, *exhibits: str) -> float:
    """Of a core that all runs of exhibits took, or of a wing."""
    rows = read(f"gallery/{wing}/gallery.csv")
    chosen = [row for row in rows if not exhibits or row["exhibit"] in exhibits]
    return sum(float(row["processor_seconds"]) for row in chosen) / 60


def count(wing: str, *exhibits: str) -> int:
    """How many runs were made."""
    rows = read(f"gallery/{wing}/gallery.csv")
    return sum(not exhibits or row["exhibit"] in exhibits for row in rows)


def judged(wing: str, exhibit: str, arm: str = "mixed,loss_scale=1") -> list:
    """The difference of an arm and the ends of its interval."""
    return [told(wing, exhibit, arm, name) for name in ("difference", "low", "high")]


def told(wing: str, exhibit: str, arm: str, name: str) -> Any:
    """One entry of the recorded verdict on an arm, as it is judged now, if it was judged again."""
    again = f"gallery/{wing}/verdicts.json"
    there = again if (RESULTS / again).is_file() else f"gallery/{wing}/gallery.json"
    return record(there, "exhibits", exhibit, "results", arm, name)


def effect(wing: str, exhibit: str, factor: str, way: str = "together") -> dict:
    """The recorded effect of a technique."""
    effects = record(f"gallery/{wing}/verdicts.json", "exhibits", exhibit, "effects")
    (found,) = (e for e in effects if (e["factor"], e["way"]) == (factor, way))
    return found


def table(name: str, number: int, *columns: int) -> list[str]:
    """The rows of a table in a recorded Markdown file, without its head: texts of some columns."""
    text = (RESULTS / name).read_text(encoding="utf-8")
    tables = re.findall(r"^(?:\|.*\n)+", text, flags=re.M)
    rows = [line.strip("|").split("|") for line in tables[number].splitlines()[2:]]
    return [" | ".join(row[i] for i in columns or range(len(row))) for row in rows]


def setting(wing: str, exhibit: str, name: str) -> Any:
    """A recorded setting of an exhibit."""
    return record(f"gallery/{wing}/gallery.json", "exhibits", exhibit, "settings", name)


def bench(case: str, threads: int = 1, name: str = "steps/bench.json") -> dict:
    """What scripts/bench.py recorded of a model."""
    results = read(name)["results"]
    (found,) = (one for one in results if (one["name"], one["threads"]) == (case, threads))
    return found


def milliseconds(case: str, implementation: str, threads: int = 1, name: str = "steps/bench.json"):
    """Of a step, the median."""
    return 1000 * bench(case, threads, name)["implementations"][implementation]["seconds"]


def scatter(wing: str, exhibit: str, arm: str) -> float:
    """The standard deviation of an arm's differences from float32, by seed."""
    pairs = zip(runs(wing, exhibit, arm), runs(wing, exhibit, "float32"))
    return moments.deviation([a - b for a, b in pairs])


def line(wing: str, exhibit: str, arm: str = "mixed,loss_scale=1") -> list[float]:
    """float32's mean, the difference of an arm with its interval, and minutes of a core."""
    found = [mean(wing, exhibit, "float32"), *judged(wing, exhibit, arm)]
    return [*found, minutes(wing, exhibit)]


def ratio(name: str, arm: str, column: str) -> list[float]:
    """By how many percent a metric of a runs.csv is above float32's, by seed, with its interval."""
    base, ours = (
        {row["seed"]: math.log(float(row[column])) for row in read(name) if row["arm"] == a}
        for a in ("float32", arm)
    )
    found = differ_by([ours[seed] for seed in base], [*base.values()])
    return [100 * math.expm1(value) for value in (found.mean, found.low, found.high)]


def noted(name: str, pattern: str) -> list[str]:
    """The numbers in what a pattern finds, once, in a recorded text."""
    (found,) = {*re.findall(pattern, (RESULTS / name).read_text(encoding="utf-8"))}
    return TOKEN.findall(" ".join(found) if isinstance(found, tuple) else found)


def evaluated(network: str) -> list[float]:
    """Of a checkpoint: the metric in float32; of mixed and of float16 its change, and how many
    predictions changed; their times, and mixed precision's memory, in float32's."""
    checkpoints = read("gallery/evaluate/evaluation.json")["checkpoints"]
    (found,) = (c for c in checkpoints if c["checkpoint"] == f"{network}.safetensors")
    base, *others = (found["results"][p] for p in ("float32", "mixed", "float16"))
    start = base["metrics"]["accuracy"]
    changes = [(o["metrics"]["accuracy"] - start, o["changed"]["count"]) for o in others]
    times = [o["seconds_per_example"] / base["seconds_per_example"] for o in others]
    memory = sum(others[0]["bytes"].values()) / sum(base["bytes"].values())
    return [start, *sum(changes, ()), *times, memory]


def largest(network: str) -> list[float]:
    """Of float32 and mixed: the largest batch, and their ratio; KiB of an example; how much more
    the process grew than was counted."""
    limits = read(f"gallery/largest-batch/{network}/largest-batch.json")["limits"]
    batches = [limit["largest_batch"] for limit in limits]
    grew = []
    for limit, batch in zip(limits, batches):
        (trial,) = (t for t in limit["trials"] if t["batch"] == batch)
        grew.append(trial["process_growth"] / sum(trial["bytes"].values()))
    sizes = [limit["bytes_per_example"] / 2**10 for limit in limits]
    return [*batches, batches[1] / batches[0], *sizes, *grew]


def cells(name: str, start: str, which: int = 0) -> list[float]:
    """The numbers in one of the rows, of recorded tables in Markdown, that begin with a text."""
    text = (RESULTS / name).read_text(encoding="utf-8")
    rows = [row for row in text.splitlines() if row.startswith(f"| {start} ")]
    numbers = re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?", rows[which].split("|", 2)[2])
    return [float(number.replace(",", "")) for number in numbers]


def gpu_step(title: str) -> list:
    """A row of training steps on the GPU: its title; milliseconds of PyTorch's AMP, of minifp's
    mixed precision, captured and not; and the median ratio of the first two."""
    text = (RESULTS / "gpu/h100/bench.md").read_text(encoding="utf-8")
    rows = [row for row in text.splitlines() if row.startswith(f"| {title} ")]
    row = next(row for row in rows if "ms |" in row)
    took = [float(n) / {"ms": 1, "us": 1000}[u] for n, u in re.findall(r"([\d.]+) (ms|us) \|", row)]
    return [title, took[5], took[3], took[1], float(row.split("|")[-3])]


def lost(scale: int = 0) -> float:
    """Which percentage of the gradients in docs/front.svg becomes 0 at S = 2^scale."""
    counts = read("front.json")
    return 100 * sum(n for e, n in counts.items() if int(e) + scale < -25) / sum(counts.values())


def length(path: str) -> int:
    """The lines of a file of the checkout."""
    return len((ROOT / path).read_text(encoding="utf-8").splitlines())


def stopped(wing: str) -> list[str]:
    """The loss scales with which training gave up."""
    rows = read(f"gallery/{wing}/gallery.csv")
    return [row["arm"].rpartition("=")[2] for row in rows if row["status"] == "stopped"]


def examples(wing: str, exhibit: str, part: str = "training") -> int:
    """How many examples a data set had."""
    return int(re.findall(r"(\d+) examples", setting(wing, exhibit, f"{part} data"))[0])


def statements() -> int:
    """Below which number of tens the statements of the files lie that the README calls the core."""
    core = re.search(r"The core: .*? statements", (ROOT / "README.md").read_text(encoding="utf-8"))
    count = 0
    for path in re.findall(r"\]\((.*?)\)", core[0] if core else ""):
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        every = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
        count += sum(not is_text(node) for node in every)
    return 10 * (count // 10 + 1)


def is_text(node: ast.stmt) -> bool:
    """Whether a statement is a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def slower() -> float:
    """How many times smaller the learning rate of the demo's experiment (b) is than usual."""
    usual, slow = load_task("mlp", "digits"), demo.slow_mlp()
    return usual.optimizer.keywords["lr"] / slow.optimizer.keywords["lr"]  # type: ignore[attr-defined]


def named(place: str) -> Any:
    """What has a name in a module of minifp: "lab.averaging.BATCHES"."""
    module, _, name = place.rpartition(".")
    return getattr(importlib.import_module(f"minifp.{module}"), name)


def task(exhibit: str, scale: str = "evening"):
    """The Task of an exhibit, for its fields."""
    return known()[exhibit].task(scale)


LOOKS = (record, runs, mean, spread, minutes, count, judged, told, effect, table, setting, cells)
LOOKS += (gpu_step, read, evaluated, largest, bench, milliseconds, scatter, line, ratio, noted)
LOOKS += (lost, examples, stopped, page_records.ran, page_records.ended, page_records.outcome)
LOOKS += (page_records.apart, page_records.mean_of, page_records.at_step)
LOOKS += (page_records.said, page_records.shown, speeds.share, speeds.shares, speeds.above)
LOOKS += (tables.column, tables.different, tables.begin, tables.within, tables.faces)
LOOKS += (tables.scatter_of_averages, tables.faster, tables.printed, tables.numbers)
LOOKS += (speeds.theirs, speeds.extremes, speeds.observed, speeds.ratios, speeds.geometric)
FUNCTIONS = {look.__name__: look for look in LOOKS}
FUNCTIONS |= {"average": moments.mean, "deviation": moments.deviation}
ANYWHERE = {
    "language": language,
    "speech": speech,
    "gan": gan,
    "abs": abs,
    "float": float,
    "log": math.log,
    "log2": math.log2,
    "range": range,
    "task": task,
    "length": length,
    "statements": statements,
    "slower": slower,
    "SETS": SETS,
    "DynamicLossScale": DynamicLossScale,
    "LogNormalLossScale": LogNormalLossScale,
    "extent": page_records.extent,
    "float16": np.float16,
    "named": named,
    "judge": judge,
    "load_task": load_task,
    "LEVEL": LEVEL,
    "SHARES": measure_averages.SHARES,
    "SIMULATION": "budget/simulation.json",
    **{name.upper(): f"run/{name}.csv" for name in ("scripts", "others", "third", "models")},
    "HABITS": "habits/scripts.csv",
    "FLOAT32": "losses_differ_from_pytorch",
    "FLOAT64": "losses_differ_in_float64",
    "planned_looks": planned_looks,
    **{verdict: verdict for verdict in (EQUIVALENT, DIFFERENT, INCONCLUSIVE, DIVERGED)},
    "LOOKED_BACK": STEPS,
    "MOST": MOST,
    "TOLERANCE": TOLERANCE,
    "getattr": getattr,
    "sorted": sorted,
    "enumerate": enumerate,
    "zip": zip,
    "skips": skips,
    "costs": costs,
    "demo": demo,
    "POWER": POWER,
    "CONFIDENCE": CONFIDENCE,
    "min": min,
    "max": max,
    "sum": sum,
    "len": len,
    "round": round,
    "int": int,
}


# ---- how a document is read ----------------------------------------------------------------------


def masked(text: str) -> str:
    """A text with blanks in place of what is no result."""
    return SKIPPED.sub(lambda found: " " * len(found[0]), text)


def tokens(text: str) -> list[str]:
    """The numbers and verdicts in a text that are results, as they stand there."""
    return TOKEN.findall(masked(text))


def lines_of(document: str) -> Iterator[tuple[int, str]]:
    """The lines of a document with their numbers, without blocks of code."""
    is_code = False
    for number, line in enumerate(document.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield number, line


def problems(document: str) -> list[str]:
    """What is wrong with a document's numbers, each with its line."""
    found, rows, above = [], None, 0
    for number, line in lines_of(document):
        try:
            if rows is not None and line.startswith("|"):
                if above < 2:  # its head
                    above += 1
                    check_line(line)
                    continue
                if not rows:
                    raise ValueError("a row more than was recorded")
                compare(tokens(line), flat(rows.pop(0)))
                continue
            if rows:
                raise ValueError(f"{len(rows)} rows fewer than were recorded")
            rows, above = None, 0
            alone = MARKER.fullmatch(line.strip())
            if alone:
                rows = [*values_of(*alone.groups())]
            else:
                check_line(line)
        except Exception as error:
            found.append(f"{number}: {error}")
            rows = None
    return found


def check_line(line: str) -> None:
    """Hold the numbers of a paragraph or row against its markers. Raises where one is wrong."""
    start = 0
    for marker in MARKER.finditer(line):
        compare(tokens(line[start : marker.start()]), flat(values_of(*marker.groups())))
        start = marker.end()
    left = tokens(line[start:])
    if left:
        raise ValueError(f"without a marker: {', '.join(left)}")


def values_of(kind: str, text: str) -> Any:
    """What a marker says, evaluated."""
    if kind == "quoted":
        source, _, values = text.rpartition(": ")
        if not source.startswith(SOURCES):
            raise ValueError(f"quoted from {source!r}, expected {' or '.join(SOURCES)}")
        return tokens(values)
    expression, _, machine = text.partition(" @ ")
    opened.clear()
    tree = ast.parse(f"[{expression}]", mode="eval")
    if kind == "constant" and any(isinstance(e, ast.Constant) for e in tree.body.elts):
        raise ValueError(f"{expression}: a constant follows from something, expected an expression")
    names = ANYWHERE if kind == "constant" else ANYWHERE | FUNCTIONS
    values: Any = eval(compile(tree, "marker", "eval"), {"__builtins__": {}, **names})
    if kind == "bench":
        check_machine(machine)
    return values[0] if len(values) == 1 and isinstance(values[0], list) else values


def check_machine(machine: str) -> None:
    """Raise ValueError where what was read was not recorded on a machine."""
    for name in opened:
        if not machine or machine not in (RESULTS / name).read_text(encoding="utf-8"):
            raise ValueError(f"{name} was not recorded on {machine or 'a machine that is named'}")


def flat(values: Any) -> list:
    """Values in lists, one after the other; of texts their numbers."""
    if isinstance(values, str):
        return tokens(values)
    return [v for part in values for v in flat(part)] if isinstance(values, list) else [values]


def compare(there: list[str], values: list) -> None:
    """Raise ValueError where numbers of a document are not these values."""
    shown = [text if isinstance(text, str) else f"{text:.6g}" for text in values]
    if len(there) != len(values):
        raise ValueError(f"{len(there)} numbers ({', '.join(there)}) for {', '.join(shown)}")
    for text, value in zip(there, values):
        if isinstance(value, str):
            right = plain(text) == plain(value)
        else:
            right = plain(text).lstrip("+") == written(value, text)
        if not right:
            raise ValueError(f"{text} is not what was recorded: {value}")


def plain(text: str) -> str:
    """A number without commas and typeset signs; what is nothing has no sign."""
    text = text.replace(",", "").replace("\N{MINUS SIGN}", "-").replace("+", "")
    return text.lstrip("-") if not text.strip("-0.") else text


def written(value: float, like: str) -> str:
    """A value as a number like another one is written."""
    if "^" in like:
        base, _, power = plain(like).partition("^")
        return plain(like) if float(base) ** int(power) == value else str(value)
    mantissa, e, _ = plain(like).partition("e")
    text = f"{value:.{len(mantissa.partition('.')[2])}{'e' if e else 'f'}}"
    return plain(re.sub(r"e([+-])0*", r"e\1", text))


def main(arguments: list[str] | None = None) -> int:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("documents", nargs="*", default=COVERED, help="of the checkout's root")
    wrong = 0
    for name in parser.parse_args(arguments).documents:
        for problem in problems((ROOT / name).read_text(encoding="utf-8")):
            wrong += 1
            print(f"{name}:{problem}")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
