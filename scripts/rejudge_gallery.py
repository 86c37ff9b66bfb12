"""Judge the recorded runs of the gallery anew, by the rules of today: verdicts.md and .json.

    python scripts/rejudge_gallery.py            # writes them beside the runs of each wing
    python scripts/rejudge_gallery.py --check    # writes nothing; fails where one does not follow

gallery.md and gallery.json are what was said when the runs were made. The runs are in gallery.csv:
how each ended and the metric, which is all that verdicts need. Where an exhibit's metric is another
one today, the registered one counts. Losses over the steps are not recorded: two runs that end at
the same metric count as different ones.
"""

import argparse
import csv
import json
import math
import re
import sys
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from minifp.lab.ablation.ablating import Ablation
from minifp.lab.ablation.factors import DEFAULT, as_base, as_factors
from minifp.lab.comparison import Comparison
from minifp.lab.exhibits import lines_part
from minifp.lab.exhibits.catalog import known
from minifp.lab.exhibits.gallery_document import document
from minifp.lab.exhibits.showing import BASE, Gallery, cells_of
from minifp.lab.registration import LATER
from minifp.lab.run import Run
from minifp.lab.settings import canonical
from minifp.lab.task_info import TaskInfo
from minifp.numerics import policy
from minifp.report.json_text import json_text
from minifp.report.rendering import markdown

RESULTS = Path(__file__).resolve().parent / "results" / "gallery"
WINGS = ("classification", "detection", "detection-digits", "detection-cells", "language")
WINGS += ("translation", "speech", "gan")
KEPT = ("name", "title", "claim", "finding", "results", "effects", "combinations")


def gallery_of(wing: str) -> Gallery:
    """The Gallery of what was recorded."""
    told = json.loads((RESULTS / wing / "gallery.json").read_text(encoding="utf-8"))
    with (RESULTS / wing / "gallery.csv").open(encoding="utf-8", newline="") as lines:
        rows = [*csv.DictReader(lines)]
    shown = Gallery(told["scale"], [known()[e["name"]] for e in told["exhibits"]], [])
    for exhibit, of in zip(shown.exhibits, told["exhibits"]):
        own = [row for row in rows if row["exhibit"] == exhibit.name]
        cells = cells_of(exhibit)
        arms = canonical(dict.fromkeys([policy.SINGLE, *exhibit.arms, *cells.values()]))
        comparison = comparison_of(exhibit, told, of, arms, own)
        shown.comparisons.append(comparison)
        if cells:
            factors = as_factors(DEFAULT, as_base(BASE))
            shown.ablations[exhibit.name] = Ablation(comparison, factors, cells)
    return shown


def comparison_of(exhibit, told: dict, of: dict, arms: list[str], rows: list[dict]):
    """The Comparison of an exhibit's recorded runs, judged by the looks of a budget if there was
    one."""
    task, settings = exhibit.task(told["scale"]), of["settings"]
    (examples,) = re.findall(r"(\d+) examples", settings["test data"])
    info = judged_by(TaskInfo.of(task, range(int(examples))), of["registered"])
    runs = [run_of(row, settings["steps"]) for row in rows if row["arm"] in arms]
    seeds = sorted({run.seed for run in runs})
    asked = [(run.precision, run.seed) for run in runs]
    comparison = Comparison(
        info, task.dial, arms, seeds, runs, settings, told["environment"], asked
    )
    comparison.registered = of["registered"]
    return comparison


def judged_by(info: TaskInfo, registered: list[dict]) -> TaskInfo:
    """What is claimed today, or, where another metric was recorded, what was claimed of that."""
    claims = registered[-1]["claims"] if registered else {"metric_name": info.metric_name}
    if claims["metric_name"] == info.metric_name:
        return info
    return replace(info, **{**LATER, **claims})


def run_of(row: dict, steps: int) -> Run:
    """A Run of a row of gallery.csv."""
    return Run(
        row["arm"],
        int(row["seed"]),
        row["status"],
        metric=float(row["metric"]) if row["metric"] else None,
        history={"loss": [math.nan]},  # which equals no other
        steps=steps,
        skipped=int(row["skipped"]),
        final_scale=float(row["scale"]),
        processor_seconds=float(row["processor_seconds"]),
        seconds_per_step=float(row["seconds_per_step"]),
    )


def texts_of(wing: str) -> dict[str, str]:
    """What verdicts.md and verdicts.json are to hold."""
    with patch.object(lines_part, "failing", lambda gallery: []):  # which needs losses
        made = document(gallery_of(wing))
    exhibits = [{k: short(e[k]) for k in KEPT if k in e} for e in made.data["exhibits"]]
    return {
        "verdicts.md": markdown(made),
        "verdicts.json": json_text({"exhibits": exhibits}, indent=1),
    }


def short(value):
    """With ten digits of each number: the last ones are those of a machine's functions."""
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, dict):
        return {name: short(item) for name, item in value.items()}
    return [*map(short, value)] if isinstance(value, (list, tuple)) else value


def main(arguments: list[str] | None = None) -> int:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--check", action="store_true", help="write nothing, and say what differs")
    check, differs = parser.parse_args(arguments).check, 0
    for wing in WINGS:
        for name, text in texts_of(wing).items():
            path = RESULTS / wing / name
            if not check:
                path.write_text(text, encoding="utf-8")
            elif not path.is_file() or path.read_text(encoding="utf-8") != text:
                differs += 1
                print(f"{path}: not what follows from gallery.csv: run scripts/rejudge_gallery.py")
    return min(differs, 1)


if __name__ == "__main__":
    sys.exit(main())
