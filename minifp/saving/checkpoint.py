"""Checkpoints: everything that training needs to go on bit for bit, in one safetensors file.

The model's parameters and buffers are tensors under their own names, as PyTorch writes and reads
them. Beside them: optimizers with masters and counters, the loss scale (that of the process too,
where there is one), schedules, where the loader is, gradients to which a next micro-batch adds, the
maxima by which operands are scaled with a delay, and the state of the random streams.
"""

import math
import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import minifp.saving.tensor_file as tensor_file
from minifp.autograd import loss_seed
from minifp.autograd.gradients import is_consumed
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, CheckpointError, MinifpError
from minifp.numerics.amax_history import Histories
from minifp.numerics.formats import as_dtype, downcast, float32, is_float, wider
from minifp.numerics.policy import get_precision
from minifp.numerics.precision_parts import whole_of
from minifp.optim.saving import without_masters
from minifp.runtime import random, untrusted
from minifp.runtime.callers import warn_once
from minifp.runtime.device import moved
from minifp.saving import files

ENTRIES = set(  # of a checkpoint's tree
    "precision model optimizer gradients scheduler loader random extra automatic amaxes".split()
)
NEWER = {"automatic", "amaxes"}  # which are not in older ones
PYTORCH, ZIP = (".pt", ".pth"), b"PK\x03\x04"  # how names of its files end, and they begin
Stateful = Any  # an object with state_dict and load_state_dict, a dict of them by name, or None


def save(
    path: str | os.PathLike,
    model: Stateful = None,
    optimizer: Stateful = None,
    scheduler: Stateful = None,
    loader: Stateful = None,
    extra: Any = None,
    *,
    dtype: Any = None,
) -> Path:
    """Write a checkpoint, aside first: a process killed at any moment leaves the one before whole.

    model, optimizer, scheduler, loader: each an object with a `state_dict`, or a dict of several by
        name, without dots (the tensors of a model "g" are then named "g.…"). Given alone, a model
        makes a file that PyTorch takes: model.load_state_dict(safetensors.torch.load_file(path)).
        A model may also be a state_dict.
    extra: plain values and arrays of yours, such as {"step": 100}.
    dtype: the floating format in which the model's tensors are written. By default unrounded: the
        float32 masters where there are any, and what is stored otherwise, in float32 at least.

    With an optimizer, gradients that no step has consumed are saved too, so that it may be called
    between micro-batches, and the maxima that delayed scaling knows of operands; and always the
    random streams. Call it between steps. A file that is there keeps its rights, and a link to it
    stays. In PyTorch's order, save(state, path), a state_dict is a model, and any other dict is
    `extra`.
    A path that ends in .pt or .pth is written in PyTorch's own format, for torch.load(path): a
    model, or `extra`, alone; in PyTorch's order the dict itself, each tensor in its own format.
    Raises ArgumentError, with nothing written, for what cannot be saved, and FileError for a full
    disk or a place that may not be written to.
    """
    whole = None
    if isinstance(path, dict) or hasattr(path, "state_dict"):
        whole, path = path, model
        model, extra = _as_pytorch_saves(whole)
    path = files.as_path(path)
    model = _State(model) if _is_state(model) else model
    others = {"optimizer": optimizer, "scheduler": scheduler, "loader": loader}
    _check_objects("save", model=model, **others)
    if dtype is not None and not is_float(as_dtype(dtype)):
        raise ArgumentError(f"save: dtype={dtype!r}: expected a floating format, or None")
    if path.suffix.lower() in PYTORCH:
        if whole is None or dtype is not None:
            whole = _for_pytorch(path, model, extra, others, dtype)
        return import_module("minifp.saving.torch_files").save(path, whole)
    named = [(p + n, t.array) for p, m in _prefixed(model) for n, t in m.state_dict().items()]
    arrays = {name: _in_format(array, dtype) for name, array in named}
    if len(arrays) < len(named):
        raise ArgumentError("save: two models have tensors of one name: give models other names")
    tree = {
        "precision": None if model is None else _precisions(model),
        "model": model is not None,
        "optimizer": _states(optimizer),
        "gradients": _each(optimizer, _gradients),
        "amaxes": _each(optimizer, _amaxes),
        "scheduler": _states(scheduler),
        "loader": _states(loader),
        "random": random.get_state(),
        "extra": extra,
        "automatic": loss_seed.automatic[-1].state_dict() if loss_seed.automatic else None,
    }
    return tensor_file.write(path, arrays, tree)


def load(
    path: str | os.PathLike,
    model: Stateful = None,
    optimizer: Stateful = None,
    scheduler: Stateful = None,
    loader: Stateful = None,
    *,
    strict: bool = True,
) -> Any:
    """Take up a checkpoint in place, and return the `extra` that was saved with it (or None).

    Give what is to be continued: training goes on bit for bit as if it had never stopped. With a
    model alone, only its tensors are read, from any safetensors file: also one that PyTorch wrote.
    With nothing, and no `extra` in the file, its tensors are returned by their names, as PyTorch's
    load does: model.load_state_dict(fp.load(path)).
    A file that torch.save wrote (.pt) is known by its content: a model takes its state_dict, and
    with nothing given, what it holds is returned: tensors, on the CPU, and plain values. A file
    that names anything else is refused: nothing in it runs.
    The random streams, and the loss scale of the process (MINIFP_AUTO_MIXED_PRECISION), are taken
    up along with an optimizer, a scheduler or a loader.
    strict: as in `Module.load_state_dict`.

    An optimizer goes on in another precision too: its moments and counts are converted, masters
    begin from the weights, which are saved unrounded, and a loss scale of another kind begins anew.

    Raises CheckpointError, with nothing changed, for a file that is missing, truncated, edited, of
    a newer version, without what was asked for, or of another model, saying what is wrong. (An
    object of yours is asked first by `check_state_dict`, if it has one.)
    """
    objects = {"optimizer": optimizer, "scheduler": scheduler, "loader": loader}
    _check_objects("load", model=model, **objects)
    content = tensor_file.content(path)
    tree: Any = None  # of a file that minifp did not write
    is_alone = all(thing is None for thing in (model, *objects.values()))
    if content.startswith(ZIP):
        whole = import_module("minifp.saving.torch_files").loads(content, path)
        if is_alone:
            return whole
        arrays = _named_arrays(path, whole)
    else:
        arrays, tree = tensor_file.parsed(content, path)
    states, rows, extra = _checked(path, arrays, tree, model, objects, strict)
    if extra is None and is_alone:
        return _tensors_of(path, arrays, tree)
    for prefix, m in _prefixed(model):
        m.load_state_dict(_under(arrays, prefix), strict)
    for kind, several in objects.items():
        for name, thing in _by_name(several):
            thing.load_state_dict(states[kind][name])
    for p, gradient, amaxes in rows:
        p.grad = gradient
        if p.storage.histories is not None:
            p.storage.histories.load(amaxes, p.storage.version)
    if any(v is not None for v in objects.values()):
        random.set_state(tree["random"])
        if loss_seed.automatic and tree.get("automatic"):
            loss_seed.automatic[-1].load_state_dict(tree["automatic"])
    return extra


# ---- as PyTorch saves and loads ----------------------------------------------------------------


class _State:
    """A state_dict in a model's place."""

    def __init__(self, tensors: dict[str, Any]) -> None:
        self.tensors = tensors

    def state_dict(self) -> dict[str, Tensor]:
        """The tensors, in the host's memory."""
        return {n: Tensor(moved(getattr(t, "array", t), "cpu")) for n, t in self.tensors.items()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Take others in their place."""
        self.tensors = state


def _is_state(value):
    """Whether something is a state_dict, tensors by name."""
    kinds = Tensor, np.ndarray
    return isinstance(value, dict) and value and all(isinstance(v, kinds) for v in value.values())


def _as_pytorch_saves(value):
    """(model, extra) of the first argument of PyTorch's save."""
    if hasattr(value, "state_dict"):
        name = type(value).__name__
        raise ArgumentError(
            f"save({name}, path): files hold no classes, because loading would run their code: "
            f"fp.save(path, model=...) writes the weights, and fp.load(path, model={name}(...)) "
            "reads them into a model that you build"
        )
    return (value, None) if _is_state(value) else (None, value)


def _for_pytorch(path, model, extra, others, dtype):
    """What goes into a file of PyTorch's. Raises ArgumentError for what it would not hold."""
    held = [kind for kind, thing in others.items() if thing is not None]
    if held or (model is None) == (extra is None):
        raise ArgumentError(
            f"save: {path} is to be in PyTorch's own format, which holds a model or `extra` alone: "
            f"expected one of these{', and no ' * bool(held)}{', no '.join(held)}; give a path "
            f"such as {path.with_suffix('.safetensors').name} for a whole checkpoint"
        )
    if model is None:
        return extra
    state = {p + n: t for p, m in _prefixed(model) for n, t in m.state_dict().items()}
    arrays = {name: _in_format(t.array, dtype) for name, t in state.items()}
    return {n: t if arrays[n] is t.array else Tensor(arrays[n]) for n, t in state.items()}


def _named_arrays(path, whole):
    """The arrays of a state_dict, by name. Raises CheckpointError for what is none."""
    if not isinstance(whole, Mapping) or not all(isinstance(name, str) for name in whole):
        raise CheckpointError(
            f"checkpoint {str(path)!r}: holds a {type(whole).__name__}: expected a state_dict, "
            "tensors by their names; fp.load(path) returns what is there"
        )
    if any(untrusted.CONTROL.search(name) for name in whole):
        raise CheckpointError(f"checkpoint {str(path)!r}: a name with a control character")
    return {name: getattr(value, "array", value) for name, value in whole.items()}


def _tensors_of(path, arrays, tree):
    """The tensors of a file by name, where nothing was given into which they would go."""
    there = [k for k in ("optimizer", "scheduler", "loader") if tree and tree[k] is not None]
    if there and not arrays:
        raise CheckpointError(
            f"checkpoint {str(path)!r} holds no weights and no extra, but {', '.join(there)}: "
            f"pass the objects to restore, as in fp.load(path, {there[0]}=...)"
        )
    return {name: Tensor(array) for name, array in arrays.items()} or None


# ---- checks: everything before anything is changed -----------------------------------------------


def _check_objects(asked_by, **objects):
    for kind, several in objects.items():
        for _, thing in _by_name(several):
            methods = hasattr(thing, "state_dict") and hasattr(thing, "load_state_dict")
            if isinstance(thing, type) or not methods:
                raise ArgumentError(
                    f"{asked_by}: {kind} is a {type(thing).__name__}: expected an object with "
                    "state_dict and load_state_dict, or a dict of them by name"
                )


def _checked(path, arrays, tree, model, objects, strict):
    """(states by kind and name; of each parameter what is kept beside: itself, its gradient, maxima
    of its products; extra), after all was found to fit."""
    of_precision = ""
    try:
        if tree is not None:
            _check_tree(tree)
            of_precision = f" (of precision {_told(tree)})" if tree["precision"] else ""
        states = {kind: _found(tree, kind, several) for kind, several in objects.items()}
        if model is not None and tree is not None and _precisions(model) != tree["precision"]:
            of_optimizers = states["optimizer"].items()
            states["optimizer"] = {name: _from_weights(state) for name, state in of_optimizers}
        if model is not None and not (arrays or tree is None or tree["model"]):
            raise CheckpointError("holds no model")
        for prefix, m in _prefixed(model):
            m.check_state_dict(_under(arrays, prefix), strict)
        for kind, several in objects.items():
            for name, thing in _by_name(several):
                if hasattr(thing, "check_state_dict"):
                    thing.check_state_dict(states[kind][name])
        optimizers = _by_name(objects["optimizer"])
        rows = [row for name, o in optimizers for row in _kept_of(o, tree, name)]
        if any(v is not None for v in objects.values()):
            random.Streams().set_state(tree["random"])
            _check_automatic(path, tree.get("automatic"))
    except MinifpError as error:
        raise CheckpointError(f"checkpoint {str(path)!r}{of_precision}: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise CheckpointError(f"checkpoint {str(path)!r}: damaged: {error!r}") from error
    return states, rows, None if tree is None else tree["extra"]


def _from_weights(state):
    """The state of an optimizer whose masters are to begin from the weights, which are saved
    unrounded: for another precision."""
    if isinstance(state, dict) and isinstance(state.get("optimizers"), list):
        return {**state, "optimizers": [without_masters(s) for s in state["optimizers"]]}
    return without_masters(state)


def _check_tree(tree):
    """Raise CheckpointError for one that `save` has not made."""
    if not isinstance(tree, dict) or set(tree) | NEWER != ENTRIES:
        raise CheckpointError("damaged: its structure is not a checkpoint's")
    for kind in sorted(ENTRIES - {"model", "random", "extra"}):
        held = tree.get(kind)
        if not (held is None or isinstance(held, dict)):
            raise CheckpointError(f"damaged: {kind} is a {type(held).__name__}")


def _check_automatic(path, state):
    """Raise CheckpointError for no state of the scale of a process; warn where that is not used."""
    if state is None:
        return
    if loss_seed.automatic:
        loss_seed.automatic[-1].check_state_dict(state)
    elif "loss_scale" not in state:
        raise CheckpointError(f"damaged: automatic is {state!r}")
    else:
        warn_once(
            "automatic not continued",
            f"checkpoint {str(path)!r} was saved under automatic mixed precision, which is not "
            "active in this process: set MINIFP_AUTO_MIXED_PRECISION=1, or call "
            "fp.amp.enable_mixed_precision before load",
        )


def _found(tree, kind, objects):
    if objects is None:
        return {}
    held = None if tree is None else tree[kind]
    if held is None:
        held_kinds = [k for k in ("model", "optimizer", "scheduler", "loader") if tree and tree[k]]
        raise CheckpointError(f"holds no {kind}; it has {', '.join(held_kinds) or 'tensors alone'}")
    names = {name for name, _ in _by_name(objects)}
    if set(held) != names:
        raise CheckpointError(f"holds {kind} {sorted(held, key=str)}, expected {sorted(names)}")
    return held


def _kept_of(optimizer, tree, name):
    """(parameter, gradient or None, maxima) rows. Raises CheckpointError for what does not fit."""
    saved, of = tree["gradients"][name], optimizer.parameters
    amaxes = (tree.get("amaxes") or {}).get(name, [{}] * len(of))
    for what, rows in (("gradients", saved), ("maxima of operands", amaxes)):
        if len(rows) != len(of):
            raise CheckpointError(f"{len(rows)} {what} for {len(of)} parameters")
    for state in amaxes:
        Histories().load(state, 0)
    return [(p, _gradient(p, g), state) for p, g, state in zip(of, saved, amaxes)]


def _gradient(p, saved):
    if saved is None:
        return None
    array, seed = saved["gradient"], saved["seed"]
    fits = isinstance(array, np.ndarray) and is_float(array.dtype) and array.shape == p.shape
    if not fits or not (type(seed) is float and 0 < abs(seed) < math.inf):
        raise CheckpointError(f"a gradient that does not fit a parameter of shape {p.shape}")
    gradient = Tensor(array)
    gradient.seed = seed
    return gradient


# ---- objects, one or several by name -------------------------------------------------------------


def _by_name(objects):
    """(name, object) pairs: of a dict, of one object (named ""), of None."""
    if objects is None:
        return []
    if not isinstance(objects, dict):
        return [("", objects)]
    for name in objects:
        if not isinstance(name, str) or not name or "." in name:
            expected = "expected a string without dots"
            raise ArgumentError(f"{name!r} cannot be the name of one of several: {expected}")
    return list(objects.items())


def _prefixed(model):
    return [(f"{name}." if name else "", m) for name, m in _by_name(model)]


def _under(arrays, prefix):
    return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}


def _each(objects, fn):
    return None if objects is None else {name: fn(thing) for name, thing in _by_name(objects)}


def _precisions(model):
    return _each(model, lambda m: str(whole_of(getattr(m, "precision", get_precision()))))


def _told(tree):
    return ", ".join(dict.fromkeys(tree["precision"].values()))


def _states(objects):
    return _each(objects, lambda thing: thing.state_dict())


def _in_format(array, dtype):
    if not is_float(array.dtype):
        return array
    return downcast(array, wider(array.dtype, float32) if dtype is None else as_dtype(dtype))


def _gradients(optimizer):
    """For each parameter its gradient and the seed it was made with; None for one used up."""
    held = [p.grad for p in optimizer.parameters]
    return [
        None if g is None or is_consumed(g) else {"gradient": g.array, "seed": float(g.seed)}
        for g in held
    ]


def _amaxes(optimizer):
    """For each parameter what its histories know (numerics/amax_history.py)."""
    held = [p.storage for p in optimizer.parameters]
    return [{} if s.histories is None else s.histories.state(s.version) for s in held]
