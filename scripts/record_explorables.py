"""Record the runs that the explorables show: those of lessons 4 and 5, as the lessons make them.

    python scripts/record_explorables.py --out web/explorables

It runs the lessons' sources in full, with their asserts, and writes what the microscope counted
and what was measured as JSON: see web/README.md. Needs minifp[plot] and IPython; takes two to three
minutes on two cores.
"""

import argparse
import contextlib
import io
import json
import os
import platform
import runpy
from pathlib import Path

import numpy as np

import minifp as fp
from minifp.numerics.formats import format_of
from minifp.saving import files
from minifp.scope.borders import BORDERS, kept_from, too_large_from
from minifp.scope.observed import KINDS
from minifp.scope.page.data import row_of
from minifp.scope.record import WHAT_IF

ROOT = Path(__file__).resolve().parents[1]
ROW = ("lowest", "counts", "reaching", "zeros", "infs", "nans", "largest")
COMMAND = "python scripts/record_explorables.py"
SHOWN = 6  # steps of a run: the first, the last, and about as many times as far apart in between


def ran(lesson: str) -> dict:
    """What a lesson's source has defined when it has run, quietly."""
    os.environ |= {"MINIFP_TEACH": "show", "FAST": "0"}
    with contextlib.redirect_stdout(io.StringIO()):
        return runpy.run_path(str(ROOT / "notebooks" / "source" / f"{lesson}.py"))


def origin(lesson: str) -> dict:
    """How a file is made again."""
    versions = {"minifp": fp.__version__, "NumPy": np.__version__}
    return {
        "command": f"{COMMAND} {lesson}",
        "versions": versions | {"Python": platform.python_version()},
    }


def histograms(scope, **about) -> dict:
    """What the microscope counted in some of the steps: of each kind, all layers together.

    Exact in each of WHAT_IF, multiplied by any power of two: `places` are those within a power of
    two at which a format begins to lose, `reaching` counts what reaches them (see
    minifp/scope/page/data.py).
    """
    formats = [format_of(name) for name in WHAT_IF]
    places = sorted({ask(f).place for f in formats for ask in (kept_from, too_large_from)})
    indices = [BORDERS.index(place) for place in places]
    steps = [
        {
            "step": seen.step,
            "shift": seen.shift,
            "kinds": {kind: dict(zip(ROW, row_of(seen.total(kind), indices))) for kind in KINDS},
        }
        for seen in some(scope.steps)
    ]
    return {"kind": "minifp histograms", **about, "places": places, "steps": steps}


def some(steps: list) -> list:
    """SHOWN of them, or all."""
    chosen = np.unique(np.geomspace(1, len(steps), SHOWN).round().astype(int) - 1)
    return [steps[i] for i in chosen]


def of_lstm() -> dict[str, dict]:
    """Lesson 4: a character LSTM, in float32."""
    lesson = ran("04-four-histograms")
    about = (
        f"An LSTM of {lesson['HIDDEN']} units reads Shakespeare, in float32; "
        f"{lesson['STEPS']} steps of lesson 4."
    )
    told = {"title": "Four histograms", "about": about, "arranged": "nothing.", "seeds": [0]}
    return {"lstm": histograms(lesson["scope"], **told, dial=0, **origin("04-four-histograms"))}


def of_detector() -> dict[str, dict]:
    """Lesson 5: a detector of digits at many loss scales, and its gradients in float32."""
    lesson = ran("05-the-bathtub")
    dial, seeds = lesson["DIAL"], lesson["SEEDS"]
    about = f"A detector of digits, four convolutions, {lesson['STEPS']} steps of lesson 5"
    arranged = (
        f"the exponent dial is at {dial}: gradients are 2^{dial} times smaller than this "
        "network's own, as if the loss were a mean over so many times as many terms."
    )
    told = {"arranged": arranged, "dial": dial, **origin("05-the-bathtub")}
    inside = {"title": "The detector's histograms", "about": f"{about}, in float32.", **told}
    tub = {
        "kind": "minifp bathtub",
        "title": "The bathtub",
        "about": f"{about}, in mixed precision with a constant loss scale.",
        **told,
        "seeds": seeds,
        "metric": "F1 on new scenes",
        "float32": [round(float(f1), 4) for f1 in lesson["in_float32"]],
        "walls": walls(lesson),
        "points": points(lesson),
        "histograms": "detector.json",
    }
    return {
        "detector": histograms(lesson["scope"], **inside, seeds=seeds[:1]),
        "detector-bathtub": tub,
    }


def walls(lesson: dict) -> list[dict]:
    """As the lesson predicts them from its run in float32."""
    left, right = lesson["left"], round(float(lesson["right"]), 2)
    under = (
        "Left of the left wall, underflow: so many gradients become 0 that some layer loses more "
        "than half of its gradient. This wall is soft: such a direction may still go downhill."
    )
    over = (
        "Right of the right wall, overflow: the largest gradient is beyond 65,504 and becomes Inf, "
        "and a step with one Inf is skipped."
    )
    return [
        {"name": "underflow", "side": "left", "log2": left, "says": under},
        {"name": "overflow", "side": "right", "log2": right, "says": over},
    ]


def points(lesson: dict) -> list[dict]:
    """Of each loss scale: F1 of each seed, whether all steps were skipped, and how far rounding
    puts off the gradient of the layer that has it worst, of its length."""
    errors = lesson["scope"].advice().errors
    return [
        {
            "log2": k,
            "values": [round(float(f1), 4) for f1 in values],
            "skipped": k in lesson["dead"],
            "error": round(errors[k], 4),
        }
        for k, values in sorted(lesson["scores"].items())
    ]


RUNS = {"04-four-histograms": of_lstm, "05-the-bathtub": of_detector}


def main() -> None:
    """Record what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("lessons", nargs="*", metavar="LESSON", help=f"{', '.join(RUNS)}; else all")
    parser.add_argument("--out", type=Path, default=ROOT / "web" / "explorables", help="a folder")
    asked = parser.parse_args()
    unknown = [name for name in asked.lessons if name not in RUNS]
    if unknown:
        parser.error(f"no run of {unknown[0]}: expected {' or '.join(RUNS)}")
    for lesson in asked.lessons or RUNS:
        told = {asked.out / f"{name}.json": as_text(run) for name, run in RUNS[lesson]().items()}
        files.write_all(told)
        for path, text in told.items():
            print(f"{path.name}: {len(text)} bytes")


def as_text(run: dict) -> str:
    """A line for each step and each loss scale."""
    text = json.dumps(run, separators=(",", ":"))
    for mark in ('{"step":', '{"log2":'):
        text = text.replace(mark, f"\n{mark}")
    return f"{text}\n"


if __name__ == "__main__":
    main()
