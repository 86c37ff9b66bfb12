"""Batches of any structure: what the model is called with, and what is wrong with their numbers."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from minifp.data.structure import TARGETS, leaves
from minifp.errors import DataError
from minifp.numerics.formats import is_float


def called(model, batch) -> tuple[Any, Any]:
    """(outputs, targets) of a model on a batch.

    Of a tuple the last entry is the targets, and the model is called with all others; of a dict it
    is the entry of a name in TARGETS, and the others are the model's keywords.
    """
    if isinstance(batch, Mapping):
        name = next((name for name in TARGETS if name in batch), None)
        if name is not None:
            rest = {key: value for key, value in batch.items() if key != name}
            return model(**rest), batch[name]
    elif isinstance(batch, (tuple, list)) and len(batch) > 1:
        *inputs, targets = batch
        return model(*inputs), targets
    content = list(batch) if isinstance(batch, Mapping) else type(batch).__name__
    raise DataError(
        f"a batch is {content}: expected a tuple (inputs, ..., targets) or a dict with "
        f"{' or '.join(map(repr, TARGETS))}; for other batches, give the task a `step` and an "
        "`evaluate`"
    )


def checked(loader, where: str):
    """The batches of one epoch as Tensors. Raises DataError for NaN or Inf, naming the batch."""
    for number, batch in enumerate(loader.arrays()):
        for path, values in leaves(batch):
            if isinstance(values, np.ndarray) and is_float(values.dtype):
                _check_finite(values, f"{_name(batch, path)} of batch {number} of {where}")
        yield loader.placed(batch)


def _check_finite(values, what):
    if not values.size:
        return
    bad = ~np.isfinite(values).reshape(len(values) if values.ndim else 1, -1)
    if not bad.any():
        return
    raise DataError(
        f"NaN or Inf in the {what}: {bad.sum()} of {bad.size} values, in "
        f"{bad.any(axis=1).sum()} of {len(bad)} examples, first in example "
        f"{bad.any(axis=1).argmax()} of the batch; expected numbers: remove or replace what is "
        "missing before training"
    )


def _name(batch, path):
    """Where a leaf is, in words."""
    pair = isinstance(batch, tuple) and len(batch) == 2
    return (
        {"[0]": "inputs", "[1]": "targets"}.get(path, f"field {path}")
        if pair
        else (f"field {path}" if path else "array")
    )
