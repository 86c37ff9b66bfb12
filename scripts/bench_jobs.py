"""How much sooner a comparison ends with two processes: --jobs 2 and two workers of Dask.

    python scripts/bench_jobs.py [--steps 4000] [--rounds 3] [--out scripts/results/jobs.json]

Each round makes the same comparison three times: one run after another in one thread, with --jobs 2
and on a LocalCluster of two workers that is there already. The figure is the ratio of a time to
half of the first: 1 is twice as fast, and the aim is at most 1.05 for runs of ten seconds and more.
It counts everything, the start of processes too. Between them, "bare" is two plain processes with
half of the seeds each, started apart: what this machine gives, whoever starts them.

Where other programs take more than QUIET of a processor meanwhile, no time means anything: such
rounds are told and do not count. Then there is still "work": the processor seconds of a way against
those of one run after another, which is what it costs beside the training itself.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "MINIFP_THREADS")
for name in THREADS:
    os.environ[name] = "1"  # before NumPy is imported

import minifp as fp  # noqa: E402
from minifp.lab.environment import environment  # noqa: E402

ARMS = ["float32", "mixed"]
AIM, QUIET = 1.05, 0.1
BARE = (
    "import sys, minifp as fp; fp.compare('lenet', {arms}, [{seed}], steps={steps}, progress=False)"
)


def busy_seconds():
    """Seconds that all processors have worked since the machine was started; None where the system
    does not tell."""
    try:
        line = Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0]
    except OSError:
        return None
    user, nice, system, _, _, irq, soft, steal, *_ = map(int, line.split()[1:])
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def own_seconds(cluster):
    """Processor seconds of this process, its children that have ended, and the cluster's."""
    times = os.times()
    found = times.user + times.system + times.children_user + times.children_system
    for pid in descendants(os.getpid()) if cluster else ():
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        found += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


def descendants(pid):
    """All processes below one."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text(encoding="utf-8")
        except OSError:
            continue
        if int(text.rpartition(")")[2].split()[1]) == pid:
            found += [int(path.parent.name), *descendants(int(path.parent.name))]
    return found


def one_by_one(steps, client):
    """As --jobs 1 with one thread."""
    return fp.compare("lenet", ARMS, 2, steps=steps, progress=False).runs


def with_jobs(steps, client):
    """As --jobs 2."""
    return fp.compare("lenet", ARMS, 2, steps=steps, progress=False, jobs=2).runs


def with_dask(steps, client):
    """On the two workers of a cluster."""
    return fp.compare("lenet", ARMS, 2, steps=steps, progress=False, client=client).runs


def bare(steps, client):
    """Two processes that know nothing of each other."""
    codes = [BARE.format(arms=ARMS, seed=seed, steps=steps) for seed in range(2)]
    both = [subprocess.Popen([sys.executable, "-c", code]) for code in codes]
    assert [process.wait() for process in both] == [0, 0]
    return []


def measure(way, steps, client):
    """One comparison: seconds, those of its runs, and the processors that others took meanwhile."""
    busy, own, since = busy_seconds(), own_seconds(True), time.perf_counter()
    runs = way(steps, client)
    seconds = time.perf_counter() - since
    took = own_seconds(True) - own
    others = None if busy is None else max(0.0, busy_seconds() - busy - took) / seconds
    found = {"seconds": seconds, "processor seconds": took, "processors of others": others}
    found["seconds of runs"] = [run.seconds for run in runs]
    found["ms a step"] = [1000 * run.seconds_per_step for run in runs]
    return found, [(run.precision, run.seed, run.history) for run in runs]


def ratio_of(found, name):
    """The time of a way against half of the time of one run after another."""
    return found[name]["seconds"] / (found["one by one"]["seconds"] / 2)


def work_of(found, name):
    """The processor seconds of a way against those of one run after another."""
    return found[name]["processor seconds"] / found["one by one"]["processor seconds"]


def is_quiet(found):
    """Whether nobody else took much of the processors in a round; True where it is not known."""
    return all((way["processors of others"] or 0.0) <= QUIET for way in found.values())


def main():
    """Measure, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=4000, help="of each of the four runs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", default=Path(__file__).parent / "results" / "jobs.json")
    given = parser.parse_args()
    from distributed import Client, LocalCluster

    ways = {"one by one": one_by_one, "bare": bare, "jobs": with_jobs, "dask": with_dask}
    rounds = []
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**settings) as cluster, Client(cluster) as client:
        for way in (one_by_one, with_jobs, with_dask):
            way(20, client)  # kernels are compiled, modules loaded
        for number in range(given.rounds):
            found, bits = {}, {}
            for name, way in ways.items():
                found[name], bits[name] = measure(way, given.steps, client)
                shown = found[name]
                others = shown["processors of others"]
                ratio = ratio_of(found, name)
                print(
                    f"round {number + 1}: {name:10} {shown['seconds']:6.1f} s, ratio {ratio:.3f}, "
                    f"work {work_of(found, name):.3f}, "
                    f"others took {'?' if others is None else f'{others:.2f}'} processors",
                    flush=True,
                )
            assert bits["jobs"] == bits["dask"] == bits["one by one"], "results differ"
            rounds.append(found)
    quiet = [r for r in rounds if is_quiet(r)]
    print(f"{len(quiet)} of {len(rounds)} rounds were quiet")
    several = ("bare", "jobs", "dask")
    medians = {name: median(ratio_of(r, name) for r in quiet) for name in several if quiet}
    work = {name: median(work_of(r, name) for r in rounds) for name in several}
    for name in several:
        ratio = f"ratio {medians[name]:.3f} (aim {AIM}), " if quiet else ""
        print(f"{name}: {ratio}work {work[name]:.3f}")
    told = {"environment": environment(), "steps": given.steps, "aim": AIM, "quiet": len(quiet)}
    told |= {"ratio to half of one by one": medians, "work": work, "rounds": rounds}
    text = json.dumps(told, indent=1) + "\n"
    Path(given.out).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
