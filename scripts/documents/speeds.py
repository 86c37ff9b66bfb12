"""What scripts/bench.py recorded of whole models beside PyTorch's, for docs/speed.md's markers."""

import math
import re

from documents.records import RESULTS, opened, read

STEPS, OLDER, OF = "steps/bench.json", "bench.json", "gallery/{}/bench.json"
PARTS = ("-narrow", "-inference", "-224")  # of the names of a network's variants


def models(name: str, threads: int) -> dict[str, dict]:
    """The models of a record, by their names, with so many threads."""
    results = [r for r in read(name)["results"] if r["kind"] == "model"]
    return {r["name"]: r for r in results if r["threads"] == threads}


def share(case: str, threads: int = 1, ours: str = "mixed", name: str = STEPS) -> float:
    """What minifp took in a precision, in PyTorch's float32, the faster of its layouts."""
    results = [r for r in read(name)["results"] if (r["name"], r["threads"]) == (case, threads)]
    shares = results[0]["ratios"].items()
    (found,) = (v for k, v in shares if k.startswith(f"minifp-{ours}/torch-float32"))
    return found


def shares(variant: str, threads: int = 1) -> list[float]:
    """Of the gallery's networks in a variant, such as "-narrow-inference", the geometric mean of
    these shares, and the largest."""
    name, found = OF.format("speed"), []
    for case in models(name, threads):
        own = "".join(part for part in PARTS if part in case)
        found += [share(case, threads, name=name)] if own == variant else []
    return [geometric(found), max(found)]


def above(limit: float, variant: str) -> int:
    """How many networks in a variant have a larger share, with one thread."""
    name = OF.format("speed")
    return sum(share(c, name=name) > limit for c in models(name, 1) if c.endswith(variant))


def theirs(format: str, name: str = STEPS) -> list[float]:
    """The least and the most that PyTorch's autocast took, the faster of its layouts, in minifp's
    mixed precision, with one and two threads."""
    found = []
    for case in [*models(name, 1).values(), *models(name, 2).values()]:
        took = {k: v["seconds"] for k, v in case["implementations"].items() if "seconds" in v}
        own = [v for k, v in took.items() if k.startswith(f"torch-{format}")]
        found += [min(own) / took["minifp-mixed"]] if own else []
    return [min(found), max(found)]


def extremes(name: str) -> list[float]:
    """The smallest and the largest share of mixed precision."""
    found = [share(case, n, name=name) for n in (1, 2) for case in models(name, n)]
    return [min(found), max(found)]


def observed(model: str, what: str) -> list[float]:
    """Of a model under the microscope, in mixed precision and in float32: the "ratio" of a step, as
    percent more; the milliseconds of a "step"; or another entry."""
    told = read("microscope.json")
    values = [told[f"{model}, {p}, 1 threads"][what] for p in ("mixed", "float32")]
    ways = {"ratio": lambda v: 100 * (v - 1), "step": lambda v: 1000 * v}
    return [ways.get(what, float)(value) for value in values]


def ratios(name: str = "steps/calls.md", start: str = "") -> list[float]:
    """The last column of those rows of a recorded table that begin with a text."""
    opened.append(name)
    text = (RESULTS / name).read_text(encoding="utf-8")
    rows = re.findall(rf"^\| {start}.*\| ([\d.]+) \|$", text, re.M)
    return [float(row) for row in rows]


def geometric(values: list[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))
