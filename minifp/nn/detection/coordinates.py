"""Boxes as arrays on the host: (K, 4) as x1, y1, x2, y2 in pixels, float32 or wider.

Boxes, and which of them is matched, sampled or kept, decide no format and have no gradient. So they
are NumPy arrays wherever the tensors are, and nothing that is done with them is recorded. They stay
float32 in every precision: in float16, places beyond 2,048 pixels are even numbers only, and an
area of 256 x 256 pixels is Inf.
"""

from typing import Any

import numpy as np

from minifp.autograd.grad_mode import no_grad
from minifp.autograd.tape import Tensor
from minifp.nn import functional as F
from minifp.numerics.formats import as_dtype, float32, wider
from minifp.numerics.policy import get_precision
from minifp.runtime.device import placed


def coordinate_format() -> np.dtype:
    """The format of coordinates: float32, or that of activations where it is wider."""
    return wider(float32, as_dtype(get_precision().activations))


def are_only_shapes() -> bool:
    """Whether nothing is computed here (see policy.shapes_only): no numbers to find boxes by."""
    return get_precision().shapes_only


def beside(array: Any, tensor: Tensor) -> Tensor:
    """An array of the host as a tensor where another one is."""
    return Tensor(placed(array, tensor.array))


def unrounded(tensor: Tensor) -> Tensor:
    """What a network gave, in the coordinates' format, without its gradient."""
    return tensor.detach().to(dtype=coordinate_format())


def overlaps(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Of each pair of boxes (N, 4) and (M, 4) the intersection over the union, (N, M)."""
    with no_grad():
        return F.box_iou(Tensor(boxes), Tensor(others)).numpy()
