"""Measure training steps and single operations of minifp beside PyTorch's, and beside the limit.

    python scripts/bench.py                              (everything: about an hour)
    python scripts/bench.py --models mlp lstm --kernels none --threads 1
    python scripts/bench.py --models gallery gallery-inference --kernels none --no-floor --no-memory
    python scripts/bench.py --models detectors sequences --kernels ctc --no-floor --no-memory
    python scripts/bench.py --profile resnet20
    python scripts/bench.py --calls --repeat 15

How it is measured. Each model runs in a process of its own for each implementation: minifp in
float32 and in mixed precision; PyTorch in float32, with channels before pixels (NCHW) and behind
them (last), and under bfloat16 and float16 autocast. They begin from the same weights and get the
same batches, and their first losses must agree. Each is warmed up; then they take turns: in every
round each takes as many steps as fit into --seconds, the others sleep, and the next round begins
with another one. The time of a step is the median over rounds. All libraries get the same number of
threads, which wait between their tasks as each library has it: PyTorch's spin for a moment, and a
policy of sleeping (OMP_WAIT_POLICY=passive) makes its small steps on two threads twice as slow.
--clock processor counts the time that a process had a core, which other programs on the machine do
not lengthen: for one thread. PyTorch's float16 may take seconds for a step: then it takes no more
than two, or it is ended after --limit seconds, which is then said, as errors are.

The floor beside each time is what the step's products take at the float32 rate of each shape (the
fastest of NumPy's BLAS, minifp's own product and torch.mm, measured in the same run on as many
threads), and what the bytes of its other kernels take at the bandwidth, for arrays of their size.

Memory is the peak of a fresh process while it takes steps, without what it held after its imports,
and without what it held after steps of a tiny model; and, for minifp, what the tape holds of
activations and gradients at their common peak, and what tracemalloc sees in a step.

Written to --out: bench.md (tables, and the bars that they are held against), bench.json (all
figures, with every round), bench.png. With --profile: profile-MODEL-PRECISION.md and .png, where a
step's time goes, by phase, by operation and by kernel.
"""

import argparse
import importlib.util
import json
import os
import sys
from pathlib import Path

from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parent))
from benchmarks import child, picture, profile_report, report, workloads
from benchmarks.child import CLOCKS
from benchmarks.process import THREADS, Failure, Process
from benchmarks.rounds import COMPILING, IMPLEMENTATIONS, Bench, Settings
from benchmarks.workloads import GROUPS

HOW_TO_GET = "python -m pip install -e '.[bench]'"
MODELS = [w.name for w in workloads.MODELS]
KNOWN = [w.name for w in workloads.KNOWN["model"]]
OPERATIONS = [w.name for w in workloads.OPERATIONS]


def options():
    """What the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    some = {"nargs": "+", "metavar": "NAME"}
    add(
        "--models", **some, default=MODELS,
        help=f"{', '.join(MODELS)} (all of these), {', '.join(GROUPS)}, one of those, none",
    )  # fmt: skip
    add("--kernels", **some, default=OPERATIONS, help=f"{', '.join(OPERATIONS)}, none (all)")
    add(
        "--implementations", **some, default=list(IMPLEMENTATIONS),
        help=f"{', '.join(IMPLEMENTATIONS)} (all that can be imported)",
    )  # fmt: skip
    add("--threads", nargs="+", default=["1", "all"], metavar="N", help="numbers, or all (1 all)")
    add("--repeat", type=int, default=7, metavar="N", help="rounds; steps of a profile x 5 (7)")
    add("--seconds", type=float, default=0.25, help="of one implementation in one round (0.25)")
    add("--limit", type=float, default=60.0, help="seconds for a step in PyTorch's float16 (60)")
    add("--out", type=Path, default=Path("runs/bench"), help="a folder (runs/bench)")
    add("--clock", default="wall", choices=CLOCKS, help="processor: where others work too (wall)")
    add("--tiny", action="store_true", help="small sizes, which measure nothing: to try this")
    add("--no-memory", action="store_true", help="leave the memory of processes out")
    add("--no-floor", action="store_true", help="leave out the limit, and what the tape holds")
    add("--profile", metavar="MODEL", choices=KNOWN, help="say where the time of its step goes")
    add("--precision", default="mixed", help="of the profile (mixed)")
    add("--calls", action="store_true", help="what calls of small operations cost, in a table")
    given = parser.parse_args()
    given.models = [name for said in given.models for name in GROUPS.get(said, [said])]
    for name, known in (
        ("models", KNOWN),
        ("kernels", OPERATIONS),
        ("implementations", IMPLEMENTATIONS),
    ):
        chosen = [] if getattr(given, name) == ["none"] else getattr(given, name)
        unknown = [text for text in chosen if text not in known]
        if unknown:
            parser.error(f"--{name}: {', '.join(unknown)}: expected some of {', '.join(known)}")
        setattr(given, name, chosen)
    if given.repeat < 1:
        parser.error(f"--repeat {given.repeat}: expected at least 1")
    given.threads = [cores() if n == "all" else n for n in given.threads]
    if not all(str(n).isdecimal() and int(n) > 0 for n in given.threads):
        parser.error(f"--threads {' '.join(map(str, given.threads))}: expected numbers, or all")
    given.threads = list(dict.fromkeys(int(n) for n in given.threads))
    if given.clock == "processor" and given.threads != [1]:
        parser.error("--clock processor adds up what threads take at once: expected --threads 1")
    return given


def cores():
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def can_import(library):
    """Whether it is installed; says how to get it where it is not."""
    if importlib.util.find_spec(library) is not None:
        return True
    print(f"{library} is not installed, so its part is left out: {HOW_TO_GET}", file=sys.stderr)
    return False


def write(bench, given):
    """The table and the figures so far."""
    found = bench.found()
    found["settings"] = {k: str(v) if isinstance(v, Path) else v for k, v in vars(given).items()}
    text = report.markdown(found)
    (given.out / "bench.md").write_text(text, encoding="utf-8")
    (given.out / "bench.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return found, text


def run(given):
    """Measure, print and write."""
    if any(name.startswith("torch") for name in given.implementations) and not can_import("torch"):
        given.implementations = [n for n in given.implementations if n.startswith("minifp")]
    found = {
        "model": [workloads.find("model", name, given.tiny) for name in given.models],
        "operation": [workloads.find("operation", name, given.tiny) for name in given.kernels],
    }
    most = max(given.threads)
    with tqdm(total=sum(map(len, found.values())) * len(given.threads), unit="workload") as bar:
        settings = Settings(
            *(given.repeat, given.seconds, given.limit),
            tiny=given.tiny, clock=given.clock, floors=not given.no_floor, say=bar.set_description,
            implementations=tuple(given.implementations),
        )  # fmt: skip

        def done(bench):
            write(bench, given)
            bar.update()

        bench = Bench(settings, done)
        for threads in given.threads:
            for kind, those in found.items():
                with_memory = kind == "model" and threads == most and not given.no_memory
                if those:
                    bench.run(kind, those, threads, with_memory)
    results, text = write(bench, given)
    print(text)
    if results["results"] and can_import("matplotlib"):
        picture.draw(results, given.out / "bench.png")
    ended = report.ended_early(results)
    if ended:
        raise Failure("; ".join(ended))


def profile(given):
    """Profile one model, print and write."""
    kind = {"kind": "model", "name": given.profile, "tiny": given.tiny}
    steps, threads = 5 * given.repeat, given.threads[0]
    with Process(f"minifp-{given.precision}", threads) as process:
        process.ask("make", COMPILING, **kind)
        process.ask("settle", COMPILING)
        parts = process.ask("profile", COMPILING, steps=steps, clock=given.clock)["parts"]
    of = report.threads_text(threads)
    title = f"{workloads.find('model', given.profile).title}: {given.precision}, {of}"
    text = profile_report.markdown(title, parts)
    print(text)
    path = given.out / f"profile-{given.profile}-{given.precision}.md"
    path.write_text(text + "\n", encoding="utf-8")
    if can_import("matplotlib"):
        picture.draw_profile(title, parts, path.with_suffix(".png"))


def calls(given):
    """Print what calls of small operations cost beside PyTorch's, on one thread."""
    if can_import("torch"):
        os.environ |= dict.fromkeys(THREADS, "1")
        print(importlib.import_module("benchmarks.calls").table(given.repeat))


def main():
    """Run, or profile; or be a child of one that does."""
    if sys.argv[1:2] == ["child"]:
        child.serve(*sys.argv[2:])
        return
    given = options()
    if given.calls:
        calls(given)
        return
    given.out.mkdir(parents=True, exist_ok=True)
    try:
        profile(given) if given.profile else run(given)
    except Failure as error:
        sys.exit(f"bench.py: {error}")


if __name__ == "__main__":
    main()
