"""torch.save and torch.load, for now in minifp's own format of checkpoints: tensors, plain values
and containers of them; whatever else is refused by name."""

import argparse
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, CheckpointError
from minifp.nn import Module
from minifp.saving import tensor_file

NAMESPACE = "argparse.Namespace"
folder: str | None = None  # into which paths are led that a script saves to
PLAIN = (type(None), bool, int, float, str)


def save(obj: Any, f: Any, *args: Any, **settings: Any) -> None:
    """Write tensors, plain values, and dicts, lists and tuples of them. f: a path or an open file.

    Raises ArgumentError for a module, and for other objects, by name; nothing is written then.
    """
    tree = {"object": _plain(obj, "obj")}
    if isinstance(f, (str, os.PathLike)):
        tensor_file.write(led(f), {}, tree)
        return
    with TemporaryDirectory() as folder:
        f.write(tensor_file.write(Path(folder) / "file", {}, tree).read_bytes())


def load(f: Any, *args: Any, **settings: Any) -> Any:
    """What `save` has written. Raises CheckpointError for another file."""
    if isinstance(f, (str, os.PathLike)):
        path = led(f) if led(f).exists() else Path(f)
        if not path.exists():
            raise FileNotFoundError(2, "No such file", str(path))
        return _read(path)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(f.read())
        return _read(path)


def led(path: Any) -> Path:
    """Where a file goes that a script saves to a path."""
    path = Path(path)
    return path if folder is None else Path(folder, *path.parts[path.is_absolute() :])


def _read(path: Any) -> Any:
    _, tree = tensor_file.read(path)
    if not tree or "object" not in tree:
        raise CheckpointError(f"{path}: expected a file that torch.save wrote under minifp.run")
    return _back(tree["object"])


def _plain(value: Any, where: str) -> Any:
    if isinstance(value, Module):
        raise ArgumentError(
            f"save: {where} is a whole module: expected its state_dict, which any program can read"
        )
    if isinstance(value, argparse.Namespace):
        return {NAMESPACE: _plain(vars(value), where)}
    if isinstance(value, dict):
        pairs = [[_plain(k, where), _plain(v, f"{where}[{k!r}]")] for k, v in value.items()]
        return dict(pairs) if all(isinstance(k, str) for k in value) else {"pairs": pairs}
    if isinstance(value, (list, tuple)):
        items = [_plain(v, f"{where}[{i}]") for i, v in enumerate(value)]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, Tensor):
        return np.asarray(value.detach().array)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (*PLAIN, np.ndarray)):
        return value
    if isinstance(value, (np.dtype, os.PathLike)):
        return str(value)
    kind = type(value)
    raise ArgumentError(
        f"save: {where} is a {kind.__module__}.{kind.__qualname__}: expected tensors, plain "
        "values and containers of them"
    )


def _back(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {NAMESPACE}:
            return argparse.Namespace(**_back(value[NAMESPACE]))
        if set(value) == {"pairs"}:
            return {_back(k): _back(v) for k, v in value["pairs"]}
        return {k: _back(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_back(v) for v in value)
    return Tensor(np.array(value)) if isinstance(value, np.ndarray) else value
