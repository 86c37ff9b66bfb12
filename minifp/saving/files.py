"""Files that are never seen half written: written aside, then renamed. All that minifp writes.

There is the old file or the whole new one, whenever the process is killed, and whatever fails. A
file that is replaced keeps its rights; one behind a symbolic link is replaced where it lies.
"""

import errno
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from minifp.errors import ArgumentError, DataError, FileError, MinifpError
from minifp.runtime import untrusted

PART = re.compile(r"minifp-[0-9a-f]{16}\.part")  # what is written aside: each a name of its own
FORGOTTEN = 3600  # seconds after which nobody writes to such a file any more
LARGEST = 2**36  # bytes of a file that is copied from a folder, such as weights
LONGEST = 255  # of a name, on all common file systems
ROOM = "make room there, or give a path on another disk"
ALLOWED = "give a place that you may write to"
FULL = errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)
# What file systems say that cannot bring a folder onto the disk.
UNSYNCED = errno.EINVAL, errno.EBADF, errno.EACCES, errno.EISDIR, errno.ENOTSUP, errno.EROFS
HINTS = {
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), ALLOWED),
    **dict.fromkeys(FULL, ROOM),
}


def as_path(path) -> Path:
    """What somebody has given as a path; a "~" at its beginning is the home folder.

    Raises ArgumentError for what is no path, or an empty one, or has a name that no file can have.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentError(f"a path is a {type(path).__name__}: expected a text, or a Path")
    text = os.fsdecode(path)
    if not text:
        raise ArgumentError("a path is empty: expected that of a file or folder, such as runs/one")
    if "\0" in text:
        raise ArgumentError(f"{text!r}: a path has no NUL characters")
    for name in Path(text).parts:
        length = len(name) if os.name == "nt" else len(os.fsencode(name))
        if length > LONGEST:
            limit = f"expected at most {LONGEST}"
            raise ArgumentError(f"{name[:40]}... is a name of {length} bytes: {limit}")
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise ArgumentError(f"{text}: nobody of this name has a home folder here") from None


def write(path, content) -> Path:
    """Write a text (as UTF-8) or bytes, aside, onto the disk itself; return the path.

    Missing folders are made. Raises ArgumentError for what is no path, a folder, or a path in a
    file; and FileError, with everything as it was, where the disk is full or may not be written to.
    """
    write_all({path: content})
    return as_path(path)


def write_all(contents: dict) -> None:
    """Write several files, by path: all are complete before the first one takes its place.

    What has None for its content is removed then. Where one cannot be, those before are put back.
    """
    with ExitStack() as stack:
        by_path = {as_path(path): content for path, content in contents.items()}
        asides = [_aside(path, content) for path, content in by_path.items() if content is not None]
        parts = [stack.enter_context(aside) for aside in asides]
        gone = [path for path, content in by_path.items() if content is None]
        places = [*parts, *((path, None, path) for path in gone)]
        with ExitStack() as undo:
            for path, part, target in places:
                with _refusals(path):
                    link = _kept(target, stack) if len(places) > 1 else None
                    target.unlink(missing_ok=True) if part is None else os.replace(part, target)
                    undo.callback(_put_back, target, link)
            for folder, path in {target.parent: path for path, _, target in places}.items():
                with _refusals(path):
                    _sync(folder)
            undo.pop_all()
    for folder in {target.parent for *_, target in parts}:
        _remove_forgotten(folder)


def write_into(folder: Path, contents: dict) -> None:
    """Write several files of a folder, as `write_all` does. Raises DataError, with nothing written,
    where a link in the folder leads out of it: whoever sent it would choose what is replaced."""
    check_within(folder, *map(as_path, contents))
    write_all(contents)


def _kept(target, stack):
    """A second name of what is at a place, gone with the stack; None where nothing is."""
    if not target.exists():
        return None
    link = target.with_name(f"minifp-{secrets.token_hex(8)}.part")
    stack.callback(link.unlink, missing_ok=True)
    try:
        os.link(target, link)
    except OSError:  # of file systems without links
        shutil.copy2(target, link)
    return link


def _sync(folder):
    """Bring the names in a folder onto the disk itself, where the system can do that."""
    try:
        number = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows; or a folder that may be written to and not read
        return
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno not in UNSYNCED:
            raise
    finally:
        os.close(number)


def _put_back(target, link):
    """Undo what has replaced, or removed, a file. Raises FileError where that fails as well."""
    try:
        target.unlink(missing_ok=True) if link is None else os.replace(link, target)
    except OSError as error:
        raise FileError(f"{target} is new already, and cannot be put back: {error}") from error


def make_executable(path) -> None:
    """Let those run a file who may read it, where the system knows such a right."""
    with suppress(OSError):
        mode = os.stat(path).st_mode
        os.chmod(path, mode | (mode & 0o444) >> 2)


def remove(*paths) -> None:
    """Remove files, where they are there. Raises FileError."""
    for path in map(as_path, paths):
        with _refusals(path):
            path.unlink(missing_ok=True)


def check_new(path) -> Path:
    """The path. Raises ArgumentError where something is there already; an empty folder may be."""
    target = as_path(path)
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise ArgumentError(f"{path} is there already: expected a folder that is new, or empty")
    return target


@contextmanager
def new_folder(path) -> Iterator[Path]:
    """Give a folder to write into, which becomes the one at `path` when all went well.

    Else nothing of it is left. Raises ArgumentError where something is there already (a folder that
    is empty may be), and FileError where it cannot be made.
    """
    target = check_new(path)
    aside = target.with_name(f"minifp-{secrets.token_hex(8)}.part")
    missing = [folder for folder in target.parents if not os.path.lexists(folder)]
    try:
        with _refusals(target):
            aside.mkdir(parents=True)
        yield aside
        with _refusals(target):
            if target.exists():
                target.rmdir()  # which is empty: on Windows it could not be replaced
            os.replace(aside, target)
            _sync(target.parent)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        for folder in missing:
            with suppress(OSError):  # as it holds something, and stays
                folder.rmdir()


def read_within(folder: Path, name: str, at_most: int = LARGEST) -> bytes:
    """What a file of a folder holds, by its path from there, of at most so many bytes.

    Raises DataError if it cannot be read, or is not in the folder, also where a link leads out of
    it: to a file that whoever sent the folder may not have.
    """
    check_within(folder, folder / name)
    return untrusted.content(folder / name, at_most)


def place_within(folder: Path, *names: str) -> Path:
    """A folder in a folder. Raises DataError where a link of that name leads out of it."""
    check_within(folder, place := folder.joinpath(*names))
    return place


def check_within(folder: Path, *paths: Path) -> None:
    """Raise DataError for a path that is not in a folder, also where a link leads out of it: what
    is read there may be private, and what is written there would replace another file."""
    try:
        inside = folder.resolve()
        for path in paths:
            if not path.resolve().is_relative_to(inside):
                raise DataError(f"{path} is outside of {folder}: expected it in there, and no link")
    except (OSError, RuntimeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"cannot read {path}: {error}") from error


def check_writable(*paths) -> None:
    """Raise what writing these files would raise, as far as it shows; nothing is left or changed.

    Before hours of work, not after them.
    """
    for path in paths:
        with _aside(as_path(path), b"a trial"):
            pass


@contextmanager
def _aside(path, content):
    """Write beside a file; give (path, what is written, what it is to replace), and tidy up."""
    target, part = Path(os.path.realpath(path)), None
    missing = [folder for folder in target.parents if not os.path.lexists(folder)]
    try:
        with _refusals(path):
            before = _replaced(path, target)
            target.parent.mkdir(parents=True, exist_ok=True)
            for folder in missing:
                _sync(folder.parent)
            part = target.with_name(f"minifp-{secrets.token_hex(8)}.part")
            fill(part, content.encode() if isinstance(content, str) else content, before)
        yield path, part, target
    finally:
        if part is not None:
            with suppress(OSError):  # as it was renamed
                part.unlink()
        for folder in missing:
            with suppress(OSError):  # as it holds something, and stays
                folder.rmdir()


def _replaced(path, target):
    """The os.stat of the file that will be replaced; None where there is none."""
    try:
        before = os.stat(target)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(before.st_mode):
        raise ArgumentError(f"{path} is a folder: expected a file, such as {path / 'name'}")
    if not stat.S_ISREG(before.st_mode):
        raise ArgumentError(f"{path} is no ordinary file: expected one, which can be replaced")
    if not os.access(target, os.W_OK):
        raise FileError(f"{path} is protected from being written: allow it, or give another path")
    return before


def fill(part, data, before) -> None:
    """Write bytes onto the disk, as a new file with the rights of the one `before`, if any."""
    rights = 0o666 if before is None else 0o600  # less the umask; or private until it is known
    with open(part, "xb", opener=lambda name, flags: os.open(name, flags, rights)) as file:
        file.write(data)  # closed before the rename, as Windows wants it
        file.flush()
        os.fsync(file.fileno())
    if before is not None:
        with suppress(OSError):  # of file systems without rights
            os.chmod(part, _rights(part, before))


def _rights(part, before):
    """Those of the file before; for a group that is another's, those of all others at most."""
    rights = stat.S_IMODE(before.st_mode)
    now = os.stat(part)
    if (now.st_uid, now.st_gid) == (before.st_uid, before.st_gid) or not hasattr(os, "chown"):
        return rights
    for owner in (before.st_uid, -1):  # only root may give a file away
        with suppress(OSError):
            os.chown(part, owner, before.st_gid)
            return rights
    return rights & ~stat.S_IRWXG | rights & (rights & stat.S_IRWXO) << 3


@contextmanager
def _refusals(path):
    """Turn what the system refuses into one line."""
    try:
        yield
    except MinifpError:
        raise
    except (FileExistsError, NotADirectoryError):
        reason = f"{path.parent} is, or is in, a file: expected a folder"
        raise ArgumentError(f"{path} cannot be written: {reason}") from None
    except OSError as error:
        hint = HINTS.get(error.errno, "try again, or give another path")
        refusal = FileError(
            f"{path} cannot be written: {error.strerror or error}. What was there is as it was; "
            f"{hint}"
        )
        refusal.errno = error.errno
        raise refusal from error


def _remove_forgotten(folder) -> None:
    """Remove what was written aside by processes that were killed while they did."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if PART.fullmatch(entry.name) and time.time() - entry.stat().st_mtime > FORGOTTEN:
                os.unlink(entry.path)
