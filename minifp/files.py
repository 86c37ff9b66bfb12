"""Files that are never seen half written: written aside, then renamed."""

import os
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def aside(path):
    """Give a path to write to, in the folder of `path`, which it replaces at the end of the block.

    There is the old file or the whole new one, whenever the process is killed (a .part file that it
    leaves is overwritten by the next). If the block raises, what it wrote is removed. Missing
    folders are made.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
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
