"""What was compiled ahead, written down beside the kernels: so that to ask for it takes no time.

It holds for one text of minifp, one processor and one set of libraries, and only as long as all of
the files are there that were there then.
"""

import hashlib
import json
import platform
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from minifp.lab import environment
from minifp.runtime import locks
from minifp.runtime.cpu.compile import kernel_cache
from minifp.saving import files

PATIENCE = 20.0  # seconds that one waits for another, which may have been stopped


@cache
def digest() -> str:
    """A hash of all that decides what is compiled: sources, libraries, and the processor."""
    versions = [platform.python_version(), platform.machine(), environment.processor()]
    versions += [environment.installed(name) for name in ("numpy", "numba", "llvmlite")]
    digest = hashlib.sha256("\n".join(versions).encode())
    for path in sorted(kernel_cache.ROOT.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def record(place: Path | None = None) -> Path:
    """The file in which it is written down, of where kernels are kept; by default, of new ones."""
    return (place or kernel_cache.place()) / f"warm-{digest()}.json"


def cached(place: Path) -> list[str]:
    """The files of compiled kernels that there are."""
    paths = (path for path in place.rglob("*") if path.is_file() and path.parent != place)
    return sorted(path.relative_to(place).as_posix() for path in paths)


def warmed() -> set[str]:
    """The names of the jobs that need not be done again."""
    return set().union(*map(_warmed_in, kernel_cache.places()))


def _warmed_in(place):
    with suppress(OSError, ValueError, KeyError, TypeError):
        content = json.loads(record(place).read_text(encoding="utf-8"))
        if {*content["files"]} <= {*cached(place)}:
            return {*content["jobs"]}
    return set()


def write_down(jobs: Iterable[str]) -> None:
    """Record these jobs as done. Raises FileError if the record cannot be written."""
    path = record()
    with locks.alone(path.with_suffix(".lock"), f"another program has {path}", PATIENCE):
        content = {"jobs": sorted(_warmed_in(path.parent) | {*jobs}), "files": cached(path.parent)}
        files.write(path, json.dumps(content, indent=1))
