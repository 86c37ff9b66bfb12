"""What one layer of any recurrent network shares: its steps over rows, and its weights' gradients.

The operations take x as (T, B, I), or *packed*: only the rows of steps that exist, (N, I), step by
step, with the batch sorted by falling length; batch_sizes[t] counts the sequences longer than t.
Inside, both are N rows and a list of steps (start, stop), in the order in which they are taken:

    step k reads rows start:stop of x and the states of the first stop - start sequences, and
    writes rows start:stop of the outputs and those states.

Forward in time sequences leave at their own end, backward in time they enter there, with their own
first state. Nothing is padded, so nothing flows into padding.

The weights' gradients are products over all steps at once, with h' the state before each row:

    dw_ih = dz_inT x     dw_hh = dz_hiddenT h'     db_ih = sum_n dz_in     db_hh = sum_n dz_hidden
"""

from functools import lru_cache

import numpy as np

from minifp.errors import ArgumentError, ShapeError
from minifp.ops.arguments import check_tensors
from minifp.ops.products.linear import linear_db, linear_dw, linear_dx
from minifp.ops.reduce import array_given

OPTIONAL = ("b_ih", "b_hh", "w_hr")


def rows_of(x):
    """x (T, B, I) or (N, I) as rows (N, I)."""
    return x.reshape(-1, x.shape[-1])


def steps_of(shape, batch_sizes, reverse):
    """(start, stop) of each step's rows, for x of this shape, in the order of the steps."""
    sizes = (shape[1],) * shape[0] if batch_sizes is None else batch_sizes
    ends = np.cumsum(sizes).tolist()
    steps = tuple([(end - n, end) for end, n in zip(ends, sizes)])
    return steps[::-1] if reverse else steps


def states_before(states, first, steps):
    """The state that each row read, (N, H)."""
    before, row = np.empty_like(states), 0
    for is_first, start, stop in pieces_before(steps):
        before[row : row + stop - start] = (first if is_first else states)[start:stop]
        row += stop - start
    return before


@lru_cache(64)
def pieces_before(steps):
    """[whether of the first states, start, stop] of what makes up the states that all rows read."""
    pieces: list[list] = []
    for k in sorted(range(len(steps)), key=steps.__getitem__):
        n = steps[k][1] - steps[k][0]
        start, stop = steps[k - 1] if k else (0, 0)
        known = min(n, stop - start)
        for is_first, here, end in (False, start, start + known), (True, known, n):
            if pieces and pieces[-1][0] is is_first and pieces[-1][2] == here:
                pieces[-1][2] = end
            elif end > here:
                pieces.append([is_first, here, end])
    return pieces


def weight_gradients(dz_in, dz_hidden, x, w_ih, before, to):
    """Gradients of x, w_ih, w_hh, b_ih, b_hh; None where `to` is.

    dz_in and dz_hidden: gradients of x w_ihT + b_ih and of h' w_hhT + b_hh, for each row; before:
    h' of each.
    """
    dx = dw_ih = dw_hh = db_ih = db_hh = None
    if to[0] is not None:
        dx = linear_dx(dz_in, w_ih, to=to[0]).reshape(x.shape)
    if to[1] is not None:
        dw_ih = linear_dw(dz_in, rows_of(x), to=to[1])
    if to[2] is not None:
        dw_hh = linear_dw(dz_hidden, before, to=to[2])
    if to[3] is not None:
        db_ih = linear_db(dz_in, to=to[3])
    if to[4] is not None:
        shared = dz_in is dz_hidden and to[3] == to[4]
        db_hh = db_ih if shared else linear_db(dz_hidden, to=to[4])
    return dx, dw_ih, dw_hh, db_ih, db_hh


def check_sequence(name, gates, batch_sizes, tensors):
    """Raise an error that names the operation, and what does not fit, unless all shapes do.

    gates: how many blocks of H rows the weights have. tensors: x, h, and c if there is one, and the
    weights, by name; those that are OPTIONAL may be None.
    """
    _check_kinds(name, {n: v for n, v in tensors.items() if v is not None or n not in OPTIONAL})
    x, w_ih, w_hh, w_hr = (tensors.get(n) for n in ("x", "w_ih", "w_hh", "w_hr"))
    if (tensors["b_ih"] is None) != (tensors["b_hh"] is None):
        raise ArgumentError(f"{name}: b_ih without b_hh or b_hh without b_ih: give both or neither")
    for n, v in (("w_ih", w_ih), ("w_hh", w_hh)):
        if v.ndim != 2:
            raise ShapeError(f"{name}: {n} of shape {v.shape}, expected two dimensions")
    batch = _batch(name, x, batch_sizes)
    size, wide = (w_hh.shape[-1],) * 2 if w_hr is None else w_hr.shape
    expected = {
        "x": (*x.shape[:-1], w_ih.shape[-1]),
        "h": (batch, size),
        "c": (batch, wide),
        "w_ih": (gates * wide, w_ih.shape[-1]),
        "w_hh": (gates * wide, size),
        "b_ih": (gates * wide,),
        "b_hh": (gates * wide,),
    }
    for n, shape in expected.items():
        if tensors.get(n) is not None and tensors[n].shape != shape:
            raise ShapeError(f"{name}: {n} of shape {tensors[n].shape}, expected {shape}")


def _check_kinds(name, given):
    check_tensors(name, **given)
    w_hr = given.get("w_hr")
    if w_hr is not None and w_hr.ndim != 2:
        raise ShapeError(f"{name}: w_hr of shape {w_hr.shape}, expected (P, H)")


def _batch(name, x, batch_sizes):
    """How many sequences there are."""
    if batch_sizes is None:
        if x.ndim != 3 or x.shape[0] == 0:
            raise ShapeError(
                f"{name}: x of shape {x.shape}, expected (T, B, I) with at least one step"
            )
        return x.shape[1]
    sizes = array_given(f"{name}: batch_sizes", batch_sizes)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or not len(sizes) or sizes[-1] < 1:
        raise ArgumentError(
            f"{name}: batch_sizes={batch_sizes!r}: expected positive integers, one for each step"
        )
    if (np.diff(sizes) > 0).any():
        raise ArgumentError(f"{name}: batch_sizes={batch_sizes!r}: expected falling numbers")
    if x.ndim != 2 or len(x) != sizes.sum():
        raise ShapeError(
            f"{name}: x of shape {x.shape} with batch_sizes that sum to {sizes.sum()}: "
            f"expected ({sizes.sum()}, I)"
        )
    return int(sizes[0])
