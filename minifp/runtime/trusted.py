"""Files that nobody else can have written: what is loaded as code is read by this.

Root is trusted, and the user whose process this is. One of them must own the file, and nobody else
may write to it; and so it must be with the folders that it lies in, up to a root and the folder of
that (of which all may write to one like /tmp, where each may only move what is his own). Folders
are opened one in the other, no link in them is followed, and what is asked about is what is open:
nothing can be exchanged between the question and the reading. Windows has other rights, which are
not asked for.
"""

import errno
import os
import stat
from contextlib import ExitStack, suppress
from pathlib import Path

HAS_OWNERS = hasattr(os, "geteuid") and os.open in os.supports_dir_fd
NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # and no waiting for a pipe
FOLDER = getattr(os, "O_DIRECTORY", 0)
OTHERS = stat.S_IWGRP | stat.S_IWOTH
LINKS = errno.ELOOP, errno.EMLINK, errno.ENOTDIR  # what systems say of a link that is not followed


class Untrusted(Exception):
    """Says which file or folder others may have written, and by which right."""


def read(root: Path, *names: str) -> bytes:
    """What the file `names`, by folders, below the folder `root` holds.

    Raises Untrusted, and OSError for what is not there or may not be read.
    """
    if not HAS_OWNERS:
        return root.joinpath(*names).read_bytes()
    with ExitStack() as stack:
        path = root.joinpath(*names)
        number = _opened(stack, path, NO_LINK, _entered(stack, root, names[:-1]))
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise Untrusted(f"{path} is no ordinary file")
        _check(number, path)
        with os.fdopen(os.dup(number), "rb") as file:
            return file.read()


def doubt(root: Path, *names: str) -> str:
    """Why a folder below the folder `root` is not trusted, or `root` itself; "" where it is, or as
    much of it as there is."""
    if HAS_OWNERS:
        with ExitStack() as stack:
            try:
                _entered(stack, root, names)
            except Untrusted as error:
                return str(error)
            except OSError:
                pass
    return ""


def is_own(folder: Path) -> bool:
    """Whether a folder is the user's, and no link."""
    with suppress(OSError):
        there = folder.lstat()
        return stat.S_ISDIR(there.st_mode) and there.st_uid == os.geteuid()
    return False


def keep_others_out(folder: Path) -> bool:
    """Take from others the right to write to a folder that is the user's own; whether they had it.

    One like /tmp stays as it is. Raises OSError.
    """
    rights = stat.S_IMODE(folder.lstat().st_mode)
    is_open = bool(rights & OTHERS) and not rights & stat.S_ISVTX and is_own(folder)
    if is_open:
        folder.chmod(rights & ~OTHERS)
    return is_open


def _entered(stack, root, names):
    """The last of these folders, opened, after all of them were looked at."""
    path = root.parent
    number = _opened(stack, path, FOLDER)
    _check(number, path, is_shared=True)
    for name in (root.name, *names):
        path = path / name
        number = _opened(stack, path, FOLDER | NO_LINK, number)
        _check(number, path)
    return number


def _opened(stack, path, flags, folder=None):
    """A file, or folder, in the folder that is open: closed with the stack."""
    try:
        name = path if folder is None else path.name
        number = os.open(name, os.O_RDONLY | flags, dir_fd=folder)
    except OSError as error:
        if error.errno in LINKS and folder is not None:
            raise Untrusted(f"{path} is a link, or not what it should be") from None
        if error.errno == errno.EACCES:
            raise Untrusted(f"you may not read {path}") from None
        raise
    stack.callback(os.close, number)
    return number


def _check(number, path, is_shared=False):
    """Raise Untrusted for an open file that others own, or may write to."""
    found = os.fstat(number)
    if found.st_uid not in (0, os.geteuid()):
        raise Untrusted(f"{path} is owned by {_user(found.st_uid)}")
    if found.st_mode & OTHERS and not (is_shared and found.st_mode & stat.S_ISVTX):
        raise Untrusted(f"others may write to {path} ({stat.filemode(found.st_mode)})")


def _user(number):
    try:
        import pwd

        return pwd.getpwuid(number).pw_name
    except (ImportError, KeyError):
        return f"user {number}"
