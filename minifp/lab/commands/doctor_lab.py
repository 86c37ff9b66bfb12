"""Whether a seat is ready for a lab day: in a few seconds, with the command that repairs each part.

What is measured here trains for a second; nothing is compiled, installed or downloaded. Where it is
not known what is compiled, each part of it is tried, which takes some seconds more, once.
"""

import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from statistics import median

import minifp
from minifp import data, optim
from minifp.errors import FileError, MinifpError
from minifp.lab import environment, warm_record
from minifp.lab.compile_ahead import is_compiled
from minifp.lab.tasks import load_task
from minifp.lab.workers.room import gib
from minifp.nn import functional as F
from minifp.numerics import policy
from minifp.report.words import bytes_text
from minifp.runtime import cpu, processes
from minifp.runtime.cpu.compile import kernel_cache
from minifp.runtime.cpu.threads import get_num_threads
from minifp.teach.warming import jobs_for_lessons
from minifp.training.mixed import MixedOptimizer

PYTHON = (3, 10)
JUPYTERS = ("python", f"python{sys.version_info[0]}", "python{}.{}".format(*sys.version_info))
DISK, MEMORY = 2**30, 2 * 2**30  # bytes that a day of lessons needs, with room
SECONDS = 1.0  # for which steps are timed
# Milliseconds of a step of LeNet, batch 64, in mixed precision: on the machine that the minutes of
# lessons are of, and so many times as many that a lesson is still taken in an hour.
PLANNED, SLOWER = 5.0, 4.0


@dataclass(frozen=True)
class Check:
    """said: what there is. mend: the command, or what to do; "" where all is well."""

    name: str
    said: str
    mend: str = ""

    @property
    def ok(self) -> bool:
        """Whether there is nothing to do."""
        return not self.mend


def install(*packages: str) -> str:
    """The command that installs packages into this Python."""
    return " ".join([environment.python_path(), "-m pip install", *packages])


def warmup() -> str:
    """The command that compiles what lessons need."""
    return f"{environment.command_word()} warmup"


def python() -> Check:
    """The version of Python."""
    is_new = sys.version_info >= PYTHON
    mend = "" if is_new else f"install Python {'.'.join(map(str, PYTHON))} or later"
    return Check("Python", f"{platform.python_version()} ({sys.executable})", mend)


def package() -> Check:
    """Which minifp is imported."""
    return Check("minifp", f"{minifp.__version__} in {Path(minifp.__file__).parent}")


def numpy() -> Check:
    """NumPy, and on which library its products run."""
    return Check("NumPy", f"{environment.installed('numpy')} on {environment.blas()}")


def threads() -> Check:
    """How many threads there are for how many cores."""
    count, cores = get_num_threads(), environment.cores()
    said = f"{count} for {cores} cores"
    return Check("threads", said, "unset MINIFP_THREADS" if count > cores else "")


def kernels() -> Check:
    """Whether what lessons need is compiled."""
    error = cpu.numba_error(is_tried=True)
    if os.environ.get("MINIFP_KERNELS") == "numpy":
        return Check("kernels", "none: MINIFP_KERNELS=numpy", "unset MINIFP_KERNELS")
    if error is not None or cpu.why_not_derived():
        said = f"none: {error or cpu.why_not_derived()}"
        return Check("kernels", said, install("--upgrade", "numba", "llvmlite"))
    jobs, there = jobs_for_lessons(), warm_record.warmed()
    doubtful = [job for job in jobs if str(job) not in there]
    left = [job for job in doubtful if not is_compiled(job)]  # lessons compile too, as they run
    with suppress(FileError, OSError):
        warm_record.write_down(str(job) for job in doubtful if job not in left)
    if left:
        return Check("kernels", f"{len(left)} of {len(jobs)} parts are not compiled", warmup())
    return Check("kernels", f"compiled, in {' and '.join(map(str, kernel_cache.places()))}")


def library(name: str, *packages: str) -> Check:
    """Whether packages are there, which have the names of their modules."""
    absent = [package for package in packages if find_spec(package) is None]
    said = ", ".join(f"{package} {environment.installed(package)}" for package in packages)
    return Check(name, said, install(*absent) if absent else "")


pictures = partial(library, "pictures", "matplotlib")
sliders = partial(library, "sliders", "ipywidgets")


def notebooks() -> Check:
    """JupyterLab, and a kernel for it that runs this Python."""
    check = library("notebooks", "jupyterlab", "ipykernel")
    if not check.ok:
        return check
    specs = import_module("jupyter_client.kernelspec").KernelSpecManager().get_all_specs()
    runs = {name: spec["spec"]["argv"][0] for name, spec in specs.items()}
    here = [name for name, path in runs.items() if is_this_python(path)]
    said = f"{check.said}; kernels of this Python: {', '.join(here) or 'none'}"
    own = f"{environment.python_path()} -m ipykernel install --user --name minifp"
    return Check("notebooks", said, "" if here else own)


def is_this_python(word: str) -> bool:
    """Whether a kernel's first word starts this Python, or that of the same environment; Jupyter
    itself, which such a kernel is installed with, takes its own Python for these names."""
    return word in JUPYTERS or environment.starts_this_python(word)


def disk() -> Check:
    """Room where kernels are kept, and in this folder."""
    places = {"kernels": existing(kernel_cache.place()), "this folder": Path.cwd()}
    free = {name: shutil.disk_usage(place).free for name, place in places.items()}
    said = ", ".join(f"{bytes_text(n)} for {name}" for name, n in free.items())
    short = min(free.values()) < DISK
    return Check("disk", f"free: {said}", f"make room: {bytes_text(DISK)} are needed" * short)


def existing(path: Path) -> Path:
    """The nearest folder that there is already."""
    return next(folder for folder in (path, *path.parents) if folder.exists())


def memory() -> Check:
    """Free memory, where the system tells."""
    free = processes.available()
    if free is None:
        return Check("memory", "this system does not report free space")
    return Check("memory", f"{gib(free)} free", "close other programs" if free < MEMORY else "")


def bundled() -> Check:
    """The data sets that need no download, read as lessons read them."""
    try:
        digits, _ = data.digits()
        text, _ = data.shakespeare(length=64)
    except (MinifpError, OSError) as error:
        return Check("data", str(error), install("--force-reinstall", "--no-deps", "minifp"))
    return Check("data", f"{len(digits):,} digits, {len(text):,} pieces of text, bundled")


def speed() -> Check:
    """Steps of LeNet, for a second."""
    ms = 1000 * step_seconds()
    said = f"{ms:.1f} ms for a step of LeNet; lessons allow up to {PLANNED * SLOWER:g}"
    is_slow = ms > PLANNED * SLOWER
    return Check("speed", said, "close other programs; plug a laptop in" if is_slow else "")


def step_seconds() -> float:
    """The median over what fits into SECONDS, after the first two."""
    task = load_task("lenet")
    batches = cycle([*data.DataLoader(task.data()[0], task.batch_size)])
    with policy.precision("mixed"):
        model = task.model()
        optimizer = MixedOptimizer(optim.Adam(model.parameters(), lr=1e-3))
        times: list[float] = []
        while sum(times[2:]) < SECONDS:
            x, t = next(batches)
            since = time.perf_counter()
            optimizer.minimize(F.cross_entropy(model(x), t))
            times.append(time.perf_counter() - since)
    return median(times[2:])


CHECKS: list[Callable[[], Check]] = [python, package, numpy, threads, kernels, pictures, sliders]
CHECKS += [notebooks, disk, memory, bundled]


def checks() -> Iterator[Check]:
    """All of them, one after the other; the speed only where kernels are compiled, because it
    would be that of a compiler."""
    results = []
    for check in CHECKS:
        results.append(check())
        yield results[-1]
    if all(check.ok for check in results if check.name == "kernels"):
        yield speed()
    else:
        yield Check("speed", "not measured before kernels are compiled", warmup())


def line(check: Check) -> str:
    """A check in a line, and what to do about it in another."""
    head = f"{'ok' if check.ok else 'MEND':6}{check.name:11}"
    return f"{head}{check.said}" + ("" if check.ok else f"\n{'':17}-> {check.mend}")


def verdict(results: list[Check]) -> str:
    """The last line."""
    left = [check.name for check in results if not check.ok]
    return f"NOT READY: {', '.join(left)}" if left else "GREEN: this seat is ready"
