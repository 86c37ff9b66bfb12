"""Where compiled kernels are kept, and how much of that: without numba, so that it can be told.

One folder for each file of kernels, named by a hash of the sources that they are made of: numba by
itself would not notice a change in another file. Those of former versions go, the one that was
longest not used first, when all together are larger than a bound.
"""

import hashlib
import os
import re
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from minifp.runtime.callers import warn_once

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = "NUMBA_CACHE_DIR"
NAME = re.compile(r"\w+-[0-9a-f]{16}")  # of our folders
VERSION = 1  # of the form of files of object code
BOUND = 256 * 2**20  # bytes; the kernels of one version take about 70 MiB at most


def place() -> Path:
    """The folder of all these folders."""
    return Path(os.environ.get(ENVIRONMENT) or _user_cache()) / "minifp-kernels"


def _user_cache():
    try:
        import platformdirs
    except ImportError:  # of a checkout that is not installed
        return Path.home() / ".cache" / "minifp"
    return platformdirs.user_cache_dir("minifp")


# What compiles kernels and calls them, and has no part in what they compute; and what has.
MACHINERY = ("machine", "compiling", "kernel_cache", "shipped", "threads", "heap")
FRONT_END = ("compile", "entries", "front_end")
IMPORT = re.compile(r"^(?:from|import) minifp\.([\w.]+)(?: import (\w+))?", re.MULTILINE)


@cache
def sources(path: str) -> frozenset:
    """The files that a file of kernels is made of: itself, those of kernels and of runtime/cpu that
    it imports, and so on, and what stands between them and LLVM.
    """
    files: set = {ROOT / "runtime" / "cpu" / f"{name}.py" for name in FRONT_END}
    _collect(Path(path), files)
    return frozenset(files)


def _collect(path, files):
    files.add(path)
    for places in IMPORT.findall(path.read_text(encoding="utf-8")):
        for module in (places[0], ".".join(places)):
            file = ROOT.joinpath(*module.split(".")).with_suffix(".py")
            if _is_of_kernels(module) and file not in files and file.is_file():
                _collect(file, files)


def _is_of_kernels(module):
    place, _, name = module.rpartition(".")
    return name.endswith("_numba") or (place == "runtime.cpu" and name not in MACHINERY)


@cache
def digest_of(path: str) -> str:
    """A hash of all sources of a file of kernels."""
    digest = hashlib.sha256()
    for file in sorted(sources(path), key=lambda file: file.name):
        digest.update(file.name.encode() + file.read_text(encoding="utf-8").encode())
    return digest.hexdigest()[:16]


@cache
def cache_folder(path) -> Path | None:
    """The folder for the compiled kernels of a file, or None where none can be written to.

    Warns, once, in the latter case; not of what was typed in, and is in no file.
    """
    if not Path(path).is_file():
        return None
    return usable(place() / f"{Path(path).stem}-{digest_of(path)}")


def usable(folder: Path) -> Path | None:
    """The folder, made where it is missing; None, and a warning, where it cannot be written to."""
    try:
        if not folder.is_dir():
            _shrink_once()
            folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):  # which marks the folder as used now
            return folder
    except OSError as error:
        warn_unkept(folder, error)
        return None


def warn_unkept(folder, error) -> None:
    """Warn, once, that compiled kernels cannot be kept, or that those kept are damaged."""
    problem = "cannot be kept" if isinstance(error, OSError) else "are damaged"
    warn_once(
        "the kernel cache",
        f"compiled kernels {problem} in {folder} ({type(error).__name__}: {error}), so they are "
        f"compiled anew: make room there, or remove that folder, or set {ENVIRONMENT} to one that "
        "can be written",
        category=RuntimeWarning,
    )


# ---- object code --------------------------------------------------------------------------------

CHECKSUM = 32  # bytes in front of object code


@cache
def code_folder() -> Path | None:
    """The folder of object code that needs no numba; None where none can be written to."""
    _shrink_once()  # it is one folder for all versions, so that it grows
    return usable(place() / f"code-{VERSION:016x}")


def kept(key: str) -> bytes | None:
    """The object code of a key; None where there is none, or what there is is damaged."""
    folder = code_folder()
    if folder is None:
        return None
    path = folder / f"{key}.o"
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        warn_unkept(folder, error)
        return None
    code = data[CHECKSUM:]
    return code if data[:CHECKSUM] == hashlib.sha256(code).digest() else None


def keep(key: str, code: bytes) -> None:
    """Keep object code: aside first, so that no other process reads half of it."""
    folder = code_folder()
    if folder is None:
        return
    try:
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            aside = Path(file.name)
            file.write(hashlib.sha256(code).digest() + code)
        aside.replace(folder / f"{key}.o")
    except OSError as error:
        with suppress(OSError, NameError):
            aside.unlink()
        warn_unkept(folder, error)


# ---- how much there is --------------------------------------------------------------------------


def size_of(folder) -> int:
    """The bytes of all files below a folder."""
    total = 0
    for path in Path(folder).rglob("*"):
        with suppress(OSError):  # another process may remove it
            total += path.stat().st_size if path.is_file() else 0
    return total


def shrink(bound: int = BOUND) -> None:
    """Remove folders, the one longest not used first, until all are of at most `bound` bytes."""
    folders = {}
    with suppress(OSError):
        for folder in place().iterdir():
            if NAME.fullmatch(folder.name) and folder.is_dir() and not folder.is_symlink():
                folders[folder] = folder.stat().st_mtime
    sizes = {folder: size_of(folder) for folder in folders}
    total = sum(sizes.values())
    for folder in sorted(folders, key=folders.__getitem__):
        if total <= bound:
            return
        shutil.rmtree(folder, ignore_errors=True)
        total -= sizes[folder]


@cache
def _shrink_once():
    """Where a folder is missing kernels are compiled for long, and a new version may be why."""
    shrink()


def summary() -> str:
    """Where compiled kernels are, and how much room they take."""
    folder = place()
    used, most = (f"{n / 2**20:.0f}" for n in (size_of(folder), BOUND))
    return f"{used} MiB, of at most {most}, which can be removed at any time, in {folder}"
