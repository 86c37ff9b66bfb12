"""Kernels of conv.py for a GPU: pictures are unfolded, some at a time, for products of cuBLAS.

Columns are stored as their pictures are, and lie in the workspace only, whose size keeps them in
the L2 cache. Where a picture has many windows it is a matrix of a batch, and the product is where
it belongs; where it has few, all pictures lie side by side in one matrix, of which the result is
copied. Gradients for the input are correlations of dy with turned weights; with a stride, where
most of its products were with zeros, columns are computed, in float32, and added up where they came
from. With one channel in each group there are kernels without products of matrices.
"""

from typing import NamedTuple

from minifp.numerics.compiled import compiled_kernel
from minifp.runtime.cuda import cudnn
from minifp.runtime.cuda.arrays import empty, is_aligned, zeros
from minifp.runtime.cuda.cublas import supported
from minifp.runtime.cuda.cudnn import Steps
from minifp.runtime.cuda.pointwise import F32, FLOATS, cast, in_format, sum_over
from minifp.runtime.cuda.product import multiplied_in, multiply
from minifp.runtime.cuda.source import MOST_BLOCKS, THREADS, Text, blocks_for

TEXT = Text(__name__, "conv.cu")
PACK = 8  # windows that a thread unfolds
WORKSPACE = 32 * 2**20  # bytes of columns: they stay in the L2 cache of a data centre's GPU, of 40
WIDE = 64  # windows of a picture that are worth a matrix of its own
FEW = 4  # channels of a group of one channel that are computed without a product of matrices
RUN = 64  # addends that a thread sums one after the other


class Windows(NamedTuple):
    """Sizes down and across pictures; those of sequences, which are pictures of one row."""

    sizes: tuple[int, int]
    kernel: tuple[int, int]
    counts: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]

    @property
    def numbers(self):
        """As kernels take them."""
        return [int(n) for pair in self for n in pair]

    @property
    def places(self):
        """Places in a window."""
        return self.kernel[0] * self.kernel[1]

    @property
    def count(self):
        """Windows of a picture."""
        return self.counts[0] * self.counts[1]

    @property
    def is_identity(self):
        """Whether each window is one place, in order, so that there is nothing to unfold."""
        return self.places == 1 and self.sizes == self.counts and not any(self.padding)


def windows_of(*given):
    """Windows of sizes that were given for one axis or two."""
    pairs = zip(given, (1, 1, 1, 1, 0, 1))
    return Windows(*(tuple(v) if len(v) == 2 else (one, *v) for v, one in pairs))


def whole(x, dtype=None):
    """x in C order in this format, a copy only if it is not."""
    dtype = x.dtype if dtype is None else dtype
    return x if x.flags.c_contiguous and x.dtype == dtype else cast(x, dtype)


def entered(dtype, *operands):
    """The format in which operands are multiplied: exact for all of them; None if there is none,
    or none for a result in `dtype`."""
    if not FLOATS.issuperset((dtype, *(x.dtype for x in operands))):
        return None
    return multiplied_in(*(x.dtype for x in operands))


def stored(kind, dtype, bias):
    """The format in which a product of such operands can be stored, and a bias before it."""
    direct = supported(kind, kind, dtype, "float32")
    return dtype if direct and (bias is None or bias.dtype == dtype) else F32


def parts_of(pictures, bytes_of_one):
    """(first, number) of pictures whose columns are in the workspace at once: about as many each,
    and multiples of PACK, if possible, for rows of columns to be aligned."""
    most = max(1, WORKSPACE // max(1, bytes_of_one))
    each = -(-pictures // max(1, -(-pictures // most)))
    each = min(-(-each // PACK) * PACK, max(most, 1) if most < PACK else most // PACK * PACK)
    return [(at, min(each, pictures - at)) for at in range(0, pictures, max(each, 1))]


def unfolded(x, side_by_side, w, groups, dtype):
    """Columns (B, groups, C/groups places, pictures/B windows), where B is 1 for side by side."""
    n, C = x.shape[:2]
    batch, each = (1, n) if side_by_side else (n, 1)
    if w.is_identity and x.dtype == dtype and each == 1:
        return x.reshape(n, groups, C // groups, w.count)
    pitch = -(-each * w.count // PACK) * PACK
    columns = empty((batch, groups, C // groups * w.places, pitch), dtype)
    sizes = batch, each, C, pitch, *w.numbers
    TEXT(X=x.dtype, V=F32, Y=dtype).launch(
        "unfold", blocks_for(batch * C * pitch // PACK), THREADS, x, columns, *sizes
    )
    return columns[..., : each * w.count]


def exchange(x, b, y, I, J):
    """y (I, J, ...) = x (J, I, ...) + b (J), or None, each in C order."""
    packed = y.size % PACK == 0 and is_aligned(y)
    if y.size:
        arrays = x, 0 if b is None else b, y
        sizes = I, J, y.size // (I * J), int(packed)
        TEXT(X=x.dtype, V=F32, Y=y.dtype).launch(
            "exchange", blocks_for(y.size, each=PACK), THREADS, *arrays, *sizes
        )
    return y


def correlation(x, w, b, shape, dtype, groups, windows):
    """b + the sums of windows of x times w (groups, O/groups, C/groups places), of this shape."""
    kind = entered(dtype, x, w)
    if kind is None:
        return None
    (N, O), count, x = shape[:2], windows.count, whole(x)
    w = in_format(w, kind)
    direct = windows.is_identity and x.dtype == kind
    narrow = count < WIDE or count % PACK > 0 or groups > 1
    together = N > 1 and not direct and narrow
    held = stored(kind, dtype, b)
    y = empty(shape, dtype if together else held)
    row = x.shape[1] * windows.places * count * kind.itemsize
    for at, n in [(0, N)] if direct and N else parts_of(N, row):
        columns, out = unfolded(x[at : at + n], together, windows, groups, kind), y[at : at + n]
        if together:
            part = empty((groups, O // groups, n * count), held if b is None else F32)
            multiply(w, columns[0], part)
            exchange(part, b if b is None else cast(b, F32), out, n, O)
            del part
        else:
            out = out.reshape(n, groups, O // groups, count)
            if b is not None:
                out[...] = in_format(b, held).reshape(groups, O // groups, 1)
            multiply(w, columns, out, accumulate=b is not None)
        del columns  # so that the next ones lie in the same memory, which is in the cache
    return in_format(y, dtype)


def correlation_back(dy, w, b, shape, dtype, groups, windows):
    """b + the gradient of a correlation for its input, of this shape.   w: (O, C/groups, ...)."""
    kind = entered(dtype, dy, w)
    if kind is None:
        return None
    (N, O), C = dy.shape[:2], shape[1]
    w = w.reshape(groups, O // groups, C // groups, windows.places)
    if windows.stride == (1, 1):
        turned = empty((groups, C // groups, O // groups, windows.places), kind)
        turned[...] = in_format(w, kind)[..., ::-1].swapaxes(1, 2)
        before = (d * (k - 1) - p for d, k, p in zip(*windows[5:], windows.kernel, windows.padding))
        sizes, padding = (windows.counts, windows.kernel, windows.sizes), tuple(before)
        back = Windows(*sizes, (1, 1), padding, windows.dilation)
        turned = turned.reshape(groups, C // groups, -1)
        return correlation(dy, turned, b, shape, dtype, groups, back)
    dy, b, dx = whole(dy, kind), b if b is None else cast(b, F32), empty(shape, dtype)
    w = whole(w, kind).reshape(groups, O // groups, -1).swapaxes(1, 2)
    for at, n in parts_of(N, C * windows.places * windows.count * 4):
        columns = empty((n, *w.shape[:2], windows.count), F32)
        multiply(w, dy[at : at + n].reshape(n, groups, -1, windows.count), columns)
        part, sizes = dx[at : at + n], (n * C, C, *windows.numbers)
        TEXT(X=F32, V=F32, Y=dtype).launch(
            "fold", blocks_for(part.size), THREADS, columns, 0 if b is None else b, part, *sizes
        )
        del columns
    return dx


def is_depthwise(w_shape, groups):
    """Whether groups are so small that each is better computed by itself."""
    return groups > 1 and w_shape[1] == 1 and w_shape[0] // groups <= FEW


def depthwise(name, x, w, b, shape, dtype, groups, windows):
    """A correlation in groups of one channel, or by "depthwise_dx" its gradient for the input."""
    if entered(dtype, x, w) is None:
        return None
    y, O = empty(shape, dtype), w.shape[0]
    if y.size:
        arrays = whole(x), whole(w), 0 if b is None else cast(b, F32), y
        TEXT(X=x.dtype, V=w.dtype, Y=dtype).launch(
            name, blocks_for(y.size), THREADS, *arrays, len(x), O, O // groups, *windows.numbers
        )
    return y


# ---- the kernels ---------------------------------------------------------------


@compiled_kernel
def conv_forward(x, w, b, *, stride, padding, dilation, groups, counts, to):
    given = windows_of(x.shape[2:], w.shape[2:], counts, stride, padding, dilation)
    shape = (len(x), len(w), *counts)
    if cudnn.is_chosen():
        steps = Steps(stride, padding, dilation)
        found = cudnn.convolution("fprop", x, w, b, shape, to[0], steps)
        if found is not None:
            return found
    if is_depthwise(w.shape, groups):
        return depthwise("depthwise", x, w, b, shape, to[0], groups, given)
    w = whole(w).reshape(groups, len(w) // groups, -1)
    return correlation(x, w, b, shape, to[0], groups, given)


@compiled_kernel
def conv_dx(dy, w, *, x_sizes, stride, padding, dilation, groups, to):
    if cudnn.is_chosen():
        shape = (len(dy), w.shape[1] * groups, *x_sizes)
        steps = Steps(stride, padding, dilation)
        found = cudnn.convolution("dgrad", dy, w, None, shape, to[0], steps)
        if found is not None:
            return found
    return gradient(dy, w, None, x_sizes, groups, to[0], Steps(stride, padding, dilation))


def gradient(dy, w, b, x_sizes, groups, dtype, steps):
    """b + the gradient of a correlation for its input."""
    windows = windows_of(x_sizes, w.shape[2:], dy.shape[2:], *steps)
    shape = (len(dy), w.shape[1] * groups, *x_sizes)
    if is_depthwise(w.shape, groups):
        return depthwise("depthwise_dx", dy, w, b, shape, dtype, groups, windows)
    return correlation_back(dy, w, b, shape, dtype, groups, windows)


@compiled_kernel
def conv_dw(dy, x, *, w_shape, stride, padding, dilation, groups, to):
    if cudnn.is_chosen():
        steps = Steps(stride, padding, dilation)
        found = cudnn.convolution("wgrad", x, dy, None, w_shape, to[0], steps)
        if found is not None:
            return found
    kind = entered(to[0], dy, x)
    if kind is None:
        return None
    given = windows_of(x.shape[2:], w_shape[2:], dy.shape[2:], stride, padding, dilation)
    (N, O), x, dy = dy.shape[:2], whole(x), whole(dy)
    if is_depthwise(w_shape, groups):
        return depthwise_dw(dy, x, w_shape, groups, given, to[0])
    parts = parts_of(N, x.shape[1] * given.places * given.count * kind.itemsize)
    held = to[0] if len(parts) == 1 and supported(kind, kind, to[0], "float32") else F32
    sums = (empty if parts else zeros)(
        (groups, O // groups, x.shape[1] // groups * given.places), held
    )
    for at, n in parts:
        columns = unfolded(x[at : at + n], True, given, groups, kind)
        rows = empty((groups, O // groups, n * given.count), kind)
        exchange(dy[at : at + n], None, rows, O, n)
        multiply(rows, columns[0].swapaxes(1, 2), sums, accumulate=at > 0)
        del columns, rows
    return in_format(sums, to[0]).reshape(w_shape)


def depthwise_dw(dy, x, w_shape, groups, windows, dtype):
    """The gradient for weights of groups of one channel."""
    (N, O), length = dy.shape[:2], THREADS * RUN
    divided = -(-N * windows.count // length)
    parts = empty((divided, *w_shape), F32)
    if parts.size:
        sizes = N, O, O // groups, length, *windows.numbers
        TEXT(X=dy.dtype, V=x.dtype, Y=F32).launch(
            "depthwise_dw", min(parts.size, 64 * MOST_BLOCKS), THREADS, whole(dy), x, parts, *sizes
        )
    return sum_over(parts, (0,), dtype)
