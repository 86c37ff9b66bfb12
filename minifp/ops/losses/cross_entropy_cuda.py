"""Kernels of cross_entropy.py for a GPU: each row by threads that share it, once.

A target that is no class, which only the CPU tells, gives a loss and a gradient of NaN.
"""

from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.formats import float32
from minifp.ops.losses.class_targets import class_axis
from minifp.ops.losses.class_targets_cuda import as_labels, classes_of, in_all, weight_of_all
from minifp.runtime.cuda.arrays import empty
from minifp.runtime.cuda.pointwise import FLOATS
from minifp.runtime.cuda.rows import contiguous, rows_along
from minifp.runtime.cuda.source import Text

TEXT = Text(__name__, "cross_entropy.cu")
NO_INDEX = -1  # of probabilities, none of which is ignored


def given(z, t, w, ignored, **outer):
    """(z, t, w, rows, module, what it is told of w and of t), or None if they are not ours.

    ignored: the class that is, or None where t are probabilities. outer: other dtypes by name.
    """
    soft = ignored is None
    t = contiguous(t) if soft else as_labels(t)
    z, w = contiguous(z), z if w is None else contiguous(w)
    if t is None or not FLOATS.issuperset((z.dtype, w.dtype, *outer.values())):
        return None
    rows = rows_along(z.shape, class_axis(z.ndim))
    types = {"Z": z.dtype, "T": t.dtype, "W": w.dtype, **outer, "SOFT": int(soft)}
    return z, t, w, rows, types, NO_INDEX if soft else int(ignored)


def losses(z, t, w, ignored, smoothing, dtype=None):
    """The losses of rows, in `dtype`; without it in float32, with what the rows weigh behind."""
    weighted, stored = int(w is not None), int(dtype is not None)
    found = given(z, t, w, ignored, D=float32, L=dtype or float32)
    if found is None:
        return None
    z, t, w, rows, types, ignored = found
    shape = z.shape[: class_axis(z.ndim)] + z.shape[2:]
    out = empty(shape, dtype) if stored else empty((2, rows.rows), float32)
    if out.size:
        settings = weighted, ignored, stored, float(smoothing)
        module = TEXT(**types, PACKED=rows.packed(z))
        arrays = z, t, w, out, out
        module.launch(
            "cross_entropy_losses", rows.blocks, rows.threads, *arrays, *rows.sizes, *settings
        )
    return out


def total(z, t, w, ignored, smoothing, reduction):
    """The sum of losses, in a mean divided by what the rows weigh."""
    sums = losses(z, t, w, ignored, smoothing)
    return None if sums is None else in_all(sums, sums.shape[1], reduction == "mean")


def gradient(dl, z, t, w, ignored, smoothing, reduction, dtype, *, of_targets=0):
    """dz, or dq of targets."""
    dl, weighted, mean, soft = contiguous(dl), w is not None, reduction == "mean", ignored is None
    found = given(z, t, w, ignored, D=dl.dtype, L=dtype)
    if found is None:
        return None
    z, t, kept, rows, types, ignored = found
    dz = empty(z.shape, dtype)
    if dz.size:
        by = float(rows.rows) if mean and soft else 1.0
        divided = int(mean and not soft)
        all = weight_of_all(t, w, classes_of(z), ignored) if divided else dl
        settings = (
            int(weighted),
            ignored,
            int(dl.ndim > 0),
            divided,
            of_targets,
            by,
            float(smoothing),
        )
        module = TEXT(**types, PACKED=rows.packed(z, dz))
        arrays = dl, z, t, kept, all, dz
        module.launch(
            "cross_entropy_gradients", rows.blocks, rows.threads, *arrays, *rows.sizes, *settings
        )
    return dz


@compiled_kernel
def cross_entropy_each(z, t, w, *, ignore_index, smoothing, to):
    return losses(z, t, w, ignore_index, smoothing, to[0])


@compiled_kernel
def cross_entropy_total(z, t, w, *, ignore_index, smoothing, reduction, to):
    return total(z, t, w, ignore_index, smoothing, reduction)


@compiled_kernel
def soft_cross_entropy_each(z, q, w, *, smoothing, to):
    return losses(z, q, w, None, smoothing, to[0])


@compiled_kernel
def soft_cross_entropy_total(z, q, w, *, smoothing, reduction, to):
    return total(z, q, w, None, smoothing, reduction)


@compiled_kernel
def cross_entropy_dz(dl, z, t, w, *, ignore_index, smoothing, reduction, to):
    return gradient(dl, z, t, w, ignore_index, smoothing, reduction, to[0])


@compiled_kernel
def soft_cross_entropy_dz(dl, z, q, w, *, smoothing, reduction, to):
    return gradient(dl, z, q, w, None, smoothing, reduction, to[0])


@compiled_kernel
def soft_cross_entropy_dq(dl, z, q, w, *, smoothing, reduction, to):
    return gradient(dl, z, q, w, None, smoothing, reduction, to[0], of_targets=1)
