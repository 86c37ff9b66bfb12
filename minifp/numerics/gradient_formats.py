"""The formats of gradients under a precision, by the dtype of a value or of its gradients."""

import numpy as np

from minifp.derive.dtypes import name_of
from minifp.numerics.formats import as_dtype, wider


class GradientFormats(dict):
    """What a precision stores (activations, weights) has gradients in one format; whatever has
    another, such as float32 norm parameters, in its own."""

    def __init__(self, stored: set[str], gradients: np.dtype) -> None:
        self.stored, self.gradients = stored, gradients

    def __missing__(self, dtype: np.dtype) -> np.dtype:
        dtype = as_dtype(dtype)  # NumPy's, which is found faster than what tensors say
        self[dtype] = self.gradients if name_of(dtype) in self.stored else dtype
        return self[dtype]


class MeetingFormats(dict):
    """In which gradients that meet at one value are summed before they are rounded: not in less
    than sums. Each is the sum of an operation of its own, so of sums in chunks that is the format
    of the whole."""

    def __init__(self, whole: np.dtype) -> None:
        self.whole = whole

    def __missing__(self, dtype: np.dtype) -> np.dtype:
        self[dtype] = wider(dtype, self.whole)
        return self[dtype]
