"""How a task gets to another process: by its name where it has one, else pickled with all it holds.

A name is what `load_task` takes: "lenet", "mytask.py:task" or "package.module:task". The process
loads the task by it, and makes the same changes. A task that was made in a script or a notebook
has none, and is pickled by value, as cloudpickle does.
"""

import atexit
import hashlib
import shutil
import sys
import tempfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from minifp.errors import ArgumentError
from minifp.lab.changes import changed
from minifp.lab.named_code import FILE_MODULE, file_of
from minifp.lab.task import Task
from minifp.lab.tasks import load_task
from minifp.saving import files

MAIN = "__main__", "__mp_main__"  # the script itself, which multiprocessing may rename
HOW_TO_GET = "python -m pip install loky"


@dataclass(frozen=True)
class Named:
    """A task by its name, with the data set of a built-in one.

    changes: what is changed in it: see changes.py. text: what is in its file, if it is of one, for
    machines that do not see the same files.
    """

    spec: str
    data: str | None = None
    changes: tuple[tuple[str, Any], ...] = ()
    text: bytes = b""

    @property
    def digest(self) -> str:
        """A hash of all of it."""
        return hashlib.sha256(repr(self).encode()).hexdigest()

    def load(self) -> Task:
        """The task itself. Raises ArgumentError where there is no such task here."""
        return changed(load_task(self._spec_here(), self.data), dict(self.changes))

    def _spec_here(self):
        """The name, whose file is written anew where it is not as it was."""
        path, name = file_of(self.spec)
        file = Path(path)
        if not self.text or (file.is_file() and file.read_bytes() == self.text):
            return self.spec
        folder = tempfile.mkdtemp(prefix="minifp-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        copy = Path(folder) / file.name
        files.write(copy, self.text)
        return f"{copy}:{name}"


@dataclass(frozen=True)
class Carried:
    """A task by value: pickled, and the hash of that."""

    name: str
    digest: str
    pickled: bytes

    def load(self) -> Task:
        """The task itself."""
        import cloudpickle

        return cloudpickle.loads(self.pickled)


Ticket = Named | Carried


def ticket(base: Task, changes: dict, task: Task) -> Ticket:
    """How `task` travels, which `changed` made of `base` by `changes`.

    Raises ArgumentError for one that has no name and cannot be pickled, naming the field.
    """
    origin = base.origin or imported_as(base)
    if origin is None:
        return carried(task)
    path, _ = file_of(origin[0])
    text = Path(path).read_bytes() if base.source else b""
    if base.source and hashlib.sha256(text).hexdigest() != base.source:
        change = f"{path} has changed since the task {base.name!r} was loaded"
        raise ArgumentError(f"{change}: load it again")
    settings = tuple((name, value) for name, value in changes.items() if value is not None)
    return Named(*origin, settings, text)


def imported_as(task: Task) -> tuple[str, None] | None:
    """("module:name", None) of a task that an imported module holds; None for another."""
    for name, module in [*sys.modules.items()]:
        if name in MAIN or name.startswith(FILE_MODULE):
            continue  # which another process cannot import
        for own, value in [*getattr(module, "__dict__", {}).items()]:
            if value is task:
                return f"{name}:{own}", None
    return None


def carried(task: Task) -> Carried:
    """A task by value. Raises ArgumentError for one that cannot be pickled, naming the field."""
    try:
        import cloudpickle
    except ImportError:
        raise ArgumentError(f"training in other processes needs loky: {HOW_TO_GET}") from None
    try:
        pickled = cloudpickle.dumps(task)
    except MemoryError:
        raise
    except Exception as error:
        raise ArgumentError(_not_picklable(task, error)) from error
    return Carried(task.name, hashlib.sha256(pickled).hexdigest(), pickled)


def _not_picklable(task, error):
    import cloudpickle

    culprits = []
    for field in fields(task):
        try:
            cloudpickle.dumps(getattr(task, field.name))
        except MemoryError:
            raise
        except Exception:
            culprits.append(field.name)
    return (
        f"the task {task.name!r} cannot be sent to other processes, because of its "
        f"{' and '.join(culprits) or 'fields'}: {error}. Put it into its own file and name that, "
        "as in minifp compare mytask.py:task or fp.compare('mytask.py:task'); or create whatever "
        "cannot be pickled (a lock, an open file, a generator) inside its functions"
    )
