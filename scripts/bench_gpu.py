"""Measure minifp on an NVIDIA GPU beside PyTorch: products, convolutions, kernels, training steps.

    python scripts/bench_gpu.py --out runs/gpu
    python scripts/bench_gpu.py --only gemm steps --quick

It needs CuPy and a GPU. PyTorch is measured where it is installed with CUDA, else its columns are
absent, with the reason; pictures are drawn where there is matplotlib.

How it is measured. Single operations are repeated in a CUDA graph on both sides and timed by events
around it, so that no time of Python is in it; training steps are timed by the clock of the host
over many of them, with one wait at the end. All sides take turns, --repeat times, and the times are
medians; ratios are medians of the ratios in each round. All of it has to end after --limit seconds:
each section has a share of what is left, and what did not fit is said.

A process of its own measures. An error is a row; if the process ends, or takes too long for one
measurement, such as for compiling a model, the next process goes on after that measurement.

Written to --out after every section: bench.json (all figures, with every round) and bench.md
(tables, and the bars that they are held against); at the end gemm.png, conv-layers.png,
conv-networks.png and steps.png. What libraries say, and where errors came from, is in bench.log.
"""

import argparse
import importlib.util
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # minifp need not be installed
sys.path.insert(0, str(Path(__file__).resolve().parent))
from benchmarks import gpu_child, gpu_parent, gpu_picture, gpu_report
from benchmarks.gpu_timing import Settings

SECTIONS = gpu_child.SECTIONS
EVERYTHING, QUICK = 250.0, 120.0


def options(arguments=None):
    """What the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--out", type=Path, default=Path("runs/gpu"), help="a folder (runs/gpu)")
    add(
        "--only", nargs="+", metavar="SECTION", choices=SECTIONS, default=list(SECTIONS),
        help=f"{', '.join(SECTIONS)} (all)",
    )  # fmt: skip
    add("--seconds", type=float, default=0.1, help="of one sample of steps; kernels less (0.1)")
    add("--repeat", type=int, default=5, metavar="N", help="samples of each (5)")
    add("--limit", type=float, help=f"seconds for all ({EVERYTHING:g}; {QUICK:g} with --quick)")
    add("--quick", action="store_true", help="fewer sizes, layers, kernels and models")
    add("--tiny", action="store_true", help="small sizes, which measure nothing: to try this")
    add("--no-torch", action="store_true", help="leave PyTorch out")
    given = parser.parse_args(arguments)
    if given.repeat < 1:
        parser.error(f"--repeat {given.repeat}: expected at least 1")
    if given.limit is None:
        given.limit = QUICK if given.quick else EVERYTHING
    return given


def write(found, given):
    """The figures and the tables so far."""
    result = {**found.as_json(), "settings": {k: str(v) for k, v in vars(given).items()}}
    text = json.dumps(result, indent=1) + "\n"
    (given.out / "bench.json").write_text(text, encoding="utf-8")
    try:
        table = gpu_report.markdown(result)
    except Exception as error:  # of rows that nobody thought of: they are in bench.json
        table = f"The table could not be made: {type(error).__name__}: {error}\n"
    (given.out / "bench.md").write_text(table, encoding="utf-8")
    return table


def run(given, measure):
    """Measure and write; measure: of gpu_parent, in which process."""
    given.out.mkdir(parents=True, exist_ok=True)
    settings = Settings(
        *(given.seconds, given.repeat, given.quick, given.tiny), torch=not given.no_torch
    )
    units = [
        [name, unit] for name in SECTIONS if name in given.only
        for unit in gpu_child.section(name).units(settings)
    ]  # fmt: skip
    request = {"settings": asdict(settings), "units": units, "ends": time.time() + given.limit}
    found = measure(request, lambda found: write(found, given))
    print(write(found, given))
    if importlib.util.find_spec("matplotlib") is None:
        print("matplotlib is not installed, so there are no pictures", file=sys.stderr)
        return found
    for error in gpu_picture.draw(found.rows, given.out):
        print(error, file=sys.stderr)
    return found


def main():
    """Run; or be the process that measures."""
    if sys.argv[1:2] == ["child"]:
        gpu_child.serve()
        return
    command = [sys.executable, str(Path(__file__).resolve()), "child"]
    given = options()
    given.out.mkdir(parents=True, exist_ok=True)
    log = given.out / "bench.log"
    log.unlink(missing_ok=True)
    found = run(given, lambda request, keep: gpu_parent.run(command, request, keep, log))
    if found.fatal:
        sys.exit(f"bench_gpu.py: {found.fatal}")


if __name__ == "__main__":
    main()
