"""Constant paths that a script saves to, tried before it starts: not after hours of training."""

import ast
from collections.abc import Iterator
from pathlib import Path

from minifp.compat.torch import files
from minifp.errors import ArgumentError, MinifpError
from minifp.run.missing import files_of, parsed
from minifp.saving.files import check_writable

PATHS = {"save": (1, "f"), "savefig": (0, "fname")}  # where the path stands: torch's, Matplotlib's


def unwritable(script: str) -> list[str]:
    """What to say of constant paths of a script, and of modules beside it, that cannot be written.

    Each is tried as a save would, and nothing is left or changed. Of a file that is no Python
    nothing is said: running it tells.
    """
    told = []
    try:
        trees = [(file, parsed(file)) for file in files_of(Path(script))]
    except ArgumentError:
        return []
    for file, tree in trees:
        for line, path in constant_paths(tree):
            try:
                check_writable(files.led(path))
            except MinifpError as error:
                told.append(f"{file}:{line} saves to {path!r}: {error}")
    return told


def constant_paths(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The lines and texts of paths that stand in calls of `save` and `savefig`."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        place, name = PATHS.get(called, (len(node.args), ""))
        named = [k.value for k in node.keywords if k.arg == name]
        for path in (*node.args[place : place + 1], *named):
            if isinstance(path, ast.Constant) and isinstance(path.value, str):
                yield node.lineno, path.value
