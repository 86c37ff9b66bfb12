"""Python code that a text names: a file, which is run, or a module, which is imported.

"path/file.py:name"      something in a file
"package.module:name"    something in a module that can be imported

Only what whoever calls names is run: no file that was sent, such as a checkpoint, may name any.
"""

import hashlib
import importlib
import importlib.util
import re
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minifp.errors import ArgumentError

FILE_MODULE = "minifp_task_"  # what the names of modules begin with that are files'


@dataclass(frozen=True)
class Code:
    """A module, and what is meant in it.

    place: what names the module, a file by its whole path. name: of what is meant, "" where none is
    named. digest: the SHA-256 of a file, "" of a module.
    """

    module: Any
    place: str
    name: str
    digest: str = ""


def file_of(spec: str) -> tuple[str, str]:
    """("path/file.py", "name") of a text that names something in a file, "" without a name; of
    another text, ("", the text)."""
    parts = re.fullmatch(r"(.*\.py)(?::(.*))?", spec, re.DOTALL)
    return (parts[1], parts[2] or "") if parts else ("", spec)


def is_code(spec: str) -> bool:
    """Whether a text names a file, or something in a module."""
    return ".py" in spec or re.fullmatch(r"[\w.]+:[\w.:-]+", spec) is not None


def code_named(spec: str) -> Code:
    """The Code that a text names. Raises ArgumentError where there is no such file or module, or
    the file fails, naming the line."""
    path, name = file_of(spec)
    if path or ".py" in spec:
        file = Path(path or spec).expanduser()
        if not file.is_file():
            raise ArgumentError(f"{spec!r}: no file {file}: expected the path of a Python file")
        module, content = run_file(file), file.read_bytes()
        return Code(module, str(file.resolve()), name, hashlib.sha256(content).hexdigest())
    place, _, name = spec.partition(":")
    try:
        return Code(importlib.import_module(place), place, name)
    except ImportError as error:
        raise ArgumentError(f"{spec!r}: {place} cannot be imported: {error}") from error


def run_file(path: Path):
    """The module that a Python file defines, which may import from its own folder.

    Raises ArgumentError if the file fails, naming the line.
    """
    name = f"{FILE_MODULE}{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ArgumentError(f"{path}: expected a Python file, with a name that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [f.lineno for f in frames if f.filename == spec.origin]
        where = f"{path}, line {lines[-1]}" if lines else str(path)
        said = f"{type(error).__name__}: {error}"
        raise ArgumentError(f"the file failed: {where}: {said}") from error
    finally:
        sys.path.remove(str(path.parent.resolve()))
    return module
