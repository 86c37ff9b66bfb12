"""By what a comparison was made: what a command needs to make it again."""

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minifp.lab.named_code import file_of
from minifp.lab.task import Task
from minifp.lab.workers.travel import imported_as

# What changes bits. MINIFP_PRECISION does not: an arm says its precision.
VARIABLES = ("MINIFP_KERNELS", "MINIFP_DEVICE", "MINIFP_GPU_MATH", "MINIFP_CONVOLUTIONS")
VARIABLES += ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")

CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True)
class Origin:
    """What was called.

    task, data: as `load_task` takes them, a file by its path from the folder in which it was
    called; task is None for one that has no name, as of a notebook. device: that was given, if any.
    variables: of VARIABLES, those that were set. commit: of that folder's git repository, if any.
    """

    task: str | None = None
    data: str | None = None
    device: str | None = None
    variables: dict[str, str] = field(default_factory=dict)
    commit: str = ""

    @property
    def file(self) -> str | None:
        """The file that the task is in, where it is in one."""
        return file_of(self.task or "")[0] or None


def read(fields: dict[str, Any]) -> Origin:
    """The Origin that a file tells of, whose texts become words of commands and of scripts.

    Raises ValueError for one that `origin_of` does not write, and TypeError for no Origin.
    """
    origin = Origin(**fields)
    unknown = {*origin.variables} - {*VARIABLES}
    if unknown:
        raise ValueError(f"variables {sorted(unknown)}, expected some of {', '.join(VARIABLES)}")
    words = [v for v in (origin.task, origin.data, origin.device) if v is not None]
    for text in [*words, origin.commit, *origin.variables.values()]:
        if not isinstance(text, str) or text.startswith("-") or CONTROL.search(text):
            raise ValueError(f"{text!r}, expected the word of a command")
    return origin


NOWHERE = Origin()  # of what has no name


def origin_of(task: Task, device=None, environment: Mapping[str, str] = os.environ) -> Origin:
    """By what `compare` was called with this task, in this folder."""
    spec, data = task.origin or imported_as(task) or (None, None)
    spec = spec_from_here(spec) if spec and task.source else spec
    variables = {name: environment[name] for name in VARIABLES if environment.get(name)}
    return Origin(spec, data, device, variables, commit(Path.cwd()))


def spec_from_here(spec: str) -> str:
    """A text that names something, in a file by its path from here."""
    path, name = file_of(spec)
    return f"{seen_from_here(Path(path))}:{name}" if path else spec


def seen_from_here(path: Path) -> str:
    """A path from the folder of the process, where it is in it; else its name, which tells no
    folder of this machine."""
    here = Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else path.name


def commit(folder: Path) -> str:
    """The commit of the git repository that a folder is in, and whether files differ from it."""
    command = ["git", "status", "--porcelain=v2", "--branch", "--untracked-files=no"]
    try:
        how: Any = {"capture_output": True, "encoding": "utf-8", "check": True, "timeout": 10}
        lines = subprocess.run(command, cwd=folder, **how).stdout.splitlines()
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ""
    oids = [line.split()[-1] for line in lines if line.startswith("# branch.oid ")]
    changed = sum(not line.startswith("#") for line in lines)
    more = f", and changes in {changed} file{'s' * (changed != 1)}" if changed else ""
    return "".join(oids[:1]) + more
