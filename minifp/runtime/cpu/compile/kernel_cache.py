"""Where compiled kernels are kept, and how much of that: without numba, so that it can be told.

One folder for each file of kernels, named by a hash of the sources that they are made of: numba by
itself would not notice a change in another file. Those of former versions go, the one that was
longest not used first, when all together are larger than a bound.

NUMBA_CACHE_DIR may name a folder that several accounts share. What one may only read there is read
there, and what is new goes into the user's own folder. Kernels run as whoever loads them, so that
they are loaded only where nobody else can have written them: see runtime/trusted.py.
"""

import hashlib
import os
import re
import secrets
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

from minifp.runtime import trusted
from minifp.runtime.callers import warn_once

ROOT = Path(__file__).resolve().parents[3]
ENVIRONMENT = "NUMBA_CACHE_DIR"
NAME_OF_ALL = "minifp-kernels"
NAME = re.compile(r"\w+-[0-9a-f]{16}")  # of our folders
VERSION = 1  # of the form of files of object code
CODE = f"code-{VERSION:016x}"
RIGHTS = 0o755  # of folders, less the umask
BINARY = getattr(os, "O_BINARY", 0)  # of Windows
BOUND = 256 * 2**20  # bytes; the kernels of one version take about 70 MiB at most


def place() -> Path:
    """The folder of all these folders, to which new ones go: in the one that NUMBA_CACHE_DIR names,
    or where that may only be read, or others may write to it, in the user's own."""
    named = _named()
    for folder in filter(None, (named, _own())):
        _keep_others_out(folder)
    return _own() if named is None or _is_passed_over(named) or _is_read_only(named) else named


def places() -> list[Path]:
    """Where compiled kernels are read from: there, and what is named and may only be read."""
    first, named = place(), _named()
    return [first] if named in (None, first) or _is_passed_over(named) else [named, first]


def _named():
    folder = os.environ.get(ENVIRONMENT)
    return Path(folder) / NAME_OF_ALL if folder else None


def _own():
    return Path(_user_cache()) / NAME_OF_ALL


def _is_read_only(folder):
    """Whether a folder may not be written to, or not be made."""
    there = next((one for one in (folder, *folder.parents) if os.path.lexists(one)), folder)
    return there.is_dir() and not os.access(there, os.W_OK | os.X_OK)


def _is_passed_over(folder):
    """Whether others could write there; warns, once."""
    doubt = trusted.doubt(folder)
    if doubt:
        _warn_of_others(doubt, folder.parent)
    return bool(doubt)


@cache
def _keep_others_out(folder):
    """Take from others the right to write to folders of one's own, which former versions left to
    the umask; and remove the kernels there, as they may have been exchanged."""
    if not trusted.HAS_OWNERS:
        return
    with suppress(OSError):  # a folder may go away; of what is left as it is, doubt() tells
        if folder == _own() or os.listdir(folder.parent) == [NAME_OF_ALL]:
            trusted.keep_others_out(folder.parent)
        was_open = trusted.keep_others_out(folder)
        for one in folder.iterdir():
            if NAME.fullmatch(one.name) and (trusted.keep_others_out(one) or was_open):
                shutil.rmtree(one, ignore_errors=True)


def _warn_of_others(doubt, folder):
    """Say how to mend it: what is there goes, as others may have written it."""
    mend = f"as root, remove {folder / NAME_OF_ALL}, see that only root can write to {folder}, "
    mend += f"and run: umask 022; {ENVIRONMENT}={folder} minifp warmup"
    if folder == _own().parent:
        mend = f"remove {folder}, or set {ENVIRONMENT} to a folder that is yours alone"
    elif trusted.is_own(folder):
        mend = f"remove {folder / NAME_OF_ALL}, and run: chmod go-w {folder}"
    warn_once(
        f"untrusted kernels in {folder}",
        f"kernels in {folder} are passed over: {doubt}. Kernels run as part of your programs, so "
        f"only those are loaded that root or you own, and nobody else may write: {mend}",
        category=RuntimeWarning,
    )


def read(folder: Path, name: str) -> bytes | None:
    """What a file in one of the folders of these places holds, if nobody else can have written it.

    None where there is none, or it is passed over, which a warning says, once. Raises OSError.
    """
    try:
        return trusted.read(folder.parent, folder.name, name)
    except FileNotFoundError:
        return None
    except trusted.Untrusted as error:
        _warn_of_others(error, folder.parent.parent)
        return None


def _user_cache():
    try:
        import platformdirs
    except ImportError:  # of a checkout that is not installed
        return Path.home() / ".cache" / "minifp"
    return platformdirs.user_cache_dir("minifp")


FRONT_END = ("decorators", "entries", "front_end")  # of compile/, what has a part in every kernel
OF_KERNELS = ("runtime.cpu.emit", "runtime.cpu.kernels")
IMPORT = re.compile(r"^(?:from|import) minifp\.([\w.]+)(?: import (\w+))?", re.MULTILINE)


@cache
def sources(path: str) -> frozenset:
    """The files that a file of kernels is made of: itself, those of kernels and of what emits them
    that it imports, and so on, and what stands between them and LLVM.
    """
    files: set = {ROOT / "runtime" / "cpu" / "compile" / f"{name}.py" for name in FRONT_END}
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
    return name.endswith("_numba") or place in OF_KERNELS


@cache
def digest_of(path: str) -> str:
    """A hash of all sources of a file of kernels."""
    digest = hashlib.sha256()
    for file in sorted(sources(path), key=lambda file: file.name):
        digest.update(file.name.encode() + file.read_text(encoding="utf-8").encode())
    return digest.hexdigest()[:16]


def name_of(path: str) -> str:
    """The name of the folder for the compiled kernels of a file."""
    return f"{Path(path).stem}-{digest_of(path)}"


@cache
def cache_folder(path) -> Path | None:
    """The folder for the compiled kernels of a file, or None where none can be written to.

    Warns, once, in the latter case; not of what was typed in, and is in no file.
    """
    if not Path(path).is_file():
        return None
    return usable(place() / name_of(path))


def usable(folder: Path) -> Path | None:
    """The folder, made where it is missing; None, and a warning, where it cannot be written to, or
    others may write to it."""
    try:
        if not folder.is_dir():
            _shrink_once()
        for one in (folder.parent.parent, folder.parent, folder):
            one.mkdir(mode=RIGHTS, parents=True, exist_ok=True)
        doubt = trusted.doubt(folder.parent, folder.name)
        if doubt:
            _warn_of_others(doubt, folder.parent.parent)
            return None
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
    return usable(place() / CODE)


def kept(key: str) -> bytes | None:
    """The object code of a key; None where there is none, or what there is is damaged, or others
    may have written it."""
    for folder in (place / CODE for place in places()):
        try:
            data = read(folder, f"{key}.o") or b""
        except OSError as error:
            warn_unkept(folder, error)
            continue
        code = data[CHECKSUM:]
        if data and data[:CHECKSUM] == hashlib.sha256(code).digest():
            return code
    return None


def keep(key: str, code: bytes) -> None:
    """Keep object code: aside first, so that no other process reads half of it."""
    folder = code_folder()
    if folder is None:
        return
    try:
        aside = folder / f"{secrets.token_hex(8)}.part"
        with new_file(aside) as file:
            file.write(hashlib.sha256(code).digest() + code)
        aside.replace(folder / f"{key}.o")
    except OSError as error:
        with suppress(OSError, NameError):
            aside.unlink()
        warn_unkept(folder, error)


def new_file(path: Path) -> BinaryIO:
    """A file that is not there yet, to write: for all to read, as far as the umask allows, and for
    nobody else to write, whatever it says."""
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, RIGHTS & 0o666)
    return os.fdopen(number, "wb")


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
    others = "".join(f"; and those in {one} are used" for one in places() if one != folder)
    return f"{used} MiB, of at most {most}, which can be removed at any time, in {folder}{others}"
