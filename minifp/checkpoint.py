"""Checkpoints: everything that training needs to go on bit for bit, in one safetensors file.

The model's parameters and buffers are tensors under their own names, as PyTorch writes and reads
them. Beside them: optimizers with masters and counters, the loss scale, schedules, where the loader
is, gradients to which a next micro-batch adds, and the state of the random streams.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np

import minifp.tensor_file as tensor_file
from minifp import random
from minifp.errors import ArgumentError, CheckpointError, MinifpError
from minifp.formats import as_dtype, float32, is_float, narrow
from minifp.policy import get_precision
from minifp.tape import CONSUMED, Tensor

Stateful = Any  # an object with state_dict and load_state_dict, a dict of them by name, or None


def save(
    path: str | os.PathLike, model: Stateful = None, optimizer: Stateful = None,
    scheduler: Stateful = None, loader: Stateful = None, extra: Any = None, *, dtype: Any = None,
) -> Path:  # fmt: skip
    """Write a checkpoint, aside first: a process killed at any moment leaves the one before whole.

    model, optimizer, scheduler, loader: each an object with a `state_dict`, or a dict of several by
        name (the tensors of a model "g" are then named "g.…"). Given alone, a model makes a file
        that `torch.nn.Module.load_state_dict(safetensors.torch.load_file(path))` takes.
    extra: plain values and arrays of yours, such as {"step": 100}.
    dtype: the floating format in which the model's tensors are written. By default unrounded: the
        float32 masters where there are any, and what is stored otherwise, in float32 at least.

    With an optimizer, gradients that no step has consumed are saved too, so that it may be called
    between micro-batches; and always the random streams. Call it between steps. Raises
    ArgumentError, with nothing written, for what cannot be saved.
    """
    _check_objects("save", model=model, optimizer=optimizer, scheduler=scheduler, loader=loader)
    arrays = {
        prefix + name: _in_format(t.array, dtype)
        for prefix, m in _prefixed(model)
        for name, t in m.state_dict().items()
    }
    tree = {
        "precision": _each(model, lambda m: str(getattr(m, "precision", get_precision()))),
        "model": model is not None,
        "optimizer": _states(optimizer),
        "gradients": _each(optimizer, _gradients),
        "scheduler": _states(scheduler),
        "loader": _states(loader),
        "random": random.get_state(),
        "extra": extra,
    }
    return tensor_file.write(Path(path), arrays, tree)


def load(
    path: str | os.PathLike, model: Stateful = None, optimizer: Stateful = None,
    scheduler: Stateful = None, loader: Stateful = None, *, strict: bool = True,
) -> Any:  # fmt: skip
    """Take up a checkpoint in place, and return the `extra` that was saved with it (or None).

    Give what is to be continued: training goes on bit for bit as if it had never stopped. With a
    model alone, only its tensors are read, from any safetensors file: also one that PyTorch wrote.
    The random streams are taken up along with an optimizer, a scheduler or a loader.
    strict: as in `Module.load_state_dict`.

    Raises CheckpointError, with nothing changed, for a file that is missing, truncated, edited, of
    a newer version, without what was asked for, or of another model, saying what is wrong.
    """
    given = {"optimizer": optimizer, "scheduler": scheduler, "loader": loader}
    _check_objects("load", model=model, **given)
    arrays, tree = tensor_file.read(path)
    states = _checked(path, arrays, tree, model, given, strict)
    for name, thing in _by_name(loader):  # the first, because it checks as it loads
        thing.load_state_dict(states["loader"][name])
    for prefix, m in _prefixed(model):
        m.load_state_dict(_under(arrays, prefix), strict)
    for kind in ("optimizer", "scheduler"):
        for name, thing in _by_name(given[kind]):
            thing.load_state_dict(states[kind][name])
    for name, o in _by_name(optimizer):
        for p, gradient in zip(o.parameters, tree["gradients"][name]):
            p.grad = _gradient(gradient)
    if any(v is not None for v in given.values()):
        random.set_state(tree["random"])
    return None if tree is None else tree["extra"]


# ---- checks: everything before anything is changed -----------------------------------------------


def _check_objects(asked_by, **objects):
    for kind, wanted in objects.items():
        for _, thing in _by_name(wanted):
            methods = hasattr(thing, "state_dict") and hasattr(thing, "load_state_dict")
            if isinstance(thing, type) or not methods:
                raise ArgumentError(
                    f"{asked_by}: {kind} is a {type(thing).__name__}: expected an object with "
                    "state_dict and load_state_dict, or a dict of them by name"
                )


def _checked(path, arrays, tree, model, given, strict):
    """The states to load, by kind and name, after each was found to fit."""
    try:
        states = {kind: _found(tree, kind, wanted) for kind, wanted in given.items()}
        if model is not None and not (arrays or tree is None or tree["model"]):
            raise CheckpointError("holds no model")
        for prefix, m in _prefixed(model):
            m.check_state_dict(_under(arrays, prefix), strict)
        for kind, wanted in given.items():
            for name, thing in _by_name(wanted):
                if hasattr(thing, "check_state_dict"):
                    thing.check_state_dict(states[kind][name])
        for name, o in _by_name(given["optimizer"]):
            _check_gradients(o, tree["gradients"][name])
        if any(v is not None for v in given.values()):
            random.Streams().set_state(tree["random"])
    except MinifpError as error:
        made = f" (of precision {_told(tree)})" if tree and tree.get("precision") else ""
        raise CheckpointError(f"checkpoint {str(path)!r}{made}: {error}") from error
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise CheckpointError(f"checkpoint {str(path)!r}: damaged: {error!r}") from error
    return states


def _found(tree, kind, wanted):
    if wanted is None:
        return {}
    held = None if tree is None else tree[kind]
    if held is None:
        held_kinds = [k for k in ("model", "optimizer", "scheduler", "loader") if tree and tree[k]]
        raise CheckpointError(f"holds no {kind}; it has {', '.join(held_kinds) or 'tensors alone'}")
    names = {name for name, _ in _by_name(wanted)}
    if set(held) != names:
        raise CheckpointError(f"holds {kind} {sorted(held)}, expected {sorted(names)}")
    return held


def _check_gradients(optimizer, gradients):
    shapes = [None if g is None else np.shape(g["gradient"]) for g in gradients]
    expected = [p.shape for p in optimizer.parameters]
    if len(shapes) != len(expected) or any(s not in (None, e) for s, e in zip(shapes, expected)):
        raise CheckpointError(f"gradients of shapes {shapes}, expected {expected}")


# ---- objects, one or several by name -------------------------------------------------------------


def _by_name(wanted):
    """(name, object) pairs: of a dict, of one object (named ""), of None."""
    if wanted is None:
        return []
    return list(wanted.items()) if isinstance(wanted, dict) else [("", wanted)]


def _prefixed(model):
    return [(f"{name}." if name else "", m) for name, m in _by_name(model)]


def _under(arrays, prefix):
    return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}


def _each(wanted, fn):
    return None if wanted is None else {name: fn(thing) for name, thing in _by_name(wanted)}


def _told(tree):
    return ", ".join(dict.fromkeys(tree["precision"].values()))


def _states(wanted):
    return _each(wanted, lambda thing: thing.state_dict())


def _in_format(array, dtype):
    if not is_float(array.dtype):
        return array
    return narrow(
        array, np.promote_types(array.dtype, float32) if dtype is None else as_dtype(dtype)
    )


def _gradients(optimizer):
    """For each parameter its gradient and the seed it was made with; None for one used up."""
    held = [p.grad for p in optimizer.parameters]
    return [
        None if g is None or g.seed == CONSUMED else {"gradient": g.array, "seed": g.seed}
        for g in held
    ]


def _gradient(saved):
    if saved is None:
        return None
    gradient = Tensor(saved["gradient"])
    gradient.seed = float(saved["seed"])
    return gradient
