"""Files that are never seen half written: written aside, then renamed."""

import os
from contextlib import contextmanager, suppress
from pathlib import Path

from minifp.errors import ArgumentError


@contextmanager
def aside(path):
    """Give a path to write to, in the folder of `path`, which it replaces at the end of the block.

    There is the old file or the whole new one, whenever the process is killed (a .part file that it
    leaves is overwritten by the next). If the block raises, what it wrote is removed. Missing
    folders are made. Raises ArgumentError for what is no path, a folder, or a path in a file.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentError(f"a path is a {type(path).__name__}: expected a text, or a Path")
    path = Path(path)
    if path.is_dir():
        raise ArgumentError(f"{path} is a folder: expected a file, such as {path / path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ArgumentError(
            f"{path} cannot be written: {path.parent} is, or is in, a file: expected a folder"
        ) from None
    part = path.with_name(path.name + ".part")
    try:
        yield part
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def write(path, content) -> Path:
    """Write a text (as UTF-8) or bytes, aside, onto the disk itself; return the path."""
    data = content.encode() if isinstance(content, str) else content
    with aside(path) as part:
        with open(part, "wb") as file:  # closed before the rename, as Windows wants it
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    return Path(path)
