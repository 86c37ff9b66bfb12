"""What a script names of PyTorch's and minifp lacks, read from its syntax tree; nothing is run.

Read with it: the modules beside it that it imports, and those which these import.
"""

import ast
from collections.abc import Iterator
from inspect import getattr_static
from pathlib import Path
from typing import NamedTuple

from minifp.autograd.tape import Tensor
from minifp.compat.torch.mirror import ABSENT, is_mirrored, look_up
from minifp.compat.torch.paths import ROOTS as MIRRORED
from minifp.compat.torch.refused import MODULES, OTHERS, reason
from minifp.compat.unknown_names import Missing
from minifp.errors import ArgumentError

ROOTS = {*MIRRORED, *OTHERS}


class Lack(NamedTuple):
    """A name that is lacking: where it stands first, and what to use instead."""

    file: str
    line: int
    name: str
    instead: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.instead}"


def missing(path: str) -> list[Lack]:
    """All that a script lacks, each name once, in the order of its lines.

    Methods are those that a Tensor has in PyTorch and here has not, of whatever they are called.
    Raises ArgumentError for a file that is no Python.
    """
    lacks: dict[str, Lack] = {}
    for file in files_of(Path(path)):
        tree = parsed(file)
        paths = imported(tree)
        for node in ast.walk(tree):
            for name, told in named(node, paths):
                lacks.setdefault(name, Lack(str(file), getattr(node, "lineno", 0), name, told))
    return sorted(lacks.values())


def parsed(file: Path) -> ast.Module:
    """The syntax tree of a file. Raises ArgumentError for one that is no Python."""
    try:
        return ast.parse(file.read_bytes(), str(file))
    except (SyntaxError, ValueError) as error:
        raise ArgumentError(f"{file}: {error}") from None


def files_of(script: Path) -> list[Path]:
    """The script, and the files beside it that it imports, each once."""
    found, waiting = dict.fromkeys([script]), [script]
    while waiting:
        for name in modules_in(parsed(waiting.pop())):
            at = script.parent.joinpath(*name.split("."))
            for file in (at.with_suffix(".py"), at / "__init__.py"):
                if file.exists() and file not in found:
                    found[file] = None
                    waiting.append(file)
    return [*found]


def modules_in(tree: ast.Module) -> Iterator[str]:
    """The modules that a file imports, and what it imports from them, which may be modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported(tree: ast.Module) -> dict[str, str]:
    """{a name of the file: the dotted name that it is imported for}, of those below ROOTS."""
    paths = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                if first in ROOTS:
                    paths[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom) and f"{node.module}".partition(".")[0] in ROOTS:
            for alias in node.names:
                paths[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return paths


def named(node: ast.AST, paths: dict[str, str]) -> Iterator[tuple[str, str]]:
    """(what is lacking, what is said of it), of the names that one node of a tree has."""
    if isinstance(node, ast.Import):
        names = [a.name for a in node.names if a.name.partition(".")[0] in ROOTS]
    elif isinstance(node, ast.ImportFrom) and f"{node.module}".partition(".")[0] in ROOTS:
        names = [f"{node.module}.{a.name}" for a in node.names if a.name != "*"]
    elif isinstance(node, ast.Attribute):
        first, _, rest = ast.unparse(node).partition(".")
        is_path = first in paths and all(part.isidentifier() for part in rest.split("."))
        names = [f"{paths[first]}.{rest}"] if is_path else []
        if not is_path and isinstance(getattr_static(Tensor, node.attr, None), Missing):
            yield f".{node.attr}", told_of_method(node.attr)
    else:
        return
    for name in names:
        if (told := lacking(name)) is not None:
            yield told


def told_of_method(name: str) -> str:
    """What a Tensor says of a method that it lacks."""
    try:
        return str(getattr(Tensor, name))
    except AttributeError as error:
        return str(error)


def lacking(name: str) -> tuple[str, str] | None:
    """(the part of a dotted name that is lacking, what is said of it); None where it is there."""
    path, *parts = name.split(".")
    if path in OTHERS:
        return path, f"minifp has no {path}: {OTHERS[path]}"
    for part in parts:
        if not is_mirrored(f"{path}.{part}"):
            is_there = look_up(path, part) is not ABSENT
            return None if is_there else (f"{path}.{part}", reason(path, part))
        path = f"{path}.{part}"
    return (path, reason(path.rpartition(".")[0], parts[-1])) if path in MODULES else None
