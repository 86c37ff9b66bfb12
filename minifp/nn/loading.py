"""State dictionaries are loaded into modules: checked first, so that all is loaded or nothing."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from minifp.autograd.memory import write
from minifp.autograd.tape import Tensor
from minifp.derive.dtypes import name_of
from minifp.errors import ArgumentError, DTypeError
from minifp.nn import wrapped_names
from minifp.ops.binding import numbers_of
from minifp.ops.creation import warn_of_overflow
from minifp.runtime.callers import warn_once


class Incompatible(NamedTuple):
    """What load_state_dict(strict=False) left out: names missing from the state, and not in the
    module."""

    missing_keys: list
    unexpected_keys: list


def check(kind: str, own: dict[str, Any], state_dict: Mapping, strict: bool) -> Incompatible:
    """What does not fit to the tensors that a module of this kind has, by path, and is left out.

    Raises ArgumentError for what `load` refuses.
    """
    entries = _arrays(state_dict)
    missing = [n for n in own if n not in entries]
    unexpected = [n for n in entries if n not in own]
    problems = [f"missing: {n} {own[n].shape}" for n in missing if strict]
    problems += [f"unexpected: {n}" for n in unexpected if strict]
    problems += [
        f"{n}: shape {entries[n].shape}, expected {t.shape}"
        for n, t in own.items()
        if n in entries and entries[n].shape != t.shape
    ]
    problems += [
        f"{n}: {name_of(v.dtype)}, expected numbers"
        for n, v in entries.items()
        if v.dtype.kind not in "fiubV" and (strict or n in own)
    ]
    if problems:
        told = wrapped_names.advice(own, state_dict) + "; ".join(problems)
        raise ArgumentError(f"load_state_dict of {kind}: {told}")
    return Incompatible(missing, unexpected)


def load(kind: str, own: dict[str, Any], state_dict: Mapping, strict: bool) -> Incompatible:
    """Write into the tensors that a module of this kind has, by path: see Module."""
    left_out = check(kind, own, state_dict, strict)
    entries = _arrays(state_dict)
    if entries and len(left_out.unexpected_keys) == len(entries):
        told = wrapped_names.advice(own, state_dict)
        warn_once(
            "no weights loaded",
            f"load_state_dict of {kind}: {told}none of the {len(entries)} names "
            f"belongs to the model, so nothing was loaded: {', '.join([*entries][:3])}, ...",
        )
    for name, t in own.items():
        if name in entries:
            write(t, entries[name])
            warn_of_overflow(entries[name], t.array, f"load_state_dict: {name}")
    return left_out


def _arrays(state_dict):
    if not hasattr(state_dict, "items"):
        raise DTypeError(
            f"load_state_dict: expected a dict of tensors, not a {type(state_dict).__name__}"
        )
    try:
        return {
            n: numbers_of(v) if isinstance(v, Tensor) else np.asarray(v)
            for n, v in state_dict.items()
        }
    except ValueError as error:  # ragged lists
        raise ArgumentError(f"load_state_dict: an entry is not an array: {error}") from None
