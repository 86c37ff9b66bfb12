"""One at a time: what several processes read, change and write again, or work in for hours.

The system's own lock on a file, which ends with the process that has it, however that ends. Where
it is refused (some network drives have none) a warning says so, once, and nobody waits: libraries
that wrap these calls take every refusal for somebody else's lock, and would wait forever.
"""

import errno
import math
import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from minifp.runtime.browser import IN_BROWSER
from minifp.runtime.callers import warn_once

fcntl: Any = None
msvcrt: Any = None
if os.name == "nt":
    import msvcrt
elif not IN_BROWSER:
    import fcntl

NAME = "minifp.lock"  # of the file in a folder that is locked as a whole
BUSY = errno.EAGAIN, errno.EACCES, errno.EDEADLK  # of what another process has locked
# Where the file cannot be made nothing can be written either, which whoever writes is told.
UNWRITABLE = errno.EACCES, errno.EPERM, errno.EROFS, errno.EEXIST, errno.ENOTDIR, errno.ENOSPC
SAFELY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # of links, and pipes
TOLD, LONGEST = 2.0, 0.5  # seconds after which somebody who waits is told why; between two looks
_own = threading.local()
_open: set[int] = set()  # files of locks that this process has


class alone:
    """A `with` block in which one is alone, of all threads and processes, by the lock in a file.

    path: of the file, which is gone afterwards, and so are folders that were made for it, are
    empty, and in which nobody waits. Blocks in each other have one lock. others: what a warning
    says of whoever is waited for. patience: seconds to wait, after which a warning says so
    and the block is entered all the same.
    """

    def __init__(self, path: Path, others: str, patience: float = math.inf) -> None:
        self.path = Path(os.path.realpath(path.parent)) / path.name
        self.others, self.patience = others, patience
        self.number: int | None = None  # of the open file, where this block has locked it
        self.missing: list[Path] | None = None  # folders that were not there; None in another block

    def __enter__(self) -> None:
        held = _own.__dict__.setdefault("held", set())
        if not IN_BROWSER and self.path not in held:
            self.missing = [one for one in self.path.parents if not os.path.lexists(one)]
            self.number = _taken(self.path, self.others, self.patience)
            held.add(self.path)

    def __exit__(self, *error: object) -> None:
        if self.missing is None:
            return
        _own.__dict__.setdefault("held", set()).discard(self.path)
        if self.number is not None:
            _let_go(self.number, self.path)
        for folder in self.missing:
            with suppress(OSError):  # as it holds something, and stays
                folder.rmdir()


def _taken(path, others, patience):
    """The file of the lock, opened and locked; None where that cannot be, or took too long."""
    since, pause = time.monotonic(), 0.001
    while True:
        try:
            number = _locked(path)
            if number is not None:
                return number
        except OSError as error:
            if error.errno not in UNWRITABLE:
                told = f"{path} cannot be locked ({error.strerror})"
                what_to_do = "do not run two programs at once that write there"
                warn_once(f"lock {path}", f"{told}: {what_to_do}", category=RuntimeWarning)
            return None
        waited = time.monotonic() - since
        if waited > patience:
            told = f"{others} for {waited:.0f} s, and is not waited for any more"
            warn_once(f"patience {path}", told, category=RuntimeWarning)
            return None
        if waited > TOLD:
            told = f"{others}: this one waits until it is done (Ctrl-C ends that)"
            warn_once(f"lock {path}", told, category=RuntimeWarning)
        time.sleep(pause)
        pause = min(2 * pause, LONGEST)


def _locked(path):
    """The file of the lock, which is this process's now; None where it is another's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        number = os.open(path, os.O_RDWR | os.O_CREAT | SAFELY, 0o666)
    except FileNotFoundError:  # who had the lock has just removed the folder
        return None
    try:
        if _is_free(number) and _is_there(number, path):
            _open.add(number)
            return number
    except OSError:  # of file systems without locks
        path.unlink(missing_ok=True)
        raise
    finally:
        if number not in _open:
            os.close(number)
    return None


def _is_free(number):
    """Lock an open file, if nobody else has."""
    try:
        if fcntl is None:
            msvcrt.locking(number, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError as error:
        if error.errno in BUSY:
            return False
        raise


def _is_there(number, path):
    """Whether the path still is that file: who had the lock before may have removed it."""
    try:
        return fcntl is None or os.path.samestat(os.fstat(number), os.stat(path))
    except FileNotFoundError:
        return False


def _let_go(number, path):
    """Remove the file of a lock, which only who has it may do, and end the lock."""
    if fcntl is not None:
        with suppress(OSError):
            path.unlink()
        with suppress(OSError):
            fcntl.flock(number, fcntl.LOCK_UN)  # of all processes that have inherited the file
    _open.discard(number)
    os.close(number)
    if fcntl is None:  # Windows removes no file that is open
        with suppress(OSError):
            path.unlink()


def _after_fork():
    """A child process has none of its parent's locks, and keeps none when the parent dies."""
    for number in _open:
        with suppress(OSError):
            os.close(number)
    _open.clear()
    _own.__dict__.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
