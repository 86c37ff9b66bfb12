"""torch.save and torch.load, in PyTorch's own format: minifp/saving/torch_files.py.

What a file may name beside tensors and plain values: modules of minifp's, and the classes and
functions of the script that runs, and of the files beside it.
"""

import argparse
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.compat.torch import distributions
from minifp.compat.torch.nn.parallel import DataParallel
from minifp.compat.torch.nothing import say_once
from minifp.errors import FileError, MinifpError
from minifp.saving import files, torch_files
from minifp.saving.pytorch.objects import dotted_name
from minifp.saving.pytorch.writer import written

folder: str | None = None  # into which paths are led that a script saves to
home: Path | None = None  # of the script; None for that of the program that runs
OURS = [getattr(distributions, name) for name in distributions.__all__]
ALWAYS = {dotted_name(kind): kind for kind in (argparse.Namespace, DataParallel, *OURS)}
OPTIMIZERS = {"state", "param_groups"}  # what an optimizer's state_dict has


def save(obj: Any, f: Any, *args: Any, **settings: Any) -> None:
    """Write tensors, plain values, containers of them, modules, and objects of the script's own
    classes. f: a path or an open file.

    Arrays in an optimizer's state_dict become tensors, which PyTorch has there. Raises
    ArgumentError for other objects, by name; nothing is written then. And FileError for a path that
    cannot be written to, with the place where the file is instead.
    """
    content = written(with_tensors(obj), classes())
    if isinstance(f, (str, os.PathLike)):
        write(f, content)
    else:
        f.write(content)


def write(path: Any, content: bytes) -> None:
    """Write a file, or, where that fails, elsewhere; then raises FileError, which names it."""
    try:
        files.write(led(path), content)
    except MinifpError as error:
        raise FileError(f"{error}. {elsewhere(Path(path).name, content)}") from error


def elsewhere(name: str, content: bytes) -> str:
    """Write a file into a new folder, beside the script or the temporary one; what to say of it."""
    for place in (home, tempfile.gettempdir()):
        with suppress(OSError, MinifpError):
            new = Path(tempfile.mkdtemp(prefix="saved-", dir=place), name)
            return f"What was to be saved is in {files.write(new, content)}"
    return "Nothing was saved"


def load(f: Any, map_location: Any = None, *args: Any, **settings: Any) -> Any:
    """What a file holds, on the CPU; with weights_only=True no modules, and no objects.

    Raises FileNotFoundError, and CheckpointError for a file that is damaged, not PyTorch's, or
    names anything else.
    """
    if "cuda" in str(map_location):
        say_once(f"load(map_location={str(map_location)!r})", "there is no GPU")
    allowed = None if settings.get("weights_only") else classes()
    if not isinstance(f, (str, os.PathLike)):
        return torch_files.loads(f.read(), getattr(f, "name", "an open file"), allowed)
    path = led(f) if led(f).exists() else Path(f)
    if not path.exists():
        raise FileNotFoundError(2, "No such file", str(path))
    return torch_files.load(path, allowed)


def led(path: Any) -> Path:
    """Where a file goes that a script saves to a path."""
    path = Path(path)
    if folder is None:
        return path
    parts = path.parts[path.is_absolute() :]
    return Path(folder, *("up" if part == ".." else part for part in parts))


def classes() -> dict[str, Any]:
    """By dotted name, the classes and functions that the running script's own files define."""
    return ALWAYS | {
        dotted_name(value): value
        for name, module in [*sys.modules.items()]
        if is_own(name, module)
        for value in [*vars(module).values()]
        if isinstance(value, (type, FunctionType)) and value.__module__ == name
    }


def is_own(name: str, module: ModuleType) -> bool:
    """Whether a module is the script, or of a file beside it or below, which nobody installed."""
    if name == "__main__":
        return True
    first, file = name.partition(".")[0], getattr(module, "__file__", None)
    main = getattr(sys.modules["__main__"], "__file__", None)
    if first in {"minifp", "torch", *sys.stdlib_module_names} or not file or not (home or main):
        return False
    path, beside = Path(file).resolve(), home or Path(f"{main}").resolve().parent
    return path.is_relative_to(beside) and "site-packages" not in path.parts


def with_tensors(value: Any, is_state: bool = False) -> Any:
    """A value; where it has dicts with an optimizer's state_dict, one with tensors for arrays."""
    if is_state and isinstance(value, np.ndarray):
        return Tensor(value)
    if type(value) is not dict:
        return value
    inner = {k: with_tensors(v, is_state or value.keys() >= OPTIMIZERS) for k, v in value.items()}
    return inner if any(inner[k] is not v for k, v in value.items()) else value
