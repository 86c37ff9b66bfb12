"""What is given as numbers and is more than that, or the path of it: refused, with what to give."""

import os
from typing import Any

import numpy as np

from minifp.errors import DTypeError


def check_plain(data: Any) -> None:
    """Raise DTypeError for what is more than an array, or the path of one, and what to give."""
    told = None
    if isinstance(data, np.ma.MaskedArray) and np.ma.is_masked(data):
        masked = np.ma.count_masked(data)
        told = f"is a masked array, with {masked} masked: give data.filled(value)"
    elif isinstance(data, np.lib.npyio.NpzFile):
        told = (
            f"is an .npz file with {', '.join(map(repr, data.files))}: give one of them, as "
            "data['name']"
        )
    elif isinstance(data, (str, os.PathLike)):
        told = (
            f"of type {np.asarray(os.fspath(data)).dtype}, a text: of a path give np.load(path), "
        )
        told += "or np.loadtxt(path, delimiter=',') of a table"
    elif hasattr(data, "toarray") and hasattr(data, "nnz"):
        told = "is a sparse matrix: give data.toarray()"
    if told:
        raise DTypeError(f"data {told}")
