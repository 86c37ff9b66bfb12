"""On what a comparison ran: versions and the machine."""

import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from minifp.runtime.cpu.threads import cores


def environment() -> dict[str, str]:
    """Versions and the machine, as texts to print."""
    return {
        "minifp": installed("minifp"),
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "BLAS": blas(),
        "numba": installed("numba"),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "cores": str(cores()),
    }


def installed(package: str) -> str:
    """The version of a package, or "not installed"."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def blas() -> str:
    """The library that NumPy's products run on."""
    show: Any = np.show_config  # in the types of NumPy 1 it has no argument
    library = show(mode="dicts").get("Build Dependencies", {}).get("blas", {})
    return f"{library.get('name', 'unknown')} {library.get('version', '')}".strip()


def processor() -> str:
    """The processor's name, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()


def starts_this_python(word: str) -> bool:
    """Whether a command that begins with this word runs in the environment of this Python."""
    path = shutil.which(word)
    return path is not None and Path(path).parent == Path(sys.executable).parent


def python_path() -> str:
    """This Python as the first word of a command, which it is in every shell and folder."""
    return f'"{sys.executable}"' if " " in sys.executable else sys.executable


def python_word() -> str:
    """What starts this Python: its name, or its path where the environment is not activated."""
    return "python" if starts_this_python("python") else python_path()


def command_word() -> str:
    """What starts `minifp`: its name, or this Python where the environment is not activated."""
    return "minifp" if starts_this_python("minifp") else f"{python_path()} -m minifp"
