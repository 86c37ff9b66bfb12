"""Items of a data set that are taken one by one, changed, and made into a batch."""

from textwrap import shorten

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.data.dataset import items_of, name_of
from minifp.data.structure import mapped, unwrapped
from minifp.errors import DataError, MinifpError


def listed(dataset, indices: np.ndarray) -> tuple[list, ...]:
    """The fields of items that are taken one by one, each a list, as transforms are given them.

    Raises DataError for items that are no tuples of one length.
    """
    items = mapped(as_plain, items_of(dataset, indices))
    fields = {len(item) if isinstance(item, (tuple, list)) else type(item) for item in items}
    if len(fields) > 1 or not all(isinstance(count, int) for count in fields):
        counts = ", ".join(str(getattr(count, "__name__", count)) for count in fields)
        raise DataError(
            f"data set {name_of(dataset)}: a transform needs items that are tuples of as many "
            f"fields, such as (picture, target), got {counts}"
        )
    return tuple(map(list, zip(*items)))


def changed(dataset, transform, draws, indices: np.ndarray) -> list:
    """Items that are taken one by one, changed by a transform. Raises DataError for lists of other
    lengths that it returns."""
    fields = transform(listed(dataset, indices), indices, draws)
    if not isinstance(fields, tuple) or any(len(field) != len(indices) for field in fields):
        lengths = [len(f) for f in fields] if isinstance(fields, tuple) else type(fields).__name__
        raise DataError(
            f"DataLoader: asked {transform!r} to change {len(indices)} items, expected a tuple of "
            f"lists of as many, got {lengths}"
        )
    return list(zip(*fields))


def collated(dataset, collate_fn, transform, draws, indices):
    """A batch of items that are taken one by one. Raises DataError for Python's own errors."""
    if transform is None:
        items = items_of(dataset, indices)
    else:
        items = changed(dataset, transform, draws, indices)
    which = f"items {shorten(str(indices.tolist()), 60)}"
    return batch_of(collate_fn, items, f"data set {name_of(dataset)}: collating {which}")


def batch_of(collate_fn, items: list, doing: str):
    """What a collate_fn makes of items, with arrays for its tensors. Raises DataError, which
    `doing` begins, for Python's own errors."""
    try:
        return mapped(as_plain, collate_fn(items))
    except MinifpError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise DataError(f"{doing} raised {type(error).__name__}: {error}") from error


def alone(collate_fn, items: list):
    """What a loader without batches gives of an item: itself, or what collate_fn makes of it."""
    if collate_fn is not None:
        return collate_fn(items[0])
    return mapped(lambda x: np.asarray(x) if isinstance(x, np.generic) else x, items[0])


def as_plain(leaf):
    """A tensor as an array; one with a gradient, and anything else, as it is."""
    return unwrapped(leaf) if isinstance(leaf, Tensor) and not leaf.requires_grad else leaf
