"""A script in several precisions, each in a process of its own, from the same seeds."""

import csv
import io
import json
import math
import re
import subprocess
import sys
from pathlib import Path

from minifp.errors import ArgumentError, MinifpError
from minifp.numerics import policy
from minifp.report import drawing
from minifp.run.script import Script
from minifp.saving import files

LOSSES = "losses.json"
SENTENCE = (
    "This was one seed, which decides nothing: two seeds of one precision differ as well. Run it "
    "with several (--seed 1, 2, ...), and compare the spread."
)


def compare(script: Script, precisions: list[str], out: str) -> str:
    """Run a script in each precision; what was found, in words.

    Files: OUT/losses.csv, a column for each precision, OUT/losses.svg where there is matplotlib,
    and in OUT/PRECISION/ what the script printed and saved with torch.save. Raises ArgumentError
    for fewer than two precisions or one twice, and where OUT holds anything already, which the
    script might read; and MinifpError for a run that failed.
    """
    if len(set(precisions)) < max(2, len(precisions)):
        raise ArgumentError(f"--compare {','.join(precisions)}: expected two or more precisions")
    files.check_new(out)
    for precision in precisions:
        policy.as_precision(precision)  # raises for one that does not exist
    curves = {p: run(script, p, Path(out) / folder_of(p)) for p in precisions}
    files.write(Path(out) / "losses.csv", table(curves))
    if drawing.is_available():
        files.write(Path(out) / "losses.svg", picture(curves))
    return told(curves, out)


def named(text: str) -> list[str]:
    """The precisions of a list: "float32,mixed,loss_scale=8" has two, for a change has a "="."""
    return re.split(r",(?![^,]*=)", text)


def folder_of(precision: str) -> str:
    """The name of a precision's folder."""
    return "".join(c if c.isalnum() or c in "-_.=" else "_" for c in precision)


def run(script: Script, precision: str, folder: Path) -> list[float]:
    """The losses of one run. Raises MinifpError, with the end of what it printed, if it fails."""
    folder.mkdir(parents=True, exist_ok=True)
    options = ["--precision", precision, "--seed", str(script.seed or 0)]
    options += ["--write-losses", str(folder / LOSSES), "--saves", str(folder)]
    if script.steps is not None:
        options += ["--steps", str(script.steps)]
    command = [sys.executable, "-m", "minifp.run", *options, script.path, *script.args]
    print(f"minifp.run: {precision}", file=sys.stderr)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    files.write(folder / "output.txt", done.stdout)
    if done.returncode:
        end = done.stdout.decode(errors="replace")[-2000:]
        raise MinifpError(
            f"{precision}: the script ended with {done.returncode}; all that it printed is in "
            f"{folder / 'output.txt'}, which ends with:\n{end}"
        )
    return json.loads((folder / LOSSES).read_text(encoding="utf-8"))


def table(curves: dict[str, list[float]]) -> str:
    """The losses as CSV: a row for each step, empty where a run had ended."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["step", *curves])
    for i in range(max(map(len, curves.values()))):
        rows.writerow([i + 1, *(repr(c[i]) if i < len(c) else "" for c in curves.values())])
    return text.getvalue()


def picture(curves: dict[str, list[float]]) -> bytes:
    """The curves as SVG."""
    with drawing.settings():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7, 4))
        axes = figure.subplots()
        for precision, losses in curves.items():
            axes.plot(range(1, len(losses) + 1), losses, label=precision, linewidth=1)
        axes.set_xlabel("call of backward()")
        axes.set_ylabel("loss")
        axes.legend()
        return drawing.bytes_of(figure, "svg")


def told(curves: dict[str, list[float]], out: str) -> str:
    """How the curves end, and what that is worth."""
    lines = []
    for precision, losses in curves.items():
        last = losses[-max(1, len(losses) // 10) :]
        broken = sum(not math.isfinite(v) for v in losses)
        mean = f"mean of the last {len(last)}: {sum(last) / len(last):.6g}" if last else "no loss"
        lines.append(
            f"{precision}: {len(losses)} losses, {mean}"
            + (f"; {broken} of them are Inf or NaN" if broken else "")
        )
    return "\n".join([*lines, SENTENCE, f"All losses: {Path(out) / 'losses.csv'}"])
